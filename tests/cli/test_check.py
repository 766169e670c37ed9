"""`check`: diagnostics, ptxas's verdict, exit status, and files that are no PTX."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from ptxgen.assembling import ToolMissing, find_ptxas
from ptxgen.cli.app import run
from ptxgen.cli.check import LARGEST_FILE

_GOOD = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n\tret;\n}\n"
_WARNED = _GOOD.replace("\tret;\n", "")
_BAD = _GOOD.replace("\tret;", "\t.reg .f32 %f<4>;\n\tfma.f32 %f1, %f2, 1.0, %f2;\n\tret;")
_BROKEN = _GOOD.replace("\tret;", "\tret\n\tmov.f32 %f1, 1.0f;\n\tret;")


def _has_ptxas() -> bool:
    try:
        return bool(find_ptxas())
    except ToolMissing:
        return False


needs_ptxas = pytest.mark.skipif(not _has_ptxas(), reason="no ptxas: pip install nvidia-cuda-nvcc")


def _file(folder: Path, text: str | bytes) -> str:
    path = folder / "k.ptx"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return str(path)


@pytest.mark.parametrize(("text", "status"), [(_GOOD, 0), (_WARNED, 0), (_BAD, 1), (_BROKEN, 1)])
def test_exit_status(tmp_path: Path, text: str, status: int) -> None:
    assert run(["check", _file(tmp_path, text), "--no-ptxas"]) == status


def test_diagnostics_are_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _file(tmp_path, _BAD)
    assert run(["check", path, "--no-ptxas"]) == 1
    said = capsys.readouterr().out
    assert f"{path}:7:2: error: fma.f32 needs a rounding modifier" in said
    assert "^^^^^^^" in said
    assert said.rstrip().endswith(f"{path}: 1 error")


def test_json_without_ptxas(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", _file(tmp_path, _BROKEN), "--no-ptxas", "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["schema_version"] == 1
    assert document["ok"] is False
    assert document["ptxas"] is None
    assert [d["code"] for d in document["diagnostics"]] == ["missing-semicolon", "syntax"]
    assert set(document["diagnostics"][0]) == {"line", "column", "severity", "code", "message", "hint"}
    assert (document["diagnostics"][0]["line"], document["diagnostics"][0]["column"]) == (6, 5)


@needs_ptxas
def test_ptxas_is_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", _file(tmp_path, _GOOD)]) == 0
    assert "for sm_90: accepted" in capsys.readouterr().out
    assert run(["check", _file(tmp_path, _BAD)]) == 1
    said = capsys.readouterr().out
    assert "Rounding modifier required" in said
    assert "for sm_90: refused" in said


@needs_ptxas
def test_json_with_ptxas(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", _file(tmp_path, _BAD), "--json"]) == 1
    judged = json.loads(capsys.readouterr().out)["ptxas"]
    assert judged["ok"] is False
    assert judged["arch"] == "sm_90"
    assert judged["messages"][0]["line"] == 7


@needs_ptxas
@pytest.mark.parametrize(("target", "arch"), [("sm_60", "sm_75"), ("sm_80", "sm_80")])
def test_targets_that_assemblers_dropped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], target: str, arch: str
) -> None:
    assert run(["check", _file(tmp_path, _GOOD.replace("sm_90", target))]) == 0
    assert f"for {arch}: accepted" in capsys.readouterr().out


def test_an_architecture_that_is_too_old(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", _file(tmp_path, _GOOD), "--arch", "sm_80", "--no-ptxas"]) == 1
    assert "cannot be assembled for sm_80" in capsys.readouterr().out


def test_standard_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(_BAD.encode())))
    assert run(["check", "-", "--no-ptxas"]) == 1
    assert "<stdin>:7:2: error" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "is empty"),
        (b" \n\t\n", "is empty"),
        (b"\x7fELF\x02\x01", "compiled code"),
        (b"\x50\xed\x55\xba\x01", "compiled code"),
        (b".version 8.0\0", "no text file"),
    ],
)
def test_files_that_are_no_ptx(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, told: str
) -> None:
    assert run(["check", _file(tmp_path, content)]) == 2
    heard = capsys.readouterr()
    assert told in heard.err
    assert "fix:" in heard.err
    assert heard.out == ""


def test_a_file_that_is_too_large(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "huge.ptx"
    with path.open("wb") as file:
        file.write(b"/")
        file.truncate(LARGEST_FILE + 1)
    assert run(["check", str(path)]) == 2
    assert "too large" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["missing.ptx"], ["."], ["k\0.ptx"], []])
def test_paths_that_lead_nowhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["check", *arguments]) == 2
    assert "error:" in capsys.readouterr().err


def test_wrong_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _file(tmp_path, _GOOD)
    assert run(["check", path, "--arch", "sm_91"]) == 2
    assert "sm_90" in capsys.readouterr().err
    assert run(["check", path, "--ptxas", str(tmp_path / "none")]) == 2
    assert "fix:" in capsys.readouterr().err


def test_text_that_is_not_utf_8(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", _file(tmp_path, _GOOD.encode() + b"// caf\xe9\n"), "--no-ptxas"]) == 1
    assert "PTX is ASCII" in capsys.readouterr().out


def test_a_byte_order_mark_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", _file(tmp_path, b"\xef\xbb\xbf" + _GOOD.encode()), "--no-ptxas"]) == 1
    assert "byte order mark" in capsys.readouterr().out
