//! compiler nvcc
//! least sm_80
//! flags -diag-suppress=20054
// libcu++: atomics with scopes and orders, barriers, pipelines, latches and semaphores.
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda/semaphore>
#include <cuda/std/array>
#include <cuda/std/complex>
#include <cuda/std/bit>
#include <new>
#include <cooperative_groups.h>

extern "C" __global__ void message(int *data, int *flag, int *out) {
    cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
    if (blockIdx.x == 0) {
        data[threadIdx.x] = threadIdx.x * 7;
        __syncthreads();
        if (threadIdx.x == 0) ready.store(1, cuda::memory_order_release);
    } else {
        if (threadIdx.x == 0)
            while (!ready.load(cuda::memory_order_acquire)) { }
        __syncthreads();
        out[threadIdx.x] = data[threadIdx.x] + 1;
    }
}

extern "C" __global__ void scopes(int *counts, unsigned long long *wide, float *sum) {
    __shared__ cuda::atomic<int, cuda::thread_scope_block> local;
    if (threadIdx.x == 0) local = 0;
    __syncthreads();
    local.fetch_add(threadIdx.x, cuda::memory_order_relaxed);
    cuda::atomic_ref<int, cuda::thread_scope_system> all(counts[0]);
    cuda::atomic_ref<unsigned long long, cuda::thread_scope_device> most(*wide);
    cuda::atomic_ref<float, cuda::thread_scope_device> floats(*sum);
    all.fetch_add(1);
    most.fetch_max(threadIdx.x * 1000ull + blockIdx.x, cuda::memory_order_acq_rel);
    floats.fetch_add(0.5f, cuda::memory_order_relaxed);
    __syncthreads();
    if (threadIdx.x == 0) counts[1 + blockIdx.x] = local.load();
}

extern "C" __global__ void barriers(const int *in, int *out, int rounds) {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ int room[2][128];
    int t = threadIdx.x;
    if (t == 0) init(&bar, blockDim.x);
    __syncthreads();
    int v = in[t];
    for (int r = 0; r < rounds; r++) {
        room[r & 1][t] = v;
        auto token = bar.arrive();
        v = v * 3;
        bar.wait(cuda::std::move(token));
        v += room[r & 1][(t + 1) % 128];
    }
    out[t] = v;
}

extern "C" __global__ void copies(const int *in, int *out) {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ alignas(16) int room[256];
    auto block = cooperative_groups::this_thread_block();
    if (block.thread_rank() == 0) init(&bar, block.size());
    block.sync();
    cuda::memcpy_async(block, room, in + blockIdx.x * 256, cuda::aligned_size_t<16>(1024), bar);
    bar.arrive_and_wait();
    out[blockIdx.x * 64 + threadIdx.x] = room[threadIdx.x] + room[threadIdx.x + 64] * 2 + room[255 - threadIdx.x] * 3;
}

extern "C" __global__ void pipelined(const float *in, float *out, int steps) {
    __shared__ alignas(16) float room[2][64];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cooperative_groups::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    float sum = 0;
    for (int get = 0, use = 0; use < steps; use++) {
        for (; get < steps && get < use + 2; get++) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, room[get % 2], in + get * 64, cuda::aligned_size_t<16>(256), pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        sum += room[use % 2][63 - threadIdx.x];
        pipe.consumer_release();
    }
    out[threadIdx.x] = sum;
}

extern "C" __global__ void divided(const int *in, int *out, int steps) {
    __shared__ int room[2][32];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cooperative_groups::this_thread_block();
    auto role = threadIdx.x < 32 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
    auto pipe = cuda::make_pipeline(block, &state, role);
    int sum = 0;
    for (int s = 0; s < steps; s++) {
        if (threadIdx.x < 32) {
            pipe.producer_acquire();
            room[s % 2][threadIdx.x] = in[s * 32 + threadIdx.x] + s;
            pipe.producer_commit();
        } else {
            pipe.consumer_wait();
            sum = sum * 3 + room[s % 2][63 - threadIdx.x];
            pipe.consumer_release();
        }
    }
    if (threadIdx.x >= 32) out[threadIdx.x - 32] = sum;
}

extern "C" __global__ void latched(int *out) {
    using Latch = cuda::latch<cuda::thread_scope_block>;
    __shared__ alignas(Latch) char bytes[sizeof(Latch)];
    __shared__ int room[64];
    Latch &gate = *reinterpret_cast<Latch *>(bytes);
    if (threadIdx.x == 0) new (bytes) Latch(64);
    __syncthreads();
    room[threadIdx.x] = threadIdx.x + 5;
    gate.arrive_and_wait();
    out[threadIdx.x] = room[63 - threadIdx.x];
}

__device__ cuda::binary_semaphore<cuda::thread_scope_device> turn(1);

extern "C" __global__ void semaphore(int *data) {
    if (threadIdx.x % 32) return;
    turn.acquire();
    data[0] = data[0] * 2 + 1;
    turn.release();
}

extern "C" __global__ void standard(const float2 *in, float2 *out, unsigned *bits) {
    cuda::std::complex<float> z(in[threadIdx.x].x, in[threadIdx.x].y), w = z * z + cuda::std::complex<float>(1, -1);
    cuda::std::array<unsigned, 3> a = {threadIdx.x, threadIdx.x * 77, 5};
    unsigned sum = 0;
    for (unsigned v : a) sum += cuda::std::popcount(v) + cuda::std::countl_zero(v) * 64;
    out[threadIdx.x] = make_float2(w.real(), w.imag());
    bits[threadIdx.x] = cuda::std::rotl(sum, 5) ^ cuda::std::bit_ceil(threadIdx.x + 1u);
}
