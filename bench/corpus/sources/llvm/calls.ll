;! least sm_70
; Functions: structures by value and by pointer, recursion, pointers to functions, variadic ones, weak, linkonce, aliases.
%pair = type { i32, float }
%big = type { [5 x i64], i8, [3 x half] }
@table = internal addrspace(1) global [2 x ptr] [ptr @double_it, ptr @square_it]
@chosen = addrspace(1) global ptr @square_it

define i32 @double_it(i32 %x) noinline { %r = shl i32 %x, 1
  ret i32 %r }
define i32 @square_it(i32 %x) noinline { %r = mul i32 %x, %x
  ret i32 %r }
define weak i32 @weak_one(i32 %x) noinline { %r = add i32 %x, 1
  ret i32 %r }
define linkonce_odr i32 @once(i32 %x) noinline { %r = add i32 %x, 7
  ret i32 %r }
define internal fastcc { i32, float } @swapped(i32 %a, float %b) noinline {
  %x = sitofp i32 %a to float
  %y = fptosi float %b to i32
  %p = insertvalue { i32, float } undef, i32 %y, 0
  %q = insertvalue { i32, float } %p, float %x, 1
  ret { i32, float } %q
}
define void @by_value(ptr byval(%big) align 8 %p, ptr %out) noinline {
  %v = load i64, ptr %p
  store i64 %v, ptr %out
  ret void
}
define <4 x float> @four(<4 x float> %v, <2 x i8> %w, i1 %b, half %h, i128 %q) noinline {
  %r = fadd <4 x float> %v, %v
  ret <4 x float> %r
}
define i32 @factorial(i32 %n) {
  %c = icmp ult i32 %n, 2
  br i1 %c, label %base, label %more
base:
  ret i32 1
more:
  %m = sub i32 %n, 1
  %f = call i32 @factorial(i32 %m)
  %r = mul i32 %f, %n
  ret i32 %r
}
define void @never() noreturn noinline { br label %loop
loop:
  br label %loop }
declare i32 @elsewhere(i32, ptr, double)
declare extern_weak i32 @perhaps(i32)
declare i32 @variadic(ptr, ...)
declare i32 @vprintf(ptr, ptr)
@text = private unnamed_addr addrspace(4) constant [10 x i8] c"%d %f \0A\22\00\00"
@aliased = alias i32 (i32), ptr @double_it

define ptx_kernel void @main_kernel(ptr addrspace(1) %out, ptr byval(%big) align 8 %b, i32 %n) {
  %q = load ptr, ptr addrspace(1) @chosen
  %r = call i32 %q(i32 %n)
  %s = call i32 @factorial(i32 %r)
  %t = call i32 @weak_one(i32 %s)
  %t2 = call i32 @once(i32 %t)
  %u = call fastcc { i32, float } @swapped(i32 %t2, float 2.5)
  %u0 = extractvalue { i32, float } %u, 0
  %room = alloca %big, align 16
  call void @by_value(ptr byval(%big) align 8 %room, ptr %room)
  %v = call <4 x float> @four(<4 x float> <float 1.0, float 2.0, float 3.0, float 4.0>, <2 x i8> <i8 1, i8 2>, i1 true, half 0xH3C00, i128 5)
  %w = call i32 @elsewhere(i32 %u0, ptr %room, double 1.0)
  %args = alloca { i32, double }, align 8
  store i32 %w, ptr %args
  %g = addrspacecast ptr addrspace(4) @text to ptr
  %pr = call i32 @vprintf(ptr %g, ptr %args)
  %n64 = zext i32 %n to i64
  %va = call i32 (ptr, ...) @variadic(ptr %g, i32 3, double 2.0, i64 %n64)
  %sum = add i32 %pr, %va
  store i32 %sum, ptr addrspace(1) %out
  store <4 x float> %v, ptr addrspace(1) %out, align 16
  %c = icmp eq i32 %n, 99
  br i1 %c, label %bad, label %good
bad:
  call void @never()
  unreachable
good:
  call void @llvm.trap()
  ret void
}
declare void @llvm.trap()
