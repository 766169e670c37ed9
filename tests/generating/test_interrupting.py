"""Ctrl-C sent to the real command, with the random model."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from .workshop import SPEC

COMMAND = [sys.executable, "-m", "ptxgen", "generate", "saxpy.toml"]
SLOW_ORACLE = """
import time

def saxpy(arguments):
    print("oracle at work", flush=True)
    time.sleep(5)
    return {"out": arguments["a"] * arguments["x"] + arguments["y"]}
"""


def interrupted(folder: Path, marker: str, spec: str) -> tuple[int, str]:
    """Start, send SIGINT once a line holds `marker`; the exit status and all that was printed."""
    (folder / "saxpy.toml").write_text(spec)
    process = subprocess.Popen(
        [*COMMAND, "--model", "random", "--max-tokens", "4000", "--candidates", "1"],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    assert process.stdout is not None
    said = ""
    for line in process.stdout:
        said += line
        if marker in line:
            process.send_signal(signal.SIGINT)
            break
    said += process.stdout.read()
    return process.wait(timeout=60), said


def test_while_decoding(tmp_path: Path) -> None:
    status, said = interrupted(tmp_path, "candidate 0 of 1", SPEC)
    assert status == 130, said
    assert "Traceback" not in said
    text = (tmp_path / "saxpy.ptx").read_text()
    assert text.startswith("// unfinished\n.version ")
    assert "}" not in text
    manifest = json.loads((tmp_path / "saxpy.manifest.json").read_text())
    assert manifest["status"] == "unfinished"
    assert manifest["candidates"][0]["status"] == "unfinished"


def test_while_the_oracle_is_asked(tmp_path: Path) -> None:
    (tmp_path / "oracle.py").write_text(SLOW_ORACLE)
    spec = SPEC.replace('expr = "a * x + y"', 'python = "oracle.py:saxpy"')
    status, said = interrupted(tmp_path, "oracle at work", spec)
    assert status == 130, said
    assert "Traceback" not in said
    assert not list(tmp_path.glob("*.ptx"))


@pytest.mark.parametrize("place", ["missing/k.ptx", "."])
def test_a_place_that_cannot_be_written_is_told_before_the_work(tmp_path: Path, place: str) -> None:
    (tmp_path / "saxpy.toml").write_text(SPEC)
    done = subprocess.run([*COMMAND, "-o", place], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "cannot write" in done.stderr
    assert "reading the prompt" not in done.stderr
