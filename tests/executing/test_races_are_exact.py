"""What is reported does not hang on the short ways that loads, stores and the search for races take.

Random kernels run twice: as always, and with every access set down granule by granule at once, checked byte by byte.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ptxgen.executing import Buffer, Launch, Outcome
from ptxgen.executing.emulator import Emulator, launching, races, schedule
from ptxgen.executing.emulator.machine import Report, make_order, start_batch
from ptxgen.executing.emulator.memory import Region

_WORDS = 64
_HEAD = f""".version 7.8
.target sm_90
.address_size 64
.visible .entry random(.param .u64 a, .param .u64 b)
{{
.reg .pred %p<9>; .reg .b32 %r<30>; .reg .b64 %rd<20>;
.shared .align 8 .b32 tile[{_WORDS}];
ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b];
mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, tile;
mad.lo.u32 %r5, %r2, %r3, %r1;
mov.u32 %r9, 7; mov.u32 %r10, 7;
"""
#: Of a thread (%r1 in its block, %r5 in the grid) the word that it comes to, into %r6.
_PATTERNS = (
    "mov.u32 %r6, %r1;", "add.u32 %r6, %r1, 1;", "xor.b32 %r6, %r1, 1;", "xor.b32 %r6, %r1, 33;",
    "shr.u32 %r6, %r1, 1;", "shr.u32 %r6, %r1, 5;", "shl.b32 %r6, %r1, 1;", "mov.u32 %r6, 3;", "mov.u32 %r6, %r5;",
    "mul.lo.u32 %r6, %r1, 7;", "and.b32 %r6, %r1, 3;", "sub.u32 %r6, 63, %r1;", "and.b32 %r6, %r1, 62;",
)
_GUARDS = ("", "setp.lt.u32 %p1, %r1, 32;", "setp.eq.u32 %p1, %r1, 5;",
           "and.b32 %r7, %r1, 1; setp.eq.u32 %p1, %r7, 0;",
           "setp.eq.u32 %p1, %r2, 0;", "setp.ge.u32 %p1, %r1, 40;")
_ACCESSES = (
    "ld{s}.u32 %r9, [{a}];", "ld{s}.u32 %r9, [{a}];", "ld{s}.u32 %r9, [{a}];", "ld{s}.v2.u32 {{%r9, %r10}}, [{v}];",
    "ld{s}.u8 %r9, [{a}+1];", "st{s}.u32 [{a}], %r9;", "st{s}.u32 [{a}], %r1;", "st{s}.u32 [{a}], 5;",
    "st{s}.v2.u32 [{v}], {{%r1, 5}};", "st{s}.u8 [{a}+2], %r1;", "atom{s}.add.u32 %r9, [{a}], 1;",
    "red{s}.max.u32 [{a}], %r1;", "ld.volatile{s}.u32 %r9, [{a}];", "st.volatile{s}.u32 [{a}], 1;",
    "atom.cta{s}.add.u32 %r9, [{a}], 1;",
)
_BARRIERS = (
    "bar.sync 0;", "bar.sync 0;", "bar.sync 0;", "bar.warp.sync 0xffffffff;", "bar.warp.sync 0xffffffff;",
    "setp.lt.u32 %p2, %r1, 32; @%p2 bar.sync 1, 32;", "shr.u32 %r8, %r1, 5; bar.sync %r8, 32;",
    "setp.lt.u32 %p2, %r1, 32; @%p2 bar.sync 1, 64; @!%p2 bar.arrive 1, 64;",
    "and.b32 %r8, %r1, 16; setp.eq.u32 %p2, %r8, 0; @%p2 bar.warp.sync 0x0000ffff;",
)
_FENCES = ("membar.gl;", "fence.acq_rel.cta;", "ld.acquire.gpu.global.u32 %r9, [%rd1];",
           "st.release.gpu.global.u32 [%rd1], 1;")


@st.composite
def bodies(draw: Any) -> str:
    """Straight-line statements; a third of the kernels have fences, the others log their accesses."""
    kinds = draw(st.sampled_from(["plain", "plain", "fenced"]))
    spaces = draw(st.sampled_from([(".shared",), (".global",), (".shared", ".global"), (".shared", ".global", "")]))
    lines = []
    for _ in range(draw(st.integers(2, 14))):
        choice = draw(st.integers(0, 9))
        if choice < 3:
            lines.append(draw(st.sampled_from(_BARRIERS)))
        elif choice == 3 and kinds == "fenced":
            lines.append(draw(st.sampled_from(_FENCES)))
        else:
            space, guard = draw(st.sampled_from(spaces)), draw(st.sampled_from(_GUARDS))
            base = draw(st.sampled_from(["%rd1", "%rd2"]))
            shared = space == ".shared"
            lines.append(draw(st.sampled_from(_PATTERNS)) + f" and.b32 %r6, %r6, {_WORDS - 1}; shl.b32 %r7, %r6, 2;")
            lines.append("add.u32 %r8, %r7, %r4; and.b32 %r11, %r7, 0xf8; add.u32 %r12, %r11, %r4;" if shared else
                         f"cvt.u64.u32 %rd3, %r7; add.s64 %rd4, %rd3, {base}; and.b64 %rd5, %rd4, -8;")
            where, pair = ("%r8", "%r12") if shared else ("%rd4", "%rd5")
            lines.append(guard)
            what = draw(st.sampled_from(_ACCESSES)).format(s=space, a=where, v=pair)
            lines.append(("@%p1 " if guard else "") + what)
    return "\n".join(lines)


@st.composite
def meetings(draw: Any) -> str:
    """Single threads come to two words, with barriers between: who was there last matters."""
    lines = []
    between = draw(st.sampled_from([_BARRIERS[:1], _BARRIERS[2:4], _BARRIERS[2:], _FENCES[:2] + _BARRIERS[2:]]))
    for _ in range(draw(st.integers(3, 16))):
        if draw(st.integers(0, 3)) == 0:
            lines.append(draw(st.sampled_from(between)))
            continue
        threads = draw(st.sampled_from([(0,), (1,), (33,), (0, 33), (65,), (97,), (1, 65)]))
        lines.append(f"setp.eq.u32 %p1, %r5, {threads[0]}; setp.eq.or.u32 %p1, %r5, {threads[-1]}, %p1;")
        shared, word = draw(st.sampled_from([False, False, True])), draw(st.sampled_from([0, 0, 0, 4]))
        space, where = (".shared", f"tile+{word}") if shared else (".global", f"%rd1+{word}")
        what = draw(st.sampled_from(["ld{}.u32 %r9, [{}];", "st{}.u32 [{}], %r5;", "red{}.add.u32 [{}], 1;"]))
        lines.append("@%p1 " + what.format(space, where))
    return "\n".join(lines)


def run(body: str, blocks: int, threads: int, lanes: int) -> Outcome:
    arguments = [Buffer(np.arange(_WORDS, dtype=np.uint32)), Buffer(np.zeros(_WORDS, np.uint32), initialised=False)]
    emulator = Emulator(lanes_at_once=lanes)
    return emulator.run(_HEAD + body + "\nret;\n}\n", None, Launch((blocks, 1, 1), (threads, 1, 1)), arguments)


def at_once(trace: races.Trace, touch: races.Touch, order: races.Order, *, private: bool) -> None:
    races._set_down(trace, touch, order, private=private)
    trace.newest, trace.low, trace.high = 1 << 62, 0, 1 << 62


def straight(patch: pytest.MonkeyPatch) -> None:
    """No logs, no knowledge of whole extents, no slices."""
    patch.setattr(races, "remember", at_once)
    patch.setattr(Region, "surely", lambda *_: 0)


def same_as_straight(body: str, blocks: int, threads: int, lanes: int) -> None:
    found = run(body, blocks, threads, lanes)
    with pytest.MonkeyPatch.context() as patch:
        straight(patch)
        wanted = run(body, blocks, threads, lanes)
    assert found.faults == wanted.faults
    assert [str(buffer) for buffer in found.buffers] == [str(buffer) for buffer in wanted.buffers]


#: Each thread reads a word, then writes a pair: of all threads every other word, one after another.
_PAIRS = """shl.b32 %r6, %r1, 2; add.u32 %r8, %r6, %r4; ld.shared.u32 %r9, [%r8]; cvt.u64.u32 %rd3, %r6;
add.u64 %rd4, %rd3, %rd1; ld.global.u32 %r9, [%rd4]; add.u32 %r12, %r8, %r6; add.u64 %rd5, %rd4, %rd3;
st.shared.v2.u32 [%r12], {%r1, 5}; st.global.v2.u32 [%rd5], {%r1, 5};"""


@example(_PAIRS, 1, 32, 64)
@example(_PAIRS.replace("ld.global", "ld.volatile.global"), 1, 32, 64)
@given(bodies(), st.integers(1, 3), st.sampled_from([1, 32, 40, 64]), st.sampled_from([64, 512]))
@settings(max_examples=120, deadline=None)
def test_reports_are_those_of_the_straight_way(body: str, blocks: int, threads: int, lanes: int) -> None:
    same_as_straight(body, blocks, threads, lanes)


def meeting(*steps: int | str) -> str:
    """Threads of the grid that read a word (negative: write it), and statements between."""
    lines = []
    for step in steps:
        if isinstance(step, str):
            lines.append(step)
            continue
        what = "st.global.u32 [%rd1], %r5;" if step < 0 else "ld.global.u32 %r9, [%rd1];"
        lines.append(f"setp.eq.u32 %p1, %r5, {abs(step)};\n@%p1 {what}")
    return "\n".join(lines)


_PART, _HALF_WARP = _BARRIERS[-2:]


@example(meeting(1, 33, "bar.sync 0;", -65), 512)
@example(meeting(1, 2, "bar.warp.sync 0xffffffff;", -65), 512)
@example(meeting(33, 1, _PART, -65), 512)
@example(meeting(_PART, 33, 1, _PART, -65), 512)
@example(meeting(1, 2, _HALF_WARP, -65), 512)
@example(meeting(_HALF_WARP, 1, 2, _HALF_WARP, -65), 512)
@given(meetings(), st.sampled_from([64, 512]))
@settings(max_examples=200, deadline=None)
def test_so_they_are_where_few_threads_meet(body: str, lanes: int) -> None:
    same_as_straight(body, 2, 64, lanes)


@given(body=bodies(), most=st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_a_full_log_changes_nothing(body: str, most: int) -> None:
    found = run(body, 2, 64, 512)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(races, "_MOST_TOUCHES", most)
        assert run(body, 2, 64, 512).faults == found.faults
        patch.setattr(races, "_MOST_GRANULES", most * 40)
        patch.setattr(races, "_MOST_SHARED", most * 40)
        assert run(body, 2, 64, 512).faults == found.faults


def test_copies_of_a_machine_have_logs_of_their_own() -> None:
    words, launch = [Buffer(np.arange(_WORDS, dtype=np.uint32))] * 2, Launch((2, 1, 1), (64, 1, 1))
    program = Emulator().program(_HEAD + meeting(1, 33, -65, -97) + "\nret;\n}\n", None)
    memory = launching.prepare(program, launch, words)
    regions = {**memory.regions, **launching.private_regions(program, launch, 2)}
    machine = start_batch(launch, 0, 2, program, regions, Report(), make_order(launch, fenced=False), [])
    limits: dict[str, Any] = {"step_limit": 1000, "deadline": float("inf"), "seconds": 1}
    first = next(number for number, step in enumerate(program.steps) if step.opcode.startswith("st"))
    schedule.run(machine, program, until=first, **limits)
    traces = machine.regions["global"].reads, machine.copy().regions["global"].reads
    assert [len(trace.log) for trace in traces if trace is not None] == [2, 2]
    told = []
    for each in (machine.copy(), machine.copy(), machine):
        schedule.run(each, program, **limits)
        told.append([fault.message for fault in each.report.faults])
    assert told[0] == told[1] == told[2]
    assert "several threads read" in told[0][0]


def test_the_kernels_race_and_do_not() -> None:
    """What the strategy is made of: a word of one's own, and the same one after somebody else's."""
    mine = "shl.b32 %r7, %r1, 2; add.u32 %r8, %r7, %r4; st.shared.u32 [%r8], %r1;\n"
    other = "xor.b32 %r7, %r7, 128; add.u32 %r8, %r7, %r4;\nld.shared.u32 %r9, [%r8];"
    assert run(mine, 2, 64, 512).ok
    assert [fault.kind for fault in run(mine + other, 2, 64, 512).faults] == ["race"]
    assert run(mine + "bar.sync 0;\n" + other, 2, 64, 512).ok
