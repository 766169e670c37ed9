"""Races are reported exactly where no barrier orders the two threads, whoever they are and whoever else was there."""

from __future__ import annotations

import numpy as np
import pytest
from executor_contract import empty, kernel, line
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxgen.executing import Buffer, Launch, Outcome
from ptxgen.executing.emulator import Emulator

SHARED = ".shared .align 16 .b8 tile[1024];"
EMULATOR = Emulator()
WARPS = st.integers(0, 3)
LANES = st.integers(0, 31)


def exchange(middle: str, writer: int, reader: int, threads: int, write: str = "st.shared.u32 [tile], 7;") -> Outcome:
    """One thread writes, something happens, one thread reads."""
    body = f"""mov.u32 %r10, 1; st.shared.u32 [tile+4], %r10; setp.eq.u32 %p1, %r2, 0; mov.u32 %r11, 0;
    @%p1 st.shared.u32 [tile], %r11; bar.sync 0;
    setp.eq.u32 %p1, %r2, {writer}; setp.eq.u32 %p2, %r2, {reader}; mov.u32 %r12, 7;
    @%p1 {write.replace("7;", "%r12;")}
    {middle}
    @%p2 ld.shared.u32 %r11, [tile]; // here
    st.global.u32 [%rd2], %r11;"""
    ptx = kernel(body, module=SHARED)
    outcome = EMULATOR.run(ptx, None, line(threads), [empty(threads)])
    assert {fault.kind for fault in outcome.faults} <= {"race"}
    return outcome


def in_warps(warps: frozenset[int], statement: str, number: int) -> str:
    mask = sum(1 << warp for warp in warps)
    return f"""shr.u32 %r20, %r2, 5; mov.u32 %r21, {mask}; shr.u32 %r21, %r21, %r20; and.b32 %r21, %r21, 1;
    setp.eq.u32 %p3, %r21, 0; @%p3 bra $skip{number};
    {statement}
    $skip{number}:"""


@settings(max_examples=25, deadline=None)
@given(st.frozensets(WARPS, min_size=1), WARPS, WARPS, LANES, LANES)
def test_a_barrier_of_some_warps_orders_those(
    warps: frozenset[int], from_warp: int, to_warp: int, from_lane: int, to_lane: int
) -> None:
    writer, reader = 32 * from_warp + from_lane, 32 * to_warp + to_lane
    middle = in_warps(warps, f"bar.sync 1, {32 * len(warps)};", 1)
    outcome = exchange(middle, writer, reader, 128)
    assert outcome.ok == (writer == reader or {from_warp, to_warp} <= warps)


@settings(max_examples=25, deadline=None)
@given(WARPS, WARPS, WARPS, WARPS)
def test_what_was_heard_is_told_further(writer: int, between: int, also_between: int, reader: int) -> None:
    """One barrier of two warps, then another of two: the second tells what came through the first."""
    first, second = frozenset({writer, between}), frozenset({also_between, reader})
    middle = "\n".join(
        in_warps(warps, f"bar.sync {number}, {32 * len(warps)};", number)
        for number, warps in enumerate((first, second), 1)
    )
    outcome = exchange(middle, 32 * writer, 32 * reader + 1, 128)
    assert outcome.ok == (reader in first or bool(first & second))


@settings(max_examples=25, deadline=None)
@given(st.frozensets(WARPS, min_size=1, max_size=3), WARPS, WARPS)
def test_who_arrives_tells_and_does_not_hear(arriving: frozenset[int], writer: int, reader: int) -> None:
    waiting = frozenset(range(4)) - arriving
    middle = f"""shr.u32 %r20, %r2, 5; mov.u32 %r21, {sum(1 << warp for warp in arriving)};
    shr.u32 %r21, %r21, %r20; and.b32 %r21, %r21, 1; setp.eq.u32 %p3, %r21, 0; @%p3 bra $waits;
    bar.arrive 1, 128; bra $on;
    $waits: bar.sync 1, 128;
    $on:"""
    outcome = exchange(middle, 32 * writer, 32 * reader + 1, 128)
    assert outcome.ok == (reader in waiting)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 2**32 - 2), LANES, LANES)
