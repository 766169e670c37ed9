"""Patterns of threads that work together are clean, give what they should, and cannot be broken unnoticed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bench.mutants.changing import CHANGES, mutants
from bench.mutants.kernels import Correct, patterns
from ptxgen.executing import Buffer
from ptxgen.executing.emulator import Emulator

EMULATOR = Emulator(step_limit=8_000)
KERNELS = {kernel.name.split("/")[1]: kernel for kernel in patterns()}


def _last_two() -> list[int]:
    steps = [np.arange(1, 129)]
    for _ in range(3):
        steps.append(steps[-1] + np.roll(steps[-1], -33))
    return [*steps[2].tolist(), *steps[3].tolist()]


def _copied() -> list[int]:
    words = np.arange(1, 129).reshape(4, 32)[:, ::-1]
    return (words * np.array([[27], [9], [3], [1]])).sum(axis=0).tolist()


#: By kernel: what its buffer `out` holds in the end.
EXPECTED: dict[str, Callable[[], Any]] = {
    "bulk_copies_full_and_empty": _copied,
    "bulk_copy_back": lambda: [100 * block + thread for block in range(2) for thread in range(32)],
    "copies_in_two_buffers": _copied,
    "flag_by_fences": lambda: [*range(100, 132), *range(101, 133)],
    "flag_by_release": lambda: [*range(100, 132), *range(101, 133)],
    "flags_between_warps": lambda: [(1 * 3 + 2) * 3 + 3],
    "grid_barrier": _last_two,
    "last_block": lambda: [2016, 6112, 10208, 14304, 32640],
    "look_back": lambda: [sum(range(block + 1)) + thread for block in range(5) for thread in range(32)],
    "named_barriers": lambda: [9 * t + 3 * (10 + t) + 20 + t for t in range(31, -1, -1)],
    "ping_pong": lambda: [455],
    "ring_between_blocks": lambda: [0, 7, 14, 21, 28, 35],
    "sense_reversing_barrier": lambda: [1, 3, 2, 4, 4, 1],
    "spin_lock": lambda: [12],
    "spin_lock_by_every_thread": lambda: [32],
    "ticket_lock": lambda: [20, 20],
    "warp_sum": lambda: [496, 1520, 528, 1552],
}


def result(kernel: Correct) -> list[int]:
    outcome = EMULATOR.run(kernel.text, None, kernel.launch, kernel.arguments)
    assert outcome.ok, outcome.faults
    out = next(
        buffer for buffer, argument in zip(outcome.buffers, kernel.arguments, strict=True)
        if isinstance(argument, Buffer) and not argument.read_only
    )
    assert out is not None
    return list(out.tolist())


@pytest.mark.parametrize("name", KERNELS)
def test_a_pattern_is_clean_and_gives_what_it_should(name: str) -> None:
    assert result(KERNELS[name]) == EXPECTED[name]()


#: Changes after which nothing orders the threads any more, whatever the result.
UNORDERED = (
    "fence dropped", "warp barrier dropped", "release or acquire made relaxed", "atomic made load and store",
)


@pytest.mark.parametrize("name", KERNELS)
def test_what_orders_the_threads_cannot_be_taken_away(name: str) -> None:
    kernel = KERNELS[name]
    for mutant in mutants(kernel.text):
        if mutant.kind in UNORDERED:
            outcome = EMULATOR.run(mutant.text, None, kernel.launch, kernel.arguments)
            assert not outcome.ok, (mutant.kind, mutant.line, mutant.was)


def test_every_kind_of_change_fits_somewhere_and_changes_one_line() -> None:
    kinds = set()
    for kernel in KERNELS.values():
        for mutant in mutants(kernel.text):
            kinds.add(mutant.kind)
            assert mutant.was in kernel.text.split("\n")[mutant.line - 1]
            assert mutant.text != kernel.text
    assert kinds >= set(CHANGES) - {"cluster barrier dropped", "guard dropped"}
