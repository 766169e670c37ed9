"""The machine itself: stopping between statements, copies, forward progress, atomics in order, odd shapes."""

from __future__ import annotations

import numpy as np
import pytest
from executor_contract import WHO, empty, kernel, line, per_thread
from executor_contract import check as check_case
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxgen.executing import Buffer, Launch, Scalar
from ptxgen.executing.emulator import Emulator, launching, schedule
from ptxgen.executing.emulator.atomics import apply, make_operation
from ptxgen.executing.emulator.machine import Machine, Report, make_order, start_batch
from ptxgen.executing.emulator.memory import Extent, make_region
from ptxgen.executing.emulator.program import Program


def start(ptx: str, launch: Launch, *arguments: Buffer) -> tuple[Machine, Program, launching.Memory]:
    program = Emulator().program(ptx, None)
    memory = launching.prepare(program, launch, arguments)
    regions = {**memory.regions, **launching.private_regions(program, launch, launch.grid[0])}
    order = make_order(launch, fenced=False)
    machine = start_batch(launch, 0, launch.grid[0], program, regions, Report(), order, [])
    return machine, program, memory


def go(machine: Machine, program: Program, **more: int) -> None:
    schedule.run(machine, program, step_limit=10_000, deadline=float("inf"), seconds=1, **more)


def test_a_copy_runs_on_by_itself() -> None:
    body = """mov.u32 %r10, 1; setp.lt.u32 %p1, %r2, 5; @%p1 bra $less; add.u32 %r10, %r10, 10;
    $less: add.u32 %r10, %r10, %r2; st.global.u32 [%rd2], %r10;"""
    machine, program, memory = start(kernel(body), line(8), empty(8))
    store = next(i for i, step in enumerate(program.steps) if step.opcode.startswith("st."))
    go(machine, program, until=store)
    assert list(machine.groups) == [store]
    twin = machine.copy()
    slot = program.register_names.index("%r10")
    assert list(machine.registers[slot]) == [1, 2, 3, 4, 5, 16, 17, 18]
    twin.registers[slot][:] = 99
    go(machine, program)
    go(twin, program)
    extent = memory.buffers[0]
    assert list(machine.regions["global"].bytes_of(extent).view("u4")) == [1, 2, 3, 4, 5, 16, 17, 18]
    assert list(twin.regions["global"].bytes_of(extent).view("u4")) == [99] * 8
    assert machine.alive_total == twin.alive_total == 0


LANES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2**32 - 1)), min_size=1, max_size=20)


@given(operation=st.sampled_from(["add", "min", "max", "and", "or", "xor", "inc", "dec", "exch", "cas"]),
       signed=st.booleans(), lanes=LANES)