def test_a_warp_barrier_of_some_lanes_orders_those(mask: int, writer: int, reader: int) -> None:
    middle = f"""mov.u32 %r20, 1; shl.b32 %r20, %r20, %r2; and.b32 %r21, %r20, {mask}; setp.ne.u32 %p3, %r21, 0;
    selp.b32 %r22, {mask}, {2**32 - 1 - mask}, %p3; bar.warp.sync %r22;"""
    outcome = exchange(middle, writer, reader, 32)
    same = (mask >> writer & 1) == (mask >> reader & 1)
    assert outcome.ok == (writer == reader or same)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 4), st.integers(0, 63))
def test_pairs_tell_on_what_they_heard(steps: int, reader: int) -> None:
    """A butterfly of warp barriers of two lanes: after `steps` of five a lane has heard of 2**steps lanes."""
    middle = "\n".join(
        f"xor.b32 %r20, %r2, {1 << step}; and.b32 %r20, %r20, 31; and.b32 %r22, %r2, 31; mov.u32 %r21, 1;"
        "shl.b32 %r20, %r21, %r20; shl.b32 %r21, %r21, %r22; or.b32 %r20, %r20, %r21; bar.warp.sync %r20;"
        for step in range(steps)
    )
    outcome = exchange(middle, 0, reader, 64)
    assert outcome.ok == (reader < 1 << steps)


@settings(max_examples=15, deadline=None)
@given(st.integers(2, 96), st.data())
def test_an_unordered_atomic_of_anyone_is_remembered(threads: int, data: st.DataObject) -> None:
    """All count; whoever reads the counter plainly at once has not waited for the others."""
    reader = data.draw(st.integers(0, threads - 1))
    body = f"""setp.eq.u32 %p2, %r2, {reader}; mov.u32 %r11, 0; red.global.add.u32 [%rd1], 1;
    BARRIER @%p2 ld.global.u32 %r11, [%rd1];"""
    for barrier, clean in (("", False), ("bar.sync 0;", True)):
        outcome = EMULATOR.run(kernel(body.replace("BARRIER", barrier)), None, line(threads), [
            Buffer(np.zeros(1, "u4")),
        ])
        assert outcome.ok == clean
        assert {fault.kind for fault in outcome.faults} <= {"race"}


@settings(max_examples=15, deadline=None)
@given(st.integers(2, 96), st.data())
def test_an_unordered_store_of_anyone_is_remembered(threads: int, data: st.DataObject) -> None:
    """All store the same number, which is no race; whoever stores another at once has not waited for the others."""
    writer = data.draw(st.integers(0, threads - 1))
    body = f"""setp.eq.u32 %p2, %r2, {writer}; mov.u32 %r10, 3; mov.u32 %r11, 4; st.global.u32 [%rd1], %r10;
    BARRIER @%p2 st.global.u32 [%rd1], %r11;"""
    for barrier, clean in (("", False), ("bar.sync 0;", True)):
        outcome = EMULATOR.run(kernel(body.replace("BARRIER", barrier)), None, line(threads), [empty(1)])
        assert outcome.ok == clean
        assert {fault.kind for fault in outcome.faults} <= {"race"}


