"""`ptxgen-local check`: what is wrong with PTX written by anyone, in our words and then in ptxas's."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from ptxgen.assembling import Assembly, Message, Ptxas, annotate, find_ptxas
from ptxgen.cli.output import data, print_json
from ptxgen.errors import UsageError
from ptxgen.isa import Table, load_table
from ptxgen.ptx import Diagnostic, draw, parse_tolerant
from ptxgen.ptx.tree import Module

LARGEST_FILE = 64 << 20
#: More than this is not read by anyone; JSON holds all.
_MOST_SHOWN = 50
#: What no assembler of today makes code for runs on it all the same: it is assembled for the least that is left.
_LEAST_ASSEMBLED = 75
_ELF = b"\x7fELF"
_FATBIN = b"\x50\xed\x55\xba"


def register(app: typer.Typer) -> None:
    """Add the command to the app."""

    @app.command("check")
    def check(
        kernel: str = typer.Argument(metavar="KERNEL.ptx", help="The PTX file, or - for standard input."),
        arch: str | None = typer.Option(
            None, help="The target to check and assemble for, such as sm_90. [default: the file's .target]"
        ),
        no_ptxas: bool = typer.Option(False, "--no-ptxas", help="Do not ask ptxas."),
        ptxas: str | None = typer.Option(None, help="The ptxas to ask. [default: the best that is found]"),
        json: bool = typer.Option(False, "--json", help="Print one JSON document."),
    ) -> None:
        """Check PTX written by anyone, then ask ptxas.

        Exit status 0 when there are no errors, 1 when there are.
        """
        name, text = read_ptx(kernel)
        table = load_table()
        if arch is not None:
            table.target(arch)
        module, diagnostics = examine(text, table, arch)
        errors = sum(d.severity == "error" for d in diagnostics)
        if not json:
            _print(diagnostics, text, name)
        tool, assembly = (None, None) if no_ptxas else _assemble(text, module, table, arch, ptxas)
        ok = not errors and (assembly is None or assembly.ok)
        if json:
            _print_document(ok, diagnostics, tool, assembly)
        else:
            _print_verdict(name, text, diagnostics, tool, assembly)
        raise typer.Exit(0 if ok else 1)


def examine(text: str, table: Table, arch: str | None) -> tuple[Module, list[Diagnostic]]:
    """The module as far as it parses, and everything found wrong with it."""
    # `run` and `verify` read files through this module and need none of the checker, which takes a while to load.
    from ptxgen.semantics.checking import check_module

    module, faults = parse_tolerant(text)
    return module, sorted([*faults, *check_module(module, table, arch)], key=lambda d: (d.span.line, d.span.column))


def read_ptx(path: str) -> tuple[str, str]:
    """The name to speak of and the text. Raises UsageError for what cannot be PTX."""
    if path == "-":
        name, content = "<stdin>", sys.stdin.buffer.read(LARGEST_FILE + 1)
    else:
        name = path
        try:
            with Path(path).open("rb") as file:
                content = file.read(LARGEST_FILE + 1)
        except (FileNotFoundError, NotADirectoryError):
            raise UsageError(f"there is no file {path}", fix="name a PTX file, or - for standard input") from None
        except IsADirectoryError:
            raise UsageError(f"{path} is a folder", fix="name a PTX file in it") from None
        except ValueError as error:
            raise UsageError(f"{path!r} is no file name", why=str(error)) from None
    if len(content) > LARGEST_FILE:
        raise UsageError(f"{name} is too large", why=f"more than {LARGEST_FILE >> 20} MiB", fix="check it in parts")
    if content.startswith((_ELF, _FATBIN)):
        raise UsageError(f"{name} is compiled code, not PTX", fix="cuobjdump -ptx extracts the PTX it may hold")
    if b"\0" in content:
        raise UsageError(f"{name} is no text file", why="it holds zero bytes", fix="PTX is plain ASCII text")
    if not content.strip():
        raise UsageError(f"{name} is empty", fix="a PTX file begins with .version")
    return name, content.decode("utf-8", errors="replace")


def _assemble(
    text: str, module: Module, table: Table, arch: str | None, path: str | None
) -> tuple[Ptxas, Assembly]:
    tool = find_ptxas(path)[0]
    # What is built for a debugger is not optimised: ptxas refuses to do both.
    optimise = 0 if "debug" in module.target else 3
    return tool, tool.assemble(text, arch or assembled_for(module, table), optimise=optimise)


def assembled_for(module: Module, table: Table) -> str:
    """The target to assemble for when none is named: the module's own, or the least that assemblers still know."""
    least = f"sm_{_LEAST_ASSEMBLED}"
    named = module.target[0] if module.target else least
    known = table.targets.get(named)
    return least if known is None or known.number < _LEAST_ASSEMBLED else named


def _print(diagnostics: list[Diagnostic], text: str, name: str) -> None:
    for diagnostic in diagnostics[:_MOST_SHOWN]:
        data.print(draw(diagnostic, text, name))
        data.print()
    if len(diagnostics) > _MOST_SHOWN:
        data.print(f"... and {len(diagnostics) - _MOST_SHOWN} more\n")


def _print_verdict(
    name: str, text: str, diagnostics: list[Diagnostic], tool: Ptxas | None, assembly: Assembly | None
) -> None:
    if assembly is not None and assembly.messages:
        data.print(annotate(text, assembly.messages[:_MOST_SHOWN]))
        data.print()
    counts = [
        f"{count} {word}{'' if count == 1 else 's'}"
        for word in ("error", "warning")
        if (count := sum(d.severity == word for d in diagnostics))
    ]
    data.print(f"{name}: {', '.join(counts) or 'nothing found'}")
    if tool is None or assembly is None:
        return
    said = "accepted" if assembly.ok else "refused"
    figures = f": {assembly.registers} registers, {assembly.spill_bytes} bytes spilled" if assembly.ok else ""
    data.print(f"ptxas {tool.version} for {assembly.arch}: {said}{figures}")


def _print_document(
    ok: bool, diagnostics: list[Diagnostic], tool: Ptxas | None, assembly: Assembly | None
) -> None:
    judged = None
    if tool is not None and assembly is not None:
        messages: tuple[Message, ...] = assembly.messages
        judged = {
            "version": tool.version, "path": tool.path, "arch": assembly.arch, "ok": assembly.ok,
            "registers": assembly.registers, "spill_bytes": assembly.spill_bytes,
            "shared_bytes": assembly.shared_bytes, "messages": messages,
        }  # fmt: skip
    found = [
        {"line": d.span.line, "column": d.span.column, "severity": d.severity, "code": d.code,
         "message": d.message, "hint": d.hint}
        for d in diagnostics
    ]  # fmt: skip
    print_json({"ok": ok, "diagnostics": found, "ptxas": judged})
