"""Every fault is found where it was planted, and its correct twin runs clean."""

from __future__ import annotations

import time

import numpy as np
import pytest
from executor_contract import HEADER, REGISTERS, empty, kernel, line

from ptxgen.errors import UsageError
from ptxgen.executing import Alias, Argument, Buffer, Fault, Launch, Outcome, Scalar
from ptxgen.executing.emulator import Emulator

SHARED = ".shared .align 4 .b8 tile[256];"
TILE = "mov.u32 %r11, tile; mad.lo.u32 %r12, %r2, 4, %r11;\n"


def run(ptx: str, launch: Launch, arguments: list[Argument], emulator: Emulator | None = None) -> Outcome:
    return (emulator or Emulator()).run(ptx, None, launch, arguments)


def only(outcome: Outcome, kind: str) -> Fault:
    assert not outcome.ok
    assert [fault.kind for fault in outcome.faults] == [kind], outcome.faults
    return outcome.faults[0]


def marked(ptx: str) -> int:
    """The line with the comment `// here`."""
    return next(number for number, text in enumerate(ptx.splitlines(), 1) if "// here" in text)


def planted(body: str, kind: str, thread: int, *, launch: Launch, arguments: list[Argument], module: str = "",
            block: int = 0, params: str = ".param .u64 out") -> Fault:
    ptx = kernel(body, params, module)
    fault = only(run(ptx, launch, arguments), kind)
    assert fault.line == marked(ptx)
    assert fault.thread == (thread, 0, 0)
    assert fault.block == (block, 0, 0)
    return fault


def clean(body: str, *, launch: Launch, arguments: list[Argument], module: str = "",
          params: str = ".param .u64 out") -> Outcome:
    outcome = run(kernel(body, params, module), launch, arguments)
    assert outcome.ok, outcome.faults
    return outcome


# ---------------------------------------------------------------- memory


def test_out_of_bounds_store_names_the_buffer_and_the_distance() -> None:
    body = "st.global.u32 [%rd2], %r1; // here"
    fault = planted(body, "out-of-bounds", 4, block=3, launch=line(32, 4), arguments=[empty(100)])
    assert "0 bytes past the end of argument 0 (out)" in fault.message
    assert fault.address is not None
    clean(body, launch=line(32, 3), arguments=[empty(96)])


def test_bounds_are_exact_to_the_byte() -> None:
    body = "cvt.u16.u32 %rs1, %r2; ld.param.u64 %rd1, [out]; cvt.u64.u32 %rd3, %r1; add.u64 %rd2, %rd1, %rd3;\n"
    body += "st.global.u8 [%rd2], %rs1; // here"
    planted(body, "out-of-bounds", 13, launch=line(14), arguments=[empty(13, "u1")])
    clean(body, launch=line(13), arguments=[empty(13, "u1")])


def test_reading_before_a_buffer() -> None:
    body = "ld.global.u32 %r10, [%rd2+-4]; // here"
    fault = planted(body, "out-of-bounds", 0, launch=line(4), arguments=[Buffer(np.zeros(4, "u4"))])
    assert "4 bytes before" in fault.message


def test_null_and_wild_pointers() -> None:
    for value in (0, 2**63, 2**64 - 8, 0x7C00000FFFFF):
        body = f"mov.u64 %rd5, {value}; ld.global.u64 %rd6, [%rd5]; // here"
        planted(body, "out-of-bounds", 0, launch=line(2), arguments=[empty(4)])


def test_a_neighbouring_buffer_is_not_this_one() -> None:
    body = "st.global.u32 [%rd2+16], %r1; // here"
    both = ".param .u64 out, .param .u64 other"
    planted(body, "out-of-bounds", 0, launch=line(4), arguments=[empty(4), empty(4)], params=both)


@pytest.mark.parametrize(("access", "offset", "size"), [
    ("ld.global.u32 %r10, [%rd1+2];", 0, 4), ("ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1+8];", 0, 16),
    ("ld.global.u32 %r10, [%rd1];", 2, 4), ("atom.global.add.u32 %r10, [%rd1+1], 1;", 0, 4),
])
def test_misaligned(access: str, offset: int, size: int) -> None:
    data = Buffer(np.zeros(16, "u4"), offset=offset)
    fault = planted(access + " // here", "misaligned", 0, launch=line(1), arguments=[data])
    assert f"multiple of {size}" in fault.message


