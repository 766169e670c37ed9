// Digests, check sums, big integers, searching, unpacking.
__constant__ unsigned sha_words[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

__device__ unsigned right(unsigned x, int n) { return __funnelshift_r(x, x, n); }

// One message of 55 bytes at most a thread.
extern "C" __global__ void sha256(const unsigned char *text, int stride, const int *lengths, unsigned *digests) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = lengths[i];
    unsigned w[64] = {};
    for (int b = 0; b < n; b++) w[b / 4] |= (unsigned)text[i * stride + b] << (24 - b % 4 * 8);
    w[n / 4] |= 0x80u << (24 - n % 4 * 8);
    w[15] = n * 8;
    for (int t = 16; t < 64; t++) {
        unsigned a = w[t - 15], b = w[t - 2];
        w[t] = w[t - 16] + (right(a, 7) ^ right(a, 18) ^ a >> 3) + w[t - 7] + (right(b, 17) ^ right(b, 19) ^ b >> 10);
    }
    unsigned h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}, s[8];
    for (int k = 0; k < 8; k++) s[k] = h[k];
    for (int t = 0; t < 64; t++) {
        unsigned one = s[7] + (right(s[4], 6) ^ right(s[4], 11) ^ right(s[4], 25)) + (s[4] & s[5] ^ ~s[4] & s[6]) + sha_words[t] + w[t];
        unsigned two = (right(s[0], 2) ^ right(s[0], 13) ^ right(s[0], 22)) + (s[0] & s[1] ^ s[0] & s[2] ^ s[1] & s[2]);
        for (int k = 7; k > 0; k--) s[k] = s[k - 1];
        s[4] += one;
        s[0] = one + two;
    }
    for (int k = 0; k < 8; k++) digests[i * 8 + k] = h[k] + s[k];
}

// MD5 of one block a thread, its sines computed.
extern "C" __global__ void md5(const unsigned *blocks, unsigned *digests) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned *m = blocks + i * 16;
    unsigned a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476;
    for (int t = 0; t < 64; t++) {
        unsigned f;
        int g, shift;
        switch (t / 16) {
        case 0: f = b & c | ~b & d; g = t; shift = 7 + t % 4 * 5; break;
        case 1: f = d & b | ~d & c; g = (5 * t + 1) % 16; shift = t % 4 == 0 ? 5 : t % 4 == 1 ? 9 : t % 4 == 2 ? 14 : 20; break;
        case 2: f = b ^ c ^ d; g = (3 * t + 5) % 16; shift = t % 4 == 0 ? 4 : t % 4 == 1 ? 11 : t % 4 == 2 ? 16 : 23; break;
        default: f = c ^ (b | ~d); g = 7 * t % 16; shift = t % 4 == 0 ? 6 : t % 4 == 1 ? 10 : t % 4 == 2 ? 15 : 21; break;
        }
        f += a + (unsigned)floor(fabs(sin(t + 1.0)) * 4294967296.0) + m[g];
        a = d;
        d = c;
        c = b;
        b += __funnelshift_l(f, f, shift);
    }
    reinterpret_cast<uint4 *>(digests)[i] = make_uint4(a + 0x67452301, b + 0xefcdab89, c + 0x98badcfe, d + 0x10325476);
}

extern "C" __global__ void crc32(const unsigned char *data, const int *starts, unsigned *out) {
    __shared__ unsigned table[256];
    for (int n = threadIdx.x; n < 256; n += blockDim.x) {
        unsigned c = n;
        for (int k = 0; k < 8; k++) c = c & 1 ? 0xEDB88320u ^ c >> 1 : c >> 1;
        table[n] = c;
    }
    __syncthreads();
    unsigned crc = ~0u;
    for (int i = starts[threadIdx.x]; i < starts[threadIdx.x + 1]; i++) crc = table[(crc ^ data[i]) & 255] ^ crc >> 8;
    out[threadIdx.x] = ~crc;
}