@settings(max_examples=40, deadline=None)
def test_atomics_happen_one_after_the_other(operation: str, signed: bool, lanes: list[tuple[int, int]]) -> None:
    type_name = "s32" if signed and operation in {"min", "max"} else "u32"
    region = make_region("global", (Extent("words", 0x7C << 40 | 4096, 16),), smallest=4)
    words = region.view(4)
    first = (0x7C << 40 | 4096) - region.base >> 2
    words[first : first + 4] = [7, 0, 2**31, 2**32 - 1]
    memory = [7, 0, 2**31, 2**32 - 1]
    flip = 1 << 31 if type_name == "s32" else 0
    olds = []
    for place, value in lanes:
        old = memory[place]
        olds.append(old)
        memory[place] = {
            "add": (old + value) % 2**32, "min": min(old ^ flip, value ^ flip) ^ flip,
            "max": max(old ^ flip, value ^ flip) ^ flip, "and": old & value, "or": old | value, "xor": old ^ value,
            "inc": 0 if old >= value else old + 1, "dec": value if old == 0 or old > value else old - 1,
            "exch": value, "cas": value // 2 if old == value else old,
        }[operation]
    offset = np.array([(first + place) * 4 for place, _ in lanes], np.int64)
    values = [np.array([value for _, value in lanes], np.uint32)]
    if operation == "cas":
        values.append(values[0] // np.uint32(2))
    before = words.copy()
    got = apply(region, offset, 4, make_operation(operation, type_name), values, wanted=True)
    assert list(got) == olds
    assert list(words[first : first + 4]) == memory
    words[:] = before
    apply(region, offset, 4, make_operation(operation, type_name), values, wanted=False)
    assert list(words[first : first + 4]) == memory


def test_float_sums_round_after_every_lane() -> None:
    """2^24 + 1 + 1 + … stays 2^24 when every step rounds, and NaN is canonical."""
    ptx = kernel("""red.global.add.f32 [%rd1], 0f3F800000; mov.f32 %f1, 0f7FC01234; red.global.add.f32 [%rd1+4], %f1;
    atom.global.add.f32 %f2, [%rd1+8], 0f3F800000;""")
    start = np.array([2**24, 1, 2**24], "f4")
    outcome = Emulator().run(ptx, None, line(64), [Buffer(start)])
    assert outcome.ok
    assert outcome.buffers[0][0] == outcome.buffers[0][2] == 2**24
    assert outcome.buffers[0].view("u4")[1] == 0x7FFFFFFF


def test_a_partly_filled_last_warp() -> None:
    check_case(Emulator(), per_thread("active-mask", "activemask.b32 %r10;",
                                      lambda i: 0xFFFFFFFF if i % 40 < 32 else 0xFF, threads=40))
    check_case(Emulator(), per_thread("elect", """
        setp.ge.u32 %p1, %r2, 3; mov.u32 %r10, 5; @!%p1 bra $end; elect.sync %r11|%p2, 0xfffffff8;
        selp.u32 %r10, 1, 0, %p2;
        $end:
    """, lambda i: 5 if i < 3 else int(i == 3), threads=32, blocks=1))
    check_case(Emulator(), per_thread("shuffle", "shfl.sync.bfly.b32 %r10, %r1, 1, 31, 0xffffffff;",
                                      lambda i: i ^ 1, threads=40))
    check_case(Emulator(), per_thread("counted-barrier", "mov.u32 %r10, 3; bar.sync 2, 64;", lambda i: 3, threads=40))


def test_lanes_parked_at_a_shuffle_meet_those_that_come_later() -> None:
    """The lower half takes the longer way to the same instruction."""
    check_case(Emulator(), per_thread("late-partners", """
        setp.lt.u32 %p1, %r2, 16; @%p1 bra $long;
        $meet: shfl.sync.bfly.b32 %r10, %r1, 16, 31, 0xffffffff; bra $end;
        $long: bra.uni $meet;
        $end:
    """, lambda i: i ^ 16, threads=32))


def test_same_program_under_many_launches() -> None:
    emulator = Emulator()
    ptx = kernel(WHO + "ld.param.u64 %rd1, [out]; mad.wide.u32 %rd2, %r1, 4, %rd1; ld.param.u32 %r5, [n];"
                 "setp.ge.u32 %p1, %r1, %r5; @%p1 ret; st.global.u32 [%rd2], %r1;", ".param .u64 out, .param .u32 n",
                 before="")
    for n in (1, 31, 32, 33, 255, 256, 257, 1000):
        outcome = emulator.run(ptx, None, line(64, -(-n // 64)), [empty(n), Scalar("u32", n)])
        assert outcome.ok
        assert list(outcome.buffers[0]) == list(range(n))


def test_inputs_are_not_changed_and_shapes_are_kept() -> None:
    given = np.arange(6, dtype="i4").reshape(2, 3)
    ptx = kernel("ld.global.u32 %r10, [%rd2]; add.u32 %r10, %r10, 1; st.global.u32 [%rd2], %r10;")
    outcome = Emulator().run(ptx, "k", line(6), [Buffer(given)])
    assert outcome.buffers[0].shape == (2, 3)
    assert outcome.buffers[0].dtype == given.dtype
    assert given.reshape(-1).tolist() == [0, 1, 2, 3, 4, 5]
    assert outcome.buffers[0].reshape(-1).tolist() == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("dtype", ["u1", "f2", "f8"])
def test_empty_buffers(dtype: str) -> None:
    outcome = Emulator().run(kernel("", before=""), "k", line(1), [Buffer(np.zeros((0, 3), dtype))])
    assert outcome.ok
    assert outcome.buffers[0].shape == (0, 3)
