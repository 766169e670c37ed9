// Sorting: bitonic, radix by ballots, odd-even transposition, merging by rank, quicksort that calls itself.
extern "C" __global__ void bitonic(float *data) {
    __shared__ float room[256];
    int t = threadIdx.x;
    room[t] = data[blockIdx.x * 256 + t];
    __syncthreads();
    for (int size = 2; size <= 256; size *= 2)
        for (int stride = size / 2; stride > 0; stride /= 2) {
            int other = t ^ stride;
            if (other > t) {
                bool up = (t & size) == 0;
                float a = room[t], b = room[other];
                if ((a > b) == up) {
                    room[t] = b;
                    room[other] = a;
                }
            }
            __syncthreads();
        }
    data[blockIdx.x * 256 + t] = room[t];
}

// Keys with values, one bit after the other: places from ballots and the sums of the warps before.
extern "C" __global__ void radix(const unsigned *keys, unsigned *sorted, unsigned short *order) {
    __shared__ unsigned key[128];
    __shared__ unsigned short value[128];
    __shared__ int zeros[4];
    int t = threadIdx.x, warp = t / 32;
    unsigned k = keys[t];
    unsigned short v = t;
    for (int bit = 0; bit < 32; bit++) {
        unsigned ones = __ballot_sync(0xffffffffu, k >> bit & 1);
        unsigned before = (1u << (t % 32)) - 1;
        if (t % 32 == 0) zeros[warp] = __popc(~ones);
        __syncthreads();
        int low = 0, total = 0;
        for (int w = 0; w < 4; w++) {
            if (w < warp) low += zeros[w];
            total += zeros[w];
        }
        int zero = low + __popc(~ones & before), one = total + (warp * 32 - low) + __popc(ones & before);
        int place = k >> bit & 1 ? one : zero;
        key[place] = k;
        value[place] = v;
        __syncthreads();
        k = key[t];
        v = value[t];
    }
    sorted[t] = k;
    order[t] = v;
}

extern "C" __global__ void odd_even(short *data, int n) {
    extern __shared__ short room16[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) room16[i] = data[i];
    for (int round = 0; round < n; round++) {
        __syncthreads();
        int i = 2 * threadIdx.x + (round & 1);
        if (i + 1 < n && room16[i] > room16[i + 1]) {
            short keep = room16[i];
            room16[i] = room16[i + 1];
            room16[i + 1] = keep;
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) data[i] = room16[i];
}

__device__ int rank_in(const int *list, int n, int value, bool upper) {
    int low = 0, high = n;
    while (low < high) {
        int middle = (low + high) / 2;
        if (list[middle] < value || (upper && list[middle] == value)) low = middle + 1;
        else high = middle;
    }
    return low;
}

extern "C" __global__ void merge(const int *a, int m, const int *b, int n, int *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < m) out[i + rank_in(b, n, a[i], false)] = a[i];
    else if (i < m + n) out[i - m + rank_in(a, m, b[i - m], true)] = b[i - m];
}

__device__ void quicksort(int *data, int left, int right) {
    if (left >= right) return;
    int pivot = data[(left + right) / 2], i = left, j = right;
    while (i <= j) {
        while (data[i] < pivot) i++;
        while (data[j] > pivot) j--;
        if (i <= j) {
            int keep = data[i];
            data[i++] = data[j];
            data[j--] = keep;
        }
    }
    quicksort(data, left, j);
    quicksort(data, i, right);
}

extern "C" __global__ void quicksorts(int *data, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    quicksort(data + i * n, 0, n - 1);
}

// The words of a warp in order of size, by shuffles and 64-bit keys.
extern "C" __global__ void warp_sort(const unsigned long long *in, unsigned long long *out) {
    int lane = threadIdx.x & 31;
    unsigned long long v = in[blockIdx.x * blockDim.x + threadIdx.x];
    for (int size = 2; size <= 32; size *= 2)
        for (int stride = size / 2; stride; stride /= 2) {
            unsigned long long w = __shfl_xor_sync(0xffffffffu, v, stride);
            bool low = (lane & stride) == 0, up = (lane & size) == 0;
            v = (low == up) ? min(v, w) : max(v, w);
        }
    out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
