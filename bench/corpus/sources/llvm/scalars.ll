; Integers of every width, odd ones included, and every binary operation.
define ptx_kernel void @integers(ptr addrspace(1) %a, ptr addrspace(1) %b, i32 %n) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = sext i32 %tid to i64
  %pa = getelementptr i32, ptr addrspace(1) %a, i64 %i
  %x = load i32, ptr addrspace(1) %pa, align 4
  %q = sdiv i32 %x, 7
  %r = urem i32 %q, %n
  %s = shl i32 %r, 3
  %t = ashr i32 %s, %tid
  %u = lshr i32 %t, 2
  %v = xor i32 %u, -1
  %w = call i32 @llvm.ctpop.i32(i32 %v)
  %y = call i32 @llvm.fshl.i32(i32 %w, i32 %x, i32 %n)
  %z = call i32 @llvm.bitreverse.i32(i32 %y)
  %bs = call i32 @llvm.bswap.i32(i32 %z)
  %mx = call i32 @llvm.smax.i32(i32 %bs, i32 %n)
  %mn = call i32 @llvm.umin.i32(i32 %mx, i32 %x)
  %ab = call i32 @llvm.abs.i32(i32 %mn, i1 false)
  %lz = call i32 @llvm.ctlz.i32(i32 %ab, i1 false)
  %tz = call i32 @llvm.cttz.i32(i32 %lz, i1 false)
  %ad = call {i32, i1} @llvm.uadd.with.overflow.i32(i32 %tz, i32 %x)
  %s0 = extractvalue {i32, i1} %ad, 0
  %s1 = extractvalue {i32, i1} %ad, 1
  %sel = select i1 %s1, i32 %s0, i32 %n
  store i32 %sel, ptr addrspace(1) %pa, align 4
  %odd = trunc i32 %sel to i17
  %odd2 = mul i17 %odd, 33
  %back = zext i17 %odd2 to i64
  %wide = zext i64 %back to i128
  %wide2 = mul i128 %wide, 1234567890123456789
  %wide3 = udiv i128 %wide2, 97
  %pb = getelementptr i128, ptr addrspace(1) %b, i64 %i
  store i128 %wide3, ptr addrspace(1) %pb, align 16
  %sm = trunc i32 %sel to i8
  %sm2 = sdiv i8 %sm, 3
  %hh = trunc i32 %sel to i16
  %hh2 = mul i16 %hh, 77
  %pb8 = getelementptr i8, ptr addrspace(1) %b, i64 3
  store i8 %sm2, ptr addrspace(1) %pb8, align 1
  %pb16 = getelementptr i8, ptr addrspace(1) %b, i64 -6
  store volatile i16 %hh2, ptr addrspace(1) %pb16, align 2
  ret void
}

define ptx_kernel void @floats(ptr %a, ptr %d, float %x, double %y, half %h, bfloat %bf) {
  %f1 = fadd float %x, 1.500000e+00
  %f2 = fdiv float %f1, %x
  %f3 = call float @llvm.sqrt.f32(float %f2)
  %f4 = call float @llvm.fma.f32(float %f3, float %x, float 0x7FF8000000000000)
  %f5 = frem float %f4, 3.0
  %f6 = call fast float @llvm.sin.f32(float %f5)
  %f7 = call fast float @llvm.cos.f32(float %f6)
  %f8 = call float @llvm.floor.f32(float %f7)
  %f9 = call float @llvm.rint.f32(float %f8)
  %f10 = call float @llvm.copysign.f32(float %f9, float %x)
  %f11 = call float @llvm.minnum.f32(float %f10, float 2.0)
  %f12 = call float @llvm.nvvm.ex2.approx.ftz.f(float %f11)
  %f13 = call float @llvm.nvvm.rcp.rz.f(float %f12)
  %f14 = call float @llvm.nvvm.fma.rm.ftz.f(float %f13, float %f12, float %x)
  %c = fcmp ult float %f14, %x
  %f15 = select i1 %c, float %f14, float -0.0
  store float %f15, ptr %a
  %d1 = fmul double %y, 2.500000e-01
  %d2 = call double @llvm.fabs.f64(double %d1)
  %d3 = fneg double %d2
  %d4 = call double @llvm.sqrt.f64(double %d3)
  %d5 = fptosi double %d4 to i64
  %d6 = sitofp i64 %d5 to double
  %d7 = fptrunc double %d6 to float
  %d8 = fpext float %d7 to double
  %d9 = fptoui double %d8 to i16
  %d10 = uitofp i16 %d9 to double
  store double %d10, ptr %d
  %h1 = fadd half %h, 0xH3C00
  %h2 = fmul half %h1, %h
  %h3 = fpext half %h2 to float
  %h4 = fptrunc float %h3 to half
  %h5 = call half @llvm.fma.f16(half %h4, half %h1, half %h)
  %h6 = fcmp oge half %h5, %h
  %h7 = select i1 %h6, half %h5, half 0xH8000
  store half %h7, ptr %a
  %b1 = fadd bfloat %bf, 0xR3F80
  %b2 = fpext bfloat %b1 to float
  %b3 = fptrunc float %b2 to bfloat
  store bfloat %b3, ptr %d
  ret void
}

define ptx_kernel void @vectors(ptr addrspace(1) %p, <4 x float> %v, <2 x half> %h, <8 x i8> %b, <2 x i64> %q, <3 x i16> %t) {
  %x = load <4 x float>, ptr addrspace(1) %p, align 16
  %y = fadd <4 x float> %x, %v
  %z = shufflevector <4 x float> %y, <4 x float> %x, <4 x i32> <i32 3, i32 1, i32 4, i32 6>
  store <4 x float> %z, ptr addrspace(1) %p, align 16
  %h2 = fmul <2 x half> %h, %h
  %h3 = insertelement <2 x half> %h2, half 0xH3E00, i32 1
  store <2 x half> %h3, ptr addrspace(1) %p, align 4
  %b2 = add <8 x i8> %b, splat (i8 3)
  store <8 x i8> %b2, ptr addrspace(1) %p, align 8
  %q2 = shl <2 x i64> %q, splat (i64 5)
  store <2 x i64> %q2, ptr addrspace(1) %p, align 16
  %cmp = icmp slt <3 x i16> %t, splat (i16 9)
  %s = select <3 x i1> %cmp, <3 x i16> %t, <3 x i16> splat (i16 8)
  store <3 x i16> %s, ptr addrspace(1) %p, align 2
  %u = load <4 x i8>, ptr addrspace(1) %p, align 1
  store <4 x i8> %u, ptr addrspace(1) %p, align 4
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare float @llvm.nvvm.ex2.approx.ftz.f(float)
declare float @llvm.nvvm.rcp.rz.f(float)
declare float @llvm.nvvm.fma.rm.ftz.f(float, float, float)
