"""Undefined values may be moved about; what hangs on one is reported where it was read first."""

from __future__ import annotations

import numpy as np
import pytest
from executor_contract import empty, kernel, line
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxgen.executing import Buffer, Outcome
from ptxgen.executing.emulator import Emulator, Stepper

EMULATOR = Emulator()
LOCAL = ".local .align 16 .b8 mine[64]; mov.u64 %rd8, mine; cvta.local.u64 %rd9, %rd8;\n"
SHARED = ".shared .align 16 .b8 tile[4096];"
#: How an undefined word comes into %r10.
SOURCES = {
    "local": ("ld.local.u32 %r10, [mine]; // here", "uninitialised-read"),
    "generic": ("ld.u32 %r10, [%rd9+8]; // here", "uninitialised-read"),
    "vector": ("ld.local.v2.u32 {%r10, %r9}, [mine]; // here", "uninitialised-read"),
    "shared": ("ld.shared.u32 %r10, [tile]; // here", "uninitialised-read"),
    "register": ("mov.b32 %r10, %r8; // here", "uninitialised-register"),
}
#: Ways from %r10 to %r10 that compilers take.
MOVES = (
    "mov.b32 %r11, %r10; mov.b32 %r10, %r11;",
    "st.local.u32 [mine+16], %r10; ld.local.u32 %r10, [mine+16];",
    "st.local.v2.u32 [mine+16], {%r1, %r10}; ld.local.v2.u32 {%r12, %r10}, [mine+16];",
    "st.u32 [%rd9+32], %r10; ld.local.u32 %r10, [mine+32];",
    "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r10; call (b), same, (a); ld.param.b32 %r10, [b]; }",
    "call (%r10), through, (%r10);",
    "call (%r10), again, (%r10, 2);",
    "cvt.u64.u32 %rd5, %r10; cvt.u32.u64 %r10, %rd5;",
    "add.u32 %r10, %r10, 1; xor.b32 %r10, %r10, %r1;",
    "setp.lt.u32 %p3, %r10, 5; selp.b32 %r10, 1, 2, %p3;",
    "shfl.sync.idx.b32 %r10, %r10, 0, 31, -1;",
    "mov.b64 %rd5, {%r1, %r10}; mov.b64 {%r12, %r10}, %rd5;",
)
#: What must not hang on an undefined value.
USES = (
    "st.global.u32 [%rd2], %r10;", "setp.eq.u32 %p4, %r10, 0; @%p4 bra $end;",
    "setp.eq.u32 %p4, %r10, 0; @%p4 st.global.u32 [%rd2], %r1;",
    "min.u32 %r13, %r10, 0; mul.wide.u32 %rd6, %r13, 4; add.u64 %rd6, %rd6, %rd1; ld.global.u32 %r14, [%rd6];",
    "red.global.add.u32 [%rd1], %r10;", "min.u32 %r13, %r10, 0; bar.sync %r13;",
)
#: Where nothing hangs on it.
ENDS = (
    "", "st.local.u32 [mine+48], %r10;", "mov.b32 %r10, 7; st.global.u32 [%rd2], %r10;",
    "setp.ne.u32 %p5, %r1, %r1; setp.eq.u32 %p6, %r10, 3; and.pred %p6, %p6, %p5; @%p6 bra $end;",
    "setp.eq.u32 %p5, %r1, %r1; setp.eq.u32 %p6, %r10, 3; or.pred %p6, %p5, %p6; @%p6 bra $end;",
    "setp.eq.u32 %p5, %r1, %r1; selp.b32 %r13, %r1, %r10, %p5; st.global.u32 [%rd2], %r13;",
    "sub.u32 %r13, %r1, %r1; and.b32 %r13, %r10, %r13; st.global.u32 [%rd2], %r13;",
    "st.local.u32 [mine], %r10; st.local.u32 [mine], %r1; ld.local.u32 %r13, [mine]; st.global.u32 [%rd2], %r13;",
    "st.local.v2.u32 [mine+16], {%r1, %r10}; ld.local.u32 %r13, [mine+16]; st.global.u32 [%rd2], %r13;",
)
FUNCTIONS = """
.func (.param .b32 result) same(.param .b32 x) { .reg .b32 %r<4>;
ld.param.b32 %r1, [x]; st.param.b32 [result], %r1; ret; }
.func (.reg .b32 %y) through(.reg .b32 %x) { mov.b32 %y, %x; ret; }
.func (.reg .b32 %y) again(.reg .b32 %x, .reg .b32 %n) { .reg .pred %p<2>; .reg .b32 %m; mov.b32 %y, %x;
setp.eq.u32 %p1, %n, 0; @%p1 ret; sub.u32 %m, %n, 1; call (%y), again, (%x, %m); ret; }
"""


