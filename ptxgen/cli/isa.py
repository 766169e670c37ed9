"""`ptxgen-local isa`: the table's forms of an instruction, and the proof that ptxas agrees with the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import typer

from ptxgen.cli.output import data, print_json, talk
from ptxgen.errors import UsageError
from ptxgen.isa import Availability, Expansion, Table, Version, load_table
from ptxgen.isa.rows import Row

_CONFORMANCE = "conformance"
_SHOWN = 40


def register(app: typer.Typer) -> None:
    @app.command("isa")
    def isa(
        opcode: str = typer.Argument(
            None, help="An instruction, an opcode or its beginning; `conformance` asks ptxas about the table."
        ),
        arch: str = typer.Option(None, help="Only what this target has, such as sm_80."),
        ptx: str = typer.Option(None, help="Only what this PTX version has, such as 8.0."),
        sample: int = typer.Option(0, min=0, help="With `conformance`: how many expansions to try; 0 is all."),
        seed: int = typer.Option(0, help="With `conformance`: which sample."),
        json: bool = typer.Option(False, "--json", help="Print one JSON document."),
    ) -> int:
        """Show instructions, their forms and where they exist."""
        table = load_table()
        if opcode == _CONFORMANCE:
            return _conformance(table, sample, seed, json)
        version = _version(table, ptx)
        rows = _there(table, _wanted(table, opcode), arch, version)
        if opcode and not rows:
            where = " and ".join(filter(None, (arch, f"PTX {version}" if version else "")))
            raise UsageError(f"{opcode} does not exist for {where}", fix=f"ptxgen-local isa {opcode}")
        if json:
            print_json({"instructions": _document(table, rows)})
        elif opcode:
            _print_forms(table, rows, opcode)
        else:
            _print_names(table, rows)
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


def _wanted(table: Table, opcode: str | None) -> tuple[Row, ...]:
    """All rows, or those that the words of an opcode can be part of. Raises UsageError with the nearest names."""
    if opcode is None:
        return tuple(row for name in sorted(table.instructions) for row in table.rows(name))
    rows = table.rows(opcode)
    if not rows:
        near = table.nearest(opcode)
        name = opcode.partition(".")[0]
        raise UsageError(
            f"the table has no {opcode}",
            why=f"{name} has no such form" if name in table.instructions else f"there is no instruction {name}",
            fix="did you mean " + " or ".join(near) + "?" if near else "ptxgen-local isa lists all instructions",
        )
    return rows


def _there(table: Table, rows: Sequence[Row], arch: str | None, version: Version | None) -> tuple[Row, ...]:
    return tuple(row for row in rows if table.exists(row.form.availability, arch, version))


def _document(table: Table, rows: Sequence[Row]) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        name = row.form.instruction
        known = table.instructions[name]
        entry = found.setdefault(
            name, {"name": name, "chapter": known.chapter, "summary": known.summary, "forms": []}
        )
        entry["forms"].append(
            {
                "syntax": row.form.syntax,
                "types": row.form.types,
                "ptx": str(row.form.availability.ptx),
                "arch": _arch(row.form.availability),
                "slots": {slot.name: slot.values for slot in row.slots},
                "needs": {
                    condition.text: {"ptx": str(needed.ptx), "arch": _arch(needed)}
                    for condition, needed in row.needs
                },
                "chapter": row.form.chapter,
                "section": row.form.section,
                "at": f"{row.form.file}:{row.form.line}",
            }
        )
    return list(found.values())


def _arch(availability: Availability) -> str:
    """`sm_80`: this target and newer; several names: only these (and newer of the family for `f`)."""
    return " ".join(availability.targets) or f"sm_{max(availability.sm, 20)}"


def _print_names(table: Table, rows: Sequence[Row]) -> None:
    forms: dict[str, int] = {}
    for row in rows:
        forms[row.form.instruction] = forms.get(row.form.instruction, 0) + 1
    width = max(map(len, forms), default=0)
    for name, count in forms.items():
        data.print(f"{name:<{width}}  {count:>3}  {table.instructions[name].summary}")
    talk.print(f"\n{len(forms)} instructions, {len(rows)} forms; ptxgen-local isa NAME shows one")


def _print_forms(table: Table, rows: Sequence[Row], opcode: str) -> None:
    for name in dict.fromkeys(row.form.instruction for row in rows):
        data.print(f"{name}: {table.instructions[name].summary}")
    chapter = ""
    for row in rows:
        if row.form.chapter != chapter:
            chapter = row.form.chapter
            data.print(f"\n{chapter}")
        data.print(f"  {row.form.syntax}")
        data.print(f"      {_since(row.form.availability)}")
        for slot in row.slots:
            if len(slot.values) > 1:
                data.print(f"      .{slot.name}: {' '.join('.' + value for value in slot.values)}")
        for condition, needed in row.needs:
            data.print(f"      {condition.text}: {_since(needed)}")
    for expansion in table.candidates(opcode):
        mark = "  (undocumented)" if expansion.form.undocumented else ""
        data.print(f"\n{expansion.opcode} {', '.join(_operands(expansion))}{mark}")


def _since(availability: Availability) -> str:
    since = f"PTX {availability.ptx}, {_arch(availability)}"
    if availability.removed_ptx is None:
        return since
    return f"{since}; gone from PTX {availability.removed_ptx} on for sm_{availability.removed_sm} and newer"


def _operands(expansion: Expansion) -> list[str]:
    words = []
    for operand in expansion.operands:
        kinds = "|".join(sorted(operand.kinds))
        vector = f" x{operand.vector}" if operand.vector > 1 else ""
        words.append(f"{operand.name} ({operand.access} {operand.type or 'name'}{vector} {kinds})")
    return words


def _conformance(table: Table, count: int, seed: int, json: bool) -> int:
    from ptxgen.assembling import ToolCrashed, find_ptxas
    from ptxgen.isa.conformance import conform, newest_version, sample

    tool = find_ptxas()[0]

    def assemble(text: str, target: str) -> list[tuple[int, str]] | None:
        try:
            result = tool.assemble(text, target, optimise=0)
        except ToolCrashed as crash:
            return [(0, crash.why)]
        if result.ok:
            return None
        errors = [(message.line, message.text) for message in result.messages if message.severity != "warning"]
        return errors or [(0, "rejected without a message")]

    report = conform(table, sample(table, count, seed), assemble, newest_version(table, assemble))
    rejected = [
        {"statement": probe.statement, "tried": probe.tried, "message": message, "form": probe.expansion.form.syntax,
         "at": f"{probe.expansion.form.file}:{probe.expansion.form.line}"}
        for probe, message in report.rejected
    ]  # fmt: skip
    if json:
        print_json(
            {"ptxas": tool.version, "expansions": report.expansions, "statements": report.probes,
             "untested": [expansion.opcode for expansion in report.untested], "rejected": rejected}
        )  # fmt: skip
    else:
        for fault in rejected[:_SHOWN]:
            data.print(f"{fault['statement']}  ({fault['at']})\n    {fault['message']}")
        data.print(
            f"ptxas {tool.version}: {report.expansions} expansions, {report.probes} statements, "
            f"{len(report.rejected)} rejected, {len(report.untested)} beyond this ptxas"
        )
    return 1 if rejected else 0