def test_legal_offsets_run_clean() -> None:
    clean("ld.global.u32 %r10, [%rd2]; st.global.u32 [%rd2], %r10;", launch=line(8),
          arguments=[Buffer(np.zeros(8, "u4"), offset=4)])


def test_uninitialised_read_of_a_buffer() -> None:
    body = "setp.eq.u32 %p1, %r2, 2; @!%p1 st.global.u32 [%rd2], %r1;\nld.global.u32 %r10, [%rd2]; // here"
    fault = planted(body, "uninitialised-read", 2, launch=line(4), arguments=[empty(4)])
    assert "nothing has written" in fault.message
    clean("st.global.u32 [%rd2], %r1; ld.global.u32 %r10, [%rd2];", launch=line(4), arguments=[empty(4)])


def test_uninitialised_shared_and_local_memory() -> None:
    body = TILE + "setp.ne.u32 %p1, %r2, 5; @%p1 st.shared.u32 [%r12], %r1; bar.sync 0;\n"
    body += "ld.shared.u32 %r13, [%r12]; // here"
    planted(body, "uninitialised-read", 5, launch=line(8), arguments=[empty(8)], module=SHARED)
    body = ".local .align 4 .b8 mine[8]; st.local.u32 [mine], %r1;\nld.local.u32 %r10, [mine+4]; // here"
    body += "\nst.global.u32 [%rd2], %r10;"
    planted(body, "uninitialised-read", 0, launch=line(2), arguments=[empty(2)])


def test_read_only_write() -> None:
    body = "ld.global.u32 %r10, [%rd2];\nst.global.u32 [%rd2], %r1; // here"
    planted(body, "read-only-write", 0, launch=line(2), arguments=[Buffer(np.zeros(2, "u4"), read_only=True)])


@pytest.mark.parametrize(("access", "space"), [
    ("ld.shared.u32 %r10, [%rd2];", "global"),
    ("mov.u64 %rd3, tile; ld.global.u32 %r10, [%rd3];", "shared"),
    ("mov.u64 %rd3, tile; cvta.shared.u64 %rd3, %rd3; ld.global.u32 %r10, [%rd3];", "shared"),
    ("mov.u64 %rd3, tile; cvta.shared.u64 %rd3, %rd3; ld.shared.u32 %r10, [%rd3];", "generic"),
])
def test_wrong_space(access: str, space: str) -> None:
    fault = planted(access + " // here", "wrong-space", 0, launch=line(2), arguments=[empty(2)], module=SHARED)
    assert space in fault.message


def test_shared_memory_has_bounds_of_its_own() -> None:
    body = TILE + "st.shared.u32 [%r12+252], %r1; // here"
    fault = planted(body, "out-of-bounds", 1, launch=line(4), arguments=[empty(4)], module=SHARED)
    assert "tile" in fault.message


def test_parameters_have_bounds() -> None:
    body = "ld.param.u64 %rd5, [n]; // here"
    ptx = kernel(body, ".param .u64 out, .param .u32 n")
    fault = only(run(ptx, line(1), [empty(1), Scalar("u32", 3)]), "out-of-bounds")
    assert fault.line == marked(ptx)


# ---------------------------------------------------------------- registers


def test_uninitialised_register() -> None:
    body = "setp.lt.u32 %p1, %r2, 3; @%p1 mov.u32 %r10, 1;\nst.global.u32 [%rd2], %r10; // here"
    fault = planted(body, "uninitialised-register", 3, launch=line(8), arguments=[empty(8)])
    assert "%r10" in fault.message


def test_masked_lanes_may_hold_nothing() -> None:
    body = """setp.lt.u32 %p1, %r2, 3; @%p1 mov.u32 %r10, 1; @%p1 add.u32 %r10, %r10, 1; @!%p1 mov.u32 %r10, 9;
    st.global.u32 [%rd2], %r10;"""
    outcome = clean(body, launch=line(4), arguments=[empty(4)])
    assert list(outcome.buffers[0]) == [2, 2, 2, 9]


def test_register_written_on_one_path_only() -> None:
    body = """setp.lt.u32 %p1, %r2, 3; @%p1 bra $skip; mov.u32 %r10, 1;
    $skip: st.global.u32 [%rd2], %r10; // here"""
    planted(body, "uninitialised-register", 0, launch=line(8), arguments=[empty(8)])


# ---------------------------------------------------------------- races


