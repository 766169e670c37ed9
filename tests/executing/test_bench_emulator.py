"""The emulator's benchmark measures what it says, on its smallest launches."""

from __future__ import annotations

import numpy as np
import pytest

from bench.emulator import Figure, measure, stepping, table
from bench.emulator_kernels import KERNELS
from ptxgen.executing.emulator import Emulator


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("threads", [256, 1024])
def test_kernels_do_what_numpy_does(name: str, threads: int) -> None:
    work = KERNELS[name](threads)
    launch = work.launch
    assert int(np.prod(launch.grid)) * int(np.prod(launch.block)) == threads
    outcome = Emulator().run(work.ptx, None, launch, work.arguments)
    assert outcome.ok, outcome.faults
    found = outcome.buffers[work.output]
    assert found is not None
    np.testing.assert_allclose(found, work.numpy(), rtol=work.tolerance, atol=work.tolerance / 10)


def test_a_kernel_that_gives_something_else_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert measure("saxpy", 256).instructions == 23 * 256
    wrong = KERNELS["saxpy"](256)
    monkeypatch.setitem(KERNELS, "saxpy", lambda threads: type(wrong)(
        wrong.ptx, wrong.launch, wrong.arguments, wrong.output, lambda: wrong.numpy() + 1))
    with pytest.raises(RuntimeError, match="not what NumPy gives"):
        measure("saxpy", 256)


def test_growth_is_against_the_size_before_of_the_same_kernel() -> None:
    rows = list(table([Figure("a", 1024, 10, 1.0, 0.1, 4.0), Figure("a", 4096, 40, 3.0, 0.1, 4.0),
                       Figure("b", 1024, 10, 9.0, 0.1, 4.0)]))
    assert [row.split("|")[6].strip() for row in rows[2:]] == ["", "3.0", ""]
    assert {row.count("|") for row in rows} == {9}


def test_appended_statements_are_measured() -> None:
    rows = stepping((10, 20), appended=3, threads=4)
    assert [row.split("|")[1].strip() for row in rows[2:]] == ["10", "20"]