// 256 bits: sums with carries, differences with borrows, products of 512 bits.
extern "C" __global__ void big_integers(const unsigned *a, const unsigned *b, unsigned *sum, unsigned *difference, unsigned *product) {
    int i = threadIdx.x;
    unsigned x[8], y[8], r[16];
    for (int k = 0; k < 8; k++) {
        x[k] = a[i * 8 + k];
        y[k] = b[i * 8 + k];
    }
    asm("add.cc.u32 %0, %9, %17;\n\taddc.cc.u32 %1, %10, %18;\n\taddc.cc.u32 %2, %11, %19;\n\taddc.cc.u32 %3, %12, %20;\n\t"
        "addc.cc.u32 %4, %13, %21;\n\taddc.cc.u32 %5, %14, %22;\n\taddc.cc.u32 %6, %15, %23;\n\taddc.cc.u32 %7, %16, %24;\n\taddc.u32 %8, 0, 0;"
        : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7]), "=r"(r[8])
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(x[4]), "r"(x[5]), "r"(x[6]), "r"(x[7]),
          "r"(y[0]), "r"(y[1]), "r"(y[2]), "r"(y[3]), "r"(y[4]), "r"(y[5]), "r"(y[6]), "r"(y[7]));
    for (int k = 0; k < 9; k++) sum[i * 9 + k] = r[k];
    asm("sub.cc.u32 %0, %9, %17;\n\tsubc.cc.u32 %1, %10, %18;\n\tsubc.cc.u32 %2, %11, %19;\n\tsubc.cc.u32 %3, %12, %20;\n\t"
        "subc.cc.u32 %4, %13, %21;\n\tsubc.cc.u32 %5, %14, %22;\n\tsubc.cc.u32 %6, %15, %23;\n\tsubc.cc.u32 %7, %16, %24;\n\tsubc.u32 %8, 0, 0;"
        : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7]), "=r"(r[8])
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(x[4]), "r"(x[5]), "r"(x[6]), "r"(x[7]),
          "r"(y[0]), "r"(y[1]), "r"(y[2]), "r"(y[3]), "r"(y[4]), "r"(y[5]), "r"(y[6]), "r"(y[7]));
    for (int k = 0; k < 9; k++) difference[i * 9 + k] = r[k];
    for (int k = 0; k < 16; k++) r[k] = 0;
    for (int j = 0; j < 8; j++) {
        unsigned carry = 0;
        for (int k = 0; k < 8; k++) {
            unsigned low, high;
            asm("mad.lo.cc.u32 %0, %2, %3, %4;\n\tmadc.hi.u32 %1, %2, %3, 0;\n\tadd.cc.u32 %0, %0, %5;\n\taddc.u32 %1, %1, 0;"
                : "=&r"(low), "=&r"(high) : "r"(x[k]), "r"(y[j]), "r"(r[j + k]), "r"(carry));
            r[j + k] = low;
            carry = high;
        }
        r[j + 8] = carry;
    }
    for (int k = 0; k < 16; k++) product[i * 16 + k] = r[k];
}

extern "C" __global__ void wide_products(const unsigned long long *a, const unsigned long long *b, const unsigned long long *m, unsigned long long *power, unsigned long long *high) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned __int128 base = a[i] % m[i], result = 1;
    for (unsigned long long e = b[i]; e; e >>= 1) {
        if (e & 1) result = result * base % m[i];
        base = base * base % m[i];
    }
    power[i] = (unsigned long long)result;
    high[i] = __umul64hi(a[i], b[i]) ^ (unsigned long long)__mul64hi((long long)a[i], (long long)b[i]);
}

extern "C" __global__ void search(const char *text, int n, const char *word, int m, int *found, int *count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + m > n) return;
    int j = 0;
    while (j < m && text[i + j] == word[j]) j++;
    if (j == m) found[atomicAdd(count, 1)] = i;
}

// A byte stream of literals (length 1 to 128) and copies (distance, length), unpacked by one warp.
extern "C" __global__ void unpack(const unsigned char *in, int n, unsigned char *out) {
    int lane = threadIdx.x, to = 0;
    for (int i = 0; i < n; ) {
        int head = in[i++];
        if (head < 128) {
            for (int k = lane; k <= head; k += 32) out[to + k] = in[i + k];
            i += head + 1;
            to += head + 1;
        } else {
            int length = head - 124, distance = in[i] | in[i + 1] << 8;
            i += 2;
            for (int k = lane; k < length; k += 32) out[to + k] = out[to - distance + k % distance];
            to += length;
        }
        __syncwarp();
    }
}
