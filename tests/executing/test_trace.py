"""Traces of threads whose lanes wait, whose copies happen later, whose block comes in a later batch."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from executor_contract import CASES, Case, empty, kernel, line
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxgen.errors import UsageError
from ptxgen.executing import Buffer, Launch
from ptxgen.executing.emulator import Emulator, Trace
from ptxgen.executing.emulator.tracing import value_of


def traced(ptx: str, thread: int, block: int = 0, threads: int = 32, blocks: int = 1, **limits: int) -> Trace:
    trace = Trace((block, 0, 0), (thread, 0, 0))
    outcome = Emulator(**limits).run(ptx, None, line(threads, blocks), [empty(threads * blocks)], watchers=[trace])
    assert outcome.ok, outcome.faults
    return trace


@pytest.mark.parametrize("thread", [3, 20])
def test_a_shuffle_that_waits_for_its_partners_is_one_statement(thread: int) -> None:
    trace = traced(kernel("""
        setp.lt.u32 %p1, %r2, 16; @%p1 bra $long;
        $meet: shfl.sync.bfly.b32 %r10, %r1, 16, 31, 0xffffffff; bra $end;
        $long: bra.uni $meet;
        $end: st.global.u32 [%rd2], %r10;
    """), thread)
    (shuffle,) = [entry for entry in trace.first if entry.opcode.startswith("shfl")]
    assert [(written.name, written.value) for written in shuffle.registers] == [("%r10", thread ^ 16)]


def test_an_asynchronous_copy_names_the_line_that_asked_for_it() -> None:
    trace = Trace((0, 0, 0), (1, 0, 0))
    ptx = kernel("""mov.u32 %r11, tile; shl.b32 %r12, %r2, 2; add.u32 %r11, %r11, %r12;
    cp.async.ca.shared.global [%r11], [%rd2], 4;
    cp.async.commit_group;
    cp.async.wait_group 0;
    ld.shared.u32 %r10, [%r11];""", module=".shared .align 16 .b8 tile[128];")
    outcome = Emulator().run(ptx, None, line(4), [Buffer(np.arange(4, dtype="u4"))], watchers=[trace])
    assert outcome.ok, outcome.faults
    asked = next(entry.line for entry in trace.first if entry.opcode.startswith("cp.async.ca"))
    later = [touched for entry in trace.first for touched in entry.memory if entry.line != touched.issued]
    assert {touched.issued for touched in later} <= {asked}
    spaces = {(touched.space, touched.kind) for entry in trace.first for touched in entry.memory}
    assert ("shared", "asynchronous write") in spaces
    load = next(entry for entry in trace.first if entry.opcode == "ld.shared.u32")
    assert load.registers[0].value == 1


@pytest.mark.parametrize("block", [0, 3])
def test_a_block_of_any_batch(block: int) -> None:
    trace = traced(kernel("st.global.u32 [%rd2], %r1;"), 5, block, blocks=4, lanes_at_once=32)
    (first,) = [entry for entry in trace.first if entry.opcode.startswith("mad.lo")]
    assert first.registers[0].value == block * 32 + 5
    assert trace.first[-1].opcode == "ret"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_watched_launches_end_as_others_do(case: Case) -> None:
    """The cases of the executors' contract, with a trace: the same results, and the thread comes to its end."""
    trace = Trace((0, 0, 0), (0, 0, 0), limit=100_000)
    outcome = Emulator().run(case.ptx, None, case.launch, case.arguments, watchers=[trace])
    assert outcome.ok, outcome.faults
    for number, expected in case.expected.items():
        found = outcome.buffers[number]
        assert found is not None
        np.testing.assert_array_equal(found.view(expected.dtype), expected)
    assert trace.left_out == 0
    assert trace.first[-1].opcode in {"ret", "exit", "ret.uni"}
    assert all(entry.executed or entry.guard for entry in trace.first)


@given(limit=st.integers(1, 60), turns=st.integers(1, 12))
@settings(max_examples=20, deadline=None)
def test_a_limit_keeps_both_ends(limit: int, turns: int) -> None:
    ptx = kernel(f"mov.u32 %r10, 0; $l: add.u32 %r10, %r10, 1; setp.lt.u32 %p1, %r10, {turns}; @%p1 bra $l;")
    whole, part = (Trace((0, 0, 0), (0, 0, 0), limit=most) for most in (1000, limit))
    Emulator().run(ptx, None, line(1), [empty(1)], watchers=[whole, part])
    assert part.count == whole.count == len(whole.first)
    kept = [*part.first, *part.last]
    assert len(kept) + part.left_out == part.count
    assert len(kept) == min(limit, part.count)
    assert part.first == whole.first[: len(part.first)]
    assert list(part.last) == whole.first[part.count - len(part.last) :]


@pytest.mark.parametrize(("type_name", "bits", "value"), [
    ("pred", np.True_, True), ("bf16", np.uint16(0x3FC0), 1.5), ("f16", np.uint16(0xBE00), -1.5),
    ("s8", np.uint8(255), -1), ("u8", np.uint8(255), 255), ("f64", np.uint64(0x3FF8 << 48), 1.5),
    ("s64", np.uint64(2**64 - 2), -2), ("b64", np.uint64(2**64 - 2), 2**64 - 2),
    ("f16x2", np.uint32(0x3C003C00), 0x3C003C00),
])
def test_values_in_the_declared_type(type_name: str, bits: np.generic, value: object) -> None:
    found = value_of(bits, type_name)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize("numbers", [1, (1,), (1, 1), (1, 1, 1, 1), (1.5, 1, 1), ("1", 1, 1), None])
def test_sizes_and_threads_are_three_whole_numbers(numbers: Any) -> None:
    one = (1, 1, 1)
    for make in (
        lambda: Launch(numbers, one), lambda: Launch(one, numbers),
        lambda: Trace(numbers, one), lambda: Trace(one, numbers),
    ):
        with pytest.raises(UsageError, match="three whole numbers"):
            make()


def test_the_emulator_needs_no_other_room() -> None:
    code = """import sys, ptxgen.executing.emulator
print(*{name.split('.')[1] for name in sys.modules if name.startswith('ptxgen.')})"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"data", "errors", "executing", "isa", "ptx"}
