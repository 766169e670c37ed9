; Kernels in LLVM's own language: wide integers, switches, copies of memory, narrow atomics, vectors, recursion.
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i32 @llvm.ctpop.i32(i32)
declare i64 @llvm.ctlz.i64(i64, i1)
declare i32 @llvm.fshl.i32(i32, i32, i32)
declare i32 @llvm.sadd.sat.i32(i32, i32)
declare {i32, i1} @llvm.umul.with.overflow.i32(i32, i32)
declare i16 @llvm.bitreverse.i16(i16)
declare float @llvm.minimum.f32(float, float)
declare float @llvm.maxnum.f32(float, float)
declare float @llvm.fma.f32(float, float, float)
declare float @llvm.copysign.f32(float, float)
declare double @llvm.sqrt.f64(double)
declare <2 x half> @llvm.fma.v2f16(<2 x half>, <2 x half>, <2 x half>)

define ptx_kernel void @wide(ptr %a, ptr %b, ptr %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = zext i32 %t to i64
  %pa = getelementptr i128, ptr %a, i64 %i
  %pb = getelementptr i128, ptr %b, i64 %i
  %x = load i128, ptr %pa
  %y = load i128, ptr %pb
  %p = mul i128 %x, %y
  %s = add i128 %p, %x
  %h = lshr i128 %s, 7
  %r = xor i128 %h, %y
  %q = ashr i128 %r, 3
  %c = icmp slt i128 %q, %y
  %d = select i1 %c, i128 %q, i128 %s
  %po = getelementptr i128, ptr %out, i64 %i
  store i128 %d, ptr %po
  ret void
}

define ptx_kernel void @chosen(ptr %in, ptr %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr i32, ptr %in, i32 %t
  %v = load i32, ptr %p
  switch i32 %v, label %other [
    i32 0, label %zero
    i32 1, label %one
    i32 2, label %two
    i32 3, label %three
    i32 4, label %four
    i32 5, label %one
    i32 6, label %zero
  ]
zero:
  br label %end
one:
  %o = add i32 %t, 100
  br label %end
two:
  %w = mul i32 %t, 7
  br label %end
three:
  %h = call i32 @llvm.ctpop.i32(i32 %t)
  br label %end
four:
  %f = call i32 @llvm.fshl.i32(i32 %t, i32 %v, i32 5)
  br label %end
other:
  %n = call i32 @llvm.sadd.sat.i32(i32 %v, i32 2147483000)
  br label %end
end:
  %r = phi i32 [ -1, %zero ], [ %o, %one ], [ %w, %two ], [ %h, %three ], [ %f, %four ], [ %n, %other ]
  %q = getelementptr i32, ptr %out, i32 %t
  store i32 %r, ptr %q
  ret void
}

define ptx_kernel void @copied(ptr %in, ptr %out, i64 %n) {
  %room = alloca [64 x i8], align 8
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %o = mul i32 %t, 64
  %from = getelementptr i8, ptr %in, i32 %o
  %to = getelementptr i8, ptr %out, i32 %o
  call void @llvm.memset.p0.i64(ptr %room, i8 90, i64 64, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %room, ptr %from, i64 %n, i1 false)
  %later = getelementptr i8, ptr %room, i64 5
  call void @llvm.memmove.p0.p0.i64(ptr %later, ptr %room, i64 40, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %room, i64 64, i1 false)
  ret void
}

define ptx_kernel void @narrow(ptr %bytes, ptr %halves, ptr %old, ptr %word) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %k = and i32 %t, 7
  %p = getelementptr i8, ptr %bytes, i32 %k
  %q = getelementptr i16, ptr %halves, i32 %k
  %b = trunc i32 %t to i8
  %h = trunc i32 %t to i16
  %x = atomicrmw add ptr %p, i8 %b seq_cst
  %y = atomicrmw umax ptr %q, i16 %h monotonic
  %z = atomicrmw nand ptr %word, i32 %t acq_rel
  %e = cmpxchg ptr %old, i32 0, i32 77 acq_rel monotonic
  ret void
}

define ptx_kernel void @vectors(ptr %in, ptr %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr <4 x float>, ptr %in, i32 %t
  %v = load <4 x float>, ptr %p
  %s = shufflevector <4 x float> %v, <4 x float> zeroinitializer, <4 x i32> <i32 3, i32 0, i32 7, i32 1>
  %a = fadd <4 x float> %v, %s
  %c = fcmp olt <4 x float> %v, %s
  %r = select <4 x i1> %c, <4 x float> %a, <4 x float> %v
  %x = extractelement <4 x float> %r, i32 2
  %y = extractelement <4 x float> %v, i32 0
  %m = call float @llvm.minimum.f32(float %x, float %y)
  %n = call float @llvm.maxnum.f32(float %m, float -0.5)
  %w = call float @llvm.copysign.f32(float %n, float %y)
  %i = insertelement <4 x float> %r, float %w, i32 1
  %q = getelementptr <4 x float>, ptr %out, i32 %t
  store <4 x float> %i, ptr %q
  ret void
}

define internal i32 @power(i32 %x, i32 %n) noinline {
  %z = icmp eq i32 %n, 0
  br i1 %z, label %done, label %more
done:
  ret i32 1
more:
  %h = lshr i32 %n, 1
  %p = call i32 @power(i32 %x, i32 %h)
  %s = mul i32 %p, %p
  %b = and i32 %n, 1
  %o = icmp ne i32 %b, 0
  %m = mul i32 %s, %x
  %r = select i1 %o, i32 %m, i32 %s
  ret i32 %r
}

@room = internal addrspace(3) global [64 x i32] undef
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)

define ptx_kernel void @powers(ptr %in, ptr %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr i32, ptr %in, i32 %t
  %v = load i32, ptr %p
  %r = call i32 @power(i32 %v, i32 %t)
  %s = getelementptr [64 x i32], ptr addrspace(3) @room, i32 0, i32 %t
  store i32 %r, ptr addrspace(3) %s
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %u = sub i32 31, %t
  %g = getelementptr [64 x i32], ptr addrspace(3) @room, i32 0, i32 %u
  %w = load i32, ptr addrspace(3) %g
  %q = getelementptr i32, ptr %out, i32 %t
  store i32 %w, ptr %q
  ret void
}
