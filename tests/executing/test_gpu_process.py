"""The process that owns the GPU: how it begins, hangs, dies and ends, on an imagined GPU (`imagined_gpu.py`)."""

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
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from imagined_gpu import ADD_ONE, LAUNCH, add_one, gone, imagined, kernel, told, wait_for

from bench import gpu_launches
from ptxgen.errors import PtxgenError
from ptxgen.executing import gpu, gpu_process, gpu_worker, make_executor
from ptxgen.executing.gpu import GpuExecutor
from ptxgen.executing.protocol import Alias, Buffer, Scalar


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
        "import imagined_gpu as t; e = t.imagined(time_limit=60); print(int(t.told(e, 'who')), flush=True); "
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
        if gone(worker):
            break
        time.sleep(0.01)
    assert gone(worker)


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
        monkeypatch.setattr(gpu.importlib.util, "find_spec", lambda name: object())
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


@example('{"sizes": [1, 3]}')
@example('{"sizes": [5, -1]}')
@given(st.binary(max_size=40) | st.text(max_size=20) | _JSON.map(json.dumps))
def test_whatever_comes_is_a_message_or_refused(content: bytes | str) -> None:
    head = content.encode() if isinstance(content, str) else b""
    body = struct.pack("<I", len(head)) + head + b"more" if isinstance(content, str) else content
    try:
        header, blobs = gpu_worker.split_message(body)
    except ValueError as error:
        fine = str(error).startswith("broken message")
    else:
        fine = [len(blob) for blob in blobs] == header["sizes"]
    assert fine


def test_a_machine_with_a_gpu_needs_no_model_libraries() -> None:
    """Verifying on a GPU machine runs where llama.cpp, llguidance and the command line cannot be installed."""
    missing = ("llama_cpp", "llguidance", "outlines", "gguf", "typer", "rich", "jinja2", "platformdirs")
    code = f"import sys; sys.modules.update(dict.fromkeys({missing!r})); import bench.gpu_check"
    subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], check=True)


def test_the_benchmark_says_that_there_is_no_gpu(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(gpu, "first_device", lambda: gpu.Missing("there is no NVIDIA driver", "get one"))
    assert gpu_launches.main([]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "fix: get one" in captured.err


def test_a_launch_that_is_measured_is_right() -> None:
    """The kernels of the benchmark, on the emulator: its figures are of launches that do what they should."""
    emulator = make_executor("emulator")
    gpu_launches.launch(emulator, gpu_launches.kernel(5, ".global .u32 variable = 5;\n"), 512)
    with pytest.raises(AssertionError):
        gpu_launches.launch(emulator, gpu_launches.kernel(5).replace("add.u32", "xor.b32"))
