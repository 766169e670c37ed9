// Sums and maxima: by shuffles, in shared memory, by the last block, by redux, with a grid stride.

__device__ int warp_sum(int v) {
    for (int d = 16; d > 0; d >>= 1) v += __shfl_down_sync(0xffffffffu, v, d);
    return v;
}

extern "C" __global__ void sum_shuffle(const int *in, int *out, int n) {
    __shared__ int parts[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int v = warp_sum(i < n ? in[i] : 0);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = warp_sum(threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : 0);
        if (threadIdx.x == 0) atomicAdd(out, v);
    }
}

template <int SIZE> __device__ float tree(float *room) {
    #pragma unroll
    for (int half = SIZE / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) room[threadIdx.x] += room[threadIdx.x + half];
        __syncthreads();
    }
    return room[0];
}

extern "C" __global__ void sum_shared(const float *in, float *out) {
    __shared__ float room[128];
    room[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x] + in[blockIdx.x * 256 + 128 + threadIdx.x];
    __syncthreads();
    float sum = tree<128>(room);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

__device__ unsigned int finished = 0;

extern "C" __global__ void sum_last_block(const float *in, volatile float *parts, float *out, int n) {
    __shared__ float room[128];
    __shared__ bool last;
    float sum = 0;
    for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += gridDim.x * 128) sum += in[i];
    room[threadIdx.x] = sum;
    __syncthreads();
    sum = tree<128>(room);
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = sum;
        __threadfence();
        last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        room[threadIdx.x] = threadIdx.x < gridDim.x ? parts[threadIdx.x] : 0;
        __syncthreads();
        sum = tree<128>(room);
        if (threadIdx.x == 0) *out = sum;
    }
}

extern "C" __global__ void extremes(const int *in, int *least, int *most, unsigned *bits, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int v = in[min(i, n - 1)];
#if __CUDA_ARCH__ >= 800
    int low = __reduce_min_sync(0xffffffffu, v), high = __reduce_max_sync(0xffffffffu, v);
    unsigned all = __reduce_or_sync(0xffffffffu, (unsigned)v);
#else
    int low = v, high = v;
    unsigned all = v;
    for (int d = 16; d; d >>= 1) {
        low = min(low, __shfl_xor_sync(0xffffffffu, low, d));
        high = max(high, __shfl_xor_sync(0xffffffffu, high, d));
        all |= __shfl_xor_sync(0xffffffffu, all, d);
    }
#endif
    if ((threadIdx.x & 31) == 0) {
        atomicMin(least, low);
        atomicMax(most, high);
        atomicOr(bits, all);
    }
}

extern "C" __global__ void dot_double(const double *a, const double *b, double *out, int n) {
    __shared__ double parts[4];
    double sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) sum = fma(a[i], b[i], sum);
    for (int d = 1; d < 32; d *= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(out, parts[0] + parts[1] + parts[2] + parts[3]);
}

struct Best { float value; int index; };

extern "C" __global__ void arg_least(const float *in, Best *out, int n) {
    __shared__ Best room[64];
    Best best = {__int_as_float(0x7f800000), -1};
    for (int i = threadIdx.x; i < n; i += 64)
        if (in[i] < best.value) best = {in[i], i};
    room[threadIdx.x] = best;
    for (int half = 32; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            Best other = room[threadIdx.x + half];
            if (other.value < room[threadIdx.x].value ||
                (other.value == room[threadIdx.x].value && other.index < room[threadIdx.x].index))
                room[threadIdx.x] = other;
        }
    }
    if (threadIdx.x == 0) *out = room[0];
}

// Segments of a warp, the last of them cut short: threads without an element take part with 0.
extern "C" __global__ void segment_sums(const int *in, int *out, int n, int width) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int v = i < n ? in[i] : 0;
    for (int d = width / 2; d; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d, width);
    if (i < n && i % width == 0) out[i / width] = v;
}
