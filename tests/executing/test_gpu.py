"""The GPU executor: its process, protocol and faults against an imagined driver, the real one where it is.

`fake_cuda/` stands in the place of `cuda` in the worker process; the whole of the executor is the real one.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ptxgen.errors import PtxgenError, UsageError
from ptxgen.executing import gpu, gpu_worker
from ptxgen.executing.gpu import GpuExecutor
from ptxgen.executing.gpu_arguments import pack_scalar
from ptxgen.executing.protocol import Alias, Buffer, Launch, Scalar

LAUNCH = Launch((1, 1, 1), (32, 1, 1))
WORKER = (sys.executable, "-P", str(Path(gpu_worker.__file__)))


def imagined(**options: object) -> GpuExecutor:
    environment = dict(os.environ, PYTHONPATH=str(Path(__file__).parent / "fake_cuda"))
    environment.update(options.pop("environment", {}))  # type: ignore[call-overload]
    return GpuExecutor(command=WORKER, environment=environment, **options)  # type: ignore[arg-type]


def kernel(name: str, *types: str, version: str = "8.0") -> str:
    params = ",\n".join(f"\t.param .{t} param_{i}" for i, t in enumerate(types))
    return (
        f".version {version}\n.target sm_80\n.address_size 64\n\n"
        f".visible .entry {name}(\n{params}\n)\n{{\n\tret;\n}}\n"
    )


ADD_ONE = kernel("add_one", "u64", "u64", "u32")


@pytest.fixture(scope="module")
def executor() -> Iterator[GpuExecutor]:
    executor = imagined(time_limit=5.0)
    yield executor
    executor.close()


def add_one(executor: GpuExecutor, count: int = 5, offset: int = 0) -> np.ndarray:
    source = np.arange(count, dtype=np.float32)
    out = np.full(count, np.nan, dtype=np.float32)
    target = Buffer(out, initialised=False, offset=offset)
    arguments = [Buffer(source, read_only=True), target, Scalar("u32", count)]
    outcome = executor.run(ADD_ONE, None, LAUNCH, arguments)
    assert outcome.ok, outcome.faults
    assert outcome.buffers[2] is None
    np.testing.assert_array_equal(outcome.buffers[0], source)
    return outcome.buffers[1]


@pytest.mark.parametrize("offset", [0, 4, 100])
def test_runs_and_gives_the_buffers_back(executor: GpuExecutor, offset: int) -> None:
    np.testing.assert_array_equal(add_one(executor, offset=offset), [1, 2, 3, 4, 5])
    assert (executor.name, executor.device, executor.arch) == ("gpu", "Imagined GPU", "sm_90")


def test_empty_buffers_and_empty_grids(executor: GpuExecutor) -> None:
    assert add_one(executor, count=0).shape == (0,)
    poison = Buffer(np.full(2, 7.0, dtype=np.float32), initialised=False)
    outcome = executor.run(kernel("die", "u64"), None, Launch((0, 1, 1), (32, 1, 1)), [poison])
    assert outcome.ok
    np.testing.assert_array_equal(outcome.buffers[0], [7, 7])


def test_an_alias_is_the_same_buffer(executor: GpuExecutor) -> None:
    data = np.arange(4, dtype=np.float32).reshape(2, 2)
    outcome = executor.run(ADD_ONE, "add_one", LAUNCH, [Buffer(data), Alias(0), Scalar("u32", 4)])
    np.testing.assert_array_equal(outcome.buffers[0], data + 1)
    np.testing.assert_array_equal(outcome.buffers[1], data + 1)
    assert data[0, 0] == 0, "the caller's array must stay as it was"


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("past_end", "guard-band", "argument 0, at byte 28 of its 20"),
        ("before_start", "guard-band", "argument 0, 5 bytes before"),
        ("CUDA_ERROR_ILLEGAL_ADDRESS", "out-of-bounds", "as asked"),
        ("CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned", "as asked"),
        ("CUDA_ERROR_INVALID_ADDRESS_SPACE", "wrong-space", "as asked"),
        ("CUDA_ERROR_LAUNCH_FAILED", "launch", "as asked"),
        ("die", "launch", "exit status 3"),
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


def test_a_trap_is_called_a_trap(executor: GpuExecutor) -> None:
    ptx = kernel("CUDA_ERROR_LAUNCH_FAILED").replace("ret;", "trap;")
    assert executor.run(ptx, None, LAUNCH, []).faults[0].kind == "trap"


def test_a_write_to_a_read_only_buffer(executor: GpuExecutor) -> None:
    out = Buffer(np.zeros(3, dtype=np.float32), read_only=True)
    outcome = executor.run(ADD_ONE, None, LAUNCH, [Buffer(np.ones(3, np.float32)), out, Scalar("u32", 3)])
    assert [fault.kind for fault in outcome.faults] == ["read-only-write"]
    assert "argument 1" in outcome.faults[0].message


def test_the_time_limit_ends_a_hanging_kernel() -> None:
    executor = imagined(time_limit=0.3)
    try:
        outcome = executor.run(kernel("hang"), None, LAUNCH, [])
        assert [fault.kind for fault in outcome.faults] == ["time-limit"]
        executor.run(kernel("chatter"), None, LAUNCH, [])
    finally:
        executor.close()


def test_a_kernel_that_prints_does_not_disturb_the_answers(executor: GpuExecutor) -> None:
    assert executor.run(kernel("chatter"), None, LAUNCH, []).ok
    add_one(executor)


def test_what_the_driver_refuses(executor: GpuExecutor) -> None:
    refused = executor.run(kernel("add_one_nonsense"), None, LAUNCH, [])
    assert refused.faults[0].kind == "launch"
    assert "driver refused the code" in refused.faults[0].message
    wide = executor.run(kernel("chatter"), None, Launch((1, 1, 1), (2048, 1, 1)), [])
    assert "launch was refused" in wide.faults[0].message
    with pytest.raises(PtxgenError, match="too old"):
        executor.run(kernel("chatter", version="99.0"), None, LAUNCH, [])
    add_one(executor)


def test_a_cubin_is_loaded_where_it_can_be_assembled() -> None:
    asked = []

    def assemble(ptx: str, arch: str) -> bytes | None:
        asked.append(arch)
        return b"cubin"

    executor = imagined(assemble=assemble)
    try:
        outcome = executor.run(kernel("from_cubin", "u64"), None, LAUNCH, [Buffer(np.zeros(1, np.float32))])
    finally:
        executor.close()
    np.testing.assert_array_equal(outcome.buffers[0], [7])
    assert asked == ["sm_90"]


@pytest.mark.parametrize(
    ("ptx", "entry", "arguments"),
    [
        (ADD_ONE, "other", []),
        (ADD_ONE, None, [Scalar("u64", 1)]),
        (kernel("k", "u32"), None, [Scalar("u64", 1)]),
        (kernel("k", "u32"), None, [Scalar("u32", 1 << 32)]),
        (kernel("k", "u32"), None, [Buffer(np.zeros(1, np.float32))]),
        (kernel("k", "u64"), None, [Alias(0)]),
        (kernel("a") + kernel("b").split("64\n\n")[1], None, []),
    ],
)
def test_what_the_caller_did_wrong_is_an_error(
    executor: GpuExecutor, ptx: str, entry: str | None, arguments: list[object]
) -> None:
    with pytest.raises(UsageError):
        executor.run(ptx, entry, LAUNCH, arguments)  # type: ignore[arg-type]


def test_scalars_are_packed_by_their_type() -> None:
    assert pack_scalar(Scalar("s16", -2)) == b"\xfe\xff"
    assert pack_scalar(Scalar("u8", 255)) == b"\xff"
    assert pack_scalar(Scalar("f32", 1.0)) == b"\x00\x00\x80\x3f"
    assert pack_scalar(Scalar("f16", 1.0)) == b"\x00\x3c"
    assert pack_scalar(Scalar("bf16", 1.0)) == b"\x80\x3f"
    # halfway between two bfloat16 values, to the even one, and just above halfway
    assert pack_scalar(Scalar("bf16", 1.00390625)) == b"\x80\x3f"
    assert pack_scalar(Scalar("bf16", 1.01171875)) == b"\x82\x3f"
    assert pack_scalar(Scalar("bf16", float("nan")))[1] & 0x7F == 0x7F


def test_without_a_gpu_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "gpu_available", lambda: None)
    with pytest.raises(PtxgenError) as caught:
        GpuExecutor()
    assert "ptxgen-local[gpu]" in caught.value.fix
    with pytest.raises(PtxgenError, match="cannot work"):
        imagined(environment={"FAKE_CUDA": "none"})


def test_a_worker_that_cannot_start_is_an_error() -> None:
    with pytest.raises(PtxgenError, match="did not start"):
        GpuExecutor(command=(sys.executable, "-c", "raise SystemExit('no module')"))


def test_messages_survive_the_pipe_and_broken_ones_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    with path.open("wb") as sink:
        gpu_worker.write_message(sink, {"a": 1}, [b"xy", b"", b"z"])
    with path.open("rb") as source:
        assert gpu_worker.read_message(source) == ({"a": 1, "sizes": [2, 0, 1]}, [b"xy", b"", b"z"])
        assert gpu_worker.read_message(source) is None
    path.write_bytes(path.read_bytes()[:-1])
    with path.open("rb") as source, pytest.raises(ValueError, match="broken"):
        gpu_worker.read_message(source)


def test_a_machine_with_a_gpu_needs_no_model_libraries() -> None:
    """Verifying on a GPU machine runs where llama.cpp, llguidance and the command line cannot be installed."""
    missing = ("llama_cpp", "llguidance", "outlines", "gguf", "typer", "rich", "jinja2", "platformdirs")
    code = f"import sys; sys.modules.update(dict.fromkeys({missing!r})); import bench.gpu_check"
    subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], check=True)
