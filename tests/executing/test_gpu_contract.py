"""A real GPU under the suite that every executor must pass, and the faults only hardware can show.

PTXGEN_REQUIRE_GPU=1 turns the skip of a machine without a GPU into a failure.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
import pytest
from executor_contract import CASES, Case, check, empty, kernel, line

from ptxgen.assembling import find_ptxas
from ptxgen.errors import PtxgenError
from ptxgen.executing.gpu import GpuExecutor, gpu_available
from ptxgen.executing.protocol import Buffer

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def executor() -> Iterator[GpuExecutor]:
    if gpu_available() is None and not os.environ.get("PTXGEN_REQUIRE_GPU"):
        pytest.skip("no NVIDIA GPU with cuda-core is here (pip install 'ptxgen-local[gpu]')")
    executor = GpuExecutor(time_limit=5.0)
    yield executor
    executor.close()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_contract(executor: GpuExecutor, case: Case) -> None:
    check(executor, case)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("out-of-bounds", "mov.u64 %rd3, 64; st.global.u32 [%rd3], %r1;"),
        ("misaligned", "add.u64 %rd2, %rd2, 1; st.global.u32 [%rd2], %r1;"),
        ("guard-band", "st.global.u32 [%rd2+128], %r1;"),
        ("guard-band", "st.global.u32 [%rd2+-128], %r1;"),
        ("time-limit", "$loop: st.volatile.global.u32 [%rd2], %r1; bra $loop;"),
        ("trap", "trap;"),
    ],
)
def test_a_fault_is_told_and_does_not_last(executor: GpuExecutor, kind: str, body: str) -> None:
    outcome = executor.run(kernel(body), "k", line(32), [empty(32)])
    assert [fault.kind for fault in outcome.faults] == [kind], outcome.faults
    good = executor.run(kernel("st.global.u32 [%rd2], %r1;"), "k", line(32), [empty(32)])
    assert good.ok, good.faults
    np.testing.assert_array_equal(good.buffers[0], np.arange(32, dtype="u4"))


def test_a_write_to_a_read_only_buffer(executor: GpuExecutor) -> None:
    buffer = Buffer(np.full(32, 99, "u4"), read_only=True)
    outcome = executor.run(kernel("st.global.u32 [%rd2], %r1;"), "k", line(32), [buffer])
    assert [fault.kind for fault in outcome.faults] == ["read-only-write"]


def test_a_launch_that_cannot_be(executor: GpuExecutor) -> None:
    outcome = executor.run(kernel("st.global.u32 [%rd2], %r1;"), "k", line(2048), [empty(2048)])
    assert [fault.kind for fault in outcome.faults] == ["launch"]
    assert executor.run(kernel(""), "k", line(32), [empty(32)]).ok


@pytest.mark.parametrize("level", [0, 3])
def test_what_ptxas_makes_runs_too(executor: GpuExecutor, level: int) -> None:
    try:
        ptxas = find_ptxas()[0]
    except PtxgenError as error:
        pytest.skip(f"no ptxas: {error.fix}")
    other = GpuExecutor(assemble=lambda ptx, arch: ptxas.assemble(ptx, arch, optimise=level).cubin)
    try:
        outcome = other.run(kernel("st.global.u32 [%rd2], %r1;"), "k", line(32), [empty(32)])
    finally:
        other.close()
    assert outcome.ok, outcome.faults
    np.testing.assert_array_equal(outcome.buffers[0], np.arange(32, dtype="u4"))
