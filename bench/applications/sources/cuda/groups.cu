//! compiler nvcc
// Cooperative groups.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;

extern "C" __global__ void tiles(const int *in, int *sums, unsigned *firsts) {
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<8>(block);
    int v = in[block.group_index().x * block.size() + block.thread_rank()];
    int sum = v;
    for (int d = tile.size() / 2; d; d /= 2) sum += tile.shfl_xor(sum, d);
    int i = (blockIdx.x * blockDim.x + threadIdx.x) / 8;
    unsigned votes = tile.ballot(v > 0), any = tile.any(v == 5) != 0, all = tile.all(v != 5) != 0;
    if (tile.thread_rank() == 0) {
        sums[i] = sum;
        firsts[i] = votes | any << 8 | all << 9 | tile.meta_group_rank() << 16;
    }
}

extern "C" __global__ void reductions(const int *in, int *out, float *floats) {
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    int v = in[block.thread_rank()];
    int sum = cg::reduce(warp, v, cg::plus<int>()), least = cg::reduce(warp, v, cg::less<int>());
    unsigned bits = cg::reduce(warp, (unsigned)v, cg::bit_xor<unsigned>());
    float product = cg::reduce(warp, 1.0f + (v & 1), [](float a, float b) { return a * b; });
    auto half = cg::tiled_partition<16>(warp);
    int inclusive = cg::inclusive_scan(half, v), exclusive = cg::exclusive_scan(half, v);
    int *row = out + block.thread_rank() * 5;
    row[0] = sum;
    row[1] = least;
    row[2] = bits;
    row[3] = inclusive;
    row[4] = exclusive;
    floats[block.thread_rank()] = product;
}

extern "C" __global__ void coalesced(const int *in, int *counter, int *places, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && in[i] % 3 == 0) {
        auto active = cg::coalesced_threads();
        int place;
        if (active.thread_rank() == 0) place = atomicAdd(counter, active.size());
        place = active.shfl(place, 0) + active.thread_rank();
        places[place] = i;
    }
}

extern "C" __global__ void by_label(const int *in, int *out, int *sizes) {
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int v = in[threadIdx.x];
    auto same = cg::labeled_partition(warp, v & 3);
    int sum = cg::reduce(same, v, cg::plus<int>());
    auto binary = cg::binary_partition(warp, v > 0);
    out[threadIdx.x] = sum;
    sizes[threadIdx.x] = same.size() * 100 + binary.size() + (same.thread_rank() << 16);
}

extern "C" __global__ void copied(const int4 *in, int *out, int n) {
    __shared__ int4 room[64];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, room, in + blockIdx.x * 64, sizeof(int4) * 64);
    cg::wait(block);
    int4 v = room[63 - threadIdx.x];
    out[blockIdx.x * 64 + threadIdx.x] = v.x - v.y + v.z * v.w;
}

extern "C" __global__ void big_tiles(const int *in, int *out) {
    __shared__ cg::block_tile_memory<128> room;
    auto block = cg::this_thread_block(room);
    auto tile = cg::tiled_partition<64>(block);
    int v = in[block.thread_rank()];
    out[block.thread_rank()] = cg::reduce(tile, v, cg::greater<int>()) * 10 + tile.meta_group_rank();
    tile.sync();
}
