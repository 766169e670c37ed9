// Counts: by shared and global atomics, packed bytes of every thread, by warps that agree, and compaction.
extern "C" __global__ void by_shared(const unsigned char *in, unsigned *counts, int n) {
    __shared__ unsigned room[256];
    for (int b = threadIdx.x; b < 256; b += blockDim.x) room[b] = 0;
    __syncthreads();
    const uchar4 *four = reinterpret_cast<const uchar4 *>(in);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += blockDim.x * gridDim.x) {
        uchar4 v = four[i];
        atomicAdd(&room[v.x], 1u);
        atomicAdd(&room[v.y], 1u);
        atomicAdd(&room[v.z], 1u);
        atomicAdd(&room[v.w], 1u);
    }
    __syncthreads();
    for (int b = threadIdx.x; b < 256; b += blockDim.x)
        if (room[b]) atomicAdd(&counts[b], room[b]);
}

extern "C" __global__ void by_global(const float *in, unsigned long long *counts, float low, float width, int bins, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int bin = (int)floorf((in[i] - low) / width);
    bin = bin < 0 ? 0 : bin >= bins ? bins - 1 : bin;
    atomicAdd(&counts[bin], 1ull);
}

extern "C" __global__ void by_match(const int *in, int *counts, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int v = i < n ? in[i] : -1;
    unsigned same = __match_any_sync(0xffffffffu, v);
    int leader = __ffs(same) - 1;
    if (v >= 0 && (threadIdx.x & 31) == leader) atomicAdd(&counts[v], __popc(same));
    int together;
    unsigned all = __match_all_sync(0xffffffffu, v, &together);
    if (i == 0) counts[16] = together && all == 0xffffffffu;
}

// 4 counters of 8 bits in a word for every thread, in shared memory laid out by bytes.
extern "C" __global__ void by_bytes(const unsigned char *in, unsigned *counts, int each) {
    __shared__ unsigned char room[16 * 64];
    unsigned *words = reinterpret_cast<unsigned *>(room);
    for (int i = threadIdx.x; i < 256; i += 64) words[i] = 0;
    __syncthreads();
    for (int i = 0; i < each; i++) room[(in[i * 64 + threadIdx.x] & 15) * 64 + threadIdx.x]++;
    __syncthreads();
    if (threadIdx.x < 16) {
        unsigned sum = 0;
        for (int i = 0; i < 64; i++) sum += room[threadIdx.x * 64 + (i + threadIdx.x * 4) % 64];
        counts[threadIdx.x] = sum;
    }
}

// Elements that are above a limit, kept in order within the block; blocks take places in any order.
extern "C" __global__ void compact(const int *in, int *out, int *places, int limit, int n) {
    __shared__ int base;
    __shared__ int warps[4];
    int i = blockIdx.x * 128 + threadIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    bool keep = i < n && in[i] > limit;
    unsigned kept = __ballot_sync(~0u, keep);
    if (lane == 0) warps[warp] = __popc(kept);
    __syncthreads();
    if (threadIdx.x == 0) {
        int sum = 0;
        for (int w = 0; w < 4; w++) {
            int count = warps[w];
            warps[w] = sum;
            sum += count;
        }
        base = atomicAdd(places, sum);
    }
    __syncthreads();
    if (keep) out[base + warps[warp] + __popc(kept & ((1u << lane) - 1))] = in[i];
}

// 16-bit counters packed in words, added with CAS loops; and bits of a set by atomicOr of several widths.
extern "C" __global__ void by_exchange(const unsigned short *in, unsigned *packed, unsigned long long *set, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned short v = in[i];
    unsigned *word = packed + (v & 31) / 2;
    unsigned old = *(volatile unsigned *)word, seen;
    do {
        seen = old;
        unsigned half = (v & 1) ? seen >> 16 : seen & 0xffff;
        half = half + 1 & 0xffff;
        unsigned wanted = (v & 1) ? seen & 0xffff | half << 16 : seen & 0xffff0000u | half;
        old = atomicCAS(word, seen, wanted);
    } while (old != seen);
    atomicOr(&set[v / 64 % 4], 1ull << v % 64);
}
