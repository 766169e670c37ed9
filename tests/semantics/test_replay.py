"""A mask must not forbid what is right: every kernel of ours passes through it, statement by statement."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ptxgen.semantics import Level, step
from tests.semantics.kernels_and_walks import LEVELS, Kernel, allowed_here, kernels, start_of


def _each() -> Iterator[object]:
    """Every kernel at every level; those between `typed` and `full` for one in four, else when asked."""
    for index, kernel in enumerate(kernels()):
        for level in LEVELS:
            slow = level in (Level.SCOPED, Level.TYPESTATE) and index % 4
            yield pytest.param(
                kernel, level, id=f"{kernel.name}-{level.name.lower()}", marks=[pytest.mark.slow] if slow else []
            )


@pytest.mark.parametrize(("kernel", "level"), list(_each()))
def test_correct_kernels_are_allowed(kernel: Kernel, level: Level) -> None:
    state = start_of(kernel.spec, level)
    for line in kernel.lines():
        assert allowed_here(state).contains(line), line
        state = step(state, line)
    assert state.closed
    if level >= Level.FULL:
        assert state.fulfilled()


def test_there_are_kernels() -> None:
    assert len(kernels()) > 60
