; Module variables: every linkage, type, space, alignment and kind of initial value.
@i8s = addrspace(1) global [3 x i8] c"\01\02\FF"
@i16s = addrspace(1) global [2 x i16] [i16 -1, i16 77], align 16
@i32 = addrspace(1) constant i32 -5
@i64s = addrspace(4) constant [2 x i64] [i64 9223372036854775807, i64 -1]
@i128 = addrspace(1) global i128 1234567890123456789012345678901234
@f32 = addrspace(1) global float 0xC7EFFFFFE0000000
@f64s = addrspace(4) constant [3 x double] [double 1.0e300, double -0.0, double 0x7FF0000000000000]
@f16 = addrspace(1) global [2 x half] [half 0xH7BFF, half 0xH0001]
@pair = addrspace(1) global { i8, i32, double } { i8 7, i32 -9, double 2.5 }
@packed = addrspace(1) global <{ i8, i32, half }> <{ i8 7, i32 -9, half 0xH3C00 }>
@pointer = addrspace(1) global ptr addrspacecast (ptr addrspace(1) getelementptr inbounds ([2 x i16], ptr addrspace(1) @i16s, i64 0, i64 1) to ptr)
@pointers = addrspace(1) global [3 x ptr addrspace(1)] [ptr addrspace(1) @i32, ptr addrspace(1) null, ptr addrspace(1) getelementptr (i8, ptr addrspace(1) @i8s, i64 2)]
@mixed = addrspace(1) global { ptr addrspace(1), i32, ptr } { ptr addrspace(1) @f32, i32 3, ptr null }
@zeros = addrspace(1) global [100 x i32] zeroinitializer, align 128
@partly = addrspace(1) global [6 x float] [float 1.0, float 2.0, float 0.0, float 0.0, float 0.0, float 0.0]
@nested = addrspace(4) constant [2 x [2 x i32]] [[2 x i32] [i32 1, i32 2], [2 x i32] [i32 3, i32 4]]
@undefined = addrspace(1) global i32 undef
@outside = external addrspace(1) global [0 x i32], align 4
@outside_shared = external addrspace(3) global [0 x i8], align 16
@shared_array = internal addrspace(3) global [64 x float] undef, align 16
@shared_weak = weak addrspace(3) global i32 undef
@weak_one = weak addrspace(1) global i32 4
@common_one = common addrspace(1) global i32 0, align 4
@once = linkonce_odr addrspace(1) global i32 8
@"name with spaces.and-dots$" = internal addrspace(1) global i32 9
@.dotted.name = private addrspace(1) global i64 10
@vector = addrspace(1) global <4 x i16> <i16 1, i16 2, i16 3, i16 4>
@bits = addrspace(1) global [2 x i1] [i1 true, i1 false]

define ptx_kernel void @uses(ptr addrspace(1) %out, i32 %i) {
  %j = sext i32 %i to i64
  %p1 = getelementptr [64 x float], ptr addrspace(3) @shared_array, i64 0, i64 %j
  %a = load float, ptr addrspace(3) %p1
  %b = load i32, ptr addrspace(1) @"name with spaces.and-dots$"
  %c = load i64, ptr addrspace(1) @.dotted.name
  %p2 = getelementptr [2 x i64], ptr addrspace(4) @i64s, i64 0, i64 %j
  %d = load i64, ptr addrspace(4) %p2
  %p3 = getelementptr [0 x i32], ptr addrspace(1) @outside, i64 0, i64 %j
  %e = load i32, ptr addrspace(1) %p3
  %p4 = getelementptr [0 x i8], ptr addrspace(3) @outside_shared, i64 0, i64 %j
  %f = load i8, ptr addrspace(3) %p4
  %g = load i32, ptr addrspace(1) @weak_one
  %h = load i32, ptr addrspace(3) @shared_weak
  %s1 = sext i8 %f to i32
  %s2 = add i32 %s1, %b
  %s3 = add i32 %s2, %e
  %s4 = add i32 %s3, %g
  %s5 = add i32 %s4, %h
  store i32 %s5, ptr addrspace(1) %out
  %t = add i64 %c, %d
  store i64 %t, ptr addrspace(1) %out
  store float %a, ptr addrspace(1) %out
  store volatile i32 %s5, ptr addrspace(3) @shared_weak
  ret void
}
