// The mathematical library: every function over its own inputs, in both precisions.
#define ONE(number, call) case number: r = call; break;

extern "C" __global__ void singles(const float *in, const float *other, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, which = blockIdx.y;
    if (i >= n) return;
    float x = in[which * n + i], y = other[which * n + i], r = 0;
    switch (which) {
        ONE(0, sinf(x)) ONE(1, cosf(x)) ONE(2, tanf(x)) ONE(3, asinf(x)) ONE(4, acosf(x)) ONE(5, atanf(x))
        ONE(6, sinhf(x)) ONE(7, coshf(x)) ONE(8, tanhf(x)) ONE(9, asinhf(x)) ONE(10, acoshf(x)) ONE(11, atanhf(x))
        ONE(12, expf(x)) ONE(13, exp2f(x)) ONE(14, exp10f(x)) ONE(15, expm1f(x)) ONE(16, logf(x)) ONE(17, log2f(x))
        ONE(18, log10f(x)) ONE(19, log1pf(x)) ONE(20, sqrtf(x)) ONE(21, rsqrtf(x)) ONE(22, cbrtf(x)) ONE(23, erff(x))
        ONE(24, erfcf(x)) ONE(25, tgammaf(x)) ONE(26, lgammaf(x)) ONE(27, powf(x, y)) ONE(28, atan2f(x, y))
        ONE(29, hypotf(x, y)) ONE(30, fmodf(x, y)) ONE(31, remainderf(x, y)) ONE(32, ldexpf(x, (int)y))
        ONE(33, nextafterf(x, y)) ONE(34, fdimf(x, y)) ONE(35, roundf(x)) ONE(36, rintf(x)) ONE(37, logbf(x))
        ONE(38, copysignf(x, y)) ONE(39, x / y)
    }
    out[which * n + i] = r;
}

extern "C" __global__ void doubles(const double *in, const double *other, double *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, which = blockIdx.y;
    if (i >= n) return;
    double x = in[which * n + i], y = other[which * n + i], r = 0;
    switch (which) {
        ONE(0, sin(x)) ONE(1, cos(x)) ONE(2, tan(x)) ONE(3, asin(x)) ONE(4, acos(x)) ONE(5, atan(x))
        ONE(6, sinh(x)) ONE(7, cosh(x)) ONE(8, tanh(x)) ONE(9, asinh(x)) ONE(10, acosh(x)) ONE(11, atanh(x))
        ONE(12, exp(x)) ONE(13, exp2(x)) ONE(14, exp10(x)) ONE(15, expm1(x)) ONE(16, log(x)) ONE(17, log2(x))
        ONE(18, log10(x)) ONE(19, log1p(x)) ONE(20, sqrt(x)) ONE(21, rsqrt(x)) ONE(22, cbrt(x)) ONE(23, erf(x))
        ONE(24, erfc(x)) ONE(25, tgamma(x)) ONE(26, lgamma(x)) ONE(27, pow(x, y)) ONE(28, atan2(x, y))
        ONE(29, hypot(x, y)) ONE(30, fmod(x, y)) ONE(31, remainder(x, y)) ONE(32, ldexp(x, (int)y))
        ONE(33, nextafter(x, y)) ONE(34, fdim(x, y)) ONE(35, round(x)) ONE(36, rint(x)) ONE(37, logb(x))
        ONE(38, copysign(x, y)) ONE(39, x / y)
    }
    out[which * n + i] = r;
}

// Fast forms, whose errors the guide gives as absolute ones or in ulps.
extern "C" __global__ void fast(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = in[i];
    out[i * 8] = __sinf(x);
    out[i * 8 + 1] = __cosf(x);
    out[i * 8 + 2] = __expf(x);
    out[i * 8 + 3] = __logf(fabsf(x) + 0.6f);
    out[i * 8 + 4] = __fdividef(1.0f, x);
    out[i * 8 + 5] = __powf(fabsf(x), 1.5f);
    out[i * 8 + 6] = __tanf(x * 0.3f);
    out[i * 8 + 7] = __frsqrt_rn(fabsf(x) + 1);
}

// Sums, products and the like in every direction.
extern "C" __global__ void directed(const float *a, const float *b, float *out, const double *c, const double *d, double *wide) {
    int i = threadIdx.x;
    float x = a[i], y = b[i], *to = out + i * 8;
    to[0] = __fadd_rd(x, y);
    to[1] = __fmul_ru(x, y);
    to[2] = __fmaf_rz(x, y, x);
    to[3] = __fdiv_ru(x, y);
    to[4] = __fsqrt_rd(fabsf(x));
    to[5] = __frcp_rz(y);
    to[6] = __fsub_rn(x, y);
    to[7] = __fmul_rz(x, y);
    double u = c[i], v = d[i], *t = wide + i * 6;
    t[0] = __dadd_ru(u, v);
    t[1] = __dmul_rd(u, v);
    t[2] = __fma_rd(u, v, u);
    t[3] = __ddiv_rz(u, v);
    t[4] = __dsqrt_ru(fabs(u));
    t[5] = __drcp_rd(v);
}

extern "C" __global__ void split(const float *in, float *parts, int *powers, double *bessel, int n) {
    int i = threadIdx.x;
    float s, c, whole, x = in[i];
    int power, quotient;
    sincosf(x, &s, &c);
    parts[i * 6] = s;
    parts[i * 6 + 1] = c;
    parts[i * 6 + 2] = modff(x, &whole);
    parts[i * 6 + 3] = whole;
    parts[i * 6 + 4] = frexpf(x, &power);
    parts[i * 6 + 5] = remquof(x, 0.7f, &quotient);
    powers[i * 4] = power;
    powers[i * 4 + 1] = quotient & 7;
    powers[i * 4 + 2] = ilogbf(x);
    powers[i * 4 + 3] = (isfinite(x) ? 1 : 0) | (signbit(x) ? 2 : 0) | (int)lrintf(x) << 8;
    bessel[i * 2] = j0((double)x);
    bessel[i * 2 + 1] = normcdf((double)x);
}
