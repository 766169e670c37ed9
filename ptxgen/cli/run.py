"""`ptxgen-local run`: one launch of a kernel on given buffers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import typer

from ptxgen.cli.check import read_ptx
from ptxgen.cli.output import data, print_json, talk
from ptxgen.errors import UsageError
from ptxgen.executing import Alias, Argument, Buffer, Dim3, Fault, Launch, Outcome, Scalar, make_executor

#: The dtype of an array of each element type; NumPy has no bfloat16, so its words stand for it.
DTYPES: dict[str, str] = {
    "u8": "u1", "s8": "i1", "u16": "u2", "s16": "i2", "u32": "u4", "s32": "i4", "u64": "u8", "s64": "i8",
    "f16": "f2", "bf16": "u2", "f32": "f4", "f64": "f8",
}
_FORMS = "npy:FILE, zeros:DTYPE:COUNT, same:K or DTYPE:VALUE"
_MOST_BYTES = 1 << 32
_SHOWN = 8


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
            [], metavar="ARG", help=f"One a parameter, in order: {_FORMS}."
        ),
        output: Path | None = typer.Option(  # noqa: B008 - typer's way
            None, "-o", "--output", metavar="DIR", help="Save buffer K as DIR/argK.npy afterwards."
        ),
        executor: str = typer.Option("auto", help="auto, emulator or gpu."),
        json: bool = typer.Option(False, "--json", help="Print one JSON document."),
    ) -> None:
        """Run a kernel on given buffers.

        Exit status 0 when it ran without faults, 1 when there were any.
        """
        name, ptx = read_ptx(kernel)
        launch = Launch(parse_dim3(grid, "--grid"), parse_dim3(block, "--block"), shared)
        arguments = [parse_argument(text, number) for number, text in enumerate(arg)]
        chosen = make_executor(executor)
        try:
            outcome = chosen.run(ptx, entry, launch, arguments)
        finally:
            chosen.close()
        paths = save(outcome, arguments, output) if output is not None else []
        if json:
            print_json({
                "ok": outcome.ok, "executor": chosen.name, "faults": outcome.faults,
                "instructions": outcome.instructions, "outputs": paths, "printed": outcome.printed,
            })  # fmt: skip
        else:
            _print(outcome, arguments, paths, ptx, name, chosen.name)
        raise typer.Exit(0 if outcome.ok else 1)


def parse_dim3(text: str, flag: str) -> Dim3:
    """`X`, `X,Y` or `X,Y,Z`. Raises UsageError."""
    parts = text.split(",")
    if len(parts) > 3 or not all(re.fullmatch(r"\s*\d{1,10}\s*", part) for part in parts):
        raise UsageError(f"{flag} {text!r} is no size", fix=f"give one to three numbers, such as {flag} 4,2")
    x, y, z = (*(int(part) for part in parts), 1, 1)[:3]
    return x, y, z


def parse_argument(text: str, number: int) -> Argument:
    """One ARG of the command line, argument `number`. Raises UsageError."""
    form, colon, rest = text.partition(":")
    where = f"--arg {text!r} (argument {number})"
    if not colon:
        raise UsageError(f"{where} has no form", fix=f"write {_FORMS}")
    if form == "npy":
        return Buffer(read_array(rest, where))
    if form == "zeros":
        return _zeros(rest, where)
    if form == "same":
        if not rest.isdecimal():
            raise UsageError(f"{where}: {rest!r} is no argument's number", fix="write same:0 for the first argument")
        return Alias(int(rest))
    if form not in DTYPES:
        raise UsageError(f"{where}: there is no type {form!r}", fix=f"write {_FORMS}; types: {', '.join(DTYPES)}")
    try:
        value = float(rest) if "f" in form else int(rest, 0)
    except ValueError:
        raise UsageError(f"{where}: {rest!r} is no {form}") from None
    return Scalar(form, value)


def _zeros(rest: str, where: str) -> Buffer:
    kind, _, count = rest.partition(":")
    if kind not in DTYPES:
        raise UsageError(f"{where}: there is no type {kind!r}", fix=f"types: {', '.join(DTYPES)}")
    if not count.isdecimal():
        raise UsageError(f"{where}: {count!r} is no count", fix=f"write zeros:{kind}:1024")
    dtype = np.dtype(DTYPES[kind])
    if int(count) * dtype.itemsize > _MOST_BYTES:
        raise UsageError(f"{where} is too large", why=f"a buffer holds at most {_MOST_BYTES >> 30} GiB")
    return Buffer(np.zeros(int(count), dtype))


def read_array(path: str, where: str) -> npt.NDArray[np.generic]:
    """The array of a .npy file in the machine's byte order. Raises UsageError."""
    try:
        array = np.load(path, allow_pickle=False)
    except OSError as error:
        raise UsageError(f"{where} cannot be read", why=error.strerror or str(error)) from None
    except (ValueError, EOFError) as error:
        raise UsageError(f"{where} is no .npy file of numbers", why=str(error).splitlines()[0]) from None
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "uifb":
        raise UsageError(f"{where} holds no integers or floats", fix="save one array of numbers with numpy.save")
    return np.ascontiguousarray(array.astype(array.dtype.newbyteorder("="), copy=False))


def save(outcome: Outcome, arguments: Sequence[Argument], folder: Path) -> list[Path]:
    """Write `argK.npy` of every buffer argument K into the folder, which is made. Raises UsageError."""
    paths = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for number, (argument, final) in enumerate(zip(arguments, outcome.buffers, strict=True)):
            if isinstance(argument, Buffer) and final is not None:
                path = folder / f"arg{number}.npy"
                np.save(path, final)
                paths.append(path)
    except OSError as error:
        raise UsageError(f"the buffers cannot be saved in {folder}", why=error.strerror or str(error)) from None
    return paths


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
