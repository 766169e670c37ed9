//! least sm_80
// mma, ldmatrix and asynchronous copies by inline assembly, as hand-tuned kernels have them.
__device__ __forceinline__ unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

extern "C" __global__ void __launch_bounds__(128) gemm_tile(const uint4 *a, const uint4 *b, float *c, int steps) {
    __shared__ __align__(128) uint4 sa[2][256], sb[2][256];
    float d[4] = {};
    unsigned half_result[2] = {};
    for (int k = 0; k < steps; k++) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(&sa[k & 1][threadIdx.x])), "l"(a + k * 256 + threadIdx.x) : "memory");
        asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(shared_address(&sb[k & 1][threadIdx.x])), "l"(b + k * 256 + threadIdx.x), "r"(k < 5 ? 16 : 0) : "memory");
        asm volatile("cp.async.commit_group;\n" ::: "memory");
        asm volatile("cp.async.wait_group %0;\n" ::"n"(1) : "memory");
        __syncthreads();
        unsigned ra[4], rb[2];
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3]) : "r"(shared_address(&sa[k & 1][threadIdx.x])));
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(rb[0]), "=r"(rb[1]) : "r"(shared_address(&sb[k & 1][threadIdx.x])));
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
            : "+r"(half_result[0]), "+r"(half_result[1]) : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
        asm volatile("mma.sp.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9,%8,%9}, {%0,%1,%2,%3}, %10, 0x0;"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]), "r"(threadIdx.x));
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    for (int i = 0; i < 4; i++) c[threadIdx.x * 4 + i] = d[i] + __int_as_float(half_result[i & 1]);
}

extern "C" __global__ void integer_and_double(int *i, double *d, const unsigned *w) {
    int r[4] = {};
    asm("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32 {%0,%1,%2,%3}, {%4,%5,%4,%5}, {%4,%5}, {%0,%1,%2,%3};" : "+r"(r[0]), "+r"(r[1]), "+r"(r[2]), "+r"(r[3]) : "r"(w[0]), "r"(w[1]));
    asm("mma.sync.aligned.m8n8k32.row.col.s32.s4.s4.s32 {%0,%1}, {%2}, {%3}, {%0,%1};" : "+r"(r[0]), "+r"(r[1]) : "r"(w[0]), "r"(w[1]));
    asm("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc {%0,%1,%2,%3}, {%4,%5,%4,%5}, {%4,%5}, {%0,%1,%2,%3};" : "+r"(r[0]), "+r"(r[1]), "+r"(r[2]), "+r"(r[3]) : "r"(w[0]), "r"(w[1]));
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};" : "+d"(d[0]), "+d"(d[1]) : "d"(d[2]), "d"(d[3]));
    for (int k = 0; k < 4; k++) i[k] = r[k];
}

extern "C" __global__ void policies(const float *in, float *out) {
    unsigned long long policy;
    asm("createpolicy.fractional.L2::evict_first.L2::evict_unchanged.b64 %0, 0.5;" : "=l"(policy));
    float v;
    asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.L2::256B.f32 %0, [%1], %2;" : "=f"(v) : "l"(in), "l"(policy));
    asm volatile("st.global.L2::cache_hint.f32 [%0], %1, %2;" ::"l"(out), "f"(v), "l"(policy) : "memory");
    asm volatile("prefetch.global.L2::evict_last [%0]; prefetchu.L1 [%1]; prefetch.global.L1 [%0];" ::"l"(in), "l"(in));
    asm volatile("discard.global.L2 [%0], 128; applypriority.global.L2::evict_normal [%0], 128;" ::"l"(out));
    asm volatile("red.relaxed.gpu.global.add.noftz.f16x2 [%0], %1;" ::"l"(out), "r"(3) : "memory");
}
