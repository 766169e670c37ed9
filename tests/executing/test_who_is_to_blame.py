"""Where many threads take part in one operation, the fault is of the thread that gave the wrong operand."""

from __future__ import annotations

import pytest
from executor_contract import empty, kernel, line
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxgen.executing import Fault
from ptxgen.executing.emulator import Emulator

EMULATOR = Emulator(step_limit=20_000)
ZEROS = """mov.u32 %r10, 0; mad.lo.u32 %r9, %r2, 16, %r8; st.shared.v4.u32 [%r9], {%r10, %r10, %r10, %r10};
bar.sync 0;
"""


def only(body: str, module: str, threads: int = 32) -> Fault:
    ptx = kernel(body, module=module)
    faults = EMULATOR.run(ptx, None, line(threads), [empty(threads)]).faults
    assert len(faults) == 1, faults
    marked = [number for number, text in enumerate(ptx.splitlines(), 1) if "// here" in text]
    assert [faults[0].line] == marked
    return faults[0]


@settings(max_examples=20, deadline=None)
@given(st.sampled_from([1, 2, 4]), st.data(), st.booleans(), st.booleans())
def test_a_row_of_a_matrix_is_of_the_lane_that_gives_its_address(
    number: int, data: st.DataObject, crooked: bool, stores: bool
) -> None:
    lane = data.draw(st.integers(0, 8 * number - 1))
    values = "{" + ", ".join(f"%r{20 + i}" for i in range(number)) + "}"
    given_values = " ".join(f"mov.u32 %r{20 + i}, 0;" for i in range(number))
    shape = f"sync.aligned.m8n8.x{number}.shared.b16"
    access = f"stmatrix.{shape} [%r9], {values};" if stores else f"ldmatrix.{shape} {values}, [%r9];"
    body = f"""mov.u32 %r8, tile;
    {ZEROS}{given_values} setp.eq.u32 %p1, %r2, {lane};
    @%p1 add.u32 %r9, %r8, {8 if crooked else 512};
    {access} // here"""
    fault = only(body, ".shared .align 16 .b8 tile[512];")
    assert (fault.kind, fault.thread) == ("misaligned" if crooked else "out-of-bounds", (lane, 0, 0))


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 31), st.integers(1, 40))
def test_an_arrival_too_many_is_of_the_thread_that_makes_it(threads: int, each: int) -> None:
    """`threads` arrivals of `each` leave room for one less than `each` more, and the next thread takes that many."""
    body = f"""mov.u32 %r8, gate; setp.eq.u32 %p1, %r2, 0; mov.u32 %r9, {each};
    @%p1 mbarrier.init.shared.b64 [%r8], {threads * each + each - 1}; bar.sync 0;
    setp.le.u32 %p2, %r2, {threads};
    @%p2 mbarrier.arrive.shared.b64 %rd9, [%r8], %r9; // here
    """
    if each == 1:
        assert EMULATOR.run(kernel(body, module=".shared .align 8 .b64 gate;"), None, line(32), [empty(32)]).ok
        return
    fault = only(body, ".shared .align 8 .b64 gate;")
    assert (fault.kind, fault.thread) == ("barrier", (threads, 0, 0))


@pytest.mark.parametrize("operation", ["add", "exch", "max", "xor"])
def test_an_atomic_on_what_nobody_wrote_is_reported_once(operation: str) -> None:
    name = f"atom.shared.{operation}.{'b32' if operation in {'exch', 'xor'} else 'u32'}"
    body = f"""{name} %r10, [counter], 1; // here
    bar.sync 0; ld.shared.u32 %r11, [counter]; st.global.u32 [%rd2], %r11;"""
    assert only(body, ".shared .align 4 .u32 counter;").kind == "uninitialised-read"


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 12), st.integers(0, 12), st.integers(0, 63))
def test_a_limit_names_the_loops_jump_and_a_thread_in_it(before: int, inside: int, thread: int) -> None:
    """Whatever the loop does, and wherever in it the limit is met."""
    body = f"""mov.u32 %r10, 0; setp.eq.u32 %p1, %r2, {thread}; @!%p1 ret;
    {"add.u32 %r10, %r10, 1;" * before}
    $again: {chr(10).join(["add.u32 %r10, %r10, 1;"] * inside)}
    setp.ge.u32 %p2, %r10, 0;
    add.u32 %r10, %r10, 1; @%p2 bra $again; // here
    st.global.u32 [%rd2], %r10;"""
    fault = only(body, "", 64)
    assert (fault.kind, fault.thread) == ("step-limit", (thread, 0, 0))
