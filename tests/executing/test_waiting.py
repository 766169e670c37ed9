"""A launch that does not end says who waits for what, and who changed it last."""

from __future__ import annotations

import numpy as np
import pytest
from executor_contract import empty, kernel, line

from bench.planted.kernels import all_planted
from ptxgen.executing import Buffer
from ptxgen.executing.emulator import Emulator

EMULATOR = Emulator(step_limit=20_000)
PLANTED = {kernel.name.split("/")[1]: kernel for kernel in all_planted() if kernel.kind == "step-limit"}


def words(name: str) -> str:
    found = PLANTED[name]
    outcome = EMULATOR.run(found.faulty, None, found.launch, found.arguments)
    assert [fault.kind for fault in outcome.faults] == ["step-limit"]
    return outcome.faults[0].message


@pytest.mark.parametrize(("name", "said"), [
    ("flag_that_nobody_sets", "0 bytes into argument 1 (flag) (4 bytes), which nobody has changed"),
    ("lock_taken_twice", "which it changed last, at line 23"),
    ("ticket_that_is_never_called", "thread (0, 0, 0) of block (1, 0, 0) looks again and again at"),
])
def test_the_place_and_its_last_change_are_named(name: str, said: str) -> None:
    assert said in words(name)


def test_of_two_locks_both_holders_are_named() -> None:
    message = words("two_locks_in_opposite_order")
    for mine, other in ((0, 1), (1, 0)):
        assert f"thread (0, 0, 0) of block ({mine}, 0, 0) looks again and again at {4 - 4 * mine} bytes" in message
        assert f"which thread (0, 0, 0) of block ({other}, 0, 0) changed last" in message


def test_blocks_that_have_not_begun_are_mentioned() -> None:
    body = """setp.eq.u32 %p1, %r3, 7; @%p1 st.release.gpu.global.u32 [%rd1], 1; @%p1 bra $end;
    $wait: ld.acquire.gpu.global.u32 %r10, [%rd1]; setp.eq.u32 %p2, %r10, 0; @%p2 bra $wait;
    $end:"""
    few = Emulator(step_limit=20_000, lanes_at_once=2 * 32)
    (fault,) = few.run(kernel(body), None, line(32, 8), [Buffer(np.zeros(1, "u4"))]).faults
    assert fault.kind == "step-limit"
    assert "6 blocks have not begun" in fault.message
    assert EMULATOR.run(kernel(body), None, line(32, 8), [Buffer(np.zeros(1, "u4"))]).ok


def test_who_waits_at_a_barrier_meanwhile_is_mentioned() -> None:
    body = """setp.eq.u32 %p1, %r2, 0; @!%p1 bra $meet;
    $wait: ld.volatile.global.u32 %r10, [%rd1]; setp.eq.u32 %p2, %r10, 0; @%p2 bra $wait;
    $meet: bar.sync 0;"""
    (fault,) = EMULATOR.run(kernel(body), None, line(64), [Buffer(np.zeros(1, "u4"))]).faults
    assert "others wait at barrier 0 at line" in fault.message


def test_a_loop_that_waits_for_nothing_says_no_more() -> None:
    (fault,) = EMULATOR.run(kernel("$on: add.u32 %r10, %r10, 1; bra $on;"), None, line(32), [empty(1)]).faults[-1:]
    assert fault.message == "no end after 20000 steps"
