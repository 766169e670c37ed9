"""`ptxgen-local run` and `verify` on a GPU: the emulator's document, and what is said where there is no GPU.

The GPU is the imagined one of `fake_cuda`; `test_gpu_contract.py` has the real one.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from contract_launches import NEW
from executor_contract import kernel as real_kernel
from imagined_gpu import FAKE, WORKER, imagined, kernel, wait_for

from ptxgen import executing
from ptxgen.cli import app
from ptxgen.cli import run as run_command
from ptxgen.executing import Executor, gpu, make_executor
from ptxgen.executing.emulator import Emulator
from ptxgen.executing.gpu import GpuExecutor

ADD_ONE = kernel("add_one", "u64", "u64", "u32")
#: The same for the emulator.
ADD_ONE_REALLY = real_kernel("""
    ld.param.u32 %r5, [n]; setp.ge.u32 %p1, %r1, %r5; @%p1 bra $end; ld.param.u64 %rd3, [in];
    mad.wide.u32 %rd3, %r1, 4, %rd3; ld.global.f32 %f1, [%rd3]; add.f32 %f1, %f1, 0f3F800000;
    st.global.f32 [%rd2], %f1; $end:
""", ".param .u64 in, .param .u64 out, .param .u32 n").replace(".entry k(", ".entry add_one(")
WORDS = ("--grid", "1", "--block", "32", "--arg", "arange:f32:4", "--arg", "empty:f32:4", "--arg", "u32:4")


@pytest.fixture
def with_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_command, "make_executor", lambda name: imagined())


def invoke(path: Path, text: str, *words: str) -> int:
    file = path / "k.ptx"
    file.write_text(text)
    return app.run(["run", str(file), *words])


def document(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.usefixtures("with_gpu")
def test_the_document_is_the_emulators(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                       monkeypatch: pytest.MonkeyPatch) -> None:
    outputs = []
    for executor, text in (("gpu", ADD_ONE), ("emulator", ADD_ONE_REALLY)):
        if executor == "emulator":
            monkeypatch.setattr(run_command, "make_executor", make_executor)
        folder = tmp_path / executor
        assert invoke(tmp_path, text, *WORDS, "--executor", executor, "-o", str(folder), "--json") == 0
        found = document(capsys)
        assert found.pop("executor") == executor
        assert found.pop("outputs") == [str(folder / "arg0.npy"), str(folder / "arg1.npy")]
        assert (found.pop("instructions") == 0) == (executor == "gpu")
        outputs.append(found)
        np.testing.assert_array_equal(np.load(folder / "arg1.npy"), np.arange(1, 5, dtype="f4"))
    assert outputs[0] == outputs[1]


@pytest.mark.usefixtures("with_gpu")
def test_a_fault_has_the_same_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--grid", "1", "--block", "1", "--arg", "zeros:f32:5", "--arg", "u32:5", "--executor", "gpu")
    assert invoke(tmp_path, kernel("past_end", "u64", "u32"), *words, "--json") == 1
    (fault,) = document(capsys)["faults"]  # type: ignore[misc]
    assert list(fault) == ["kind", "message", "line", "block", "thread", "address"]
    assert (fault["kind"], fault["line"], fault["block"]) == ("guard-band", 0, None)
    assert invoke(tmp_path, kernel("past_end", "u64", "u32"), *words) == 1
    assert "k.ptx: guard-band: a write outside argument 0" in capsys.readouterr().out


@pytest.mark.usefixtures("with_gpu")
def test_what_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--grid", "1", "--block", "1", "--executor", "gpu")
    assert invoke(tmp_path, kernel("chatter"), *words, "--json") == 0
    assert document(capsys)["printed"] == "printed by the kernel\n" * 1000
    assert invoke(tmp_path, kernel("chatter"), *words) == 0
    assert "printed by the kernel" in capsys.readouterr().err


@pytest.mark.usefixtures("with_gpu")
def test_a_structure_by_value(tmp_path: Path) -> None:
    words = ("--grid", "1", "--block", "1", "--executor", "gpu", "--arg", "zeros:u8:24", "--arg")
    text = kernel("structure", "u64", "align 8 .b8")
    assert invoke(tmp_path, text, *words, "bytes:" + bytes(range(24)).hex(), "-o", str(tmp_path)) == 0
    np.testing.assert_array_equal(np.load(tmp_path / "arg0.npy"), np.arange(24, dtype="u1"))
    for wrong in ("bytes:0", "bytes:xy", "bytes:0011"):
        assert invoke(tmp_path, text, *words, wrong) == 2


def test_nothing_may_be_read_of_an_empty_buffer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = real_kernel("ld.global.u32 %r10, [%rd2]; add.u32 %r10, %r10, 1; st.global.u32 [%rd2], %r10;")
    words = ("--grid", "1", "--block", "4", "--executor", "emulator", "--json", "--arg")
    assert invoke(tmp_path, text, *words, "empty:u32:4") == 1
    assert document(capsys)["faults"][0]["kind"] == "uninitialised-read"  # type: ignore[index]
    assert invoke(tmp_path, text, *words, "zeros:u32:4") == 0


@pytest.mark.parametrize("flag", [("--trace", "0,0"), ("--profile",)])
def test_traces_and_profiles_are_the_emulators(
    tmp_path: Path, flag: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(tmp_path, ADD_ONE, *WORDS, "--executor", "gpu", *flag) == 2
    told = capsys.readouterr().err
    assert f"{flag[0]} cannot be had from a GPU" in told
    assert "only the emulator sees every statement" in told
    assert "fix:" in told


@pytest.mark.parametrize("words", [
    ("run", "KERNEL", *WORDS), ("verify", "SPEC", "KERNEL"), ("generate", "SPEC", "--model", "random"),
])
def test_without_a_gpu(
    tmp_path: Path, words: Sequence[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(gpu, "first_device", lambda: gpu.Missing("there is no NVIDIA driver", "get one"))
    root = Path(__file__).parents[2]
    (tmp_path / "k.ptx").write_text((root / "tests/kernels/saxpy.ptx").read_text())
    places = {"KERNEL": str(tmp_path / "k.ptx"), "SPEC": str(root / "examples/saxpy.toml")}
    assert app.run([*(places.get(word, word) for word in words), "--executor", "gpu"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    for part in ("the GPU executor cannot work here", "why: there is no NVIDIA driver", "fix: get one"):
        assert part in told.err


def test_code_for_another_gpu(tmp_path: Path, with_gpu: None, capsys: pytest.CaptureFixture[str]) -> None:
    text = NEW.replace("sm_90", "sm_100a").replace("8.0", "8.6") + ".visible .entry form() { ret; }\n"
    assert invoke(tmp_path, text, "--grid", "1", "--block", "1", "--executor", "gpu") == 2
    told = capsys.readouterr().err
    assert "nothing of this kernel runs on this GPU" in told
    assert "PTX for sm_100a" in told


# ---------------------------------------------------------------- which executor


@pytest.mark.parametrize(("arch", "assembles", "asked"), [
    (None, True, []), ("sm_80", True, []), (("sm_80",), True, []), (("sm_80", "sm_90a"), True, ["sm_90a"]),
    (("sm_80", "sm_90a"), False, []),
])  # fmt: skip
def test_several_targets_let_the_device_choose(
    monkeypatch: pytest.MonkeyPatch, arch: str | Sequence[str] | None, assembles: bool, asked: list[str]
) -> None:
    seen: list[str] = []

    def assemble(ptx: str, target: str) -> bytes:
        seen.append(target)
        return b"cubin"

    environment = {"PYTHONPATH": str(FAKE)}
    made: Callable[..., GpuExecutor] = GpuExecutor
    monkeypatch.setattr(gpu, "GpuExecutor", lambda **more: made(command=WORKER, environment=environment, **more))
    executor: Executor = make_executor("gpu", arch, assemble=assemble if assembles else None)
    try:
        launch = executing.Launch((1, 1, 1), (1, 1, 1))
        assert executor.run(kernel("form", "u64"), None, launch, [executing.unwritten(1, "f4")]).ok
    finally:
        executor.close()
    assert seen == asked


def test_auto_without_a_gpu_is_the_emulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "gpu_available", lambda: None)
    assert isinstance(make_executor("auto", ("sm_80", "sm_90a"), assemble=lambda ptx, arch: None), Emulator)


def test_ctrl_c_ends_command_and_kernel(tmp_path: Path) -> None:
    (tmp_path / "k.ptx").write_text(kernel("hang"))
    code = (
        "import sys, imagined_gpu; from ptxgen.cli import app, run; executor = imagined_gpu.imagined(time_limit=60);"
        "print(int(imagined_gpu.told(executor, 'who')), flush=True); run.make_executor = lambda name: executor;"
        f"sys.exit(app.run(['run', {str(tmp_path / 'k.ptx')!r}, '--grid', '1', '--block', '1', '--executor', 'gpu']))"
    )
    command = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=Path(__file__).parent,
        env={**os.environ, "FAKE_CUDA_BEGUN": str(tmp_path / "begun")},
    )
    assert command.stdout is not None
    worker = int(command.stdout.readline())
    wait_for(tmp_path / "begun")
    command.send_signal(signal.SIGINT)
    out, err = command.communicate(timeout=30)
    assert (command.returncode, out) == (130, b"")
    assert b"Traceback" not in err
    assert not Path(f"/proc/{worker}").exists()
