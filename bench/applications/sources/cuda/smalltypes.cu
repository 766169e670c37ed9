//! least sm_80
// Half, bfloat16 and fp8 arithmetic and conversions, packed bytes and halves, video and bit instructions.
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>

extern "C" __global__ void halves(const half2 *a, const half2 *b, half2 *out, unsigned *flags) {
    int i = threadIdx.x;
    half2 x = a[i], y = b[i], *to = out + i * 8;
    to[0] = __hadd2(x, y);
    to[1] = __hmul2_sat(x, y);
    to[2] = __hfma2(x, y, x);
    to[3] = __h2div(x, y);
    to[4] = __hmax2(x, y);
    to[5] = __hneg2(__habs2(x));
    to[6] = __lowhigh2highlow(x);
    to[7] = h2floor(__hsub2(x, y));
    flags[i] = __hbgt2(x, y) | __heq(__low2half(x), __high2half(y)) << 1 | __hisnan(__high2half(x)) << 2 | (__hlt2_mask(x, y) & 0x80008000u);
}

extern "C" __global__ void half_conversions(const float *in, unsigned short *out, int *ints, float *back, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = in[i];
    out[i * 6] = __half_as_ushort(__float2half_rn(x));
    out[i * 6 + 1] = __half_as_ushort(__float2half_rz(x));
    out[i * 6 + 2] = __half_as_ushort(__float2half_ru(x));
    out[i * 6 + 3] = __bfloat16_as_ushort(__float2bfloat16_rn(x));
    out[i * 6 + 4] = __bfloat16_as_ushort(__float2bfloat16_rz(x));
    out[i * 6 + 5] = __half_as_ushort(__double2half((double)x));
    ints[i * 2] = __half2int_rn(__float2half(x));
    ints[i * 2 + 1] = __half2ushort_rz(__float2half(x));
    back[i] = __half2float(__ushort2half_rn((unsigned short)(i * 997))) + __bfloat162float(__int2bfloat16_rn(i * 1001));
}

extern "C" __global__ void bfloats(const __nv_bfloat162 *a, const __nv_bfloat162 *b, __nv_bfloat162 *out) {
    int i = threadIdx.x;
    out[i * 4] = __hadd2(a[i], b[i]);
    out[i * 4 + 1] = __hmul2(a[i], b[i]);
    out[i * 4 + 2] = __hfma2(a[i], b[i], a[i]);
    out[i * 4 + 3] = __hmin2(a[i], __hneg2(b[i]));
}

extern "C" __global__ void eighths(const float *in, unsigned char *e4, unsigned char *e5, float *back4, float *back5, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __nv_fp8_e4m3 a(in[i]);
    __nv_fp8_e5m2 b(in[i]);
    e4[i] = a.__x;
    e5[i] = b.__x;
    __nv_fp8_e4m3 c;
    c.__x = (unsigned char)i;
    __nv_fp8_e5m2 d;
    d.__x = (unsigned char)i;
    back4[i] = (float)c;
    back5[i] = (float)d;
}

extern "C" __global__ void video(const unsigned *a, const unsigned *b, unsigned *out) {
    int i = threadIdx.x;
    unsigned x = a[i], y = b[i], *to = out + i * 16;
    to[0] = __vadd4(x, y);
    to[1] = __vsubus4(x, y);
    to[2] = __vabsdiffs4(x, y);
    to[3] = __vmaxs4(x, y);
    to[4] = __vminu2(x, y);
    to[5] = __vavgu4(x, y);
    to[6] = __vsadu4(x, y);
    to[7] = __vcmpgts4(x, y);
    to[8] = __vaddss2(x, y);
    to[9] = __vseteq4(x & 0x07070707, y & 0x07070707);
    to[10] = __vnegss4(x);
    to[11] = __vhaddu4(x, y);
    to[12] = __vsads2(x, y);
    to[13] = __vabsss2(x);
    to[14] = __vimax3_s32((int)x, (int)y, 5);
    to[15] = __viaddmin_s32_relu((int)x, 9, (int)y);
}

extern "C" __global__ void bits(const unsigned *a, const unsigned *b, unsigned *out, unsigned long long *wide) {
    int i = threadIdx.x;
    unsigned x = a[i], y = b[i], *to = out + i * 14;
    to[0] = __popc(x);
    to[1] = __clz(x);
    to[2] = __ffs(x);
    to[3] = __brev(x);
    to[4] = __byte_perm(x, y, 0x3715);
    to[5] = __funnelshift_l(x, y, y);
    to[6] = __funnelshift_rc(x, y, y & 63);
    to[7] = __sad((int)x, (int)y, 77u);
    to[8] = __usad(x, y, 3u);
    to[9] = __uhadd(x, y);
    to[10] = __rhadd((int)x, (int)y);
    to[11] = __mulhi((int)x, (int)y);
    to[12] = __umul24(x, y);
    to[13] = __mul24((int)x, (int)y);
    unsigned long long w = (unsigned long long)x << 32 | y;
    wide[i * 4] = __brevll(w);
    wide[i * 4 + 1] = __popcll(w) | __clzll(w) << 8 | __ffsll(w) << 16;
    wide[i * 4 + 2] = (long long)w / (int)(y | 1) + (long long)w % (int)(x | 1);
    wide[i * 4 + 3] = w / (x | 1) ^ w % (y | 1);
}

extern "C" __global__ void casts(const float *in, const double *wide, int *ints, long long *longs, unsigned char *bytes, float *floats) {
    int i = threadIdx.x;
    float f = in[i];
    double d = wide[i];
    ints[i * 6] = (int)f;
    ints[i * 6 + 1] = (int)(unsigned)f;
    ints[i * 6 + 2] = __float2int_rn(f);
    ints[i * 6 + 3] = __double2int_ru(d);
    ints[i * 6 + 4] = (short)(int)f;
    ints[i * 6 + 5] = __float_as_int(f) ^ __double2hiint(d) ^ __double2loint(d);
    longs[i * 3] = (long long)d;
    longs[i * 3 + 1] = (long long)(unsigned long long)d;
    longs[i * 3 + 2] = __float2ll_rd(f);
    bytes[i] = (unsigned char)__float2uint_rn(fminf(fmaxf(f, 0.0f), 255.0f));
    floats[i * 4] = (float)d;
    floats[i * 4 + 1] = __double2float_rz(d);
    floats[i * 4 + 2] = __ll2float_rn(longs[i * 3]);
    floats[i * 4 + 3] = __uint2float_ru(ints[i * 6 + 5]);
}
