// Inline assembly with what compilers do not write: odd names, scopes, labels, branches by table, video, lop3, carries.
extern "C" __global__ void by_hand(unsigned *a, unsigned long long *q, float *f) {
    asm(".reg .pred q_;");
    unsigned r = a[threadIdx.x], s, t;
    asm("{ .reg .u32 t1; .reg .u32 t2; mul.lo.u32 t1, %1, %1; mul.lo.u32 t2, t1, %1; add.u32 %0, t1, t2; }" : "=r"(s) : "r"(r));
    asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(t) : "r"(r), "r"(s), "r"(7));
    asm("prmt.b32.f4e %0, %1, %2, %3;" : "=r"(t) : "r"(t), "r"(s), "r"(1));
    asm("vadd.s32.u32.s32.sat.add %0, %1.b0, %2.h1, %3;" : "=r"(t) : "r"(t), "r"(s), "r"(r));
    asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(t) : "r"(t), "r"(s), "r"(r));
    asm("bfe.u32 %0, %1, 4, 8; bfi.b32 %0, %0, %1, 8, 4; bfind.shiftamt.u32 %0, %0; szext.wrap.u32 %0, %0, 5; bmsk.clamp.b32 %0, %0, 3;" : "+r"(t) : "r"(s));
    asm("add.cc.u32 %0, %0, %2; addc.cc.u32 %1, %1, %2; madc.hi.u32 %0, %0, %1, 5; sub.cc.u32 %0, %0, 1; subc.u32 %1, %1, 0;" : "+r"(t), "+r"(s) : "r"(r));
    asm("{\n .reg .pred %%p<3>;\n .reg .pred other;\n setp.gt.and.u32 %%p0|%%p1, %0, 5, !%%p2;\n @%%p0 add.u32 %0, %0, 1;\n @!%%p1 bra $skip_it;\n $skip_it:\n selp.u32 %0, 1, %0, other;\n .reg .b16 %%rs_1;\n mov.b16 %%rs_1, 3;\n mov.b32 %0, {%%rs_1, %%rs_1};\n}" : "+r"(t));
    asm volatile("{\n\t.reg .b32 index;\n\tand.b32 index, %0, 3;\n ts: .branchtargets L_a, L_b, L_c, L_a;\n\tbrx.idx index, ts;\nL_a:\n\tadd.u32 %0, %0, 1;\nL_b:\n\tadd.u32 %0, %0, 2;\nL_c: add.u32 %0, %0, 3;\n}" : "+r"(t));
    asm("{ .reg .v2 .b32 pair; mov.b64 pair, %1; add.u32 %0, pair.x, pair.y; mov.b64 {_, %0}, %1; }" : "=r"(s) : "l"(q[0]));
    asm("tanh.approx.f32 %0, %0; ex2.approx.ftz.f32 %0, %0; testp.finite.f32 q_, %0;" : "+f"(f[0]));
    asm volatile("/* a comment */ // and another\n\t mov.u32 %0, WARP_SZ; add.u32 %0, %0, (1 << 4) | 3; .pragma \"nounroll\";" : "=r"(t));
    asm volatile("nanosleep.u32 20; pmevent 3; isspacep.global q_, %0; cvta.to.global.u64 %0, %0;" : "+l"(q[1]));
    asm("mul.f32 %0, %0, 0f3FC00000; fma.rn.f32 %0, %0, 1.5, -2.5e-3; set.gt.f32.f32 %0, %0, 0f00000000; slct.f32.s32 %0, %0, 1.0, -3;" : "+f"(f[2]));
    a[threadIdx.x] = s + t;
}
