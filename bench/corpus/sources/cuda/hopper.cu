//! only sm_90a
// wgmma, tensor-map copies, transaction barriers, register hand-over: what one architecture has.
typedef unsigned long long u64;
__device__ __forceinline__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
struct __align__(64) TensorMap { u64 opaque[16]; };

extern "C" __global__ void __launch_bounds__(384, 1) __cluster_dims__(2, 1, 1)
warp_specialised(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b, float *out, int steps) {
    extern __shared__ __align__(1024) unsigned char tiles[];
    __shared__ __align__(8) u64 full[2], empty[2];
    unsigned ta = at(tiles), tb = ta + 16384;
    if (threadIdx.x == 0) {
        for (int s = 0; s < 2; s++) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at(&full[s])), "r"(1));
            asm volatile("mbarrier.init.shared.b64 [%0], 256;" ::"r"(at(&empty[s])));
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("prefetch.tensormap [%0];" ::"l"(&map_a) : "memory");
    }
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
    if (threadIdx.x < 128) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0) for (int k = 0; k < steps; k++) {
            unsigned bar = at(&full[k & 1]);
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(32768) : "memory");
            asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(ta), "l"(&map_a), "r"(bar), "r"(k * 64), "r"(blockIdx.x) : "memory");
            asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint [%0], [%1, {%3, %4}], [%2], %5, %6;" ::"r"(tb), "l"(&map_b), "r"(bar), "r"(k * 64), "r"(blockIdx.y), "h"((unsigned short)3), "l"(0x14F0000000000000ull) : "memory");
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        float d[16] = {};
        u64 da = (u64)(ta >> 4) | 1ull << 62, db = (u64)(tb >> 4) | 1ull << 62;
        for (int k = 0; k < steps; k++) {
            asm volatile("{\n\t.reg .pred P1;\nLAB_WAIT:\n\tmbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n\t@P1 bra DONE;\n\tbra LAB_WAIT;\nDONE:\n}" ::"r"(at(&full[k & 1])), "r"(k >> 1 & 1) : "memory");
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %18, 0;\n"
                "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, %16, %17, p, 1, -1, 0, 1;\n}\n"
                : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
                : "l"(da), "l"(db), "r"(k));
            asm volatile("wgmma.mma_async.sync.aligned.m64n32k32.f32.e4m3.e5m2 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, {%16, %17, %18, %19}, %20, 1, 1, 1;\n"
                : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
                : "r"(k), "r"(k + 1), "r"(k + 2), "r"(k + 3), "l"(db));
            asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
            asm volatile("{.reg .b32 remote; mapa.shared::cluster.u32 remote, %0, %1; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];}" ::"r"(at(&empty[k & 1])), "r"(k & 1));
        }
        for (int i = 0; i < 16; i++) out[threadIdx.x * 16 + i] = d[i];
    }
}

extern "C" __global__ void bulk_copies(const float *in, float *out, const __grid_constant__ TensorMap map) {
    __shared__ __align__(128) float room[1024];
    __shared__ __align__(8) u64 bar;
    unsigned r = at(room), b = at(&bar);
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(r), "l"(in), "r"(4096), "r"(b) : "memory");
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 4096;" ::"l"(out), "r"(r) : "memory");
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(out), "r"(r), "r"(4096) : "memory");
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(&map), "r"(1), "r"(2), "r"(3), "r"(r) : "memory");
    asm volatile("cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group [%0, {%1}], [%2];" ::"l"(&map), "r"(1), "r"(r) : "memory");
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%2, %2, %2, %2}], [%3], {%4, %4};" ::"r"(r), "l"(&map), "r"(1), "r"(b), "h"((unsigned short)1) : "memory");
    asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0, {%1, %1}];" ::"l"(&map), "r"(1) : "memory");
    asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; cp.async.bulk.wait_group 1;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta; fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(&map) : "memory");
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %1};" ::"r"(r), "r"(1) : "memory");
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(r), "r"(1), "r"(b) : "memory");
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.inc.u32 [%0], %1, [%2];" ::"r"(r), "r"(1), "r"(b) : "memory");
    asm volatile("griddepcontrol.wait; griddepcontrol.launch_dependents;" ::: "memory");
    asm volatile("{.reg .pred p; .reg .b32 l; elect.sync l|p, 0xffffffff; @p st.shared.u32 [%0], l; elect.sync _|p, -1;}" ::"r"(r));
    u64 state;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(b));
    asm volatile("{.reg .pred p; mbarrier.test_wait.shared.b64 p, [%0], %1; mbarrier.inval.shared.b64 [%0]; @!p trap;}" ::"r"(b), "l"(state));
    unsigned cx, rank; asm("mov.u32 %0, %%clusterid.x; mov.u32 %1, %%cluster_ctarank;" : "=r"(cx), "=r"(rank));
    asm volatile("{ getctarank.u64 %0, %1; }" : "=r"(rank) : "l"(room));
    asm volatile("multimem.red.relaxed.sys.global.add.v4.f32 [%0], {%1, %1, %1, %1};" ::"l"(out), "f"(1.f) : "memory");
    float m[4];
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(m[0]), "=f"(m[1]), "=f"(m[2]), "=f"(m[3]) : "l"(in) : "memory");
    out[cx + rank] = m[0] + m[3];
}
