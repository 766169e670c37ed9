"""The GPU is the reference: the emulator gives the same words for every arithmetic instruction of the profile."""

from __future__ import annotations

from collections.abc import Iterator

import agreement
import pytest
from executor_contract import CASES, Case, check

from ptxgen.executing import Executor
from ptxgen.executing.emulator import Emulator
from ptxgen.executing.gpu import GpuExecutor, gpu_available
from ptxgen.isa.model import Expansion

EXPANSIONS = agreement.expansions("sm_90")


@pytest.fixture(scope="module")
def gpu() -> Iterator[Executor]:
    if gpu_available() is None:
        pytest.skip("needs an NVIDIA GPU and cuda-core (pip install 'ptxgen-local[gpu]')")
    executor = GpuExecutor()
    yield executor
    executor.close()


def test_most_of_the_profile_is_compared() -> None:
    names = {expansion.name for expansion in EXPANSIONS}
    assert len(EXPANSIONS) > 250
    assert {"add", "fma", "cvt", "setp", "min", "div", "mul", "shl", "ex2"} <= names


@pytest.mark.parametrize("expansion", EXPANSIONS[::40], ids=lambda e: e.opcode)
def test_the_emulator_runs_what_is_compared(expansion: Expansion) -> None:
    rows, words = agreement.results(Emulator(), expansion)
    assert len(rows) == len(words) > 1
    assert agreement.differences(expansion, rows, words, words) == []


@pytest.mark.gpu
@pytest.mark.parametrize("expansion", EXPANSIONS, ids=lambda e: e.opcode)
def test_gpu_and_emulator_agree(gpu: Executor, expansion: Expansion) -> None:
    rows, ours = agreement.results(Emulator(), expansion)
    _, theirs = agreement.results(gpu, expansion)
    different = agreement.differences(expansion, rows, ours, theirs)
    assert not different, f"{len(different)} of {len(rows)}: " + "; ".join(different[:5])


@pytest.mark.gpu
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_contract_on_the_gpu(gpu: Executor, case: Case) -> None:
    check(gpu, case)
