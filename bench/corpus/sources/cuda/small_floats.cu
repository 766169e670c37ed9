//! without debug optimised_debug
// 8-, 6- and 4-bit floats: emulated on old targets, instructions on new ones.
//! least sm_89
#include <cuda_fp8.h>
#include <cuda_fp6.h>
#include <cuda_fp4.h>

extern "C" __global__ void eights(const float2 *f, __nv_fp8x2_storage_t *e4, __nv_fp8x2_storage_t *e5, __half2 *back) {
    int i = threadIdx.x;
    e4[i] = __nv_cvt_float2_to_fp8x2(f[i], __NV_SATFINITE, __NV_E4M3);
    e5[i] = __nv_cvt_float2_to_fp8x2(f[i], __NV_NOSAT, __NV_E5M2);
    back[i] = __half2(__nv_cvt_fp8x2_to_halfraw2(e4[i], __NV_E4M3));
    back[i + 1] = __half2(__nv_cvt_fp8x2_to_halfraw2(e5[i], __NV_E5M2));
    __nv_fp8_e4m3 one(f[i].x);
    e4[i + 8] = __nv_fp8x2_storage_t(one.__x) | __nv_cvt_halfraw_to_fp8(back[i].x, __NV_SATFINITE, __NV_E5M2);
}

extern "C" __global__ void sixes_and_fours(const float2 *f, __nv_fp6x2_storage_t *six, __nv_fp4x2_storage_t *four, __half2 *back) {
    int i = threadIdx.x;
    six[i] = __nv_cvt_float2_to_fp6x2(f[i], __NV_E2M3, cudaRoundNearest);
    six[i + 1] = __nv_cvt_float2_to_fp6x2(f[i], __NV_E3M2, cudaRoundNearest);
    four[i] = __nv_cvt_float2_to_fp4x2(f[i], __NV_E2M1, cudaRoundNearest);
    back[i] = __half2(__nv_cvt_fp6x2_to_halfraw2(six[i], __NV_E2M3));
    back[i + 1] = __half2(__nv_cvt_fp4x2_to_halfraw2(four[i], __NV_E2M1));
    six[i + 2] = __nv_fp6x2_storage_t(__nv_cvt_float2_to_e8m0x2(f[i], __NV_SATFINITE, cudaRoundPosInf));
}