def test_missing_barrier_is_a_race() -> None:
    head = TILE + "st.shared.u32 [%r12], %r1;\n"
    tail = "xor.b32 %r13, %r2, 1; mad.lo.u32 %r13, %r13, 4, %r11;\nld.shared.u32 %r10, [%r13]; // here"
    fault = planted(head + tail, "race", 0, launch=line(64), arguments=[empty(64)], module=SHARED)
    assert "(1, 0, 0)" in fault.message
    clean(head + "bar.sync 0;" + tail, launch=line(64), arguments=[empty(64)], module=SHARED)


def test_write_after_read_needs_a_barrier_too() -> None:
    head = TILE + "st.shared.u32 [%r12], %r1; bar.sync 0; ld.shared.u32 %r14, [tile];\n"
    tail = "st.shared.u32 [%r12], %r14; // here"
    planted(head + tail, "race", 0, launch=line(32), arguments=[empty(32)], module=SHARED)
    clean(head + "bar.sync 0;\n" + tail, launch=line(32), arguments=[empty(32)], module=SHARED)


def test_threads_of_one_instruction_that_write_one_place() -> None:
    planted("st.global.u32 [%rd1], %r1; // here", "race", 0, launch=line(2), arguments=[empty(1)])
    clean("mov.u32 %r10, 1; st.global.u32 [%rd1], %r10;", launch=line(32, 2), arguments=[empty(1)])
    clean("red.global.add.u32 [%rd1], %r1;", launch=line(32, 2), arguments=[Buffer(np.zeros(1, "u4"))])


def test_blocks_are_not_ordered_by_their_barriers() -> None:
    body = "st.global.u32 [%rd2], %r1; bar.sync 0; xor.b32 %r10, %r1, 32; mad.wide.u32 %rd3, %r10, 4, %rd1;\n"
    body += "ld.global.u32 %r11, [%rd3]; // here"
    fault = planted(body, "race", 0, launch=line(32, 2), arguments=[empty(64)])
    assert "block (1, 0, 0)" in fault.message
    clean(body, launch=line(64, 1), arguments=[empty(64)])


def test_warp_barriers_order_a_warp_and_nothing_more() -> None:
    head = TILE + "st.shared.u32 [%r12], %r1; bar.warp.sync 0xffffffff;\n"
    near = "xor.b32 %r13, %r2, 1; mad.lo.u32 %r13, %r13, 4, %r11; ld.shared.u32 %r10, [%r13]; // here"
    clean(head + near, launch=line(64), arguments=[empty(64)], module=SHARED)
    far = near.replace("%r2, 1;", "%r2, 32;")
    planted(head + far, "race", 0, launch=line(64), arguments=[empty(64)], module=SHARED)


def test_plain_and_atomic_accesses_race() -> None:
    body = "red.global.add.u32 [%rd1], 1;\nld.global.u32 %r10, [%rd1]; // here"
    planted(body, "race", 0, launch=line(32), arguments=[Buffer(np.zeros(1, "u4"))])
    clean("red.global.add.u32 [%rd1], 1; bar.sync 0; ld.global.u32 %r10, [%rd1];", launch=line(32),
          arguments=[Buffer(np.zeros(1, "u4"))])


def test_many_readers_before_one_writer() -> None:
    body = """ld.global.u32 %r10, [%rd1]; setp.ne.u32 %p1, %r2, 7; @%p1 bra $end;
    st.global.u32 [%rd1], %r1; // here
    $end:"""
    planted(body, "race", 7, launch=line(32), arguments=[Buffer(np.zeros(1, "u4"))])


# ---------------------------------------------------------------- barriers, warps


def test_a_barrier_that_some_threads_never_reach() -> None:
    body = """setp.lt.u32 %p1, %r2, 20; @%p1 bra $other;
    bar.sync 0; // here
    bra $end;
    $other: bar.sync 1;
    $end:"""
    fault = planted(body, "barrier", 20, launch=line(64), arguments=[empty(1)])
    assert "44 of 64" in fault.message


def test_exited_threads_are_not_waited_for() -> None:
    clean("setp.lt.u32 %p1, %r2, 20; @%p1 ret; bar.sync 0;", launch=line(64), arguments=[empty(1)])


