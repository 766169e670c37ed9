;! least sm_70
; Atomics, fences, barriers, shuffles, special registers, barriers of memory, named barriers.
define ptx_kernel void @atomics(ptr addrspace(1) %g, ptr addrspace(3) %s, ptr %p) {
  %a = atomicrmw add ptr addrspace(1) %g, i32 1 seq_cst
  %b = atomicrmw umax ptr addrspace(3) %s, i32 %a monotonic
  %c = atomicrmw xchg ptr %p, i64 5 acq_rel
  %d = atomicrmw fadd ptr addrspace(1) %g, float 1.5 monotonic
  %e = cmpxchg ptr addrspace(1) %g, i32 %a, i32 %b acq_rel monotonic
  %e0 = extractvalue { i32, i1 } %e, 0
  %f = cmpxchg ptr %p, i64 %c, i64 9 syncscope("block") acquire acquire
  %h = atomicrmw and ptr addrspace(1) %g, i64 7 release
  %i = atomicrmw sub ptr addrspace(1) %g, i32 %e0 monotonic
  %j = atomicrmw min ptr addrspace(1) %g, i64 -7 syncscope("device") monotonic
  %k = load atomic i32, ptr addrspace(1) %g acquire, align 4
  store atomic i32 %k, ptr addrspace(1) %g release, align 4
  %l = load atomic i64, ptr %p syncscope("block") monotonic, align 8
  store atomic volatile i64 %l, ptr %p monotonic, align 8
  fence acq_rel
  fence syncscope("block") seq_cst
  %m = atomicrmw uinc_wrap ptr addrspace(1) %g, i32 17 monotonic
  %n = atomicrmw fadd ptr addrspace(1) %g, half 0xH3C00 monotonic
  %o = atomicrmw add ptr addrspace(1) %g, i8 3 monotonic
  ret void
}
define ptx_kernel void @warps(ptr addrspace(1) %g, i32 %x, float %f) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
  %u = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
  %v = call i64 @llvm.nvvm.read.ptx.sreg.clock64()
  %w = call i32 @llvm.nvvm.read.ptx.sreg.warpsize()
  %a = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %x, i32 %t, i32 31)
  %b = call float @llvm.nvvm.shfl.sync.down.f32(i32 -1, float %f, i32 1, i32 31)
  %c = call {i32, i1} @llvm.nvvm.shfl.sync.up.i32p(i32 -1, i32 %x, i32 2, i32 0)
  %c0 = extractvalue {i32, i1} %c, 0
  %c1 = extractvalue {i32, i1} %c, 1
  %d = call i1 @llvm.nvvm.vote.any.sync(i32 -1, i1 %c1)
  %e = call i32 @llvm.nvvm.vote.ballot.sync(i32 %x, i1 %d)
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  call void @llvm.nvvm.barrier0()
  call void @llvm.nvvm.membar.gl()
  %s = add i32 %a, %e
  %s2 = add i32 %s, %u
  %s3 = add i32 %s2, %w
  %s4 = add i32 %s3, %c0
  store i32 %s4, ptr addrspace(1) %g
  store float %b, ptr addrspace(1) %g
  store i64 %v, ptr addrspace(1) %g
  call void @llvm.nvvm.nanosleep(i32 30)
  ret void
}
define ptx_kernel void @copied(ptr addrspace(1) %g, ptr addrspace(3) %s, ptr %p, ptr %q, i64 %n) {
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %p, ptr align 4 %q, i64 64, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %q, i64 %n, i1 false)
  call void @llvm.memset.p0.i64(ptr align 8 %p, i8 7, i64 40, i1 false)
  call void @llvm.memmove.p0.p0.i64(ptr align 16 %p, ptr align 16 %q, i64 48, i1 false)
  %x = load <4 x i32>, ptr addrspace(1) %g, align 16, !invariant.load !0
  store <4 x i32> %x, ptr addrspace(3) %s, align 16
  %y = load i16, ptr addrspace(1) %g, align 1
  store i16 %y, ptr addrspace(3) %s, align 1
  ret void
}
!0 = !{}
declare i32 @llvm.nvvm.read.ptx.sreg.laneid()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
declare i64 @llvm.nvvm.read.ptx.sreg.clock64()
declare i32 @llvm.nvvm.read.ptx.sreg.warpsize()
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)
declare float @llvm.nvvm.shfl.sync.down.f32(i32, float, i32, i32)
declare {i32, i1} @llvm.nvvm.shfl.sync.up.i32p(i32, i32, i32, i32)
declare i1 @llvm.nvvm.vote.any.sync(i32, i1)
declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)
declare void @llvm.nvvm.bar.warp.sync(i32)
declare void @llvm.nvvm.barrier0()
declare void @llvm.nvvm.membar.gl()
declare void @llvm.nvvm.nanosleep(i32)
