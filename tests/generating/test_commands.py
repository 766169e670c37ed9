"""`generate` and `replay` as commands: exit codes, what goes to which stream, files."""

from __future__ import annotations

import errno
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from ptxgen.cli import generate
from ptxgen.cli.app import run

from .workshop import SPEC, Workshop


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workshop: Workshop) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "saxpy.toml").write_text(SPEC)
    return tmp_path


def test_a_verified_kernel(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["generate", "saxpy.toml", "--model", "random"]) == 0
    assert (here / "saxpy.ptx").read_text().startswith("// right")
    assert json.loads((here / "saxpy.manifest.json").read_text())["status"] == "verified"
    out, err = capsys.readouterr()
    assert "saxpy: verified" in out
    assert "12 registers" in out
    assert "candidate 0" in err
    assert len(out.splitlines()) < 24


def test_json_is_one_document_on_stdout(
    here: Path, workshop: Workshop, capsys: pytest.CaptureFixture[str]
) -> None:
    workshop.script = ["refused", "right"]
    assert run(["generate", "saxpy.toml", "--json", "-o", "k.ptx", "--level", "typed", "--seed", "3"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema_version"] == 1
    assert (document["status"], document["kernel"], document["level"], document["seed"]) == (
        "verified", "saxpy", "typed", 3,
    )  # fmt: skip
    assert (document["ptx"], document["manifest"]) == ("k.ptx", "k.manifest.json")
    assert document["model"] == {"name": "random", "path": "", "sha256": ""}
    refused, right = document["candidates"]
    assert refused["ptxas"][0]["messages"] == [{"line": 7, "severity": "error", "text": "Unknown symbol '%q'"}]
    assert refused["verify"] is None
    assert right["verify"] == {"executor": "emulator", "examples": 100, "ok": True, "failures": []}
    assert {"tokens", "forced_tokens", "decode_seconds", "mask_seconds", "statements", "complete"} <= set(right)


def test_nothing_verified_writes_the_best_and_says_so(
    here: Path, workshop: Workshop, capsys: pytest.CaptureFixture[str]
) -> None:
    workshop.script = ["refused", "wrong"]
    assert run(["generate", "saxpy.toml", "--candidates", "2", "--repair", "0", "--keep", "kept"]) == 1
    assert (here / "saxpy.ptx").read_text().startswith("// wrong")
    assert json.loads((here / "saxpy.manifest.json").read_text())["status"] == "failed"
    assert "NOT VERIFIED" in capsys.readouterr().out
    assert len(os.listdir(here / "kept")) == 4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["none.toml"], "none.toml"),
        (["saxpy.toml", "-o", "no/such/folder/k.ptx"], "does not exist"),
        (["saxpy.toml", "-o", "."], "that is a folder"),
        (["saxpy.toml", "--keep", "saxpy.toml"], "file of that name"),
        (["saxpy.toml", "--level", "best"], "no level 'best'"),
        (["saxpy.toml", "--executor", "fpga"], "no executor"),
        (["saxpy.toml", "--candidates", "0"], "candidate"),
        (["saxpy.toml", "--candidates", "many"], "--candidates"),
        (["saxpy.toml", "--arch", ","], "--arch"),
        (["saxpy.toml", "--arch", "sm_1000000"], "sm_1000000"),
    ],
)
def test_wrong_usage(
    here: Path, workshop: Workshop, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert run(["generate", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err
    assert "Traceback" not in err
    assert workshop.decodes == []


@pytest.mark.parametrize(
    ("stage", "beginning"),
    [("decoding", ".version"), ("assembling", "// right"), ("verifying", "// right")],
)
def test_interrupted_with_a_candidate_at_work(
    here: Path, workshop: Workshop, capsys: pytest.CaptureFixture[str], stage: str, beginning: str
) -> None:
    workshop.interrupt = stage
    assert run(["generate", "saxpy.toml"]) == 130
    assert (here / "saxpy.ptx").read_text().startswith("// unfinished\n" + beginning)
    assert json.loads((here / "saxpy.manifest.json").read_text())["status"] == "unfinished"
    assert "marked unfinished" in capsys.readouterr().err


@pytest.mark.parametrize("stage", ["oracle", "prompt"])
def test_interrupted_before_that(
    here: Path, workshop: Workshop, capsys: pytest.CaptureFixture[str], stage: str
) -> None:
    workshop.interrupt = stage
    assert run(["generate", "saxpy.toml"]) == 130
    assert os.listdir(here) == ["saxpy.toml"]
    assert "before anything was written" in capsys.readouterr().err


def test_a_disk_that_fills_up_does_not_cost_the_kernel(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    assert run(["generate", "saxpy.toml"]) == 2
    out, err = capsys.readouterr()
    assert out.startswith("// right")
    assert "the disk is full" in err


def test_replay(here: Path, workshop: Workshop, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["generate", "saxpy.toml", "--model", "random"]) == 0
    workshop.decodes.clear()
    assert run(["replay", "saxpy.manifest.json", "-o", "again.ptx"]) == 0
    assert (here / "again.ptx").read_bytes() == (here / "saxpy.ptx").read_bytes()
    assert "the same kernel" in capsys.readouterr().out
    workshop.decodes.clear()
    workshop.script = ["right but different"]
    assert run(["replay", "saxpy.manifest.json"]) == 1
    assert "+// right but different" in capsys.readouterr().out
    (here / "saxpy.toml").write_text(SPEC + "# changed\n")
    assert run(["replay", "saxpy.manifest.json"]) == 2
    assert "spec has changed" in capsys.readouterr().err
    assert run(["replay", "saxpy.toml"]) == 2


def test_a_second_interrupt_does_not_take_what_the_first_left(
    here: Path, workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    workshop.interrupt = "decoding"
    write = generate.write_generation

    def interrupted(*arguments: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        write(*arguments)

    monkeypatch.setattr(generate, "write_generation", interrupted)
    assert run(["generate", "saxpy.toml"]) == 130
    assert (here / "saxpy.ptx").read_text().startswith("// unfinished\n")
    assert json.loads((here / "saxpy.manifest.json").read_text())["status"] == "unfinished"