def test_one_warp_at_two_aligned_barriers() -> None:
    body = """setp.lt.u32 %p1, %r2, 20; @%p1 bra $other;
    bar.sync 0;
    bra $end;
    $other: bar.sync 0; // here
    $end:"""
    planted(body, "barrier", 0, launch=line(32), arguments=[empty(1)])
    clean(body.replace("%r2, 20", "%r2, 32"), launch=line(64), arguments=[empty(1)])
    clean(body.replace("bar.sync", "barrier.sync"), launch=line(32), arguments=[empty(1)])


def test_barrier_numbers_and_counts() -> None:
    planted("bar.sync 0, 33; // here", "barrier", 0, launch=line(64), arguments=[empty(1)])
    planted("mov.u32 %r10, 16; bar.sync %r10; // here", "barrier", 0, launch=line(64), arguments=[empty(1)])
    planted("bar.sync 0, 64; // here", "barrier", 0, launch=line(32), arguments=[empty(1)])


def test_shuffle_from_an_absent_lane() -> None:
    body = "setp.ge.u32 %p1, %r2, 16; @%p1 ret;\nshfl.sync.down.b32 %r10, %r1, 1, 31, 0xffff; // here"
    fault = planted(body, "shuffle", 15, launch=line(32), arguments=[empty(1)])
    assert "lane 16" in fault.message


def test_a_broadcast_needs_only_the_value_of_its_leader() -> None:
    head = "setp.eq.u32 %p1, %r2, 3; @%p1 mov.u32 %r11, 7;\n"
    tail = " st.global.u32 [%rd2], %r10;"
    outcome = clean(head + "shfl.sync.idx.b32 %r10, %r11, 3, 31, -1;" + tail, launch=line(32), arguments=[empty(32)])
    assert list(outcome.buffers[0]) == [7] * 32
    body = head + "shfl.sync.idx.b32 %r10, %r11, 4, 31, -1; // here\n" + tail
    planted(body, "uninitialised-register", 0, launch=line(32), arguments=[empty(32)])


def test_shuffle_that_waits_for_ever() -> None:
    body = """setp.ge.u32 %p1, %r2, 16; @%p1 bra $high;
    shfl.sync.bfly.b32 %r10, %r1, 1, 31, 0xffffffff; // here
    bra $end;
    $high: shfl.sync.bfly.b32 %r10, %r1, 1, 31, 0xffffffff;
    $end:"""
    planted(body, "shuffle", 0, launch=line(32), arguments=[empty(1)])


def test_member_masks() -> None:
    body = "shfl.sync.bfly.b32 %r10, %r1, 1, 31, 0x0000fffe; // here"
    planted(body, "member-mask", 0, launch=line(32), arguments=[empty(1)])
    body = """mov.u32 %r11, 0xffffffff; setp.eq.u32 %p1, %r2, 9; @%p1 mov.u32 %r11, 0x7fffffff;
    vote.sync.ballot.b32 %r10, %p1, %r11; // here"""
    fault = only(run(kernel(body), line(32), [empty(1)]), "member-mask")
    assert "different member masks" in fault.message


# ---------------------------------------------------------------- limits, launches, what is not there


def test_an_endless_loop_is_a_verdict() -> None:
    body = "mov.u32 %r10, 0;\n$again: add.u32 %r10, %r10, 1;\nbra $again; // here"
    ptx = kernel(body)
    only(run(ptx, line(32), [empty(1)], Emulator(step_limit=5000)), "step-limit")
    only(run(ptx, line(32), [empty(1)], Emulator(step_limit=10**12, time_limit=0.05)), "time-limit")


def test_a_loop_that_changes_nothing_is_found_before_the_limit() -> None:
    """Part of the threads waits at a barrier meanwhile, and half of them has left."""
    body = """mov.u32 %r10, 0; setp.lt.u32 %p1, %r2, 8; @%p1 ret; setp.lt.u32 %p1, %r2, 40; @%p1 bra $wait;
    $again: xor.b32 %r10, %r10, 1; setp.lt.u32 %p2, %r10, 5;
    @%p2 bra $again; // here
    $wait: bar.sync 0;"""
    ptx = kernel(body)
    fault = only(run(ptx, line(64), [empty(1)], Emulator(step_limit=10**12)), "step-limit")
    assert fault.line == marked(ptx)
    assert "endless" in fault.message
    counting = body.replace("xor.b32 %r10, %r10, 1", "add.u32 %r10, %r10, 1").replace("%r10, 5;", "%r10, 20000;")
    clean(counting, launch=line(64), arguments=[empty(1)])


