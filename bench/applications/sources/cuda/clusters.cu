//! least sm_90
//! compiler nvcc
// Clusters: shared memory of other blocks, bulk copies, multicasts.
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/ptx>
namespace cg = cooperative_groups;

extern "C" __global__ void __cluster_dims__(2, 1, 1) spread_histogram(const int *in, int *counts, int n) {
    __shared__ int bins[32];
    auto cluster = cg::this_cluster();
    bins[threadIdx.x % 32] = 0;
    cluster.sync();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        int v = in[i];
        atomicAdd(cluster.map_shared_rank(bins, v / 32) + v % 32, 1);
    }
    cluster.sync();
    if (threadIdx.x < 32) atomicAdd(&counts[cluster.block_rank() * 32 + threadIdx.x], bins[threadIdx.x]);
}

extern "C" __global__ void __cluster_dims__(4, 1, 1) ring(const int *in, int *out) {
    __shared__ int room[64];
    auto cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank(), next = (rank + 1) % cluster.num_blocks();
    int *theirs = cluster.map_shared_rank(room, next);
    theirs[threadIdx.x] = in[blockIdx.x * 64 + threadIdx.x] + rank;
    cluster.barrier_arrive();
    cluster.barrier_wait();
    int v = room[63 - threadIdx.x];
    cluster.sync();
    out[blockIdx.x * 64 + threadIdx.x] = v;
}

extern "C" __global__ void __cluster_dims__(2, 2, 1) places(unsigned *out) {
    auto cluster = cg::this_cluster();
    dim3 block = cluster.block_index(), shape = cluster.dim_blocks();
    if (threadIdx.x == 0) {
        unsigned i = blockIdx.y * gridDim.x + blockIdx.x;
        out[i] = cluster.block_rank() | block.x << 4 | block.y << 8 | shape.x << 12 | shape.y << 16 | cluster.num_threads() << 20;
    }
}

extern "C" __global__ void bulk(const int *in, int *out) {
    __shared__ alignas(128) int room[128];
    using barrier = cuda::barrier<cuda::thread_scope_block>;
    #pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ barrier bar;
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    barrier::arrival_token token;
    if (threadIdx.x == 0) {
        cuda::memcpy_async(room, in + blockIdx.x * 128, cuda::aligned_size_t<16>(512), bar);
    }
    token = bar.arrive();
    bar.wait(cuda::std::move(token));
    room[threadIdx.x] = room[threadIdx.x] * 2 + 1;
    cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        cuda::ptx::cp_async_bulk(cuda::ptx::space_global, cuda::ptx::space_shared, out + blockIdx.x * 128, room, 512);
        cuda::ptx::cp_async_bulk_commit_group();
        cuda::ptx::cp_async_bulk_wait_group_read(cuda::ptx::n32_t<0>());
    }
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) exchange_sums(const float *in, float *out) {
    __shared__ float mine;
    __shared__ uint64_t bar;
    auto cluster = cg::this_cluster();
    float v = in[blockIdx.x * 32 + threadIdx.x];
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    if (threadIdx.x == 0) {
        cuda::ptx::mbarrier_init(&bar, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    cluster.sync();
    if (threadIdx.x == 0) {
        unsigned other = cluster.block_rank() ^ 1;
        float *there = cluster.map_shared_rank(&mine, other);
        uint64_t *their_bar = cluster.map_shared_rank(&bar, other);
        cuda::ptx::mbarrier_arrive_expect_tx(cuda::ptx::sem_release, cuda::ptx::scope_cluster, cuda::ptx::space_shared, &bar, 4);
        unsigned a = (unsigned)__cvta_generic_to_shared(&mine), b = (unsigned)__cvta_generic_to_shared(&bar), ra, rb;
        asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(ra) : "r"(a), "r"(other));
        asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(rb) : "r"(b), "r"(other));
        asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(ra), "r"(__float_as_uint(v)), "r"(rb) : "memory");
        (void)there;
        (void)their_bar;
        while (!cuda::ptx::mbarrier_try_wait_parity(&bar, 0)) { }
        out[blockIdx.x] = v - mine;
    }
    cluster.sync();
}
