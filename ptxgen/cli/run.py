"""`ptxgen-local run`: one launch of a kernel on given buffers, traced and profiled where that is asked."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import typer

from ptxgen.cli.check import read_ptx
from ptxgen.cli.output import data, print_json, talk
from ptxgen.cli.run_arguments import FORMS, parse_argument, parse_dim3, parse_thread
from ptxgen.errors import UsageError
from ptxgen.executing import EXECUTORS, Argument, Buffer, Fault, Launch, Outcome, make_executor
from ptxgen.ptx import PtxSyntaxError

_SHOWN = 8
#: More than the emulator's step limit lets one thread come to.
_MOST_TRACED = 2_000_000


def register(app: typer.Typer) -> None:
    """Add the command to the app."""

    @app.command("run")
    def run(
        kernel: str = typer.Argument(metavar="KERNEL.ptx", help="The PTX file, or - for standard input."),
        entry: str | None = typer.Option(None, help="The kernel's name. [default: the only one]"),
        grid: str = typer.Option(..., metavar="X[,Y[,Z]]", help="Blocks of the grid."),
        block: str = typer.Option(..., metavar="X[,Y[,Z]]", help="Threads of a block."),
        shared: int = typer.Option(0, metavar="BYTES", min=0, help="Dynamic shared memory."),
        arg: list[str] = typer.Option(  # noqa: B008 - typer's way
            [], metavar="ARG", help=f"One a parameter, in order: {FORMS}."
        ),
        output: Path | None = typer.Option(  # noqa: B008 - typer's way
            None, "-o", "--output", metavar="DIR", help="Save buffer K as DIR/argK.npy afterwards."
        ),
        executor: str = typer.Option("auto", help="auto, emulator or gpu."),
        trace: str | None = typer.Option(
            None, metavar="BLOCK,THREAD", help="Show what one thread does, such as 0,5 or 1.0,3.2.0 (emulator only)."
        ),
        trace_limit: int = typer.Option(
            1000, min=1, max=_MOST_TRACED, help="Statements that --trace shows, the first and the last ones."
        ),
        profile: bool = typer.Option(
            False, "--profile", help="Count instructions, divergence, conflicts and sectors (emulator only)."
        ),
        lanes: int | None = typer.Option(
            None, metavar="N", min=1, help="About how many threads run at once (emulator only). [default: 65536]"
        ),
        memory: int | None = typer.Option(
            None, metavar="MB", min=1, help="What a launch may take (emulator only). [default: what is free]"
        ),
        json: bool = typer.Option(False, "--json", help="Print one JSON document."),
    ) -> None:
        """Run a kernel on given buffers.

        Exit status 0 when it ran without faults, 1 when there were any.
        """
        name, ptx = read_ptx(kernel)
        launch = Launch(parse_dim3(grid, "--grid"), parse_dim3(block, "--block"), shared)
        arguments = [parse_argument(text, number) for number, text in enumerate(arg)]
        limits = {} if lanes is None else {"lanes_at_once": lanes}
        if memory is not None:
            limits["memory_limit"] = memory << 20
        flags = {"--trace": trace is not None, "--profile": profile, "--lanes": lanes, "--memory": memory}
        flag = next((flag for flag, given in flags.items() if given), "")
        try:
            if flag:
                _check_emulated(executor, flag)
                outcome, used, more = _watched(ptx, entry, launch, arguments, trace, trace_limit, profile, limits)
            else:
                outcome, used = _launch(ptx, entry, launch, arguments, executor)
                more = Findings()
        except PtxSyntaxError as error:                 # executors have a text without a name
            raise PtxSyntaxError(error.diagnostics, ptx, name) from None
        paths = save(outcome, arguments, output) if output is not None else []
        if json:
            print_json({
                "ok": outcome.ok, "executor": used, "faults": outcome.faults,
                "instructions": outcome.instructions, "outputs": paths, "printed": outcome.printed, **more.document,
            })  # fmt: skip
        else:
            for line in more.lines(ptx):
                data.print(line)
            _print(outcome, arguments, paths, ptx, name, used)
        raise typer.Exit(0 if outcome.ok else 1)


def _launch(
    ptx: str, entry: str | None, launch: Launch, arguments: Sequence[Argument], executor: str
) -> tuple[Outcome, str]:
    chosen = make_executor(executor)
    try:
        return chosen.run(ptx, entry, launch, arguments), chosen.name
    finally:
        chosen.close()


class Findings:
    """What watching a launch found: additions to the JSON document, and lines to print."""

    def __init__(self, document: dict[str, Any] | None = None) -> None:
        self.document = document or {}

    def lines(self, ptx: str) -> list[str]:
        """The findings in words, over the lines of the text."""
        from ptxgen.cli.run_showing import profile_lines, trace_lines

        found = []
        if "trace" in self.document:
            found += trace_lines(self.document["trace"], ptx)
        if "profile" in self.document:
            found += profile_lines(self.document["profile"], ptx)
        return found


def _check_emulated(executor: str, flag: str) -> None:
    """Raises UsageError where a GPU was asked for what only the emulator does."""
    if executor == "gpu":
        watches = flag in {"--trace", "--profile"}
        raise UsageError(
            f"{flag} cannot be had from a GPU",
            why="only the emulator sees every statement" if watches else "it runs as it does",
            fix=f"leave --executor gpu out, or {flag}",
        )
    if executor not in EXECUTORS:
        raise UsageError(f"there is no executor {executor!r}", fix=f"choose one of {', '.join(EXECUTORS)}")


def _watched(
    ptx: str, entry: str | None, launch: Launch, arguments: Sequence[Argument], trace: str | None, limit: int,
    profile: bool, limits: dict[str, int],
) -> tuple[Outcome, str, Findings]:
    """Run on the emulator, whatever `auto` would choose, within these limits of its own."""
    from ptxgen.cli.run_showing import profile_document, trace_document
    from ptxgen.executing.emulator import Emulator, Profile, Trace

    traced = Trace(*parse_thread(trace, launch), limit=limit) if trace is not None else None
    profiled = Profile() if profile else None
    emulator = Emulator(**limits)
    outcome = emulator.run(
        ptx, entry, launch, arguments, watchers=[watcher for watcher in (traced, profiled) if watcher is not None]
    )
    document: dict[str, Any] = {}
    if traced is not None:
        document["trace"] = trace_document(traced)
    if profiled is not None:
        document["profile"] = profile_document(profiled, ptx, entry, launch)
    return outcome, emulator.name, Findings(document)


def save(outcome: Outcome, arguments: Sequence[Argument], folder: Path) -> list[Path]:
    """Write `argK.npy` of every buffer argument K into the folder, which is made. Raises UsageError."""
    paths = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for number, (argument, final) in enumerate(zip(arguments, outcome.buffers, strict=True)):
            if isinstance(argument, Buffer) and final is not None:
                path = folder / f"arg{number}.npy"
                _write(path, final)
                paths.append(path)
    except OSError as error:
        raise UsageError(f"the buffers cannot be saved in {folder}", why=error.strerror or str(error)) from None
    return paths


def _write(path: Path, array: npt.NDArray[np.generic]) -> None:
    """The whole file or, when that fails, the one that was there before. Raises OSError."""
    trial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with trial.open("wb") as file:
            np.save(file, array)
        os.replace(trial, path)
    except BaseException:
        trial.unlink(missing_ok=True)
        raise


def _print(
    outcome: Outcome, arguments: Sequence[Argument], paths: Sequence[Path], ptx: str, name: str, executor: str
) -> None:
    lines = ptx.splitlines()
    if outcome.printed:
        talk.print(outcome.printed, end="", markup=False, highlight=False)
    for fault in outcome.faults:
        data.print(_describe(fault, name))
        if 1 <= fault.line <= len(lines):
            data.print(f"  {fault.line} | {lines[fault.line - 1].strip()}")
    for path in paths:
        data.print(str(path))
    if not paths:
        for number, (argument, final) in enumerate(zip(arguments, outcome.buffers, strict=True)):
            if isinstance(argument, Buffer) and final is not None:
                shown = " ".join(str(value) for value in final.reshape(-1)[:_SHOWN])
                more = " …" if final.size > _SHOWN else ""
                data.print(f"arg{number}: {shown}{more}")
    verdict = "ran without faults" if outcome.ok else f"{len(outcome.faults)} fault(s)"
    counted = f", {outcome.instructions} thread instructions" if outcome.instructions else ""
    talk.print(f"{name}: {verdict} on the {executor}{counted}")


def _describe(fault: Fault, name: str) -> str:
    where = f"{name}:{fault.line}" if fault.line else name
    who = f", block {fault.block}, thread {fault.thread}" if fault.thread is not None else ""
    address = f", address 0x{fault.address:x}" if fault.address is not None else ""
    return f"{where}: {fault.kind}: {fault.message}{who}{address}"
