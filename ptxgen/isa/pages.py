"""Reference pages in Markdown, made from the table: one an instruction, and an index by chapter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from ptxgen.errors import UsageError
from ptxgen.isa.describing import MANUAL, FormWords, describe, since
from ptxgen.isa.model import Instruction
from ptxgen.isa.table import Table

_MADE = "<!-- Made by `ptxgen-local isa pages` from isa/: change the table, not this page. -->"

_HOW_TO_READ = (
    "Each form is a line in the notation of the PTX manual, and what holds for it:", "",
    "- `PTX 7.0, sm_80`: the least version and target; without a target, every one has it. A target with `a`, or "
    "several: only these. `sm_100f`: the targets of its family from number 100 on that end in `f` or `a`, each from "
    "its own first version.",
    "- `.slot`: the values that may stand for that word of the line. `{.x}` may be left out.",
    "- An operand is read or written; a type such as `.dtype` is the value of that slot.",
    "- *needs*: modifiers that ask for more than the form does. *not together*: modifiers that exclude each other. "
    "Between commas, all must hold.",
    "- The plainest statement: `%r` has 32 bits, `%rd` 64, `%rs` 16; `%f` is f32, `%fd` f64, `%p` a predicate.",
)  # fmt: skip


def pages(table: Table) -> dict[str, str]:
    """File name to text: README.md, special-registers.md, targets.md, directives.md and one page an instruction."""
    made = {
        "README.md": _index(table),
        "special-registers.md": _special_registers(table),
        "targets.md": _targets(table),
        "directives.md": _directives(table),
    }
    for name, instruction in table.instructions.items():
        made[f"{name}.md"] = _page(table, instruction)
    return made


def stale(folder: Path, wanted: Mapping[str, str]) -> tuple[str, ...]:
    """Names of pages that are missing, differ, or belong to nothing any more; other files do not count."""
    found = {path.name: text for path in folder.glob("*.md") if (text := _page_text(path)) is not None}
    return tuple(sorted(name for name in found.keys() | wanted.keys() if found.get(name) != wanted.get(name)))


def write_pages(folder: Path, wanted: Mapping[str, str]) -> tuple[str, ...]:
    """Brings the folder's pages up to date; names of those that changed. Other files are left alone.

    Raises UsageError where a file that is no page has a page's name, or the folder cannot be written.
    """
    changed = stale(folder, wanted)
    for name in changed:
        if (folder / name).exists() and _page_text(folder / name) is None:
            raise UsageError(
                f"{folder / name} is no reference page, and one would take its place",
                fix="name another folder: ptxgen-local isa pages -o FOLDER",
            )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in changed:
            if name in wanted:
                # Whole or not at all: the next run takes half a page for somebody else's file.
                half = folder / f".{name}.half"
                half.write_text(wanted[name], encoding="utf-8")
                half.replace(folder / name)
            else:
                (folder / name).unlink()
    except OSError as error:
        fix = "name another folder: ptxgen-local isa pages -o FOLDER"
        raise UsageError(f"the pages cannot be written to {folder}", why=str(error), fix=fix) from None
    return changed


def _page_text(path: Path) -> str | None:
    """The text of a page that was made here; None for anything else, which is nobody's to change."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    return text if text.startswith(_MADE) else None


def _index(table: Table) -> str:
    chapters: dict[str, list[Instruction]] = {}
    for instruction in table.instructions.values():
        chapters.setdefault(instruction.chapter, []).append(instruction)
    forms = sum(len(instruction.forms) for instruction in table.instructions.values())
    lines = [
        _MADE, "# PTX, instruction by instruction", "",
        f"{len(table.instructions)} instructions in {forms} forms, up to PTX {table.versions[-1]}. "
        "Also: [special registers](special-registers.md), [targets](targets.md), [directives](directives.md).", "",
        *_HOW_TO_READ,
    ]  # fmt: skip
    for chapter, instructions in chapters.items():
        lines += ["", f"## {chapter}", "", "| instruction | forms | |", "|---|---|---|"]
        for each in sorted(instructions, key=lambda i: i.name):
            lines.append(f"| [{each.name}]({each.name}.md) | {len(each.forms)} | {each.summary} |")
    return _text(lines)


def _page(table: Table, instruction: Instruction) -> str:
    lines = [_MADE, f"# {instruction.name}", "", instruction.summary, ""]
    chapter = ""
    words: set[str] = set()
    for row in table.rows(instruction.name):
        form = describe(table, row)
        if row.form.chapter != chapter:
            chapter = row.form.chapter
            lines += [f"## {chapter}", ""]
        lines += _form(form)
        words |= row.every_value
    lines += _glossary(table, words)
    return _text(lines)


def _form(form: FormWords) -> Iterator[str]:
    said = [
        *(f"- `.{name}`: {' '.join(f'`{value}`' for value in values)}" for name, values in form.slots),
        *(f"- `{operand.name}` is {operand.access}: {operand.what}" for operand in form.operands),
        *(f"- needs {needed}: {condition}" for condition, needed in form.needs),
        *(f"- not together: {never}" for never in form.never),
    ]
    yield from (f"### `{form.syntax}`", "", f"{form.since}. Manual: [{form.section}]({MANUAL}{form.section}).", "")
    yield from (*said, "") if said else ()
    # Fenced: indented, it would be a part of the list above it.
    yield from ("```ptx", form.example, "```", "")


def _glossary(table: Table, words: set[str]) -> Iterator[str]:
    """What the modifiers on a page mean."""
    known = [word for word in table.modifiers if word in words]
    if known:
        yield from ("## Modifiers", "", "| modifier | means |", "|---|---|")
        yield from (f"| `.{word}` | {table.modifiers[word]} |" for word in known)


def _special_registers(table: Table) -> str:
    lines = [_MADE, "# Special registers", "", "| name | type | since | |", "|---|---|---|---|"]
    for register in table.special_registers.values():
        where = since(register.availability)
        lines.append(f"| `{register.name}` | `.{register.type}` | {where} | {register.summary} |")
    return _text(lines)


def _directives(table: Table) -> str:
    lines = [_MADE, "# Directives", "", "| name | since | |", "|---|---|---|"]
    for feature in table.features.values():
        lines.append(f"| `{feature.name}` | {since(feature.availability)} | {feature.summary} |")
    return _text(lines)


def _targets(table: Table) -> str:
    """Targets, least version of each, and how many forms each has in some spelling at the newest version."""
    lines = [
        _MADE, "# Targets", "",
        "A target runs what is made for older ones. One with `a` runs on itself only; `f` means its family.", "",
        "| target | family | least PTX version | forms |", "|---|---|---|---|",
    ]  # fmt: skip
    rows = [row for name in table.instructions for row in table.rows(name)]
    for target in table.targets.values():
        there = sum(table.exists(row.form.availability, target.name, None) for row in rows)
        family = f"{target.family}" if target.family != target.number or target.variant else ""
        lines.append(f"| `{target.name}` | {family} | {target.ptx} | {there} |")
    return _text(lines)


def _text(lines: list[str]) -> str:
    return "\n".join(lines).rstrip() + "\n"
