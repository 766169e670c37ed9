//! flags -rdc=true
// Calls: noinline, structures by value and returned, pointers to functions, recursion, variadic, virtual, lambdas, externs.
struct Pair { int a; float b; };
struct Large { double v[9]; char tail[3]; };

extern "C" __device__ __noinline__ Pair turned(Pair p) { return {(int)p.b, (float)p.a}; }
extern "C" __device__ __noinline__ Large scaled(Large l, double by) { for (int i = 0; i < 9; i++) l.v[i] *= by; l.tail[1] = 3; return l; }
extern "C" __device__ __noinline__ void nothing() {}
extern "C" __device__ __noinline__ bool truth(bool b, char c, short s, unsigned long long q) { return b ^ (c > s) ^ (q & 1); }
extern "C" __device__ __noinline__ float4 four(float4 f, short2 s, double2 d) { return {f.x, f.y + s.x, f.z, (float)d.y}; }
extern "C" __device__ int factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }
extern "C" __device__ __noinline__ int is_odd(unsigned n);
extern "C" __device__ __noinline__ int is_even(unsigned n) { return n == 0 ? 1 : is_odd(n - 1); }
extern "C" __device__ __noinline__ int is_odd(unsigned n) { return n == 0 ? 0 : is_even(n - 1); }
extern "C" __device__ int elsewhere(int, const float *);
extern "C" __device__ void never_returns() { for (;;) __nanosleep(100); }

typedef float (*Unary)(float);
__device__ float twice(float x) { return x + x; }
__device__ float squared(float x) { return x * x; }
__device__ Unary table[3] = {twice, squared, twice};
__device__ Unary chosen = squared;
extern __device__ int defined_elsewhere;
__device__ __forceinline__ int always(int x) { return x * 3 + 1; }

struct Shape { __device__ virtual float area() const = 0; __device__ virtual ~Shape() {} };
struct Square : Shape { float s; __device__ Square(float s) : s(s) {} __device__ float area() const override { return s * s; } };
struct Circle : Shape { float r; __device__ Circle(float r) : r(r) {} __device__ float area() const override { return 3.14f * r * r; } };

template <typename F> __device__ __noinline__ float applied(F f, float x) { return f(f(x)); }

namespace very::deeply::nested {
template <typename A, typename B, int N> struct Holder { A a[N]; B b; };
template <typename H> __device__ __noinline__ H touched(H h) { h.a[0] += 1; return h; }
}

extern "C" __global__ void all_calls(int *out, float *f, int which, Large *l) {
    int i = threadIdx.x;
    Pair p = turned({i, f[i]});
    out[i] = p.a + factorial(i) + is_even(i) + elsewhere(i, f) + defined_elsewhere + always(i) + truth(i & 1, 3, -4, i);
    nothing();
    l[i] = scaled(l[i], 2.0);
    f[i] = table[which](f[i]) + chosen(p.b) + four({1, 2, 3, 4}, {5, 6}, {7, 8}).w;
    f[i] += applied([=](float x) { return x * which; }, f[i]);
    char room[sizeof(Circle)];
    Shape *s = which ? (Shape *)new (room) Square(2) : (Shape *)new (room) Circle(3);
    f[i] += s->area();
    very::deeply::nested::Holder<Pair *, very::deeply::nested::Holder<float, unsigned long long, 3>, 2> h = {};
    out[i] += (int)(long long)very::deeply::nested::touched(h).a[0];
    if (which == 77) never_returns();
}