LOADS = st.sampled_from(["ld", "ld.volatile", "ld.relaxed.gpu", "ld.acquire.cta"])


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(["shared", "global"]), LOADS, LOADS, st.integers(0, 63), st.integers(0, 63))
def test_two_loads_never_race(space: str, first: str, second: str, one: int, other: int) -> None:
    """However strong each of them is; and each of them races with a plain store."""
    place = "[tile]" if space == "shared" else "[%rd3]"
    load = "{}." + f"{space}.u32 %r11, {place};"

    def run(before: str, after: str) -> Outcome:
        ptx = kernel(f"""ld.param.u64 %rd3, [out]; mov.u32 %r11, 0; setp.ne.u32 %p1, %r2, 0; @%p1 bra $filled;
        st.{space}.u32 {place}, %r11; $filled: bar.sync 0;
        setp.eq.u32 %p1, %r2, {one}; setp.eq.u32 %p2, %r2, {other}; mov.u32 %r12, 7;
        @%p1 {before}
        @%p2 {after}""", module=SHARED)
        return EMULATOR.run(ptx, None, line(64), [empty(64)])

    assert run(load.format(first), load.format(second)).ok
    for strong in (first, second):
        raced = run(load.format(strong), f"st.{space}.u32 {place}, %r12;")
        assert raced.ok == (one == other)
        assert {fault.kind for fault in raced.faults} <= {"race"}


BARRIERS = ("bar.sync 1;", "bar.sync 1, 64;", "bar.red.popc.u32 %r11, 1, %p1;", "bar.red.and.pred %p2, 1, %p1;",
            "bar.red.popc.u32 %r11, 1, 64, %p1;")  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(BARRIERS), min_size=4, max_size=4), st.permutations(range(8)))
def test_every_block_has_barriers_of_its_own(chosen: list[str], order: list[int]) -> None:
    """Blocks at barriers of one number that count and reduce differently, their warps one after another."""
    turns = "\n".join(
        f"setp.ne.u32 %p3, %r20, {warp}; @%p3 bra $other{warp}; {chosen[warp // 2]} $other{warp}:" for warp in order
    )
    ptx = kernel(f"""mov.u32 %r22, %ctaid.x; shr.u32 %r20, %r2, 5; mad.lo.u32 %r20, %r22, 2, %r20;
    setp.ge.u32 %p1, %r2, 0; mov.u32 %r11, 0; {turns}""")
    outcome = EMULATOR.run(ptx, None, Launch((4, 1, 1), (64, 1, 1)), [empty(256)])
    assert outcome.ok, outcome.faults


def handed_over(publish: str, watch: str, after: str, before: str, *, readers: int = 1) -> Outcome:
    """Block 0 writes and publishes, the other blocks watch the flag and read; `after` and `before` stand between."""
    body = f"""setp.ne.u32 %p1, %r3, 0; @%p1 bra $reader;
    st.global.u32 [%rd2+128], %r1; bar.sync 0; mov.u32 %r11, 1;
    {publish}
    {after}
    bra $end;
    $reader: {watch} setp.eq.u32 %p2, %r11, 0; @%p2 bra $reader; {before}
    bar.sync 0; mul.wide.u32 %rd5, %r2, 4; add.u64 %rd5, %rd1, %rd5; ld.global.u32 %r12, [%rd5+128];
    $end:"""
    outcome = EMULATOR.run(kernel(body), None, line(32, 1 + readers), [Buffer(np.zeros(128, "u4"))])
    assert {fault.kind for fault in outcome.faults} <= {"race"}
    return outcome


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from([
        ("membar.gl; st.volatile.global.u32 [%rd1], %r11;", True), ("st.release.gpu.global.u32 [%rd1], %r11;", True),
        ("fence.acq_rel.gpu; red.relaxed.gpu.global.add.u32 [%rd1], 1;", True),
        ("red.release.gpu.global.add.u32 [%rd1], 1;", True),
        ("atom.acq_rel.gpu.global.add.u32 %r12, [%rd1], 1;", True),
        ("st.volatile.global.u32 [%rd1], %r11;", False), ("red.relaxed.gpu.global.add.u32 [%rd1], 1;", False),
    ]),
    st.sampled_from(["ld.acquire.gpu.global.u32 %r11, [%rd1];", "ld.volatile.global.u32 %r11, [%rd1]; membar.gl;",
                     "atom.acquire.gpu.global.or.b32 %r11, [%rd1], 0;"]),
    st.integers(0, 3), st.integers(0, 3), st.integers(1, 3),
)
def test_a_release_before_the_flag_orders_and_later_fences_change_nothing(
    publish: tuple[str, bool], watch: str, after: int, before: int, readers: int
) -> None:
    text, releases = publish
    outcome = handed_over(text, watch, "membar.gl;" * after, "membar.gl;" * before, readers=readers)
    assert outcome.ok or not releases
    if not (after or before or "membar" in watch):
        assert outcome.ok == releases


