//! without debug optimised_debug
// Half and bfloat16, scalars and pairs.
#include <cuda_fp16.h>
#include <cuda_bf16.h>

extern "C" __global__ void half_arithmetic(const __half *a, const __half *b, __half *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __half x = a[i], y = b[i];
    __half r = __hadd(x, y);
    r = __hfma(r, x, y); r = __hfma_sat(r, x, y);
#if __CUDA_ARCH__ >= 800
    r = __hfma_relu(r, x, y); r = __hmin_nan(r, y);
#endif
    r = __hmul(r, __hsub(x, y)); r = __hdiv(r, __habs(y)); r = __hmax(r, x); r = __hmin(r, y);
    if (__hlt(r, x)) r = __hneg(r);
    r = hsqrt(r) + hexp2(r) + hlog2(r) + hrcp(r) + hsin(x) + htanh(y) + hfloor(x) + htrunc(y) + hrint(x);
    out[i] = r + __float2half_rn(1.5f) + __int2half_rn(i) + __ushort_as_half(0x3c00);
}

extern "C" __global__ void half_pairs(const __half2 *a, const __half2 *b, __half2 *out, float *f) {
    int i = threadIdx.x;
    __half2 x = a[i], y = b[i];
    __half2 r = __hfma2(x, y, __hadd2_sat(x, y));
    r = __hmul2(r, __hneg2(y)); r = __hmax2(r, x); r = h2sqrt(r); r = __hadd2(r, h2exp2(x));
    r = __hgt2(r, x); r = __lows2half2(r, y); r = __lowhigh2highlow(r);
    if (__hbeq2(r, x)) r = __floats2half2_rn(1.f, 2.f);
    out[i] = r;
    f[i] = __low2float(r) + __half2float(__high2half(r)) + (float)__half2int_rz(r.x) + (float)__half2ull_rn(r.y);
}

#if __CUDA_ARCH__ >= 800
extern "C" __global__ void bfloat_arithmetic(const __nv_bfloat16 *a, __nv_bfloat162 *p, float *f) {
    int i = threadIdx.x;
    __nv_bfloat16 x = a[i];
    x = __hfma(x, x, __hadd(x, __float2bfloat16(0.5f))); x = __hmax(x, a[i + 1]); x = hexp2(x); x = htanh(x);
    __nv_bfloat162 q = __hfma2(p[i], p[i + 1], __halves2bfloat162(x, x));
    q = __hmin2_nan(q, p[i]); q = __hfma2_relu(q, q, q);
    p[i] = q;
    f[i] = __bfloat162float(x) + __low2float(q) + (float)__bfloat162int_rn(x);
}
#endif

extern "C" __global__ void half_atomics(__half *h, __half2 *h2, __nv_bfloat16 *b, __nv_bfloat162 *b2) {
    atomicAdd(h + threadIdx.x, __float2half(1.f));
    atomicAdd(h2 + threadIdx.x, __float2half2_rn(1.f));
    atomicAdd(b, __float2bfloat16(1.f));
    atomicAdd(b2, __float2bfloat162_rn(2.f));
}

extern "C" __global__ void half_shuffles(__half *h, __nv_bfloat162 *b) {
    h[threadIdx.x] = __shfl_xor_sync(0xffffffffu, h[threadIdx.x], 4);
    b[threadIdx.x] = __shfl_down_sync(0xffffffffu, b[threadIdx.x], 2);
}
