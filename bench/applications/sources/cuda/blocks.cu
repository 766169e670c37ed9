//! compiler nvcc
//! without debug
// CUB's primitives for blocks and warps, and Thrust within a thread.
#include <cub/cub.cuh>
#include <cub/block/block_shuffle.cuh>
#include <thrust/binary_search.h>
#include <thrust/execution_policy.h>
#include <thrust/sort.h>

extern "C" __global__ void sums(const int *in, int *out) {
    using Reduce = cub::BlockReduce<int, 128>;
    using Raking = cub::BlockReduce<int, 128, cub::BLOCK_REDUCE_RAKING>;
    __shared__ union { Reduce::TempStorage a; Raking::TempStorage b; } room;
    int v = in[threadIdx.x], sum = Reduce(room.a).Sum(v);
    __syncthreads();
    int most = Raking(room.b).Reduce(v, cuda::maximum<>{});
    __syncthreads();
    int part = Reduce(room.a).Sum(v, 100);
    if (threadIdx.x == 0) {
        out[0] = sum;
        out[1] = most;
        out[2] = part;
    }
}

extern "C" __global__ void scans(const int *in, int *inclusive, int *exclusive, int *total) {
    using Load = cub::BlockLoad<int, 64, 4, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
    using Store = cub::BlockStore<int, 64, 4, cub::BLOCK_STORE_TRANSPOSE>;
    using Scan = cub::BlockScan<int, 64, cub::BLOCK_SCAN_WARP_SCANS>;
    __shared__ union { Load::TempStorage load; Store::TempStorage store; Scan::TempStorage scan; } room;
    int v[4], a[4], b[4], sum;
    Load(room.load).Load(in, v);
    __syncthreads();
    Scan(room.scan).InclusiveSum(v, a);
    __syncthreads();
    Scan(room.scan).ExclusiveSum(v, b, sum);
    __syncthreads();
    Store(room.store).Store(inclusive, a);
    __syncthreads();
    Store(room.store).Store(exclusive, b);
    if (threadIdx.x == 0) *total = sum;
}

extern "C" __global__ void radix_sort(const float *keys, const int *values, float *sorted, int *order) {
    using Sort = cub::BlockRadixSort<float, 64, 4, int>;
    __shared__ Sort::TempStorage room;
    float k[4];
    int v[4];
    for (int i = 0; i < 4; i++) {
        k[i] = keys[threadIdx.x * 4 + i];
        v[i] = values[threadIdx.x * 4 + i];
    }
    Sort(room).SortDescendingBlockedToStriped(k, v);
    for (int i = 0; i < 4; i++) {
        sorted[i * 64 + threadIdx.x] = k[i];
        order[i * 64 + threadIdx.x] = v[i];
    }
}

struct Less { __device__ bool operator()(const short &a, const short &b) const { return a < b; } };

extern "C" __global__ void merge_sort(short *data) {
    using Sort = cub::BlockMergeSort<short, 64, 3>;
    __shared__ Sort::TempStorage room;
    short v[3];
    for (int i = 0; i < 3; i++) v[i] = data[threadIdx.x * 3 + i];
    Sort(room).Sort(v, Less());
    for (int i = 0; i < 3; i++) data[threadIdx.x * 3 + i] = v[i];
}

extern "C" __global__ void counts(const unsigned char *in, unsigned *out, int *heads) {
    using Histogram = cub::BlockHistogram<unsigned char, 64, 4, 32, cub::BLOCK_HISTO_ATOMIC>;
    using Flags = cub::BlockDiscontinuity<unsigned char, 64>;
    __shared__ union { Histogram::TempStorage a; Flags::TempStorage b; } room;
    __shared__ unsigned bins[32];
    unsigned char v[4];
    for (int i = 0; i < 4; i++) v[i] = in[threadIdx.x * 4 + i];
    Histogram(room.a).Histogram(v, bins);
    __syncthreads();
    int flags[4];
    Flags(room.b).FlagHeads(flags, v, cuda::std::not_equal_to<>());
    for (int i = 0; i < 4; i++) heads[threadIdx.x * 4 + i] = flags[i];
    if (threadIdx.x < 32) out[threadIdx.x] = bins[threadIdx.x];
}

extern "C" __global__ void warps(const double *in, double *sum, double *scan, int *shifted) {
    using Reduce = cub::WarpReduce<double>;
    using Scan = cub::WarpScan<double>;
    using Shuffle = cub::BlockShuffle<int, 64>;
    __shared__ Reduce::TempStorage reduce[2];
    __shared__ Scan::TempStorage scans[2];
    __shared__ Shuffle::TempStorage shuffle;
    int warp = threadIdx.x / 32;
    double v = in[threadIdx.x], s, all = Reduce(reduce[warp]).Sum(v);
    Scan(scans[warp]).InclusiveScan(v, s, cuda::maximum<>{});
    int other = -1;
    Shuffle(shuffle).Rotate(threadIdx.x * 3, other, 5);
    if (threadIdx.x % 32 == 0) sum[warp] = all;
    scan[threadIdx.x] = s;
    shifted[threadIdx.x] = other;
}

extern "C" __global__ void by_thrust(int *data, int n, int *where) {
    int *mine = data + threadIdx.x * n;
    thrust::sort(thrust::seq, mine, mine + n);
    where[threadIdx.x] = thrust::lower_bound(thrust::seq, mine, mine + n, 0) - mine;
}
