//! without debug optimised_debug
// Integer arithmetic of every width, carries, wide products, bit tricks.
template <typename T> __device__ __forceinline__ T mixed(T a, T b, T c) {
    T q = b ? a / b : a;
    T r = b ? a % b : b;
    return q * c + r - (a ^ b) + (a << 3) + (b >> 2) + (a & c) + (~b | c);
}

template <typename T> __global__ void every_operator(const T *a, const T *b, const T *c, T *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = mixed<T>(a[i], b[i], c[i]);
}

template __global__ void every_operator<signed char>(const signed char *, const signed char *, const signed char *, signed char *, int);
template __global__ void every_operator<unsigned char>(const unsigned char *, const unsigned char *, const unsigned char *, unsigned char *, int);
template __global__ void every_operator<short>(const short *, const short *, const short *, short *, int);
template __global__ void every_operator<unsigned short>(const unsigned short *, const unsigned short *, const unsigned short *, unsigned short *, int);
template __global__ void every_operator<int>(const int *, const int *, const int *, int *, int);
template __global__ void every_operator<unsigned>(const unsigned *, const unsigned *, const unsigned *, unsigned *, int);
template __global__ void every_operator<long long>(const long long *, const long long *, const long long *, long long *, int);
template __global__ void every_operator<unsigned long long>(const unsigned long long *, const unsigned long long *, const unsigned long long *, unsigned long long *, int);

extern "C" __global__ void bit_tricks(unsigned *w, unsigned long long *q, int *s) {
    unsigned i = threadIdx.x;
    unsigned x = w[i];
    unsigned long long y = q[i];
    w[i] = __popc(x) + __clz(x) + __brev(x) + __ffs(x) + __byte_perm(x, i, 0x4321) + __funnelshift_l(x, i, 7)
         + __funnelshift_rc(x, i, x) + __umulhi(x, i) + __usad(x, i, 3) + __umul24(x, i) + __uhadd(x, i) + __urhadd(x, i);
    q[i] = __popcll(y) + __clzll(y) + __brevll(y) + __ffsll(y) + __umul64hi(y, x) + __mul64hi(y, x) + (y % 1000003) * 7;
    s[i] = __mulhi(s[i], 12345) + __mul24(s[i], 3) + __sad(s[i], 4, 5u) + abs(s[i]) + min(s[i], 9) + max(s[i], -9)
         + __hadd(s[i], 3) + __rhadd(s[i], 5) + __dp4a(s[i], 0x01020304, 5) + __dp2a_lo(s[i], 7, 9) + __dp2a_hi(s[i], 7, 9);
}

extern "C" __global__ void carries(unsigned long long *a, const unsigned long long *b) {
    unsigned __int128 x = a[0], y = b[0];
    x = (x << 64 | a[1]) * y + b[1];
    x -= (unsigned __int128)b[2] << 70;
    x /= (unsigned __int128)b[3] + 1;
    a[0] = (unsigned long long)(x >> 64);
    a[1] = (unsigned long long)x;
}

extern "C" __global__ void packed_bytes(unsigned *a, const unsigned *b) {
    unsigned i = threadIdx.x, x = a[i], y = b[i];
    a[i] = __vadd4(x, y) ^ __vsub4(x, y) ^ __vmaxu4(x, y) ^ __vmins4(x, y) ^ __vabsdiffu4(x, y) ^ __vcmpeq4(x, y)
         ^ __vadd2(x, y) ^ __vavgs2(x, y) ^ __vmaxs2(x, y) ^ __vsetgtu2(x, y) ^ __vaddss4(x, y) ^ __vsadu4(x, y)
         ^ __viaddmax_s32(x, y, 3) ^ __vimin3_s32(x, y, 3) ^ __viaddmax_s16x2_relu(x, y, 5) ^ __vimax3_u16x2(x, y, 5);
}

extern "C" __global__ void constants_of_every_kind(long long *out, float *f, double *d) {
    out[0] = 0x7fffffffffffffffLL; out[1] = -0x7fffffffffffffffLL - 1; out[2] = 0xffffffffu; out[3] = -1;
    f[0] = 1e-45f; f[1] = 3.4028235e38f; f[2] = -0.0f; f[3] = __int_as_float(0x7fc00001); f[4] = __int_as_float(0xff800000);
    d[0] = 4.9e-324; d[1] = 1.7976931348623157e308; d[2] = __longlong_as_double(0x7ff8000000000001LL);
}