@settings(max_examples=10, deadline=None)
@given(st.integers(1, 4), st.integers(1, 4), st.booleans())
def test_blocks_that_meet_again_and_again(blocks: int, rounds: int, fenced: bool) -> None:
    """Each reads its neighbour's word and, when all have met, writes its own; all meet again."""
    fence = "membar.gl;" if fenced else ""
    meet = f"""bar.sync 0; @%p1 bra $waited;
    {fence} atom.global.add.u32 %r20, [%rd1+WHERE], 1;
    $again: ld.volatile.global.u32 %r20, [%rd1+WHERE]; setp.lt.u32 %p2, %r20, %r21; @%p2 bra $again; {fence}
    $waited: bar.sync 0;"""
    read, write = "ld.global.u32 %r10, [%rd6]; add.u32 %r10, %r10, 1;", "st.global.u32 [%rd7], %r10;"
    steps = "\n".join(
        meet.replace("WHERE", str(8 * number)).replace("$", f"$r{number}_") + text
        for number in range(rounds)
        for text in (write if number % 2 else read,)
    )
    body = f"""setp.ne.u32 %p1, %r2, 0; mov.u32 %r21, %nctaid.x; mul.wide.u32 %rd7, %r1, 4; add.u64 %rd7, %rd1, %rd7;
    add.u64 %rd7, %rd7, 256; add.u32 %r22, %r1, 32; mul.lo.u32 %r23, %r21, 32; rem.u32 %r22, %r22, %r23;
    mul.wide.u32 %rd6, %r22, 4; add.u64 %rd6, %rd1, %rd6; add.u64 %rd6, %rd6, 256;
    {steps}"""
    outcome = EMULATOR.run(kernel(body), None, line(32, blocks), [Buffer(np.zeros(256, "u4"))])
    assert outcome.ok or not fenced, outcome.faults
    if not fenced and blocks > 1 and rounds > 1:
        assert "race" in {fault.kind for fault in outcome.faults}


@pytest.mark.parametrize(("changed", "clean"), [
    ("", True), ("add.u64 %rd5, %rd5, 0;", False), ("st.global.u32 [%rd5], %r11;", False),
])
@pytest.mark.parametrize("space", ["global", "shared"])
def test_the_first_look_of_a_loop_around_cas_may_be_plain(space: str, changed: str, clean: bool) -> None:
    """What it gives is compared again; a plain access of another address register, or a store, is not."""
    body = f"""mov.u64 %rd5, {"%rd1" if space == "global" else "tile"}; {changed.replace("global", space)}
    ld.{space}.u32 %r11, [%rd5];
    $again: add.u32 %r12, %r11, 3; atom.{space}.cas.b32 %r13, [%rd5], %r11, %r12;
    setp.ne.u32 %p1, %r13, %r11; mov.b32 %r11, %r13; @%p1 bra $again;"""
    start = "setp.eq.u32 %p1, %r2, 0; mov.u32 %r11, 0; @%p1 st.shared.u32 [tile], %r11; bar.sync 0;"
    text = kernel(start + body, module=SHARED)
    outcome = EMULATOR.run(text, None, line(96), [Buffer(np.zeros(32, "u4"))])
    assert outcome.ok == clean
    if clean and space == "global":
        assert int(outcome.buffers[0][0]) == 3 * 96  # type: ignore[index]
