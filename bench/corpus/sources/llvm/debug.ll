;! least sm_89
; Debug information written out: lines, inlined calls, variables, types. Names that need quoting.
source_filename = "debug.c"
define ptx_kernel void @traced(ptr addrspace(1) %p, i32 %n) !dbg !5 {
entry:
    #dbg_value(i32 %n, !12, !DIExpression(), !14)
  %a = mul i32 %n, 3, !dbg !14
  %b = add i32 %a, 1, !dbg !15
  %c = call i32 @helped(i32 %b), !dbg !18
    #dbg_value(i32 %c, !12, !DIExpression(), !18)
  store i32 %c, ptr addrspace(1) %p, !dbg !18
  ret void, !dbg !19
}
define internal i32 @helped(i32 %x) noinline !dbg !20 {
  %r = mul i32 %x, %x, !dbg !21
  %s = udiv i32 %r, 7, !dbg !22
  ret i32 %s, !dbg !22
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!3, !4}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, producer: "by hand", isOptimized: true, runtimeVersion: 0, emissionKind: FullDebug)
!1 = !DIFile(filename: "debug file.c", directory: "/sources/of a project")
!2 = !DISubroutineType(types: !{null, !10})
!3 = !{i32 2, !"Debug Info Version", i32 3}
!4 = !{i32 7, !"Dwarf Version", i32 2}
!5 = distinct !DISubprogram(name: "traced", scope: !1, file: !1, line: 10, type: !2, scopeLine: 10, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0, retainedNodes: !{!12})
!6 = distinct !DISubprogram(name: "inner", scope: !1, file: !7, line: 3, type: !2, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!7 = !DIFile(filename: "other.h", directory: "/sources/of a project")
!10 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
!12 = !DILocalVariable(name: "n", arg: 2, scope: !5, file: !1, line: 10, type: !10)
!14 = !DILocation(line: 11, column: 7, scope: !5)
!15 = !DILocation(line: 4, column: 3, scope: !6, inlinedAt: !16)
!16 = distinct !DILocation(line: 12, column: 9, scope: !5)
!18 = !DILocation(line: 13, scope: !5)
!19 = !DILocation(line: 14, column: 1, scope: !5)
!20 = distinct !DISubprogram(name: "helped", scope: !1, file: !1, line: 20, type: !2, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!21 = !DILocation(line: 21, column: 12, scope: !20)
!22 = !DILocation(line: 22, column: 2, scope: !20)
