;! least sm_80
; Matrix products, asynchronous copies, texture fetches and conversions through LLVM's intrinsics.
define ptx_kernel void @wmma(ptr addrspace(1) %p, ptr addrspace(3) %s) {
  %a = call {<2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>} @llvm.nvvm.wmma.m16n16k16.load.a.row.stride.f16.p1(ptr addrspace(1) %p, i32 16)
  %a0 = extractvalue {<2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>} %a, 0
  %a7 = extractvalue {<2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>} %a, 7
  %m = call {float, float, float, float} @llvm.nvvm.mma.m16n8k16.row.col.f32.f32(<2 x half> %a0, <2 x half> %a7, <2 x half> %a0, <2 x half> %a7, <2 x half> %a0, <2 x half> %a7, float 1.0, float 2.0, float 3.0, float 4.0)
  %m1 = extractvalue {float, float, float, float} %m, 1
  store float %m1, ptr addrspace(1) %p
  %l = call {i32, i32} @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.trans.b16.p3(ptr addrspace(3) %s)
  %l1 = extractvalue {i32, i32} %l, 1
  store i32 %l1, ptr addrspace(1) %p
  ret void
}
define ptx_kernel void @async(ptr addrspace(1) %p, ptr addrspace(3) %s) {
  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %s, ptr addrspace(1) %p)
  call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) %s, ptr addrspace(1) %p)
  call void @llvm.nvvm.cp.async.commit.group()
  call void @llvm.nvvm.cp.async.wait.group(i32 1)
  call void @llvm.nvvm.cp.async.wait.all()
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) %s, i32 32)
  %t = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) %s)
  %w = call i1 @llvm.nvvm.mbarrier.test.wait.shared(ptr addrspace(3) %s, i64 %t)
  call void @llvm.nvvm.cp.async.mbarrier.arrive.shared(ptr addrspace(3) %s)
  %z = zext i1 %w to i32
  store i32 %z, ptr addrspace(1) %p
  %r = call i32 @llvm.nvvm.redux.sync.add(i32 %z, i32 -1)
  store i32 %r, ptr addrspace(1) %p
  ret void
}
define ptx_kernel void @fetched(i64 %tex, i64 %surf, ptr addrspace(1) %p, i32 %x, float %f) {
  %a = call {float, float, float, float} @llvm.nvvm.tex.unified.2d.v4f32.f32(i64 %tex, float %f, float 1.0)
  %a0 = extractvalue {float, float, float, float} %a, 2
  store float %a0, ptr addrspace(1) %p
  %b = call {i32, i32, i32, i32} @llvm.nvvm.tex.unified.1d.v4s32.s32(i64 %tex, i32 %x)
  %b0 = extractvalue {i32, i32, i32, i32} %b, 0
  store i32 %b0, ptr addrspace(1) %p
  %c = call i32 @llvm.nvvm.suld.2d.i32.trap(i64 %surf, i32 %x, i32 3)
  store i32 %c, ptr addrspace(1) %p
  call void @llvm.nvvm.sust.b.1d.v2i32.clamp(i64 %surf, i32 %x, i32 1, i32 2)
  ret void
}
declare {<2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>} @llvm.nvvm.wmma.m16n16k16.load.a.row.stride.f16.p1(ptr addrspace(1), i32)
declare {float, float, float, float} @llvm.nvvm.mma.m16n8k16.row.col.f32.f32(<2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, float, float, float, float)
declare {i32, i32} @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.trans.b16.p3(ptr addrspace(3))
declare void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3), ptr addrspace(1))
declare void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3), ptr addrspace(1))
declare void @llvm.nvvm.cp.async.commit.group()
declare void @llvm.nvvm.cp.async.wait.group(i32 immarg)
declare void @llvm.nvvm.cp.async.wait.all()
declare void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3), i32)
declare i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3))
declare i1 @llvm.nvvm.mbarrier.test.wait.shared(ptr addrspace(3), i64)
declare void @llvm.nvvm.cp.async.mbarrier.arrive.shared(ptr addrspace(3))
declare i32 @llvm.nvvm.redux.sync.add(i32, i32)
declare {float, float, float, float} @llvm.nvvm.tex.unified.2d.v4f32.f32(i64, float, float)
declare {i32, i32, i32, i32} @llvm.nvvm.tex.unified.1d.v4s32.s32(i64, i32)
declare i32 @llvm.nvvm.suld.2d.i32.trap(i64, i32, i32)
declare void @llvm.nvvm.sust.b.1d.v2i32.clamp(i64, i32, i32, i32)
