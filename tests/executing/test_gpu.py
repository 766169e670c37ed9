"""The GPU executor: its process, protocol and faults against an imagined driver, the real one where it is.

`fake_cuda/` stands in the place of `cuda` in the worker process; the whole of the executor is the real one.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import contract_launches
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptxgen.errors import PtxgenError, UsageError
from ptxgen.executing import gpu, gpu_process, gpu_worker
from ptxgen.executing.gpu import GpuExecutor
from ptxgen.executing.protocol import Alias, Argument, Buffer, Launch, Scalar, Value

LAUNCH = Launch((1, 1, 1), (32, 1, 1))
WORKER = (sys.executable, "-P", str(Path(gpu_worker.__file__)))
FAKE = Path(__file__).parent / "fake_cuda"


def imagined(mood: str = "", **options: object) -> GpuExecutor:
    environment = dict(os.environ, PYTHONPATH=str(FAKE), FAKE_CUDA=mood)
    return GpuExecutor(command=WORKER, environment=environment, **options)  # type: ignore[arg-type]


def kernel(name: str, *types: str, version: str = "8.0", target: str = "sm_80", module: str = "") -> str:
    names = [f"param_{i}" + ("[24]" if t == "align 8 .b8" else "") for i, t in enumerate(types)]
    params = ",\n".join(f"\t.param .{t} {name}" for t, name in zip(types, names, strict=True))
    return (
        f".version {version}\n.target {target}\n.address_size 64\n{module}\n"
        f".visible .entry {name}(\n{params}\n)\n{{\n\tret;\n}}\n"
    )


ADD_ONE = kernel("add_one", "u64", "u64", "u32")


@pytest.fixture(scope="module")
def executor() -> Iterator[GpuExecutor]:
    with closing(imagined(time_limit=5.0)) as executor:
        yield executor


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


def told(executor: GpuExecutor, name: str, module: str = "") -> float:
    """The number that a kernel leaves."""
    outcome = executor.run(kernel(name, "u64", module=module), None, LAUNCH, [Buffer(np.zeros(1, np.float32))])
    assert outcome.ok, outcome.faults
    return float(outcome.buffers[0][0])


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


def test_a_worker_that_takes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped in its tracks, it does not read what it is sent; a large launch must not wait for it for ever."""
    monkeypatch.setattr(gpu_process, "STALL_LIMIT", 0.2)
    with closing(imagined(time_limit=0.5)) as executor:
        pid = int(told(executor, "who"))
        os.kill(pid, signal.SIGSTOP)
        outcome = executor.run(ADD_ONE, None, LAUNCH, [Buffer(np.zeros(1 << 19, "f4")), Alias(0), Scalar("u32", 1)])
        assert [fault.kind for fault in outcome.faults] == ["launch"]
        assert "took nothing" in outcome.faults[0].message
        add_one(executor)


def test_large_messages_go_through() -> None:
    data = np.arange(1 << 21, dtype=np.uint32)
    with closing(imagined()) as executor:
        outcome = executor.run(ADD_ONE, None, LAUNCH, [Buffer(data), Alias(0), Scalar("u32", 0)])
        np.testing.assert_array_equal(outcome.buffers[0], data)


def test_ctrl_c_during_a_launch_leaves_nothing_behind() -> None:
    with closing(imagined(time_limit=30.0)) as executor:
        pid = int(told(executor, "who"))
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            executor.run(kernel("hang"), None, LAUNCH, [])
        assert not os.path.exists(f"/proc/{pid}")
        add_one(executor)


def test_the_worker_ends_with_its_parent(tmp_path: Path) -> None:
    code = (
        "import test_gpu as t; e = t.imagined(time_limit=60); print(int(t.told(e, 'who')), flush=True); "
        "e.run(t.kernel('hang'), None, t.LAUNCH, [])"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=Path(__file__).parent,
        env={**os.environ, "FAKE_CUDA_BEGUN": str(tmp_path / "begun")},
    )
    assert parent.stdout is not None
    worker = int(parent.stdout.readline())
    wait_for(tmp_path / "begun")
    parent.kill()
    parent.wait()
    parent.stdout.close()
    for _ in range(3000):
        if _gone(worker):
            break
        time.sleep(0.01)
    assert _gone(worker)


def wait_for(path: Path) -> None:
    """Until a kernel that hangs has begun."""
    deadline = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _gone(pid: int) -> bool:
    try:
        return ") Z " in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True


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


# ---------------------------------------------------------------- the start


