"""`check` on files that are no PTX, half of one, or not to be read: an answer in words, never a traceback."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.recovery import texts
from ptxgen.cli.app import run
from tests.ptx.mutations import damaged

_GOOD = b".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n\tret;\n}\n"
_TEXTS = [text for text in texts() if len(text) < 3000]


def _answer(path: object, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    capsys.readouterr()
    status = run(["check", "--no-ptxas", "--json", str(path)])
    out, told = capsys.readouterr()
    return status, out, told


def _assert_answered(content: bytes, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "k.ptx"
    path.write_bytes(content)
    status, out, told = _answer(path, capsys)
    assert "Traceback" not in told
    if status == 2:
        assert told.startswith("error: ")
        assert out == ""
        return
    document = json.loads(out)
    errors = [d for d in document["diagnostics"] if d["severity"] == "error"]
    assert status == (1 if errors else 0)
    lines = content.decode("utf-8", errors="replace").count("\n") + 1
    assert all(1 <= d["line"] <= lines and d["column"] >= 1 for d in document["diagnostics"])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=400))
def test_any_bytes(tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes) -> None:
    _assert_answered(content, tmp_path, capsys)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damaged(_TEXTS), st.sampled_from(["utf-8", "latin-1", "utf-16"]))
def test_damaged_files(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, encoding: str) -> None:
    _assert_answered(text.encode(encoding, errors="replace"), tmp_path, capsys)


@pytest.mark.parametrize(
    ("content", "status", "told"),
    [
        (b"", 2, "is empty"), (b" \n\t\r\n", 2, "is empty"), (b"\0", 2, "zero bytes"),
        (_GOOD + b"\0", 2, "zero bytes"), (b"\x7fELF" + bytes(60), 2, "compiled code"),
        (b"x" * (65 << 20), 2, "too large"),
        (_GOOD.replace(b"\n", b"\r\n"), 0, ""), (b"\xef\xbb\xbf" + _GOOD, 1, ""), (_GOOD[:-3], 1, ""),
        (b"a" * 1_000_000, 1, ""), (b"}{" * 10_000, 1, ""), (b'"' * 10_000, 1, ""), (b"\xff" * 1000, 1, ""),
    ],
    ids=range(13),
)  # fmt: skip
def test_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, status: int, told: str) -> None:
    path = tmp_path / "k.ptx"
    path.write_bytes(content)
    answered, out, said = _answer(path, capsys)
    assert answered == status
    assert told in said
    assert bool(out) == (status != 2)


def test_what_is_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = ((tmp_path, "is a folder"), (tmp_path / "none.ptx", "there is no file"), ("a\0b", "no file name"))
    for path, told in wrong:
        status, out, said = _answer(path, capsys)
        assert (status, out) == (2, "")
        assert told in said


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="needs a user who is not root: root may read all")
def test_what_may_not_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.ptx"
    path.write_bytes(_GOOD)
    path.chmod(0)
    status, _, said = _answer(path, capsys)
    assert status == 2
    assert "permission" in said.lower()
