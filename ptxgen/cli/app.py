"""The command line: which commands there are, and what becomes of an error that one of them raises.

A command's module is imported only when the command runs, so that `--help` costs nothing.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import importlib
import io
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from ptxgen.errors import PtxgenError

PROGRAM = "ptxgen-local"
#: every command and what `--help` says of it; each is a module of this package with `register(app)`
COMMANDS: dict[str, str] = {
    "generate": "Write a kernel from a spec, assemble it and test it.",
    "verify": "Test a kernel against its spec.",
    "check": "Check PTX written by anyone, then ask ptxas.",
    "run": "Run a kernel on given buffers.",
    "isa": "Show instructions, their forms and where they exist.",
    "grammar": "Print the grammar that a spec's kernel obeys.",
    "init": "Write a first spec.",
    "models": "List the models on this machine, or fetch one.",
    "doctor": "Look whether everything needed is there.",
    "fuzz": "Write random kernels and let ptxas judge them.",
    "replay": "Make a kernel again from its manifest.",
}
#: commands of two words, and their modules
LONGER: dict[tuple[str, ...], str] = {("isa", "conformance"): "isa_conformance"}
_INTERRUPTED = 130
#: what a shell reports of a program that wrote to a closed pipe
_PIPE_CLOSED = 141


class _CommandGroup(TyperGroup):
    """Knows every command by name and summary, and imports the one that is asked for."""

    _listing = False

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = {name: TyperCommand(name, help=summary) for name, summary in COMMANDS.items()}

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        known = super().get_command(ctx, cmd_name)
        return known if known is None or self._listing else load_command(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if longer := LONGER.get(tuple(args[:2])):
            return " ".join(args[:2]), load_command(longer), args[2:]
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self._listing = True
        super().format_help(ctx, formatter)


def load_command(name: str) -> Any:
    """Import a command's module and take the command it registers."""
    module = importlib.import_module(f"ptxgen.cli.{name}")
    holder = typer.Typer(add_completion=False, rich_markup_mode=None)
    holder.callback()(_nothing)  # a lone command would otherwise take the group's place
    module.register(holder)
    group: Any = typer.main.get_command(holder)
    command = group.commands[name]
    command.rich_markup_mode = None
    return command


def _nothing() -> None: ...


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"{PROGRAM} {version(PROGRAM)}")
        raise typer.Exit


def build_app() -> typer.Typer:
    app = typer.Typer(
        cls=_CommandGroup, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False
    )

    @app.callback(help="A local model writes PTX that its target accepts; tests decide whether it is right.")
    def options(
        version: bool = typer.Option(
            False, "--version", callback=_print_version, is_eager=True, help="Print the version and leave."
        ),
    ) -> None: ...

    return app


def main() -> None:
    """The command line of this process."""
    for stream in (sys.stdout, sys.stderr):
        # Names of files and PTX hold characters that a terminal's encoding may lack; they are escaped then.
        if isinstance(stream, io.TextIOWrapper):
            utf8 = codecs.lookup(stream.encoding).name == "utf-8"
            stream.reconfigure(errors="surrogateescape" if utf8 else "backslashreplace")
    sys.exit(run(sys.argv[1:]) if _open_streams() else 2)


def _open_streams() -> bool:
    """Standard input and error that were closed become empty ones: no file may take their numbers, since tools
    and libraries write there. False, and told, where standard output is closed and the answer would be lost.
    """
    answers = sys.stdout is not None
    for number, stream in enumerate((sys.stdin, sys.stdout, sys.stderr)):
        if stream is None:
            taken = os.open(os.devnull, os.O_RDWR)
            if taken != number:
                os.dup2(taken, number)
                os.close(taken)
    sys.stdin = sys.stdin or os.fdopen(0, encoding="utf-8")
    sys.stderr = sys.stderr or os.fdopen(2, "w", encoding="utf-8")
    if not answers:
        _say("error: standard output is closed\n  fix: redirect it to a file, or to /dev/null", 2)
    return answers


def run(arguments: Sequence[str]) -> int:
    """Run one command line; its exit status. Errors become a few lines on stderr, never a traceback:
    0 done and true, 1 it ran and the answer is no, 2 wrong usage, spec, file or environment, 130 interrupted.
    """
    status = _guarded(arguments)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        status = _PIPE_CLOSED
    except OSError as error:
        status = _say(f"error: {error.strerror or error}\n  at: standard output", 2)
    if status == _PIPE_CLOSED:
        # The interpreter flushes once more at its end, and must not meet the closed pipe again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return status


def _guarded(arguments: Sequence[str]) -> int:
    command: Any = typer.main.get_command(build_app())
    try:
        result = command.main(args=list(arguments) or ["--help"], prog_name=PROGRAM, standalone_mode=False)
        # `typer.Exit` arrives as the value; a command's own return value is its exit status too.
        status = result if type(result) is int else 0
    except PtxgenError as error:
        return _say(f"error: {error}", error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        status = _INTERRUPTED
    except BrokenPipeError:
        return _PIPE_CLOSED
    except OSError as error:
        return _say(_environment(error), 2)
    except MemoryError:
        return _say("error: out of memory\n  fix: use a smaller model or context, or smaller buffers", 2)
    except SystemExit as leaving:
        # typer ends so when it meets a closed pipe
        return _PIPE_CLOSED if leaving.code == 1 else int(leaving.code or 0)
    except Exception as error:
        if hasattr(error, "format_message"):
            return _say(_usage(error), 2)
        return _say(_bug(error), 2)
    if status == _INTERRUPTED:
        return _say("interrupted", status)
    return status


def _usage(error: Any) -> str:
    """Wrong options and arguments, which typer finds; its message names the nearest right ones."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else PROGRAM
    return f"error: {error.format_message()}\n  fix: {path} --help"


def _environment(error: OSError) -> str:
    what = error.strerror or str(error) or type(error).__name__
    lines = [f"error: {what[:1].lower()}{what[1:]}"]
    if error.filename is not None:
        lines.append(f"  at: {os.fsdecode(error.filename) if not isinstance(error.filename, int) else ''}")
    fixes = {
        errno.ENOSPC: "free some space, or write elsewhere",
        errno.EDQUOT: "free some space, or write elsewhere",
        errno.EACCES: "mend the permissions, or name another place",
        errno.EPERM: "mend the permissions, or name another place",
        errno.EROFS: "write elsewhere; this file system is read-only",
        errno.ENOENT: "correct the path",
    }
    if error.errno in fixes:
        lines.append(f"  fix: {fixes[error.errno]}")
    return "\n".join(lines)


def _bug(error: Exception) -> str:
    if os.environ.get("PTXGEN_DEBUG"):
        traceback.print_exception(error)
    frames = traceback.extract_tb(error.__traceback__)
    where = f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else "unknown"
    return (
        f"error: internal error: {type(error).__name__}: {error}\n  at: {where}\n"
        "  fix: this is a bug; report it with what PTXGEN_DEBUG=1 prints"
    )


def _say(text: str, status: int) -> int:
    with contextlib.suppress(OSError):  # nobody is left to hear it
        print(text, file=sys.stderr, flush=True)
    return status
