//! without debug optimised_debug
//! compiler nvcc
// Cooperative groups: tiles, coalesced groups, grid and cluster synchronisation, reductions, scans, copies.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;

extern "C" __global__ void tiles(int *a, float *f) {
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<8>(block);
    auto warp = cg::tiled_partition<32>(block);
    int x = a[block.thread_rank()];
    x += tile.shfl_xor(x, 3) + tile.any(x > 3) + tile.ballot(x & 1) + tile.match_any(x);
    x += cg::reduce(tile, x, cg::plus<int>()) + cg::reduce(warp, x, cg::bit_xor<int>());
    f[block.thread_rank()] = cg::reduce(warp, f[x & 7], cg::greater<float>()) + cg::inclusive_scan(tile, 1.5f);
    if (x & 1) { auto now = cg::coalesced_threads(); a[0] += now.size() + now.shfl(x, 0) + cg::exclusive_scan(now, x); now.sync(); }
    auto labelled = cg::labeled_partition(warp, x & 3);
    a[block.thread_rank()] = x + labelled.thread_rank() + cg::binary_partition(tile, x > 0).size();
    block.sync();
}

extern "C" __global__ void whole_grid(int *a) {
    auto grid = cg::this_grid();
    a[grid.thread_rank()] = grid.is_valid();
    grid.sync();
    a[grid.thread_rank()] += a[0];
}

extern "C" __global__ void copied(const int *in, int *out) {
    __shared__ int room[256];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, room, in, sizeof(room));
    cg::wait(block);
    out[threadIdx.x] = room[255 - threadIdx.x];
}

#if __CUDA_ARCH__ >= 900
extern "C" __global__ void __cluster_dims__(4, 1, 1) clustered(int *out) {
    __shared__ int mine;
    auto cluster = cg::this_cluster();
    mine = cluster.block_rank();
    cluster.sync();
    out[blockIdx.x] = *cluster.map_shared_rank(&mine, (mine + 1) % cluster.num_blocks());
    cluster.barrier_arrive(); cluster.barrier_wait();
}
#endif
