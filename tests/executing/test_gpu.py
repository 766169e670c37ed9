"""What the GPU executor makes of launches, faults and refusals, on an imagined GPU (`imagined_gpu.py`)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing

import contract_launches
import numpy as np
import pytest
from imagined_gpu import ADD_ONE, FAKE, LAUNCH, add_one, imagined, kernel, told

from ptxgen.errors import PtxgenError, UsageError
from ptxgen.executing import gpu_worker
from ptxgen.executing.gpu import GpuExecutor
from ptxgen.executing.protocol import Alias, Argument, Buffer, Launch, Scalar, Value


@pytest.fixture(scope="module")
def executor() -> Iterator[GpuExecutor]:
    with closing(imagined(time_limit=5.0)) as executor:
        yield executor


# ---------------------------------------------------------------- launches


@pytest.mark.parametrize("offset", [0, 4, 100, 70_000])
def test_runs_and_gives_the_buffers_back(executor: GpuExecutor, offset: int) -> None:
    np.testing.assert_array_equal(add_one(executor, offset=offset), [1, 2, 3, 4, 5])
    assert (executor.name, executor.device, executor.arch) == ("gpu", "Imagined GPU", "sm_90")


def test_empty_buffers(executor: GpuExecutor) -> None:
    assert add_one(executor, count=0).shape == (0,)


@pytest.mark.parametrize("first", [True, False])
def test_an_alias_is_the_same_buffer(executor: GpuExecutor, first: bool) -> None:
    data = np.arange(4, dtype=np.float32).reshape(2, 2)
    pointers: list[Argument] = [Buffer(data), Alias(0)] if first else [Alias(1), Buffer(data)]
    outcome = executor.run(ADD_ONE, "add_one", LAUNCH, [*pointers, Scalar("u32", 4)])
    np.testing.assert_array_equal(outcome.buffers[0], data + 1)
    np.testing.assert_array_equal(outcome.buffers[1], data + 1)
    assert data[0, 0] == 0, "the caller's array must stay as it was"


def test_a_structure_goes_by_value(executor: GpuExecutor) -> None:
    given = np.array([1.5, -2.5, 3.5])
    ptx = kernel("structure", "u64", "align 8 .b8")
    outcome = executor.run(ptx, None, LAUNCH, [Buffer(np.zeros(3), initialised=False), Value(given)])
    np.testing.assert_array_equal(outcome.buffers[0], given)


def test_variables_of_a_module_begin_afresh(executor: GpuExecutor) -> None:
    variables = ".global .u32 count = 1;\n"
    assert [told(executor, "count_up", variables) for _ in range(3)] == [1, 1, 1]
    kept = [told(executor, "count_up") for _ in range(2)]
    assert kept == [1, 2], "the imagined driver keeps what a loaded module has, as the real one does"


def test_more_modules_than_are_kept(executor: GpuExecutor) -> None:
    for number in range(gpu_worker.MODULES_KEPT + 3):
        assert told(executor, "form", f".const .u32 number = {number};\n") == 8


def test_kernels_that_call_get_a_stack(executor: GpuExecutor) -> None:
    assert told(executor, "stack") == 1024
    assert told(executor, "stack", ".func f() { ret; }\n") == gpu_worker.STACKS[0]


def test_a_heap_begins_afresh(executor: GpuExecutor) -> None:
    """What a kernel allocates and never frees stays in its process."""
    heap = ".extern .func (.param .b64 result) malloc(.param .b64 size);\n"
    assert told(executor, "who", heap) != told(executor, "who", heap)
    assert told(executor, "who") == told(executor, "who")


def test_memory_is_given_back(executor: GpuExecutor) -> None:
    assert [told(executor, "live") for _ in range(3)][1:] == [2, 2], "its own buffer, and that of the launch before"


def test_a_kernel_that_prints_does_not_disturb_the_answers(executor: GpuExecutor) -> None:
    outcome = executor.run(kernel("chatter"), None, LAUNCH, [])
    assert outcome.ok
    assert outcome.printed == "printed by the kernel\n" * 1000
    add_one(executor)
    assert executor.run(kernel("add_one_more").replace("add_one_more", "chatter"), None, LAUNCH, []).printed


# ---------------------------------------------------------------- faults


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("past_end", "guard-band", "argument 0, at byte 28 of its 20"),
        ("before_start", "guard-band", "argument 0, 5 bytes before"),
        ("CUDA_ERROR_ILLEGAL_ADDRESS", "out-of-bounds", "ILLEGAL_ADDRESS"),
        ("CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned", "MISALIGNED"),
        ("CUDA_ERROR_INVALID_ADDRESS_SPACE", "wrong-space", "ADDRESS_SPACE"),
        ("CUDA_ERROR_INVALID_PC", "out-of-bounds", "INVALID_PC"),
        ("CUDA_ERROR_HARDWARE_STACK_ERROR", "stack-overflow", "STACK"),
        ("CUDA_ERROR_LAUNCH_TIMEOUT", "time-limit", "TIMEOUT"),
        ("CUDA_ERROR_LAUNCH_FAILED", "trap", "LAUNCH_FAILED"),
        ("CUDA_ERROR_ILLEGAL_INSTRUCTION", "trap", "ILLEGAL_INSTRUCTION"),
        ("CUDA_ERROR_UNKNOWN", "trap", "UNKNOWN"),
        ("assert", "trap", "i < n"),
        ("die", "launch", "exit status 3"),
        ("crash", "launch", "SIGSEGV"),
        ("garbage", "launch", "a length of"),
        ("half", "launch", "exit status 0"),
        ("endless", "launch", "a length of"),
        ("broken", "launch", "broken message"),
        ("foreign", "launch", "nothing that a worker says"),
        ("nested", "launch", "broken message"),
        ("empty_handed", "launch", "0 buffers for 1"),
        ("babble", "launch", "a length of"),
        ("refused", "launch", "the launch was refused: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"),
    ],
)
def test_faults_are_told_and_do_not_last(executor: GpuExecutor, name: str, kind: str, words: str) -> None:
    buffer = Buffer(np.arange(5, dtype=np.float32))
    outcome = executor.run(kernel(name, "u64", "u32"), None, LAUNCH, [buffer, Scalar("u32", 5)])
    assert not outcome.ok
    assert outcome.faults[0].kind == kind
    assert words in outcome.faults[0].message
    assert outcome.buffers[0] is not None
    assert outcome.buffers[0].shape == (5,)
    add_one(executor)


def test_both_ends_of_a_buffer_are_told(executor: GpuExecutor) -> None:
    arguments = [Buffer(np.zeros(5, np.float32), offset=8), Scalar("u32", 5)]
    outcome = executor.run(kernel("both_sides", "u64", "u32"), None, LAUNCH, arguments)
    assert [fault.kind for fault in outcome.faults] == ["guard-band"] * 2


def test_an_assertion_names_its_thread(executor: GpuExecutor) -> None:
    (fault,) = executor.run(kernel("assert"), None, LAUNCH, []).faults
    assert (fault.block, fault.thread) == ((1, 0, 0), (2, 3, 0))


def test_guards_are_no_numbers() -> None:
    guard = guard_words()
    for kind in ("f2", "f4", "f8"):
        assert np.isnan(guard.view(kind)).all()
    assert np.isnan((guard.astype("u4") << 16).view("f4")).all(), "as bf16"
    assert (guard.view("u1") % 2 == 1).all()
    assert (guard != 0xFFFF).all()
    assert len(set(guard.tolist())) > 4, "a stray write of one word everywhere must show"


def guard_words() -> np.ndarray:
    code = f"import sys; sys.path.insert(0, {str(FAKE)!r}); from ptxgen.executing import gpu_worker; import os; "
    code += "os.write(1, gpu_worker.Gpu(0)._guard.tobytes())"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    return np.frombuffer(found.stdout, "u2")


def test_a_write_to_a_read_only_buffer(executor: GpuExecutor) -> None:
    out = Buffer(np.zeros(3, dtype=np.float32), read_only=True)
    outcome = executor.run(ADD_ONE, None, LAUNCH, [Buffer(np.ones(3, np.float32)), out, Scalar("u32", 3)])
    assert [fault.kind for fault in outcome.faults] == ["read-only-write"]
    assert "argument 1" in outcome.faults[0].message


def test_the_time_limit_ends_a_hanging_kernel() -> None:
    with closing(imagined(time_limit=0.3)) as executor:
        outcome = executor.run(kernel("hang"), None, LAUNCH, [])
        assert [fault.kind for fault in outcome.faults] == ["time-limit"]
        assert told(executor, "form") == 8


# ---------------------------------------------------------------- what the driver refuses


def test_what_the_driver_refuses(executor: GpuExecutor) -> None:
    refused = executor.run(kernel("add_one_nonsense"), None, LAUNCH, [])
    assert refused.faults[0].kind == "launch"
    assert "driver refused the code: CUDA_ERROR_INVALID_PTX: ptxas application ptx input, line 5" in (
        refused.faults[0].message)
    with closing(imagined(assemble=lambda ptx, arch: b"damaged")) as other:
        damaged = other.run(kernel("form"), None, LAUNCH, [])
        assert damaged.faults[0].message == "the driver refused the code: CUDA_ERROR_INVALID_IMAGE"
    with pytest.raises(PtxgenError, match="too old") as caught:
        executor.run(kernel("chatter", version="99.0"), None, LAUNCH, [])
    assert "update the driver" in caught.value.fix
    add_one(executor)


def test_memory_that_is_not_there(executor: GpuExecutor) -> None:
    pid = told(executor, "who")
    with pytest.raises(PtxgenError, match="no room") as caught:
        executor.run(kernel("live", "u64"), None, LAUNCH, [Buffer(np.zeros(1 << 24, "u1"))])
    assert "OUT_OF_MEMORY" in caught.value.why
    with pytest.raises(PtxgenError, match="no room"):
        executor.run(kernel("no_room"), None, LAUNCH, [])
    assert told(executor, "who") == pid, "the context is as good as before"


def test_memory_of_the_launch_before_makes_room(executor: GpuExecutor) -> None:
    for _ in range(3):
        large = Buffer(np.zeros(3 << 22, "u1"))
        assert executor.run(kernel("live", "u64"), None, LAUNCH, [large]).ok


def test_a_context_that_is_lost_costs_the_process() -> None:
    with closing(imagined("lost")) as executor:
        with pytest.raises(PtxgenError, match="no room"):
            executor.run(kernel("chatter"), None, LAUNCH, [])
        assert executor._worker is None


def test_no_kernel_is_blamed_for_a_broken_gpu(executor: GpuExecutor) -> None:
    with pytest.raises(PtxgenError, match="cannot run anything now") as caught:
        executor.run(kernel("CUDA_ERROR_ECC_UNCORRECTABLE"), None, LAUNCH, [])
    assert "ECC" in caught.value.why
    add_one(executor)


@pytest.mark.parametrize(("ptx", "launch"), contract_launches.REFUSED.values(), ids=contract_launches.REFUSED)
def test_launches_that_cannot_be(executor: GpuExecutor, ptx: str, launch: Launch) -> None:
    outcome = executor.run(ptx, "k", launch, [])
    assert [fault.kind for fault in outcome.faults] == ["launch"], outcome.faults


@pytest.mark.parametrize(("ptx", "entry", "arguments"), contract_launches.MISUSES.values(),
                         ids=contract_launches.MISUSES)
def test_what_the_caller_did_wrong(
    executor: GpuExecutor, ptx: str, entry: str | None, arguments: list[Argument]
) -> None:
    with pytest.raises(UsageError):
        executor.run(ptx, entry, LAUNCH, arguments)
