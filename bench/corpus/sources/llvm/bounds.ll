;! least sm_90
; Launch bounds of every kind, parameters with spaces and alignments, grid constants, clusters.
define ptx_kernel void @bounded(ptr addrspace(1) noalias readonly align 16 %a, ptr addrspace(3) %s, ptr addrspace(4) %c, i8 %x, i1 %y, <4 x float> %v, i128 %q) "nvvm.maxntid"="128,2" "nvvm.minctasm"="2" "nvvm.maxnreg"="64" "nvvm.maxclusterrank"="4" {
  store i8 %x, ptr addrspace(3) %s
  ret void
}
define ptx_kernel void @required(ptr byval([24 x i8]) align 8 %p, ptr addrspace(1) %out, [2 x i32] %arr, { i8, double } %st) "nvvm.reqntid"="64,1,1" "nvvm.cluster_dim"="2,1,1" {
  %x = load i64, ptr %p
  store volatile i64 %x, ptr addrspace(1) %out
  %y = extractvalue [2 x i32] %arr, 1
  store volatile i32 %y, ptr addrspace(1) %out
  ret void
}
define ptx_kernel void @annotated(i64 %p) { ret void }
define ptx_kernel void @empty() { ret void }
!nvvm.annotations = !{!0}
!0 = !{ptr @annotated, !"maxntidx", i32 32, !"minctasm", i32 3}