def test_trap() -> None:
    body = "setp.eq.u32 %p1, %r1, 37;\n@%p1 trap; // here"
    planted(body, "trap", 5, block=1, launch=line(32, 2), arguments=[empty(1)])


def test_several_faults_are_all_reported_once() -> None:
    body = """ld.global.u32 %r10, [%rd2]; ld.global.u32 %r10, [%rd2];
    ld.global.u32 %r11, [%rd2];
    st.global.u32 [%rd1], %r1;"""
    outcome = run(kernel(body), line(4), [empty(4)])
    assert [(fault.kind, fault.line - outcome.faults[0].line) for fault in outcome.faults] == [
        ("uninitialised-read", 0), ("uninitialised-read", 1), ("race", 2)]


@pytest.mark.parametrize(("launch", "directive"), [
    (Launch((0, 1, 1), (32, 1, 1)), ""), (Launch((1, 1, 1), (1025, 1, 1)), ""),
    (Launch((1, 1, 1), (32, 1, 1), 300_000), ""), (Launch((1, 70000, 1), (1, 1, 1)), ""),
    (Launch((1, 1, 1), (64, 1, 1)), ".reqntid 32"), (Launch((1, 1, 1), (64, 1, 1)), ".maxntid 32, 1, 1"),
])
def test_launches_that_a_driver_refuses(launch: Launch, directive: str) -> None:
    ptx = f"{HEADER}.visible .entry k(.param .u64 out) {directive} {{ ret; }}\n"
    only(run(ptx, launch, [empty(1)]), "launch")


@pytest.mark.parametrize(("statement", "words"), [
    ("frobnicate.u32 %r1, %r2;", "frobnicate"), ("add.u32 %nothing, %r1, %r2;", "%nothing"),
    ("bra $nowhere;", "label"), ("call printf;", "printf"), ("mov.b128 %r1, %r2;", "b128"),
])
def test_what_is_not_emulated_is_named_with_its_line(statement: str, words: str) -> None:
    ptx = kernel(statement + " // here")
    fault = only(run(ptx, line(1), [empty(1)]), "unsupported")
    assert fault.line == marked(ptx)
    assert words in fault.message


@pytest.mark.parametrize("arguments", [
    [], [empty(1), empty(1)], [Scalar("u32", 1)], [Scalar("q7", 1)], [Alias(0)], [Alias(3)],
    [Buffer(np.zeros(1, "u4"), offset=-4)], [Buffer(np.array([None]))],
])
def test_arguments_that_do_not_fit_are_the_callers_mistake(arguments: list[Argument]) -> None:
    with pytest.raises(UsageError):
        run(kernel(""), line(1), arguments)


def test_values_and_entries_that_do_not_fit() -> None:
    ptx = f"{HEADER}.visible .entry k(.param .u32 n) {{ {REGISTERS} ret; }}\n"
    for scalar in (Scalar("u32", float("nan")), Scalar("u32", 1.5), Scalar("u32", -1),
                   Scalar("u32", 2**32), Scalar("f32", 1.0), Scalar("u64", 1)):
        with pytest.raises(UsageError):
            run(ptx, line(1), [scalar])
    with pytest.raises(UsageError, match="no entry"):
        Emulator().run(ptx, "other", line(1), [Scalar("u32", 1)])


def test_a_fault_leaves_the_buffers_as_they_were_then() -> None:
    body = "st.global.u32 [%rd2], %r1; setp.eq.u32 %p1, %r1, 0;\n@%p1 trap; // here"
    outcome = run(kernel(body), line(4), [empty(4)])
    assert list(outcome.buffers[0]) == [0, 1, 2, 3]


class Slow:
    """Watches, and makes every step take its time."""

    def begin(self, *_: object) -> None: ...

    def end(self, *_: object) -> None: ...

    def accessed(self, *_: object) -> None: ...

    def issued(self, *_: object) -> None:
        time.sleep(0.02)


def test_few_steps_that_take_long_end_by_time_too() -> None:
    ptx = kernel("mov.u32 %r10, 0;\n" + "add.u32 %r10, %r10, 1;\n" * 100)
    outcome = Emulator(time_limit=0.1).run(ptx, None, line(1), [empty(1)], watchers=[Slow()])
    assert [fault.kind for fault in outcome.faults] == ["time-limit"]
    assert outcome.instructions < 50
