"""What every executor must do: kernels with the result that PTX promises, on any of them.

`CASES` are run by `check(executor, case)`; a test file an executor parametrises over them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ptxgen.executing import Alias, Argument, Buffer, Executor, Launch, Scalar, Value, unwritten

HEADER = ".version 8.0\n.target sm_80\n.address_size 64\n"
REGISTERS = """.reg .pred %p<16>; .reg .b16 %rs<32>; .reg .b32 %r<64>; .reg .b64 %rd<64>; .reg .f32 %f<32>;
.reg .f64 %fd<16>;
"""
#: Puts the linear thread of the grid in %r1 (x only), its thread in %r2, its block in %r3.
WHO = """mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mad.lo.u32 %r1, %r3, %r4, %r2;
"""
#: Puts the address of element %r1 of 32-bit words of parameter `out` in %rd2.
OUT = """ld.param.u64 %rd1, [out]; cvta.to.global.u64 %rd1, %rd1; mad.wide.u32 %rd2, %r1, 4, %rd1;
"""


def kernel(body: str, params: str = ".param .u64 out", module: str = "", before: str = WHO + OUT) -> str:
    """A module of one kernel `k`."""
    return f"{HEADER}{module}\n.visible .entry k({params})\n{{\n{REGISTERS}{before}{body}\nret;\n}}\n"


@dataclass(frozen=True)
class Case:
    """`expected` maps argument numbers to the arrays they must hold afterwards, bit for bit, each of `runs` times.
    `printed` has the lines that are printed, sorted: threads have no order."""

    name: str
    ptx: str
    launch: Launch
    arguments: Sequence[Argument]
    expected: dict[int, np.ndarray[Any, Any]] = field(default_factory=dict)
    entry: str = "k"
    printed: tuple[str, ...] = ()
    runs: int = 1


def line(threads: int, blocks: int = 1, shared: int = 0) -> Launch:
    return Launch((blocks, 1, 1), (threads, 1, 1), shared)


def empty(count: int, dtype: str = "u4") -> Buffer:
    return unwritten(count, dtype)


def per_thread(name: str, body: str, values: Callable[[int], int], threads: int = 64, blocks: int = 2,
               module: str = "", shared: int = 0) -> Case:
    """A kernel that leaves a 32-bit word of every thread in %r10; it is stored to element %r1 of `out`."""
    total = threads * blocks
    ptx = kernel(body + "\nst.global.u32 [%rd2], %r10;", module=module)
    want = np.array([values(i) & 0xFFFFFFFF for i in range(total)], "u4")
    return Case(name, ptx, line(threads, blocks, shared), [empty(total)], {0: want})


def _collatz(n: int) -> int:
    steps = 0
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


CONTROL = [
    per_thread("nested-divergence", """
        and.b32 %r11, %r1, 1; setp.eq.u32 %p1, %r11, 0; @%p1 bra $even;
        and.b32 %r11, %r1, 2; setp.eq.u32 %p2, %r11, 0; @!%p2 bra $three;
        mov.u32 %r10, 10; bra $join;
        $three: mov.u32 %r10, 30; bra $join;
        $even: mov.u32 %r10, 20;
        $join: add.u32 %r10, %r10, %r1;
    """, lambda i: {0: 20, 1: 10, 2: 20, 3: 30}[i & 3] + i),
    per_thread("loop-of-different-lengths", """
        mov.u32 %r10, 0; mov.u32 %r11, %r1; setp.le.u32 %p1, %r11, 1; @%p1 bra $done;
        $loop: and.b32 %r12, %r11, 1; setp.eq.u32 %p2, %r12, 0;
        shr.u32 %r13, %r11, 1; mad.lo.u32 %r14, %r11, 3, 1; selp.u32 %r11, %r13, %r14, %p2;
        add.u32 %r10, %r10, 1; setp.gt.u32 %p3, %r11, 1; @%p3 bra $loop;
        $done:
    """, _collatz),
    per_thread("guarded-instructions", """
        setp.lt.u32 %p1, %r2, 10; mov.u32 %r10, 5; @%p1 add.u32 %r10, %r10, %r2; @!%p1 sub.u32 %r10, %r10, 1;
    """, lambda i: 5 + i % 64 if i % 64 < 10 else 4),
    per_thread("early-return", """
        mov.u32 %r10, 7; st.global.u32 [%rd2], %r10; setp.ge.u32 %p1, %r2, 3; @%p1 ret; mov.u32 %r10, 9;
    """, lambda i: 9 if i % 64 < 3 else 7),
    per_thread("branch-by-table", """
        and.b32 %r11, %r1, 3; targets: .branchtargets $a, $b, $c, $a; brx.idx %r11, targets;
        $a: mov.u32 %r10, 100; bra $end;
        $b: mov.u32 %r10, 200; bra $end;
        $c: mov.u32 %r10, 300;
        $end:
    """, lambda i: [100, 200, 300, 100][i & 3]),
    per_thread("device-function", """
        { .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call (b), square, (a); ld.param.b32 %r10, [b]; }
    """, lambda i: i * i + (1 if i > 5 else 0), module="""
        .func (.param .b32 result) square(.param .b32 x) {
        .reg .b32 %r<4>; .reg .pred %p<2>;
        ld.param.b32 %r1, [x]; mul.lo.u32 %r2, %r1, %r1; st.param.b32 [result], %r2;
        setp.le.u32 %p1, %r1, 5; @%p1 ret; add.u32 %r2, %r2, 1; st.param.b32 [result], %r2; ret; }
    """),
    per_thread("special-registers", """
        mov.u32 %r11, %laneid; mov.u32 %r12, %lanemask_lt; mov.u32 %r13, %nctaid.x; mov.u32 %r14, %ntid.x;
        popc.b32 %r12, %r12; mad.lo.u32 %r10, %r13, 1000, %r14; mad.lo.u32 %r10, %r11, 10000, %r10;
        add.u32 %r10, %r10, %r12;
    """, lambda i: i % 32 * 10000 + 2064 + i % 32),
]

MEMORY = [
    per_thread("shared-reversal", """
        mov.u32 %r11, tile; shl.b32 %r12, %r2, 2; add.u32 %r12, %r11, %r12; st.shared.u32 [%r12], %r1;
        bar.sync 0; sub.u32 %r13, 63, %r2; shl.b32 %r13, %r13, 2; add.u32 %r13, %r11, %r13;
        ld.shared.u32 %r10, [%r13];
    """, lambda i: i // 64 * 64 + 63 - i % 64, module=".shared .align 4 .b8 tile[256];"),
    per_thread("dynamic-shared-through-a-generic-address", """
        mov.u64 %rd3, smem; cvta.shared.u64 %rd4, %rd3; mul.wide.u32 %rd5, %r2, 4; add.u64 %rd4, %rd4, %rd5;
        mul.lo.u32 %r11, %r1, 3; st.u32 [%rd4], %r11; bar.sync 0; xor.b32 %r12, %r2, 1; mul.wide.u32 %rd6, %r12, 4;
        add.u64 %rd6, %rd3, %rd6; ld.shared.u32 %r10, [%rd6];
    """, lambda i: (i ^ 1) * 3, module=".extern .shared .align 16 .b8 smem[];", shared=256),
    per_thread("local-array", """
        .local .align 4 .b8 mine[16]; mov.u64 %rd3, mine; st.local.u32 [mine], %r1; st.local.u32 [%rd3+4], %r2;
        cvta.local.u64 %rd4, %rd3; ld.u32 %r11, [%rd4]; ld.local.u32 %r12, [mine+4]; mad.lo.u32 %r10, %r11, 2, %r12;
    """, lambda i: 2 * i + i % 64),
    per_thread("constants-and-initialised-globals", """
        and.b32 %r11, %r1, 3; mul.wide.u32 %rd3, %r11, 4; mov.u64 %rd4, table; add.u64 %rd4, %rd4, %rd3;
        ld.const.u32 %r12, [%rd4]; ld.global.u32 %r13, [start+4]; add.u32 %r10, %r12, %r13;
    """, lambda i: [3, 1, 4, 1][i & 3] + 20,
        module=".const .u32 table[4] = {3, 1, 4, 1}; .global .u32 start[2] = {10, 20};"),
    per_thread("narrow-loads-extend", """
        cvt.u16.u32 %rs1, %r1; mov.u32 %r11, bytes; add.u32 %r11, %r11, %r2; neg.s16 %rs2, %rs1;
        st.shared.u8 [%r11], %rs2; ld.shared.s8 %r12, [%r11]; ld.shared.u8 %r13, [%r11];
        mad.lo.s32 %r10, %r12, 1000, %r13;
    """, lambda i: (((-i & 255) ^ 128) - 128) * 1000 + (-i & 255), module=".shared .b8 bytes[64];"),
    Case("vectors", kernel("""
        ld.param.u64 %rd3, [in]; mul.wide.u32 %rd4, %r1, 16; add.u64 %rd3, %rd3, %rd4; add.u64 %rd1, %rd1, %rd4;
        ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd3]; st.global.v2.f32 [%rd1], {%f4, %f3};
        st.global.v2.f32 [%rd1+8], {%f2, %f1};
    """, ".param .u64 in, .param .u64 out"), line(32), [Buffer(np.arange(128, dtype="f4")), empty(128, "f4")],
        {1: np.arange(128, dtype="f4").reshape(-1, 4)[:, ::-1].reshape(-1)}),
    Case("one-buffer-twice", kernel("""
        ld.param.u64 %rd3, [again]; mad.wide.u32 %rd3, %r1, 4, %rd3; ld.global.u32 %r10, [%rd2];
        add.u32 %r10, %r10, 1; st.global.u32 [%rd3], %r10;
    """, ".param .u64 out, .param .u64 again"), line(40), [Buffer(np.arange(40, dtype="u4")), Alias(0)],
        {0: np.arange(1, 41, dtype="u4"), 1: np.arange(1, 41, dtype="u4")}),
    Case("scalars-of-each-width", kernel("""
        ld.param.u8 %rs1, [a]; ld.param.s16 %r11, [b]; ld.param.f32 %f1, [c]; ld.param.f64 %fd1, [d];
        cvt.u32.u16 %r12, %rs1; cvt.rzi.s32.f32 %r13, %f1; cvt.rzi.s32.f64 %r14, %fd1; add.u32 %r10, %r11, %r12;
        add.u32 %r10, %r10, %r13; add.u32 %r10, %r10, %r14; st.global.u32 [%rd2], %r10;
    """, ".param .u64 out, .param .u8 a, .param .s16 b, .param .f32 c, .param .f64 d"), line(1),
        [empty(1), Scalar("u8", 200), Scalar("s16", -100), Scalar("f32", 7.5), Scalar("f64", 1e6)],
        {0: np.array([1000107], "u4")}),
    Case("grid-of-three-dimensions", kernel("""
        mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z; mov.u32 %r4, %ctaid.x; mov.u32 %r5, %ctaid.y;
        mov.u32 %r6, %ctaid.z; mad.lo.u32 %r7, %r3, 2, %r2; mad.lo.u32 %r7, %r7, 4, %r1;
        mad.lo.u32 %r8, %r6, 2, %r5; mad.lo.u32 %r8, %r8, 3, %r4; mad.lo.u32 %r9, %r8, 16, %r7;
        ld.param.u64 %rd1, [out]; mad.wide.u32 %rd2, %r9, 4, %rd1; st.global.u32 [%rd2], %r9;
    """, before=""), Launch((3, 2, 2), (4, 2, 2)), [empty(192)], {0: np.arange(192, dtype="u4")}),
]


def _shuffled(i: int, source: int | None) -> int:
    return i if source is None else i // 32 * 32 + source


TOGETHER = [
    per_thread("shuffle-down", "shfl.sync.down.b32 %r10|%p1, %r1, 3, 31, -1;",
               lambda i: i + 3 if i % 32 + 3 < 32 else i),
    per_thread("shuffle-up", "shfl.sync.up.b32 %r10, %r1, 5, 0, 0xffffffff;", lambda i: i - 5 if i % 32 >= 5 else i),
    per_thread("shuffle-butterfly", "shfl.sync.bfly.b32 %r10, %r1, 9, 31, 0xffffffff;", lambda i: i ^ 9),
    per_thread("shuffle-broadcast-in-segments-of-eight", "shfl.sync.idx.b32 %r10, %r1, 2, 0x181f, 0xffffffff;",
               lambda i: i // 8 * 8 + 2),
    per_thread("shuffle-range-predicate", """
        shfl.sync.down.b32 %r11|%p1, %r1, 1, 0x1c1f, 0xffffffff; selp.u32 %r10, 1, 0, %p1;
    """, lambda i: int(i % 4 != 3)),
    per_thread("vote-and-ballot", """
        setp.lt.u32 %p1, %r2, 40; vote.sync.ballot.b32 %r10, %p1, 0xffffffff; vote.sync.all.pred %p2, %p1, 0xffffffff;
        vote.sync.any.pred %p3, %p1, 0xffffffff; @%p2 add.u32 %r10, %r10, 1; @!%p3 add.u32 %r10, %r10, 2;
    """, lambda i: 0 if i % 64 < 32 else 0xFF),
    per_thread("shuffle-in-half-a-warp", """
        and.b32 %r11, %r2, 16; setp.ne.u32 %p1, %r11, 0; mov.u32 %r10, 0; @%p1 bra $end;
        shfl.sync.bfly.b32 %r10, %r1, 1, 31, 0x0000ffff;
        $end:
    """, lambda i: i ^ 1 if i % 32 < 16 else 0),
    per_thread("match-any", """
        and.b32 %r11, %r1, 3; match.any.sync.b32 %r10, %r11, 0xffffffff;
    """, lambda i: 0x11111111 << (i & 3)),
    per_thread("redux", "redux.sync.max.s32 %r10, %r1, 0xffffffff;", lambda i: i | 31),
    per_thread("barrier-reduction", """
        setp.lt.u32 %p1, %r2, 10; bar.red.popc.u32 %r10, 0, %p1; bar.red.and.pred %p2, 0, %p1;
        @%p2 add.u32 %r10, %r10, 100;
    """, lambda i: 10),
    per_thread("tree-sum-of-a-block", """
        mov.u32 %r11, sums; shl.b32 %r12, %r2, 2; add.u32 %r12, %r11, %r12; st.shared.u32 [%r12], %r1; bar.sync 0;
        mov.u32 %r13, 32;
        $loop: setp.ge.u32 %p1, %r2, %r13; @%p1 bra $skip;
        shl.b32 %r14, %r13, 2; add.u32 %r14, %r12, %r14; ld.shared.u32 %r15, [%r14]; ld.shared.u32 %r16, [%r12];
        add.u32 %r16, %r16, %r15; st.shared.u32 [%r12], %r16;
        $skip: bar.sync 0; shr.u32 %r13, %r13, 1; setp.ne.u32 %p2, %r13, 0; @%p2 bra $loop;
        ld.shared.u32 %r10, [sums];
    """, lambda i: sum(range(i // 64 * 64, i // 64 * 64 + 64)), module=".shared .align 4 .b8 sums[256];"),
    per_thread("producer-and-consumer-warps", """
        setp.ge.u32 %p1, %r2, 32; mov.u32 %r10, 0; @%p1 bra $consume;
        mov.u32 %r11, box; mad.lo.u32 %r12, %r2, 4, %r11; st.shared.u32 [%r12], %r1; bar.arrive 1, 64; bra $end;
        $consume: bar.sync 1, 64; mov.u32 %r11, box; sub.u32 %r12, %r2, 32; mad.lo.u32 %r12, %r12, 4, %r11;
        ld.shared.u32 %r10, [%r12];
        $end:
    """, lambda i: 0 if i % 64 < 32 else i - 32, module=".shared .align 4 .b8 box[128];"),
]

ATOMICS = [
    Case("histogram", kernel("""
        mul.lo.u32 %r10, %r1, 7; and.b32 %r10, %r10, 15; mad.wide.u32 %rd3, %r10, 4, %rd1;
        red.global.add.u32 [%rd3], 1;
    """), line(96, 3), [Buffer(np.zeros(16, "u4"))],
        {0: np.bincount(np.arange(288) * 7 % 16, minlength=16).astype("u4")}),
    Case("atomics-of-each-kind", kernel("""
        red.global.max.u32 [%rd1], %r1; red.global.min.s32 [%rd1+4], %r1; red.global.or.b32 [%rd1+8], %r1;
        red.global.xor.b32 [%rd1+12], %r1; atom.global.inc.u32 %r10, [%rd1+16], 9; cvt.rn.f32.u32 %f1, %r1;
        red.global.add.f32 [%rd1+20], %f1; red.global.and.b32 [%rd1+24], %r1; atom.global.dec.u32 %r10, [%rd1+28], 6;
    """), line(64, 2), [Buffer(np.array([0, 5, 0, 0, 0, 0, 0xFFFFFFFF, 0], "u4"))],
        {0: np.array([127, 0, 127, 0, 8, 0x45FE0000, 0, 5], "u4")}),
    Case("compare-and-swap-loop", kernel("""
        $again: ld.relaxed.gpu.global.u32 %r10, [%rd1]; add.u32 %r11, %r10, 3;
        atom.global.cas.b32 %r12, [%rd1], %r10, %r11; setp.ne.u32 %p1, %r12, %r10; @%p1 bra $again;
    """), line(33, 2), [Buffer(np.zeros(1, "u4"))], {0: np.array([198], "u4")}),
    Case("spin-lock", kernel("""
        $again: atom.global.cas.b32 %r10, [%rd1], 0, 1; setp.ne.u32 %p1, %r10, 0; @%p1 bra $again;
        membar.gl; ld.volatile.global.u32 %r11, [%rd1+4]; add.u32 %r11, %r11, 2;
        st.volatile.global.u32 [%rd1+4], %r11;
        membar.gl; atom.global.exch.b32 %r12, [%rd1], 0;
    """), line(8, 2), [Buffer(np.zeros(2, "u4"))], {0: np.array([0, 32], "u4")}),
    Case("each-thread-gets-a-ticket", kernel("""
        atom.global.add.u32 %r10, [%rd1], 1; add.u32 %r10, %r10, 1; mad.wide.u32 %rd3, %r10, 4, %rd1;
        mov.u32 %r11, 1; st.global.u32 [%rd3], %r11;
    """), line(32, 4), [Buffer(np.zeros(129, "u4"))], {0: np.array([128] + [1] * 128, "u4")}),
    Case("last-block-sums", kernel("""
        setp.ne.u32 %p1, %r2, 0; @%p1 bra $wait;
        add.u32 %r10, %r3, 1; mad.wide.u32 %rd3, %r10, 4, %rd1; mul.lo.u32 %r11, %r10, 10; st.global.u32 [%rd3], %r11;
        membar.gl; atom.global.add.u32 %r12, [%rd1], 1; st.shared.u32 [turn], %r12;
        $wait: bar.sync 0; ld.shared.u32 %r13, [turn]; setp.ne.u32 %p2, %r13, 3; @%p2 bra $end;
        setp.ge.u32 %p3, %r2, 4; @%p3 bra $end; membar.gl;
        mad.wide.u32 %rd4, %r2, 4, %rd1; ld.global.u32 %r14, [%rd4+4]; add.u32 %r14, %r14, 1;
        st.global.u32 [%rd4+20], %r14;
        $end:
    """, module=".shared .align 4 .u32 turn;"), line(32, 4), [Buffer(np.zeros(9, "u4"))],
        {0: np.array([4, 10, 20, 30, 40, 11, 21, 31, 41], "u4")}),
]

CASES: tuple[Case, ...] = (*CONTROL, *MEMORY, *TOGETHER, *ATOMICS)


def check(executor: Executor, case: Case) -> None:
    """Run a case and compare; raises AssertionError."""
    for _ in range(case.runs):
        outcome = executor.run(case.ptx, case.entry, case.launch, list(case.arguments))
        assert outcome.ok, (case.name, outcome.faults)
        assert len(outcome.buffers) == len(case.arguments)
        assert tuple(sorted(outcome.printed.splitlines())) == case.printed
        for number, want in case.expected.items():
            got = outcome.buffers[number]
            assert got is not None
            assert (got.dtype, got.shape) == (want.dtype, want.shape)
            assert got.tobytes() == want.tobytes(), f"{case.name}, argument {number}: {got}, not {want}"
        for number, argument in enumerate(case.arguments):
            assert (outcome.buffers[number] is None) == isinstance(argument, Scalar | Value)
