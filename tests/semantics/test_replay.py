"""A mask must not forbid what is right: every kernel of ours passes through it, statement by statement."""

from __future__ import annotations

import pytest

from ptxgen.semantics import Level, step
from tests.semantics.kernels_and_walks import LEVELS, Kernel, allowed_here, kernels, start_of


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name.lower())
@pytest.mark.parametrize("kernel", kernels(), ids=lambda kernel: kernel.name)
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
