// Running sums: Hillis-Steele, Blelloch, by warps, and over many blocks in one pass (decoupled look-back).
extern "C" __global__ void hillis_steele(const int *in, int *out) {
    __shared__ int room[2][256];
    int t = threadIdx.x, from = 0;
    room[0][t] = in[blockIdx.x * 256 + t];
    for (int d = 1; d < 256; d *= 2) {
        __syncthreads();
        room[1 - from][t] = t >= d ? room[from][t] + room[from][t - d] : room[from][t];
        from = 1 - from;
    }
    out[blockIdx.x * 256 + t] = room[from][t];
}

extern "C" __global__ void blelloch(const unsigned *in, unsigned *out) {
    extern __shared__ unsigned tree[];
    int t = threadIdx.x, n = 2 * blockDim.x;
    tree[2 * t] = in[2 * t];
    tree[2 * t + 1] = in[2 * t + 1];
    int step = 1;
    for (int d = n / 2; d > 0; d /= 2) {
        __syncthreads();
        if (t < d) tree[step * (2 * t + 2) - 1] += tree[step * (2 * t + 1) - 1];
        step *= 2;
    }
    if (t == 0) tree[n - 1] = 0;
    for (int d = 1; d < n; d *= 2) {
        step /= 2;
        __syncthreads();
        if (t < d) {
            unsigned left = tree[step * (2 * t + 1) - 1];
            tree[step * (2 * t + 1) - 1] = tree[step * (2 * t + 2) - 1];
            tree[step * (2 * t + 2) - 1] += left;
        }
    }
    __syncthreads();
    out[2 * t] = tree[2 * t];
    out[2 * t + 1] = tree[2 * t + 1];
}

__device__ long long warp_scan(long long v) {
    for (int d = 1; d < 32; d *= 2) {
        long long other = __shfl_up_sync(0xffffffffu, v, d);
        if ((threadIdx.x & 31) >= d) v += other;
    }
    return v;
}

__device__ long long block_scan(long long v) {
    __shared__ long long sums[32];
    long long mine = warp_scan(v);
    if ((threadIdx.x & 31) == 31) sums[threadIdx.x >> 5] = mine;
    __syncthreads();
    if (threadIdx.x < 32) sums[threadIdx.x] = warp_scan(threadIdx.x < blockDim.x / 32 ? sums[threadIdx.x] : 0);
    __syncthreads();
    return mine + (threadIdx.x >= 32 ? sums[threadIdx.x / 32 - 1] : 0);
}

extern "C" __global__ void warp_scans(const long long *in, long long *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = block_scan(in[i]);
}

// State of a tile in one word: 2 bits of what is known (1 its sum, 2 all sums up to it) above 62 bits of value.
__device__ unsigned int ticket = 0;

extern "C" __global__ void look_back(const int *in, long long *out, volatile unsigned long long *state, int n) {
    __shared__ unsigned tile;
    __shared__ long long before;
    if (threadIdx.x == 0) tile = atomicAdd(&ticket, 1u);
    __syncthreads();
    int i = tile * blockDim.x + threadIdx.x;
    long long v = i < n ? in[i] : 0;
    long long scan = block_scan(v);
    if (threadIdx.x == blockDim.x - 1) {
        const unsigned long long low = (1ull << 62) - 1;
        long long sum = 0;
        if (tile > 0) {
            state[tile] = 1ull << 62 | (unsigned long long)scan & low;
            for (int look = tile - 1;; ) {
                unsigned long long word = state[look];
                if (word >> 62 == 0) continue;
                sum += (long long)(word << 2) >> 2;
                if (word >> 62 == 2) break;
                look--;
            }
        }
        state[tile] = 2ull << 62 | (unsigned long long)(sum + scan) & low;
        before = sum;
    }
    __syncthreads();
    if (i < n) out[i] = before + scan;
}

// Segments begin where `head` is 1.
extern "C" __global__ void segmented(const float *in, const unsigned char *head, float *out) {
    __shared__ float value[64];
    __shared__ unsigned char flag[64];
    int t = threadIdx.x;
    float v = in[blockIdx.x * 64 + t];
    unsigned char f = head[blockIdx.x * 64 + t];
    for (int d = 1; d < 64; d *= 2) {
        value[t] = v;
        flag[t] = f;
        __syncthreads();
        if (t >= d && !f) {
            v += value[t - d];
            f |= flag[t - d];
        }
        __syncthreads();
    }
    out[blockIdx.x * 64 + t] = v;
}
