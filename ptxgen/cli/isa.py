"""`ptxgen-local isa`: the table as a reference, its pages, and the proof that ptxas agrees with it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from ptxgen.cli.isa_showing import document, print_findings, print_names, print_page
from ptxgen.cli.output import data, print_json, talk
from ptxgen.errors import UsageError
from ptxgen.isa import Expansion, Table, Version, load_table
from ptxgen.isa.comparing import Findings, Part, missing_from, new_in
from ptxgen.isa.describing import since
from ptxgen.isa.pages import pages, stale, write_pages
from ptxgen.isa.rows import Row

_PAGES = "pages"
_FOLDER = Path("docs/isa")


def register(app: typer.Typer) -> None:
    @app.command("isa")
    def isa(
        opcode: str = typer.Argument(
            None,
            help="An instruction, an opcode or its beginning; `pages` writes the reference pages, and "
            "`conformance`, a command of its own, asks ptxas about the table.",
        ),
        arch: str = typer.Option(None, help="Only what this target has, such as sm_80."),
        ptx: str = typer.Option(None, help="Only what this PTX version has, such as 8.0."),
        new: str = typer.Option(None, "--new-in", help="What this PTX version brought, such as 9.0."),
        missing: str = typer.Option(None, "--missing-from", help="What this target lacks (and that of --arch has)."),
        output: Annotated[Path | None, typer.Option("-o", "--output", help="With `pages`: their folder.")] = None,
        check: bool = typer.Option(False, "--check", help="With `pages`: write none, and fail if any is stale."),
        json: bool = typer.Option(False, "--json", help="Print one JSON document."),
    ) -> int:
        """Show instructions, their forms and where they exist."""
        table = load_table()
        if opcode == _PAGES:
            if arch or ptx or new or missing or json:
                raise UsageError("`pages` writes all there is", fix="give it -o or --check, and nothing else")
            return _pages(table, output or _FOLDER, check)
        if output or check:
            raise UsageError("-o and --check go with `pages`", fix="ptxgen-local isa pages --check")
        version = _version(table, ptx)
        if new or missing:
            return _compare(table, opcode, arch, version, _version(table, new), missing, json)
        if opcode is None:
            rows = _there(table, _every_row(table), arch, version)
        else:
            rows, spelled = _found(table, opcode, arch, version)
        if json:
            print_json({"instructions": document(table, [Part(row) for row in rows])})
        elif opcode is None:
            print_names(table, rows)
        else:
            print_page(table, rows, spelled)
        return 0


def _version(table: Table, text: str | None) -> Version | None:
    if text is None:
        return None
    try:
        version = Version.parse(text)
    except ValueError:
        version = None
    if version not in table.versions:
        newest = table.versions[-1]
        raise UsageError(f"there is no PTX version {text!r}", fix=f"write one such as 8.0; the newest is {newest}")
    return version


def _every_row(table: Table) -> tuple[Row, ...]:
    return tuple(row for name in sorted(table.instructions) for row in table.rows(name))


def _there(table: Table, rows: Sequence[Row], arch: str | None, version: Version | None) -> tuple[Row, ...]:
    return tuple(row for row in rows if table.exists(row.form.availability, arch, version))


def _found(
    table: Table, opcode: str, arch: str | None, version: Version | None
) -> tuple[tuple[Row, ...], tuple[Expansion, ...]]:
    """The rows that the words of an opcode can be part of, and what it is where it is whole.

    Raises UsageError with the nearest names, or with the reason why this target and version have none of it.
    """
    rows = table.rows(opcode)
    spelled = table.candidates(opcode) if "." in opcode else ()
    if not rows and not spelled:
        _miss(table, opcode)
    if spelled:
        rows = tuple(row for row in rows if any(row.form == expansion.form for expansion in spelled))
    there = _there(table, rows, arch, version)
    whole = tuple(e for e in spelled if table.exists(e.availability, arch, version))
    if not (whole if spelled else there):
        where = " and ".join(filter(None, (arch, f"PTX {version}" if version else "")))
        first = (spelled or [row.form for row in rows])[0]
        raise UsageError(
            f"{opcode} does not exist for {where}", why=f"it needs {since(first.availability)}",
            fix=f"ptxgen-local isa {opcode}",
        )  # fmt: skip
    return there, whole


def _miss(table: Table, opcode: str) -> NoReturn:
    near = table.nearest(opcode)
    name = opcode.partition(".")[0]
    raise UsageError(
        f"the table has no {opcode}",
        why=f"{name} has no such form" if name in table.instructions else f"there is no instruction {name!r}",
        fix="did you mean " + " or ".join(near) + "?" if near else "ptxgen-local isa lists all instructions",
    )


def _compare(
    table: Table,
    opcode: str | None,
    arch: str | None,
    version: Version | None,
    new: Version | None,
    lacking: str | None,
    json: bool,
) -> int:
    """What a version brought, or what a target lacks."""
    rows = _every_row(table)
    if opcode is not None and not (rows := table.rows(opcode)):
        _miss(table, opcode)
    if new is not None and lacking is not None:
        raise UsageError("--new-in and --missing-from ask different things", fix="give one of them")
    if new is not None:
        found = new_in(table, new, _there(table, rows, arch, version))
    else:
        assert lacking is not None
        found = missing_from(table, lacking, arch, version, rows)
    if opcode is not None:
        found = Findings(found.parts)                # asked of an instruction, not of what surrounds it
    if json:
        print_json(
            {"instructions": document(table, found.parts),
             "special_registers": [register.name for register in found.special_registers],
             "types": [type_.name for type_ in found.types], "targets": [target.name for target in found.targets],
             "directives": [feature.name for feature in found.features]}
        )  # fmt: skip
    else:
        print_findings(found)
    return 0


def _pages(table: Table, folder: Path, check: bool) -> int:
    """Writes the reference pages, or says which are stale."""
    wanted = pages(table)
    changed = stale(folder, wanted) if check else write_pages(folder, wanted)
    for name in changed:
        data.print(f"{'stale' if check else 'written'}: {folder / name}")
    talk.print(f"{len(wanted)} pages, {len(changed)} {'stale' if check else 'changed'}")
    return 1 if check and changed else 0
