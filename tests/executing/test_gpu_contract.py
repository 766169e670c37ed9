"""A real GPU under the suite that every executor must pass, and what only hardware can show.

PTXGEN_REQUIRE_GPU=1 turns the skip of a machine without a GPU into a failure.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import contract_launches
import numpy as np
import pytest
from contract_faults import FAULTS, Faulty, check_fault
from executor_contract import CASES, Case, check, empty, kernel, line

from ptxgen.assembling import Ptxas, find_ptxas
from ptxgen.errors import PtxgenError, UsageError
from ptxgen.executing import Argument, Launch
from ptxgen.executing.gpu import GpuExecutor, gpu_available
from ptxgen.executing.gpu_targets import Code, runs_on

pytestmark = pytest.mark.gpu
ALL = [*CASES, *contract_launches.CASES]


@pytest.fixture(scope="module")
def executor() -> Iterator[GpuExecutor]:
    if gpu_available() is None and not os.environ.get("PTXGEN_REQUIRE_GPU"):
        pytest.skip("no NVIDIA GPU with cuda-bindings is here (pip install 'ptxgen-local[gpu]')")
    executor = GpuExecutor(time_limit=3.0)
    yield executor
    executor.close()


@pytest.fixture
def ptxas(executor: GpuExecutor) -> Ptxas:
    try:
        return find_ptxas()[0]
    except PtxgenError as error:
        pytest.skip(f"no ptxas: {error.fix}")


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_contract(executor: GpuExecutor, case: Case) -> None:
    check(executor, case)


@pytest.mark.parametrize(("ptx", "entry", "arguments"), contract_launches.MISUSES.values(),
                         ids=contract_launches.MISUSES)
def test_what_the_caller_did_wrong(
    executor: GpuExecutor, ptx: str, entry: str | None, arguments: list[Argument]
) -> None:
    with pytest.raises(UsageError):
        executor.run(ptx, entry, Launch((1, 1, 1), (1, 1, 1)), arguments)


@pytest.mark.parametrize(("ptx", "launch"), contract_launches.REFUSED.values(), ids=contract_launches.REFUSED)
def test_launches_that_cannot_be(executor: GpuExecutor, ptx: str, launch: Launch) -> None:
    outcome = executor.run(ptx, "k", launch, [])
    assert [fault.kind for fault in outcome.faults] == ["launch"], outcome.faults
    assert executor.run(kernel(""), "k", line(32), [empty(32)]).ok


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_is_told_and_does_not_last(executor: GpuExecutor, fault: Faulty) -> None:
    check_fault(executor, fault)


def test_an_assertion_names_its_thread(executor: GpuExecutor) -> None:
    (faulty,) = (fault for fault in FAULTS if fault.name == "assertion")
    (fault,) = executor.run(faulty.ptx, "k", faulty.launch, list(faulty.arguments)).faults
    assert "i < n" in fault.message
    assert (fault.block, fault.thread) == ((0, 0, 0), (3, 0, 0))


def test_what_the_driver_says_of_bad_code(executor: GpuExecutor) -> None:
    outcome = executor.run(kernel("ld.param.u64 %rd3, [nowhere];"), "k", line(1), [empty(1)])
    assert [fault.kind for fault in outcome.faults] == ["launch"]
    assert "nowhere" in outcome.faults[0].message
    with pytest.raises(PtxgenError, match="too old"):
        executor.run(kernel("").replace(".version 8.0", ".version 99.0"), "k", line(1), [empty(1)])
    with pytest.raises(PtxgenError, match="nothing of this kernel runs"):
        executor.run(kernel("").replace("sm_80", "sm_999"), "k", line(1), [empty(1)])


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_what_ptxas_makes_runs_too(ptxas: Ptxas, assembled: dict[int, GpuExecutor], case: Case, level: int) -> None:
    if level not in assembled:
        assembled[level] = GpuExecutor(assemble=lambda ptx, arch: ptxas.assemble(ptx, arch, optimise=level).cubin)
    check(assembled[level], case)


@pytest.fixture(scope="module")
def assembled(executor: GpuExecutor) -> Iterator[dict[int, GpuExecutor]]:
    made: dict[int, GpuExecutor] = {}
    yield made
    for executor in made.values():
        executor.close()


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a",
                                    "sm_100f", "sm_120"])
@pytest.mark.parametrize("form", ["cubin", "ptx"])
def test_the_driver_takes_what_the_rules_say(executor: GpuExecutor, ptxas: Ptxas, target: str, form: str) -> None:
    """The rules of `gpu_targets` against the driver: code that does not fit here is refused by it too."""
    number = int(target[3:].rstrip("af"))
    text = kernel("st.global.u32 [%rd2], %r1;").replace("sm_80", target)
    text = text.replace(".version 8.0", ".version 8.8" if number >= 100 else ".version 8.0")
    code = ptxas.assemble(text, target).cubin if form == "cubin" else text.encode() + b"\0"
    assert code is not None, "ptxas knows the target"
    header = {
        "entry": "k", "format": form, "arguments": [{"kind": "buffer", "offset": 0}], "afresh": False, "calls": False,
        "launch": {"grid": (1, 1, 1), "block": (4, 1, 1), "shared_bytes": 0, "large_cluster": False},
    }
    answer, contents = executor._started().ask(header, [code, bytes(16)], 10.0)
    expected = runs_on(Code(target, form), executor.capability)  # type: ignore[arg-type]
    assert (answer["status"] == "done") == expected, answer
    if expected:
        np.testing.assert_array_equal(np.frombuffer(contents[0], "u4"), np.arange(4))


def test_the_worker_ends_with_its_parent(executor: GpuExecutor) -> None:
    """A program that is killed leaves no process on the GPU, not even one whose kernel hangs."""
    code = f"""
from executor_contract import empty, line
from ptxgen.executing.gpu import GpuExecutor
executor = GpuExecutor(time_limit=60)
print(executor._worker._process.pid, flush=True)
executor.run({kernel('$loop: st.volatile.global.u32 [%rd2], %r1; bra $loop;')!r}, "k", line(1), [empty(1)])
"""
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=os.path.dirname(__file__))
    assert parent.stdout is not None
    worker = int(parent.stdout.readline())
    time.sleep(1.0)                                     # the kernel has begun
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    deadline = time.monotonic() + 10
    while os.path.exists(f"/proc/{worker}") and time.monotonic() < deadline:
        if "State:\tZ" in open(f"/proc/{worker}/status").read():  # noqa: SIM115
            break
        time.sleep(0.05)
    else:
        assert not os.path.exists(f"/proc/{worker}")
