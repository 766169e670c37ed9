"""How `ptxgen-local isa` shows what it found: lists, a reference page, and the parts of forms that differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ptxgen.cli.output import data, talk
from ptxgen.isa import Expansion, Table
from ptxgen.isa.comparing import Findings, Part
from ptxgen.isa.describing import FormWords, describe, example, operand_words, since, targets
from ptxgen.isa.rows import Row


def print_names(table: Table, rows: Sequence[Row]) -> None:
    """Every instruction with the number of its forms."""
    forms: dict[str, int] = {}
    for row in rows:
        forms[row.form.instruction] = forms.get(row.form.instruction, 0) + 1
    width = max(map(len, forms), default=0)
    for name, count in forms.items():
        data.print(f"{name:<{width}}  {count:>3}  {table.instructions[name].summary}")
    talk.print(f"\n{len(forms)} instructions, {len(rows)} forms; ptxgen-local isa NAME shows one")


def print_page(table: Table, rows: Sequence[Row], spelled: Sequence[Expansion]) -> None:
    """The forms in words; where a whole opcode was asked for, what it is once spelled so."""
    for name in dict.fromkeys(row.form.instruction for row in rows):
        data.print(f"{name}: {table.instructions[name].summary}")
    chapter = ""
    for row in rows:
        if row.form.chapter != chapter:
            chapter = row.form.chapter
            data.print(f"\n{chapter}")
        _print_form(describe(table, row), operands=not spelled)
    for expansion in spelled:
        _print_spelled(table, expansion)


def _print_form(form: FormWords, operands: bool) -> None:
    data.print(f"\n  {form.syntax}")
    data.print(f"      {form.since}; {form.at}")
    for name, values in form.slots:
        data.print(f"      .{name}: {' '.join(values)}")
    if operands:
        _print_operands(form)
    for condition, needed in form.needs:
        data.print(f"      needs {needed}: {condition}")
    for never in form.never:
        data.print(f"      not together: {never}")
    if operands:
        data.print(f"      example: {form.example}")


def _print_operands(form: FormWords) -> None:
    for operand in form.operands:
        data.print(f"      {operand.name} is {operand.access}: {operand.what}")


def _print_spelled(table: Table, expansion: Expansion) -> None:
    """One opcode with one list of operands."""
    mark = "  (undocumented: assemblers take it, the manual does not have it)" if expansion.form.undocumented else ""
    data.print(f"\n{expansion.opcode} {', '.join(o.name for o in expansion.operands)}".rstrip() + mark)
    data.print(f"    {since(expansion.availability)}")
    for operand in operand_words(table, [expansion]):
        data.print(f"    {operand.name} is {operand.access}: {operand.what}")
    data.print(f"    example: {example(table, expansion)}")


def print_findings(found: Findings) -> None:
    """Forms, each with the modifiers that are meant where it is not all of it; then what surrounds them."""
    names: dict[str, list[Part]] = {}
    for part in found.parts:
        names.setdefault(part.row.form.instruction, []).append(part)
    for name, parts in names.items():
        data.print(name)
        for part in parts:
            data.print(f"    {part.row.form.syntax}")
            for words in part.only:
                data.print(f"        only: {words}")
    for title, listed in (
        ("special registers", [register.name for register in found.special_registers]),
        ("types", [f".{type_.name}" for type_ in found.types]),
        ("targets", [target.name for target in found.targets]),
        ("directives", [feature.name for feature in found.features]),
    ):
        if listed:
            data.print(f"{title}: {' '.join(listed)}")
    whole = sum(not part.only for part in found.parts)
    talk.print(f"\n{len(names)} instructions: {whole} forms, and new modifiers of {len(found.parts) - whole} others")


def document(table: Table, parts: Sequence[Part]) -> list[dict[str, Any]]:
    """What `--json` prints as `instructions`."""
    found: dict[str, dict[str, Any]] = {}
    for part in parts:
        name = part.row.form.instruction
        known = table.instructions[name]
        entry = found.setdefault(
            name, {"name": name, "chapter": known.chapter, "summary": known.summary, "forms": []}
        )
        entry["forms"].append(_form(table, part))
    return list(found.values())


def _form(table: Table, part: Part) -> Mapping[str, Any]:
    row = part.row
    words = describe(table, row)
    return {
        "syntax": row.form.syntax,
        "types": row.form.types,
        "ptx": str(row.form.availability.ptx),
        "arch": targets(row.form.availability),
        "slots": {slot.name: slot.values for slot in row.slots},
        "operands": words.operands,
        "needs": {
            condition.text: {"ptx": str(needed.ptx), "arch": targets(needed)} for condition, needed in row.needs
        },
        "never": [condition.text for condition in row.never],
        "only": part.only,
        "example": words.example,
        "chapter": row.form.chapter,
        "section": row.form.section,
        "at": words.at,
    }
