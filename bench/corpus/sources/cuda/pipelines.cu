//! compiler nvcc
//! least sm_80
// libcu++: pipelines, barriers, atomics with scopes and orders, semaphores; C++ names at their longest.
#include <cuda/pipeline>
#include <cuda/barrier>
#include <cuda/atomic>
#include <cuda/semaphore>
#include <cooperative_groups.h>

extern "C" __global__ void staged(const float *in, float *out, int steps) {
    __shared__ float room[2][256];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cooperative_groups::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    float sum = 0;
    for (int k = 0; k < steps; k++) {
        pipe.producer_acquire();
        cuda::memcpy_async(block, room[k & 1], in + k * 256, cuda::aligned_size_t<16>(1024), pipe);
        pipe.producer_commit();
        pipe.consumer_wait();
        sum += room[k & 1][threadIdx.x];
        pipe.consumer_release();
    }
    out[threadIdx.x] = sum;
}

extern "C" __global__ void barred(int *data) {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    auto token = bar.arrive();
    data[threadIdx.x]++;
    bar.wait(std::move(token));
    bar.arrive_and_wait();
}

template <cuda::thread_scope S> __device__ void ordered(int *p, long long *q) {
    cuda::atomic_ref<int, S> a(*p);
    cuda::atomic_ref<long long, S> b(*q);
    a.store(1, cuda::std::memory_order_release);
    b.fetch_add(a.load(cuda::std::memory_order_acquire), cuda::std::memory_order_acq_rel);
    a.fetch_max(3, cuda::std::memory_order_relaxed);
    int expected = 5;
    a.compare_exchange_strong(expected, 6, cuda::std::memory_order_seq_cst);
    b.exchange(7);
    cuda::atomic_thread_fence(cuda::std::memory_order_acq_rel, S);
}

extern "C" __global__ void scoped(int *p, long long *q) {
    ordered<cuda::thread_scope_block>(p, q); ordered<cuda::thread_scope_device>(p, q); ordered<cuda::thread_scope_system>(p, q);
}
