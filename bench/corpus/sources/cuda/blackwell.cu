//! only sm_100a
// tcgen05: tensor memory, its products, loads and copies.
typedef unsigned long long u64;
__device__ __forceinline__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

extern "C" __global__ void __cluster_dims__(2) tensor_memory(unsigned *out, u64 da, u64 db, unsigned idesc) {
    __shared__ unsigned base;
    __shared__ __align__(8) u64 bar;
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 128;" ::"r"(at(&base)) : "memory");
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
    __syncthreads();
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
    unsigned t = base;
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %4, 0;\n\ttcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, {%5, %5, %5, %5}, p;\n\t}\n" ::"r"(t), "l"(da), "l"(db), "r"(idesc), "r"(1), "r"(0));
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %4, 0;\n\ttcgen05.mma.cta_group::1.kind::tf32 [%0], [%1], %2, %3, p;\n\t}\n" ::"r"(t), "r"(t + 64), "l"(db), "r"(idesc), "r"(1));
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %4, 0;\n\ttcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X [%0], %1, %2, %3, [%5], [%6], p;\n\t}\n" ::"r"(t), "l"(da), "l"(db), "r"(idesc), "r"(1), "r"(t + 32), "r"(t + 40));
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(at(&bar)) : "memory");
    asm volatile("tcgen05.cp.cta_group::1.128x256b [%0], %1;" ::"r"(t), "l"(da));
    asm volatile("tcgen05.shift.cta_group::1.down [%0];" ::"r"(t));
    unsigned r[4];
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(t));
    asm volatile("tcgen05.ld.sync.aligned.16x64b.x2.pack::16b.b32 {%0, %1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(t));
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
    asm volatile("tcgen05.st.sync.aligned.16x256b.x1.b32 [%0], {%1, %2, %3, %4};" ::"r"(t), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]));
    asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(t), "r"(128));
    out[threadIdx.x] = r[0] + r[3];
}

extern "C" __global__ void wide_vectors(const float *a, float *b, float2 *c, u64 *q) {
    float x[8];
    asm volatile("ld.global.v8.f32 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8];" : "=f"(x[0]), "=f"(x[1]), "=f"(x[2]), "=f"(x[3]), "=f"(x[4]), "=f"(x[5]), "=f"(x[6]), "=f"(x[7]) : "l"(a));
    asm volatile("st.global.v8.f32 [%8], {%0,%1,%2,%3,%4,%5,%6,%7};" ::"f"(x[0]), "f"(x[1]), "f"(x[2]), "f"(x[3]), "f"(x[4]), "f"(x[5]), "f"(x[6]), "f"(x[7]), "l"(b));
    u64 p;
    asm("fma.rn.f32x2 %0, %1, %2, %3;" : "=l"(p) : "l"(q[0]), "l"(q[1]), "l"(q[2]));
    asm("add.rn.ftz.f32x2 %0, %1, %2;" : "=l"(q[3]) : "l"(p), "l"(q[1]));
    asm("redux.sync.max.abs.NaN.f32 %0, %1, 0xffffffff;" : "=f"(b[9]) : "f"(x[0]));
    asm("max.f32 %0, %1, %2, %3;" : "=f"(b[10]) : "f"(x[0]), "f"(x[1]), "f"(x[2]));
    unsigned short h; asm("{ .reg .b8 t; cvt.rn.satfinite.e2m1x2.f32 t, %1, %2; cvt.u16.u8 %0, t; }" : "=h"(h) : "f"(x[0]), "f"(x[1]));
    c[0].x = h;
}
