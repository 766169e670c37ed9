"""`ptxgen-local run`: arguments in every form, files out, JSON, exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from executor_contract import kernel

from ptxgen.cli import app

SCALE = kernel("""
    ld.param.u64 %rd3, [x]; mad.wide.u32 %rd3, %r1, 4, %rd3; ld.param.f32 %f1, [a]; ld.param.u32 %r5, [n];
    setp.ge.u32 %p1, %r1, %r5; @%p1 bra $end;
    ld.global.f32 %f2, [%rd3]; mul.f32 %f2, %f2, %f1; st.global.f32 [%rd2], %f2;
    $end:
""", ".param .u64 x, .param .u64 out, .param .f32 a, .param .u32 n")


def invoke(*words: str) -> int:
    return app.run(words)


@pytest.fixture
def scale(tmp_path: Path) -> Path:
    path = tmp_path / "scale.ptx"
    path.write_text(SCALE)
    np.save(tmp_path / "x.npy", np.arange(10, dtype="f4"))
    return path


def launch(path: Path, *more: str, n: str = "u32:10") -> int:
    x = f"npy:{path.parent / 'x.npy'}"
    return invoke("run", str(path), "--grid", "2", "--block", "8", "--executor", "emulator", "--arg", x,
                  "--arg", "zeros:f32:10", "--arg", "f32:2.5", "--arg", n, *more)


def test_buffers_come_back_as_files(scale: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = scale.parent / "deep" / "out"
    assert launch(scale, "-o", str(out), "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert list(document) == ["schema_version", "ok", "executor", "faults", "instructions", "outputs", "printed"]
    assert document["ok"] is True
    assert document["executor"] == "emulator"
    assert document["faults"] == []
    assert document["instructions"] > 0
    assert document["outputs"] == [str(out / "arg0.npy"), str(out / "arg1.npy")]
    np.testing.assert_array_equal(np.load(out / "arg1.npy"), np.arange(10, dtype="f4") * np.float32(2.5))
    np.testing.assert_array_equal(np.load(out / "arg0.npy"), np.arange(10, dtype="f4"))


def test_a_fault_is_exit_one_and_names_the_line(scale: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert launch(scale, "--json", n="u32:11") == 1
    (fault,) = json.loads(capsys.readouterr().out)["faults"]
    assert set(fault) == {"kind", "line", "block", "thread", "address", "message"}
    assert fault["kind"] == "out-of-bounds"
    assert fault["block"] == [1, 0, 0]
    assert fault["thread"] == [2, 0, 0]
    assert "ld.global.f32" in SCALE.splitlines()[fault["line"] - 1]
    assert launch(scale, n="u32:11") == 1
    words = capsys.readouterr().out
    assert f"scale.ptx:{fault['line']}: out-of-bounds" in words


def test_same_buffer_twice(scale: Path, capsys: pytest.CaptureFixture[str]) -> None:
    x = f"npy:{scale.parent / 'x.npy'}"
    out = scale.parent / "out"
    assert invoke("run", str(scale), "--grid", "1,1", "--block", "10,1,1", "--executor", "emulator", "--arg", x,
                  "--arg", "same:0", "--arg", "f32:-1", "--arg", "u32:0xa", "-o", str(out)) == 0
    np.testing.assert_array_equal(np.load(out / "arg0.npy"), -np.arange(10, dtype="f4"))
    assert not (out / "arg1.npy").exists()
    assert str(out / "arg0.npy") in capsys.readouterr().out


@pytest.mark.parametrize("argument", [
    "npy:missing.npy", "zeros:f32", "zeros:q1:3", "zeros:f32:-3", "zeros:f32:99999999999999", "same:x", "same:9",
    "f32", "f32:two", "u32:1.5", "u99:1", "u32:4294967296", "u32:-1", "f64:1.0", ":", "npy:",
])
def test_wrong_arguments_are_exit_two(scale: Path, argument: str, capsys: pytest.CaptureFixture[str]) -> None:
    x = f"npy:{scale.parent / 'x.npy'}"
    assert invoke("run", str(scale), "--grid", "1", "--block", "1", "--executor", "emulator", "--arg", x,
                  "--arg", argument, "--arg", "f32:1", "--arg", "u32:1") == 2
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    assert captured.out == ""


@pytest.mark.parametrize("words", [
    ["--grid", "0x2", "--block", "1"], ["--grid", "1,2,3,4", "--block", "1"], ["--grid", "1", "--block", "-1"],
    ["--grid", "1", "--block", "1", "--executor", "abacus"], ["--grid", "1", "--block", "1", "--entry", "other"],
    ["--grid", "1"], ["--grid", "1", "--block", "1", "--shared", "-4"],
])
def test_wrong_usage_is_exit_two(scale: Path, words: list[str]) -> None:
    assert invoke("run", str(scale), *words) == 2


def test_files_that_are_no_arrays(scale: Path) -> None:
    bad = scale.parent / "bad.npy"
    for content in (b"", b"text", b"\x93NUMPY\x01\x00", b"PK\x03\x04"):
        bad.write_bytes(content)
        assert invoke("run", str(scale), "--grid", "1", "--block", "1", "--executor", "emulator",
                      "--arg", f"npy:{bad}", "--arg", "zeros:f32:1", "--arg", "f32:1", "--arg", "u32:1") == 2


@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_what_cannot_be_saved_leaves_the_files_of_before(
    scale: Path, fault: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full, or the user interrupts, when half of an array is written."""
    folder = scale.parent / "out"
    words = ["run", str(scale), "--grid", "1", "--block", "4", "--executor", "emulator", "--arg", "arange:f32:4",
             "--arg", "zeros:f32:4", "--arg", "f32:2", "--arg", "u32:4", "-o", str(folder)]
    assert invoke(*words) == 0
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def half(file: Any, array: Any) -> None:
        file.write(b"half")
        raise fault

    monkeypatch.setattr(np, "save", half)
    assert invoke(*words) in {2, 130}
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_files_of_more_than_a_buffer_holds(scale: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that is that large, and a small one whose header claims it."""
    large, lying = scale.parent / "large.npy", scale.parent / "lying.npy"
    np.save(lying, np.zeros(10, np.uint8))
    lying.write_bytes(lying.read_bytes().replace(b"(10,), }" + b" " * 16, b"(10000000000000000,), } "))
    with large.open("wb") as file:
        file.truncate(5 << 30)
    for path in (large, lying):
        assert invoke("run", str(scale), "--grid", "1", "--block", "1", "--executor", "emulator",
                      "--arg", f"npy:{path}", "--arg", "zeros:f32:1", "--arg", "f32:1", "--arg", "u32:1") == 2
        assert "too large" in capsys.readouterr().err


def test_ptx_that_does_not_parse_is_exit_one(tmp_path: Path) -> None:
    path = tmp_path / "bad.ptx"
    path.write_text(".version 8.0\n.target sm_80\n.visible .entry k() { add.u32 %r1 %r2; }\n")
    assert invoke("run", str(path), "--grid", "1", "--block", "1", "--executor", "emulator") == 1
    assert invoke("run", str(tmp_path / "none.ptx"), "--grid", "1", "--block", "1") == 2


@pytest.mark.parametrize("flags", [(), ("--profile",)])
def test_a_file_that_does_not_parse_is_named(
    tmp_path: Path, flags: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "k.cu"
    path.write_text("__global__ void k() {}\n")
    assert invoke("run", str(path), "--grid", "1", "--block", "1", *flags) == 1
    assert "k.cu:1:1: error" in capsys.readouterr().err.replace("\n", "")
