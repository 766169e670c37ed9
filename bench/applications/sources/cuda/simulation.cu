// Bodies, fractals, options, random numbers, transforms, rotations.
#include <cuComplex.h>

extern "C" __global__ void n_body(const float4 *bodies, float3 *pull, int n) {
    __shared__ float4 tile[64];
    int i = blockIdx.x * 64 + threadIdx.x;
    float4 me = i < n ? bodies[i] : make_float4(0, 0, 0, 0);
    float3 sum = make_float3(0, 0, 0);
    for (int from = 0; from < n; from += 64) {
        tile[threadIdx.x] = from + threadIdx.x < n ? bodies[from + threadIdx.x] : make_float4(0, 0, 0, 0);
        __syncthreads();
        #pragma unroll 4
        for (int j = 0; j < 64; j++) {
            float4 b = tile[j];
            float x = b.x - me.x, y = b.y - me.y, z = b.z - me.z, d = x * x + y * y + z * z + 0.01f;
            float inverse = rsqrtf(d), f = b.w * inverse * inverse * inverse;
            sum.x += f * x;
            sum.y += f * y;
            sum.z += f * z;
        }
        __syncthreads();
    }
    if (i < n) pull[i] = sum;
}

extern "C" __global__ void mandelbrot(unsigned short *out, int width, int height, double left, double top, double step, int most) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    double cr = left + x * step, ci = top - y * step, r = 0, i = 0;
    int n = 0;
    while (n < most && __dmul_rn(r, r) + __dmul_rn(i, i) <= 4.0) {
        double keep = __dadd_rn(__dsub_rn(__dmul_rn(r, r), __dmul_rn(i, i)), cr);
        i = __dadd_rn(__dmul_rn(__dmul_rn(2.0, r), i), ci);
        r = keep;
        n++;
    }
    out[y * width + x] = n;
}

__device__ double normal(double x) { return 0.5 * erfc(-x * 0.70710678118654752); }

extern "C" __global__ void black_scholes(const double *price, const double *strike, const double *years, double *call, double *put, double rate, double spread, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        double root = sqrt(years[i]), d1 = (log(price[i] / strike[i]) + (rate + 0.5 * spread * spread) * years[i]) / (spread * root);
        double d2 = d1 - spread * root, later = strike[i] * exp(-rate * years[i]);
        call[i] = price[i] * normal(d1) - later * normal(d2);
        put[i] = later * normal(-d2) - price[i] * normal(-d1);
    }
}

__device__ uint4 philox(uint4 c, uint2 key) {
    for (int round = 0; round < 10; round++) {
        unsigned high0 = __umulhi(0xD2511F53u, c.x), low0 = 0xD2511F53u * c.x;
        unsigned high1 = __umulhi(0xCD9E8D57u, c.z), low1 = 0xCD9E8D57u * c.z;
        c = make_uint4(high1 ^ c.y ^ key.x, low1, high0 ^ c.w ^ key.y, low0);
        key.x += 0x9E3779B9u;
        key.y += 0xBB67AE85u;
    }
    return c;
}

extern "C" __global__ void philox_words(uint4 *out, unsigned seed) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = philox(make_uint4(i, 0, 7, 0), make_uint2(seed, ~seed));
}

extern "C" __global__ void darts(unsigned long long *hits, unsigned seed, int each) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, inside = 0;
    unsigned long long s = seed + i * 0x9E3779B97F4A7C15ull;
    for (int k = 0; k < each; k++) {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        unsigned long long x = s >> 32 & 0xffff, y = s & 0xffff;
        inside += x * x + y * y < 0x100000000ull;
    }
    atomicAdd(hits, (unsigned long long)inside);
}

// Radix 2, one block, in shared memory; bit-reversed loads.
extern "C" __global__ void fft(const float2 *in, float2 *out, int bits) {
    extern __shared__ float2 z[];
    int n = 1 << bits, t = threadIdx.x;
    for (int i = t; i < n; i += blockDim.x) z[__brev(i) >> (32 - bits)] = in[blockIdx.x * n + i];
    for (int size = 2; size <= n; size *= 2) {
        __syncthreads();
        for (int k = t; k < n / 2; k += blockDim.x) {
            int half = size / 2, j = k % half, a = k / half * size + j, b = a + half;
            float s, c;
            sincospif(-2.0f * j / size, &s, &c);
            float2 w = make_float2(c * z[b].x - s * z[b].y, s * z[b].x + c * z[b].y);
            z[b] = make_float2(z[a].x - w.x, z[a].y - w.y);
            z[a] = make_float2(z[a].x + w.x, z[a].y + w.y);
        }
    }
    __syncthreads();
    for (int i = t; i < n; i += blockDim.x) out[blockIdx.x * n + i] = z[i];
}

extern "C" __global__ void rotate(const float4 *by, const float3 *what, float3 *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 q = by[i];
    float norm = rnorm4df(q.x, q.y, q.z, q.w);
    q.x *= norm; q.y *= norm; q.z *= norm; q.w *= norm;
    float3 v = what[i];
    float3 t = make_float3(2 * (q.y * v.z - q.z * v.y), 2 * (q.z * v.x - q.x * v.z), 2 * (q.x * v.y - q.y * v.x));
    out[i] = make_float3(v.x + q.w * t.x + q.y * t.z - q.z * t.y, v.y + q.w * t.y + q.z * t.x - q.x * t.z,
                         v.z + q.w * t.z + q.x * t.y - q.y * t.x);
}

extern "C" __global__ void complex_powers(const cuDoubleComplex *in, cuDoubleComplex *out, double *size, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    cuDoubleComplex z = in[i], p = make_cuDoubleComplex(1, 0);
    for (int k = 0; k < n; k++) p = cuCmul(p, z);
    out[i] = cuCdiv(cuCadd(p, cuConj(z)), cuCsub(z, make_cuDoubleComplex(0, 3)));
    size[i] = cuCabs(z);
}
