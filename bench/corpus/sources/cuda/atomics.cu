// Atomics of every operation, width and scope; votes, matches, shuffles, reductions, barriers, fences.
template <typename T> __device__ void integer_atomics(T *g, T *s, T v) {
    atomicAdd(g, v); atomicMin(g + 1, v); atomicMax(g + 2, v); atomicAnd(g + 3, v); atomicOr(g + 4, v); atomicXor(g + 5, v);
    *g += atomicExch(s, v) + atomicCAS(s + 1, v, v + 1) + atomicAdd(s + 2, v) + atomicMax(s + 3, v);
}

extern "C" __global__ void integers(int *a, unsigned *b, unsigned long long *c, long long *d) {
    __shared__ int sa[4]; __shared__ unsigned sb[4]; __shared__ unsigned long long sc[4];
    integer_atomics<int>(a, sa, threadIdx.x);
    integer_atomics<unsigned>(b, sb, threadIdx.x);
    integer_atomics<unsigned long long>(c, sc, threadIdx.x);
    atomicMin(d, (long long)threadIdx.x); atomicMax(d + 1, -3LL);
    b[1] += atomicInc(b + 9, 17u) + atomicDec(b + 10, 17u) + atomicSub(b + 11, 3u);
    atomicAdd_block(a + 20, 1); atomicAdd_system(a + 21, 1); a[22] += atomicCAS_block(a + 23, 1, 2) + atomicExch_system(a + 24, 5);
}

extern "C" __global__ void floating(float *f, double *d, float2 *f2, float4 *f4, unsigned short *h) {
    __shared__ float s;
    atomicAdd(f, 1.5f); f[1] = atomicAdd(f + 2, 2.5f) + atomicExch(f + 3, 1.f);
    atomicAdd(d, 1.5); d[1] = atomicAdd(d + 2, 2.5);
    atomicAdd(&s, 3.f);
    f[4] = s + atomicCAS(h, (unsigned short)1, (unsigned short)2);
#if __CUDA_ARCH__ >= 900
    atomicAdd(f2, float2{1, 2}); f4[1] = atomicAdd(f4, float4{1, 2, 3, 4});
#endif
}

extern "C" __global__ void warps(int *a, float *f, unsigned long long *q, double *d) {
    const unsigned all = 0xffffffffu;
    int i = threadIdx.x;
    a[i] = __shfl_sync(all, a[i], 3) + __shfl_up_sync(all, a[i], 1, 16) + __shfl_down_sync(all, a[i], i) + __shfl_xor_sync(all, a[i], 5, 8);
    f[i] = __shfl_sync(all, f[i], i + 1); q[i] = __shfl_xor_sync(all, q[i], 1); d[i] = __shfl_up_sync(all, d[i], 2);
    a[i] += __any_sync(all, a[i] > 3) + __all_sync(all, a[i] > 4) + __ballot_sync(all, a[i] & 1) + __activemask();
    a[i] += __match_any_sync(all, a[i]);
    int uniform;
    a[i] += __match_all_sync(all, q[i], &uniform) + uniform;
#if __CUDA_ARCH__ >= 800
    a[i] += __reduce_add_sync(all, a[i]) + __reduce_min_sync(all, a[i]) + __reduce_or_sync(all, (unsigned)a[i]);
#endif
    __syncwarp(); __syncwarp(0xffu);
}

extern "C" __global__ void barriers(int *a) {
    __syncthreads();
    a[0] = __syncthreads_count(a[threadIdx.x]) + __syncthreads_and(a[1]) + __syncthreads_or(a[2]);
    __threadfence(); __threadfence_block(); __threadfence_system();
    asm volatile("bar.sync 3, 64;" ::: "memory");
    asm volatile("barrier.cta.arrive.aligned 2, 64;" ::: "memory");
    asm volatile("{ .reg .pred p, q; setp.ne.u32 p, %1, 0; bar.red.popc.u32 %0, 1, 32, p; barrier.red.and.pred q, 4, !p; @q exit; }" : "=r"(a[3]) : "r"(a[4]));
    asm volatile("fence.acq_rel.gpu; fence.sc.sys; membar.gl; membar.cta;" ::: "memory");
}
