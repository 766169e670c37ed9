;! least sm_89
; Frames whose size is known only at run time, saved and restored stacks.
define ptx_kernel void @framed(ptr addrspace(1) %g, i64 %n) {
entry:
  %saved = call ptr @llvm.stacksave.p0()
  %room = alloca i8, i64 %n, align 16
  store volatile i8 3, ptr %room
  %x = load volatile i8, ptr %room
  %c = icmp eq i8 %x, 3
  br i1 %c, label %more, label %done
more:
  %wide = alloca <4 x i32>, i64 %n, align 32
  store volatile <4 x i32> splat (i32 5), ptr %wide
  br label %done
done:
  call void @llvm.stackrestore.p0(ptr %saved)
  store i8 %x, ptr addrspace(1) %g
  ret void
}