def test_without_a_gpu_the_error_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    class Driver:
        """A driver's library with one device, or the error of `answer`."""

        answer = 0
        cuInit = cuDeviceGet = lambda self, *given: self.answer

        def cuDeviceGetName(self, name: ctypes.Array, size: int, device: object) -> int:
            name.value = b"Imagined GPU"
            return 0

    def no_driver(name: str) -> Driver:
        raise OSError(name)

    def found(load: Callable[[str], Driver]) -> str | gpu.Missing:
        monkeypatch.setattr(gpu.ctypes, "CDLL", load)
        gpu.first_device.cache_clear()
        return gpu.first_device()

    try:
        for load, visible, answer, why, fix in (
            (no_driver, None, 0, "there is no NVIDIA driver", "a machine with"),
            (lambda name: Driver(), None, 100, "shows no device (CUDA error 100)", "nvidia-smi"),
            (lambda name: Driver(), "", 100, "CUDA_VISIBLE_DEVICES is ''", "nvidia-smi"),
        ):
            monkeypatch.setattr(Driver, "answer", answer)
            if visible is not None:
                monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
            missing = found(load)
            assert isinstance(missing, gpu.Missing)
            assert why in missing.why
            assert fix in missing.fix
            with pytest.raises(PtxgenError) as caught:
                GpuExecutor()
            assert (caught.value.why, caught.value.fix) == missing
        monkeypatch.setattr(Driver, "answer", 0)
        assert found(lambda name: Driver()) == gpu.gpu_available() == "Imagined GPU"
        monkeypatch.setattr(gpu.importlib.util, "find_spec", lambda name: None)
        missing = found(lambda name: Driver())
        assert isinstance(missing, gpu.Missing)
        assert "ptxgen-local[gpu]" in missing.fix
    finally:
        gpu.first_device.cache_clear()


@pytest.mark.parametrize(
    ("mood", "words", "fix"),
    [
        ("none", "CUDA_ERROR_NO_DEVICE", "CUDA_VISIBLE_DEVICES"),
        ("old", 'Function "cuInit" not found', "update the driver"),
        ("full", "CUDA_ERROR_OUT_OF_MEMORY", "free memory"),
        ("dies", "the driver's library is damaged", "install"),
        ("garbage", "a length of", "install"),
        ("half", "exit status 0", "install"),
        ("endless", "a length of", "install"),
        ("broken", "broken message", "install"),
        ("foreign", "nothing that a worker says", "install"),
        ("nested", "broken message", "install"),
        ("silent", "did not answer", "install"),
    ],
)
def test_a_process_that_cannot_begin(monkeypatch: pytest.MonkeyPatch, mood: str, words: str, fix: str) -> None:
    monkeypatch.setattr(gpu_process, "START_LIMIT", 1.0 if mood == "silent" else 60.0)
    with pytest.raises(PtxgenError) as caught:
        imagined(mood)
    assert words in caught.value.why
    assert fix in caught.value.fix


def test_a_device_of_several_is_chosen() -> None:
    with closing(imagined(device=1)) as executor:
        assert executor.device == "Imagined GPU 1"
    with pytest.raises(PtxgenError) as caught:
        imagined(device=2)
    assert "choose a device" in caught.value.fix


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
    whole = path.read_bytes()
    for length in range(1, len(whole)):
        path.write_bytes(whole[:length])
        with path.open("rb") as source, pytest.raises(ValueError, match="broken"):
            gpu_worker.read_message(source)


_JSON = st.recursive(
    st.none() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["sizes", "status"]), inner),
)


@given(st.binary(max_size=40) | st.text(max_size=20) | _JSON.map(json.dumps))
def test_whatever_comes_is_a_message_or_refused(content: bytes | str) -> None:
    head = content.encode() if isinstance(content, str) else b""
    body = struct.pack("<I", len(head)) + head + b"more" if isinstance(content, str) else content
    try:
        header, blobs = gpu_worker.split_message(body)
    except ValueError as error:
        fine = str(error).startswith("broken message")
    else:
        fine = isinstance(header, dict) and all(isinstance(blob, bytes) for blob in blobs)
    assert fine


def test_a_machine_with_a_gpu_needs_no_model_libraries() -> None:
    """Verifying on a GPU machine runs where llama.cpp, llguidance and the command line cannot be installed."""
    missing = ("llama_cpp", "llguidance", "outlines", "gguf", "typer", "rich", "jinja2", "platformdirs")
    code = f"import sys; sys.modules.update(dict.fromkeys({missing!r})); import bench.gpu_check"
    subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], check=True)
