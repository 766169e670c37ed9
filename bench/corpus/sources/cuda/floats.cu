// f32 and f64: rounding intrinsics, fused operations, slow and fast library functions, classification.
extern "C" __global__ void rounded(const float *a, const double *b, float *f, double *d) {
    int i = threadIdx.x;
    float x = a[i], y = a[i + 1], z = a[i + 2];
    double u = b[i], v = b[i + 1], w = b[i + 2];
    f[i] = __fadd_rn(x, y) + __fadd_rz(x, y) + __fadd_ru(x, y) + __fadd_rd(x, y) + __fmul_rz(x, z) + __fmaf_rn(x, y, z)
         + __fmaf_ru(x, y, z) + __fmaf_rd(x, y, z) + __frcp_rn(x) + __frcp_rz(y) + __fsqrt_rn(x) + __fsqrt_ru(y)
         + __fdiv_rn(x, y) + __fdiv_rz(x, y) + __frsqrt_rn(x) + __fsub_rd(x, y) + __fdividef(x, y);
    d[i] = __dadd_rn(u, v) + __dadd_rz(u, v) + __dmul_ru(u, v) + __fma_rn(u, v, w) + __fma_rd(u, v, w) + __drcp_rn(u)
         + __drcp_ru(v) + __dsqrt_rn(u) + __dsqrt_rz(v) + __ddiv_rn(u, v) + __ddiv_rd(u, v) + u / v;
}

extern "C" __global__ void fast(const float *a, float *f) {
    int i = threadIdx.x;
    float x = a[i];
    f[i] = __sinf(x) + __cosf(x) + __tanf(x) + __expf(x) + __exp10f(x) + __logf(x) + __log2f(x) + __log10f(x) + __powf(x, 2.5f)
         + __saturatef(x) + rsqrtf(x) + exp2f(x) + fminf(x, 1.f) + fmaxf(x, 2.f) + copysignf(x, -1.f) + fabsf(x)
         + floorf(x) + ceilf(x) + truncf(x) + rintf(x) + roundf(x) + fmodf(x, 3.f);
}

extern "C" __global__ void library(const float *a, const double *b, float *f, double *d) {
    int i = threadIdx.x;
    float s, c;
    sincosf(a[i], &s, &c);
    int e;
    f[i] = s * c + sinf(a[i]) + expf(a[i]) + logf(a[i]) + powf(a[i], a[i + 1]) + tanhf(a[i]) + erff(a[i]) + lgammaf(a[i])
         + cbrtf(a[i]) + atan2f(a[i], a[i + 1]) + frexpf(a[i], &e) + ldexpf(a[i], e) + nextafterf(a[i], 1.f) + normcdfinvf(a[i])
         + hypotf(a[i], 2.f) + j0f(a[i]) + remainderf(a[i], 2.f);
    d[i] = sin(b[i]) + exp(b[i]) + log(b[i]) + pow(b[i], b[i + 1]) + tgamma(b[i]) + erfc(b[i]) + asinh(b[i]) + rcbrt(b[i]);
}

extern "C" __global__ void classified(const float *a, const double *b, int *out) {
    int i = threadIdx.x;
    out[i] = isnan(a[i]) + 2 * isinf(a[i]) + 4 * isfinite(b[i]) + 8 * (signbit(b[i]) != 0) + (a[i] < a[i + 1]) * 16
           + (a[i] != a[i + 1]) * 32 + !(a[i] >= a[i + 1]) * 64 + (b[i] <= b[i + 1]) * 128;
}

extern "C" __global__ void converted(const float *a, const double *b, long long *q, int *w, short *h, unsigned char *c) {
    int i = threadIdx.x;
    w[i] = __float2int_rn(a[i]) + __float2int_rz(a[i]) + __float2int_ru(a[i]) + __float2int_rd(a[i]) + __double2int_rz(b[i])
         + (int)__float2uint_rn(a[i]) + __float_as_int(a[i]) + __double2hiint(b[i]) + __double2loint(b[i]);
    q[i] = __float2ll_rn(a[i]) + __double2ll_ru(b[i]) + (long long)__double2ull_rz(b[i]) + __double_as_longlong(b[i]);
    h[i] = (short)a[i]; c[i] = (unsigned char)b[i];
    ((float *)a)[i] = __int2float_rz(w[i]) + __ll2float_ru(q[i]) + __uint2float_rn(w[i]) + __double2float_rd(b[i]) + (float)h[i] + c[i];
    ((double *)b)[i] = __int2double_rn(w[i]) + __ll2double_rd(q[i]) + __hiloint2double(3, 4) + (double)a[i] + c[i];
}