def run(source: str, moves: list[str], end: str, threads: int = 32) -> tuple[Outcome, int]:
    body = "\n".join([LOCAL, SOURCES[source][0], *moves, end, "$end:"])
    ptx = kernel(body, module=SHARED + FUNCTIONS)
    outcome = EMULATOR.run(ptx, None, line(threads), [Buffer(np.zeros(threads, "u4"))])
    return outcome, next(number for number, text in enumerate(ptx.splitlines(), 1) if "// here" in text)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(SOURCES)), st.lists(st.sampled_from(MOVES), max_size=3), st.sampled_from(USES))
def test_what_hangs_on_an_undefined_value_is_reported_where_it_came_from(
    source: str, moves: list[str], use: str
) -> None:
    outcome, where = run(source, moves, use)
    assert [(fault.kind, fault.line) for fault in outcome.faults] == [(SOURCES[source][1], where)], outcome.faults


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(SOURCES)), st.lists(st.sampled_from(MOVES), min_size=1, max_size=3),
       st.sampled_from(ENDS))
def test_what_is_only_moved_is_not_reported(source: str, moves: list[str], end: str) -> None:
    outcome, _ = run(source, moves, end)
    assert outcome.ok, outcome.faults


def test_only_the_threads_without_a_value_are_named() -> None:
    body = """mov.u32 %r10, 0; setp.ne.u32 %p1, %r2, 21; @%p1 st.shared.u32 [%r20], %r1; ld.shared.u32 %r10, [%r20];
    add.u32 %r10, %r10, 1; st.global.u32 [%rd2], %r10;"""
    ptx = kernel("mov.u32 %r20, tile; mad.lo.u32 %r20, %r2, 4, %r20;\n" + body, module=SHARED)
    outcome = EMULATOR.run(ptx, None, line(32), [empty(32)])
    assert [(fault.kind, fault.thread) for fault in outcome.faults] == [("uninitialised-read", (21, 0, 0))]
    assert "nothing has written" in outcome.faults[0].message


@pytest.mark.parametrize("text", [
    "add.u32 %r11, %r10, 1;", "setp.eq.u32 %p1, %r10, 0;", "mul.wide.u32 %rd5, %r10, 4;",
])
def test_nothing_is_computed_with_a_register_that_nothing_wrote(text: str) -> None:
    outcome = EMULATOR.run(kernel(text), None, line(32), [empty(32)])
    assert [fault.kind for fault in outcome.faults] == ["uninitialised-register"]


def test_a_saved_machine_keeps_what_is_undefined() -> None:
    text = kernel(LOCAL + "ld.local.u32 %r10, [mine];\nmov.b32 %r11, %r10;\nst.global.u32 [%rd2], %r11;")
    number = next(n for n, t in enumerate(text.splitlines(), 1) if "st.global" in t)
    stepper = Stepper(text, line(32), [Buffer(np.zeros(32, "u4"))])
    assert stepper.run_to(number)
    before = stepper.save()
    for _ in range(2):
        stepper.go_on()
        assert [fault.kind for fault in stepper.finish().faults] == ["uninitialised-read"]
        stepper.restore(before)
