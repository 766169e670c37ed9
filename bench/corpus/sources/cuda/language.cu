// What C++ leaves in a module: long names, unions and bit fields, tables, lambdas, statics, atomics by builtin, local classes.
namespace outer { namespace { struct Hidden { int v; __device__ __noinline__ int get() const { return v * 3; } }; } }
union Word { unsigned u; float f; unsigned char b[4]; struct { unsigned low : 5, middle : 11, high : 16; } bits; };
struct alignas(32) Aligned { double d[4]; __device__ Aligned operator+(const Aligned &o) const { Aligned r; for (int i = 0; i < 4; i++) r.d[i] = d[i] + o.d[i]; return r; } };

template <int... I> struct Sequence {};
template <typename... T> __device__ __noinline__ double summed(T... t) { return (double(t) + ...); }
template <typename T, template <typename> class Policy, int N = 4> struct Engine {
    T state[N];
    __device__ __noinline__ T run(const Policy<T> &p) { T r = T(); for (int i = 0; i < N; i++) r += p(state[i]); return r; }
};
template <typename T> struct Doubling { T by; __device__ T operator()(T x) const { return x * by; } };
template <int N> __device__ __noinline__ int fibonacci() { if constexpr (N < 2) return N; else return fibonacci<N - 1>() + fibonacci<N - 2>(); }

__constant__ constexpr unsigned short crc[16] = {0, 4129, 8258, 12387, 16516, 20645, 24774, 28903, 33032, 37161, 41290, 45419, 49548, 53677, 57806, 61935};
__device__ const char *const words[4] = {"zero", "one", "two", "\x80\xff"};
__device__ int added(int a, int b) { return a + b; }
__device__ int multiplied(int a, int b) { return a * b; }
__device__ int (*const operations[2])(int, int) = {added, multiplied};
__device__ struct { int i; const char *s; double d; } records[2] = {{1, "first", 1.5}, {2, "second", -2.5}};

template <typename F> __global__ void launched(F f, int *out) { out[threadIdx.x] = f(threadIdx.x); }
struct Adder { int by; __device__ int operator()(int x) const { return x + by; } };
template __global__ void launched(Adder, int *);

extern "C" __global__ void __launch_bounds__(64) everything(const __grid_constant__ Aligned a, Word w, int *out, Aligned *wide, float *f) {
    int i = threadIdx.x;
    outer::Hidden h{i};
    w.bits.middle = i; w.b[3] = 7;
    out[i] = h.get() + w.u + w.bits.high + crc[i & 15] + words[i & 3][1] + operations[i & 1](i, 3) + records[i & 1].i + records[1].s[i] + fibonacci<6>();
    wide[i] = wide[i + 1] + a;
    Engine<double, Doubling> e{{1, 2, 3, 4.0 * i}};
    f[i] = w.f + summed(1, 2.5f, 3ull, (short)i, 'c') + e.run({3.0});
    struct Local { int x; __device__ int twice() { return 2 * x; } } local{i};
    static __shared__ int counter;
    if (i == 0) counter = local.twice();
    __syncthreads();
    out[i] += counter;
    memcpy(out + 64, out, 48); memset(f + 64, 0, 37);
    for (auto x : {3, 1, 4, 1, 5}) out[i] ^= x;
}

extern "C" __global__ void scoped_atomics(int *p, unsigned long long *q, float *f) {
    int v = __nv_atomic_load_n(p, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_DEVICE);
    __nv_atomic_store_n(p + 1, v, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_SYSTEM);
    v += __nv_atomic_fetch_add(p + 2, 3, __NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_BLOCK);
    __nv_atomic_add(f, 1.5f, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
    __nv_atomic_fetch_max(q, 7ull, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_SYSTEM);
    __nv_atomic_compare_exchange_n(p + 3, &v, 9, false, __NV_ATOMIC_SEQ_CST, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
    __nv_atomic_thread_fence(__NV_ATOMIC_SEQ_CST, __NV_THREAD_SCOPE_DEVICE);
    p[4] = v + __nv_atomic_exchange_n(p + 5, 1, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_BLOCK);
}
