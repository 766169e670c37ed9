"""The command line's own behaviour: what becomes of errors, and how little `--help` loads."""

from __future__ import annotations

import errno
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import typer

from ptxgen.cli import app as cli
from ptxgen.cli.output import plain, print_json
from ptxgen.errors import Interrupted, PtxgenError

Command = Callable[[Callable[[], object]], None]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Command:
    """Puts a function in the place of the command `check`."""

    def put(function: Callable[[], object]) -> None:
        module = SimpleNamespace(register=lambda app: app.command("check")(function))
        monkeypatch.setitem(sys.modules, "ptxgen.cli.check", module)

    return put


def raising(error: BaseException) -> Callable[[], None]:
    def body() -> None:
        raise error

    return body


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (PtxgenError("it broke", where="a.toml:3", why="so", fix="mend"), 2,
         "error: it broke\n  at: a.toml:3\n  why: so\n  fix: mend\n"),
        (Interrupted("stopped"), 130, "error: stopped\n"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (typer.Exit(1), 1, ""),
        (typer.Abort(), 130, "interrupted\n"),
        (OSError(errno.ENOSPC, "No space left on device", "/x/out.ptx"), 2,
         "error: no space left on device\n  at: /x/out.ptx\n  fix: free some space, or write elsewhere\n"),
        (PermissionError(errno.EACCES, "Permission denied", "/x"), 2,
         "error: permission denied\n  at: /x\n  fix: mend the permissions, or name another place\n"),
        (MemoryError(), 2, "error: out of memory\n  fix: use a smaller model or context, or smaller buffers\n"),
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), 141, ""),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_every_error_is_words_and_a_status(
    error: BaseException, status: int, said: str, command: Command, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    command(raising(error))
    monkeypatch.setattr(cli.os, "dup2", lambda old, new: None)
    assert cli.run(["check"]) == status
    captured = capsys.readouterr()
    assert captured.err == said
    assert captured.out == ""


def test_a_bug_is_told_without_a_traceback(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    command(raising(KeyError("x")))
    assert cli.run(["check"]) == 2
    said = capsys.readouterr().err
    assert "internal error: KeyError: 'x'" in said
    assert "test_app.py:" in said
    assert "Traceback" not in said


def test_a_bugs_traceback_can_be_asked_for(
    command: Command, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PTXGEN_DEBUG", "1")
    command(raising(KeyError("x")))
    assert cli.run(["check"]) == 2
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(("result", "status"), [(None, 0), (0, 0), (1, 1), (True, 0), ("text", 0)])
def test_a_commands_number_is_its_status(result: object, status: int, command: Command) -> None:
    command(lambda: result)
    assert cli.run(["check"]) == status


@pytest.mark.parametrize(
    ("arguments", "nearest"),
    [
        (["chek"], "'check'"),
        (["--versoin"], "--version"),
        (["models", "fetsh"], "'fetch'"),
        (["models", "--jsn"], "--json"),
    ],
)
def test_a_slip_of_the_hand_names_the_nearest(
    arguments: list[str], nearest: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert nearest in captured.err
    assert "--help" in captured.err


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_help_lists_every_command(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(arguments) == 0
    said = capsys.readouterr().out
    for name, summary in cli.COMMANDS.items():
        assert f"{name} " in said
        assert summary in said


def test_the_version_is_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("ptxgen-local 0.")


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_registers_and_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert isinstance(importlib.import_module(f"ptxgen.cli.{name}"), ModuleType)
    assert cli.run([name, "--help"]) == 0
    assert f"Usage: ptxgen-local {name}" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    heavy = ("numpy", "lark", "llama_cpp", "llguidance", "outlines", "hypothesis", "pydantic", "rich")
    code = (
        "import sys; from ptxgen.cli.app import run; run(sys.argv[1:]); "
        f"sys.exit(', '.join(sorted(set({heavy}) & set(sys.modules))) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.returncode == 0


def test_a_closed_pipe_ends_it_quietly() -> None:
    code = "import sys; from ptxgen.__main__ import main; sys.argv = ['x', '--help']; main()"
    command = [sys.executable, "-c", f"import time; time.sleep(0.3); {code}"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 141
    process.stderr.close()


@pytest.mark.parametrize("module", ["typer", "ptxgen.errors", "ptxgen.cli.app"])
def test_ctrl_c_while_it_is_loaded_is_told(module: str) -> None:
    code = f"""
import sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting())
from ptxgen.__main__ import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, which Linux has")
def test_a_full_disk_behind_stdout_is_told() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "ptxgen", "--help"],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith("error: no space left on device")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("encoding", ["ascii", "utf-8", "latin-1", "utf-8:strict"])
def test_any_encoding_shows_any_character(encoding: str) -> None:
    code = (
        "import sys\nfrom ptxgen.cli import app\n"
        "def run(arguments):\n    print('… \\udcff ü')\n    print('… \\udcff ü', file=sys.stderr)\n    return 0\n"
        "app.run = run\napp.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, check=False, env={**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    shown = "… ".encode() + b"\xff" + " ü\n".encode() if "utf" in encoding else None
    assert done.stdout == done.stderr == (shown or done.stdout)
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(("closed", "status"), [(0, 0), (1, 2), (2, 0)])
def test_a_closed_stream_is_no_traceback(closed: int, status: int, tmp_path: Path) -> None:
    """And no file that is opened later takes its number, where tools and libraries write."""
    code = (
        "import os, sys\nfrom ptxgen.cli import app\nfrom pathlib import Path\n"
        "def run(arguments):\n    Path('probe').write_text(str(os.open('.', os.O_RDONLY)))\n"
        "    print(sys.stdin.read(), file=sys.stderr)\n    return 0\n"
        "app.run = run\napp.main()"
    )
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" -c "$1" {closed}>&-', sys.executable, code],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    if status:
        assert done.stderr.startswith("error: standard output is closed\n  fix: ")
    else:
        assert int((tmp_path / "probe").read_text()) > 2


def test_json_is_json_whatever_is_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": float("nan"), "b": [np.float32(0.5), np.int64(3), -np.inf], "c": Path("x"), "d": np.arange(2)})
    document = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert document == {"schema_version": 1, "a": "nan", "b": [0.5, 3, "-inf"], "c": "x", "d": [0, 1]}
    assert next(iter(document)) == "schema_version"


def test_values_become_jsons_own_types() -> None:
    assert plain({"s": {3, 1}, "t": (True, None), 1: b"x", "n": np.bool_(True)}) == {
        "s": [1, 3], "t": [True, None], "1": "x", "n": True,
    }  # fmt: skip
