; Control flow: switches into tables, indirect jumps by selects, loops with hints, irreducible flow, long phis, inline assembly.
define ptx_kernel void @switched(ptr addrspace(1) %p, i32 %x) {
entry:
  switch i32 %x, label %other [ i32 0, label %a  i32 1, label %b  i32 2, label %c  i32 3, label %d  i32 4, label %a  i32 5, label %b  i32 6, label %c ]
a: br label %join
b: br label %join
c: %cc = mul i32 %x, 3
  br label %join
d: %dd = udiv i32 %x, 3
  br label %join
other: %oo = call i32 asm sideeffect "{ .reg .pred p; setp.eq.s32 p, $1, 0; selp.s32 $0, 1, $1, p; }", "=r,r"(i32 %x)
  br label %join
join:
  %v = phi i32 [ 5, %a ], [ 7, %b ], [ %cc, %c ], [ %dd, %d ], [ %oo, %other ]
  store i32 %v, ptr addrspace(1) %p
  ret void
}
define ptx_kernel void @looped(ptr addrspace(1) %p, i32 %n) {
entry: %c0 = icmp sgt i32 %n, 0
  br i1 %c0, label %loop, label %done, !prof !1
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %s = phi float [ 0.0, %entry ], [ %t, %loop ]
  %i64 = zext i32 %i to i64
  %q = getelementptr float, ptr addrspace(1) %p, i64 %i64
  %x = load float, ptr addrspace(1) %q
  %t = fadd contract float %s, %x
  %j = add nuw nsw i32 %i, 1
  %c = icmp slt i32 %j, %n
  br i1 %c, label %loop, label %done, !llvm.loop !2
done:
  %r = phi float [ 0.0, %entry ], [ %t, %loop ]
  store float %r, ptr addrspace(1) %p
  ret void
}
define ptx_kernel void @tangled(i1 %a, ptr addrspace(1) %p) {
entry: br i1 %a, label %one, label %two
one: store volatile i32 1, ptr addrspace(1) %p
  %x = load volatile i32, ptr addrspace(1) %p
  %c = icmp eq i32 %x, 9
  br i1 %c, label %two, label %out
two: store volatile i32 2, ptr addrspace(1) %p
  %y = load volatile i32, ptr addrspace(1) %p
  %d = icmp ugt i32 %y, 9
  br i1 %d, label %one, label %out
out: call void asm sideeffect "// nothing", "~{memory}"()
  call void asm sideeffect "{\0A\09.reg .b64 t;\0A\09mov.b64 t, {$0, $1};\0A\09st.global.b64 [$2], t;\0A}", "r,r,l"(i32 1, i32 2, ptr addrspace(1) %p)
  ret void
}
!1 = !{!"branch_weights", i32 2000, i32 1}
!2 = distinct !{!2, !3}
!3 = !{!"llvm.loop.unroll.disable"}
