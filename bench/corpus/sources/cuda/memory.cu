// Every state space, caches, vector types, volatile and restricted pointers, initialisers of every type.
struct Mixed { char c; short s; int i; long long q; float f; double d; };
struct __align__(16) Wide { float4 a; double2 b; };

__constant__ int powers[8] = {1, 2, 4, 8, 16, 32, 64, 128};
__constant__ double ratios[2][3] = {{0.5, 1.5}, {2.5, -0.0, 1e300}};
__constant__ Mixed record = {'x', -2, 3, -4, 5.5f, 6.25};
__constant__ const char *greeting = "with \"quotes\", a \\ and a \n";
__device__ signed char bytes[5] = {-1, 2, -3};
__device__ unsigned short halfwords[3] = {65535, 1, 2};
__device__ long long quads[2] = {-9223372036854775807LL - 1, 42};
__device__ float numbers[4] = {1.0f, -2.5f, 1e-40f, 3e38f};
__device__ bool flags[3] = {true, false, true};
__device__ int *inside = &((int *)quads)[1];
__device__ void *nowhere = nullptr;
__device__ Wide wide = {{1, 2, 3, 4}, {5, 6}};
__device__ int zeroed[1024];
__managed__ int managed_counter = 7;
__device__ volatile int flag;
static __device__ int hidden = 3;
extern __shared__ __align__(16) unsigned char dynamic_bytes[];

extern "C" __global__ void __launch_bounds__(128, 2) all_spaces(const int *__restrict__ in, int *out, Mixed by_value, Wide *wides) {
    __shared__ float tile[32][33];
    __shared__ Wide one;
    int local[16];
    for (int k = 0; k < 16; k++) local[k] = in[k] * powers[k & 7];
    tile[threadIdx.x & 31][threadIdx.y] = ratios[threadIdx.x & 1][threadIdx.y % 3];
    ((int *)dynamic_bytes)[threadIdx.x] = local[threadIdx.x & 15];
    if (threadIdx.x == 0) one = wides[blockIdx.x];
    __syncthreads();
    out[threadIdx.x] = (int)tile[threadIdx.y][threadIdx.x & 31] + ((int *)dynamic_bytes)[127 - threadIdx.x] + record.i
                     + by_value.s + by_value.c + (int)by_value.d + greeting[threadIdx.x & 7] + bytes[threadIdx.x % 5]
                     + halfwords[threadIdx.x % 3] + (int)quads[1] + (int)numbers[2] + flags[1] + *inside + zeroed[threadIdx.x]
                     + managed_counter + flag + hidden + (int)one.b.y + (nowhere != nullptr);
    hidden = out[0]; flag = 2; managed_counter = 3; zeroed[threadIdx.x] = 4; nowhere = out;
    wides[blockIdx.x] = wide;
}

extern "C" __global__ void cached(const float *a, const double2 *b, const uchar4 *c, const short2 *s, const longlong2 *q, float *out) {
    int i = threadIdx.x;
    float x = __ldg(a + i) + __ldca(a + i) + __ldcg(a + i) + __ldcs(a + i) + __ldlu(a + i) + __ldcv(a + i);
    double2 y = __ldg(b + i);
    uchar4 z = __ldg(c + i);
    short2 w = __ldcs(s + i);
    longlong2 v = __ldcg(q + i);
    __stwb(out + i, x); __stcg(out + i + 1, (float)y.x); __stcs(out + i + 2, (float)(z.x + z.w + w.y)); __stwt(out + i + 3, (float)v.y);
}

template <typename V> __global__ void moved(const V *in, V *out) { out[threadIdx.x + 1] = in[threadIdx.x]; }
template __global__ void moved<char2>(const char2 *, char2 *);
template __global__ void moved<char3>(const char3 *, char3 *);
template __global__ void moved<uchar4>(const uchar4 *, uchar4 *);
template __global__ void moved<short4>(const short4 *, short4 *);
template __global__ void moved<int3>(const int3 *, int3 *);
template __global__ void moved<uint4>(const uint4 *, uint4 *);
template __global__ void moved<longlong2>(const longlong2 *, longlong2 *);
template __global__ void moved<float2>(const float2 *, float2 *);
template __global__ void moved<float4>(const float4 *, float4 *);
template __global__ void moved<double2>(const double2 *, double2 *);
template __global__ void moved<Mixed>(const Mixed *, Mixed *);

extern "C" __global__ void told_spaces(void *p, int *out) {
    out[0] = __isGlobal(p) + 2 * __isShared(p) + 4 * __isLocal(p) + 8 * __isConstant(p);
    out[1] = (int)__cvta_generic_to_shared(p) + (int)__cvta_generic_to_global(p) + (int)__cvta_generic_to_local(p);
    out[2] = *(int *)__cvta_shared_to_generic(16);
}

extern "C" __global__ void assumed(const float *p, float *out) {
    const float *q = (const float *)__builtin_assume_aligned(p, 16);
    __builtin_assume(threadIdx.x < 64);
    out[threadIdx.x] = q[0] + q[1] + q[2] + q[3];
    if (__builtin_expect(out[0] > 3, 0)) __trap();
    switch (threadIdx.x) { case 0: out[1] = 2; break; case 7: out[2] = 9; break; case 63: __brkpt(); break; case 64: __builtin_unreachable(); }
}
