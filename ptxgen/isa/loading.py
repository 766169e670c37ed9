"""Reads the data files under `isa/` into rows, and refuses what is not right, with file, line and entry."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ptxgen.isa.conditions import parse_availability, parse_condition
from ptxgen.isa.model import Availability, Form, Instruction
from ptxgen.isa.notes import OperandResolver, parse_notes
from ptxgen.isa.problems import TableError
from ptxgen.isa.rows import Row, Slot
from ptxgen.isa.surroundings import Surroundings, parse_toml, read_surroundings
from ptxgen.isa.syntax import Syntax, parse_syntax

_FORM_KEYS = frozenset(
    {"syntax", "since", "needs", "with", "never", "removed", "operands", "section", "undocumented"}
)
_FILE_KEYS = frozenset({"chapter", "section", "order", "commutative", "leading", "sets", "about", "form"})
_FORM_LINE = re.compile(r"\s*\[\[form\]\]")


@dataclass(frozen=True, slots=True)
class Data:
    """Everything the folder says."""

    version: str
    surroundings: Surroundings
    rows: Mapping[str, tuple[Row, ...]]              # by instruction name, in the order of the files
    undocumented: Mapping[str, tuple[Row, ...]]      # the same for forms that only assemblers know
    instructions: Mapping[str, Instruction]


def read_folder(folder: Path) -> Data:
    """Reads `folder` (the shipped `isa/`, or another with the same files). Raises TableError."""
    surroundings = read_surroundings(folder)
    chapters = sorted((_read_chapter(p) for p in (folder / "instructions").glob("*.toml")), key=lambda c: c.rank)
    resolver = OperandResolver(surroundings.types, frozenset(surroundings.spaces))
    rows: dict[str, list[Row]] = {}
    undocumented: dict[str, list[Row]] = {}
    about: dict[str, str] = {}
    for chapter in chapters:
        for row in chapter.rows(surroundings, resolver):
            (undocumented if row.form.undocumented else rows).setdefault(row.form.instruction, []).append(row)
        for name, summary in chapter.table.get("about", {}).items():
            about.setdefault(name, summary)
    for name in undocumented.keys() - rows.keys():
        first = undocumented[name][0].form
        raise TableError(f"{name!r} has only undocumented forms", where=f"{first.file}:{first.line}")
    for name in about.keys() - rows.keys():
        raise TableError(f"[about] speaks of {name!r}, which has no form", where=str(folder / "instructions"))
    for name in rows.keys() - about.keys():
        first = rows[name][0].form
        raise TableError(f"{name!r} has no line in [about]", where=f"{first.file}:{first.line}")
    instructions = {}
    for name, found in rows.items():
        first = found[0].form
        forms = tuple(row.form for row in found)
        instructions[name] = Instruction(name, first.chapter, forms, about[name], first.section)
    return Data(_hash(folder), surroundings, _settled(rows), _settled(undocumented), instructions)


def _settled(rows: dict[str, list[Row]]) -> dict[str, tuple[Row, ...]]:
    return {name: tuple(found) for name, found in rows.items()}


def _hash(folder: Path) -> str:
    digest = hashlib.sha256()
    # what assemblers are known to answer otherwise is no part of the table
    for path in sorted(p for p in folder.rglob("*.toml") if p.parent.name != "conformance"):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class _Chapter:
    """One file of forms."""

    path: Path
    table: dict[str, Any]
    lines: tuple[int, ...]                           # the line of each form's header

    @property
    def rank(self) -> tuple[int, str]:
        return (self.table.get("order", 0), self.path.name)

    def fail(self, line: int, what: str, why: str = "") -> TableError:
        return TableError(what, where=f"isa/instructions/{self.path.name}:{line}", why=why)

    def rows(self, surroundings: Surroundings, resolver: OperandResolver) -> Iterator[Row]:
        unknown = self.table.keys() - _FILE_KEYS
        if unknown:
            raise self.fail(1, f"unknown key {min(unknown)!r} in {self.path.name}")
        seen: dict[str, int] = {}
        names: set[str] = set()
        leading = {word.removeprefix(".") for word in self.table.get("leading", "").split()}
        for entry, line in zip(self.table.get("form", ()), self.lines, strict=True):
            syntax = str(entry.get("syntax", ""))
            telling = (entry.keys() - _FORM_KEYS) | (entry.keys() & {"syntax", "operands", "undocumented"})
            same = repr(sorted((key, entry[key]) for key in telling))
            if same in seen:
                raise self.fail(line, f"the form {syntax!r} stands twice", f"first at line {seen[same]}")
            seen[same] = line
            try:
                row = _read_row(self, entry, line, surroundings, resolver)
                names.add(row.form.instruction)
                leading -= {value for slot in row.slots[: row.leading] for value in slot.values}
                yield row
            except (ValueError, TypeError, AttributeError) as error:
                raise self.fail(line, f"the form {syntax!r} is wrong", str(error)) from None
        for name in self.table.get("commutative", "").split():
            if name not in names:
                raise self.fail(1, f"`commutative` names {name!r}, which has no form here")
        unused = self.table.get("sets", {}).keys() - self._words_used()
        if unused:
            raise self.fail(1, f"no form uses the set {min(unused)!r}")
        if leading:
            raise self.fail(1, f"`leading` names {min(leading)!r}, which begins no form here")


    def _words_used(self) -> set[str]:
        """The names of sets that a form or another set speaks of."""
        said = {word for text in self.table.get("sets", {}).values() for word in text.split()}
        for entry in self.table.get("form", ()):
            syntax = parse_syntax(entry["syntax"])
            said |= {element.word for element in syntax.elements if element.word not in entry}
            said |= {word for key, text in entry.items() if key not in _FORM_KEYS for word in text.split()}
        return said


def _read_chapter(path: Path) -> _Chapter:
    text = path.read_text(encoding="utf-8")
    table = parse_toml(text, f"isa/instructions/{path.name}")
    lines = tuple(number for number, line in enumerate(text.splitlines(), 1) if _FORM_LINE.match(line))
    return _Chapter(path, table, lines)


def _read_row(
    chapter: _Chapter, entry: dict[str, Any], line: int, surroundings: Surroundings, resolver: OperandResolver
) -> Row:
    """Raises ValueError for anything wrong in one form."""
    if "syntax" not in entry or "since" not in entry:
        raise ValueError("a form needs `syntax` and `since` (PTX version and least target)")
    syntax = parse_syntax(entry["syntax"])
    sets: dict[str, str] = chapter.table.get("sets", {})
    slots = _read_slots(syntax, entry, sets, surroundings)
    notes = {name: parse_notes(text) for name, text in entry.get("operands", {}).items()}
    written = {name for patterns in syntax.operand_lists for p in patterns for name in (p.name, *p.parts)}
    if entry.get("with", {}).keys() - written:
        raise ValueError(f"`with` speaks of {min(entry['with'].keys() - written)!r}, which is no operand of the form")
    if notes.keys() - written:
        raise ValueError(f"a note for {min(notes.keys() - written)!r}, which is no operand of the form")
    availability = parse_availability(entry["since"])
    if "removed" in entry:
        gone = parse_availability(entry["removed"])
        availability = replace(availability, removed_ptx=gone.ptx, removed_sm=gone.sm)
    form = Form(
        syntax.name,
        chapter.table["chapter"],
        entry["syntax"],
        entry.get("section", f"{chapter.table['section']}-{syntax.name}"),
        availability,
        next((s.values for s in reversed(slots) if all(v in surroundings.types for v in s.values)), ()),
        f"isa/instructions/{chapter.path.name}",
        line,
        chapter.table.get("about", {}).get(syntax.name, ""),
        bool(entry.get("undocumented")),
    )
    row = Row(
        form,
        slots,
        syntax.operand_lists,
        notes,
        tuple((parse_condition(k), parse_availability(v)) for k, v in entry.get("needs", {}).items()),
        tuple((name, parse_availability(text)) for name, text in entry.get("with", {}).items()),
        tuple(parse_condition(text) for text in entry.get("never", ())),
        syntax.name in chapter.table.get("commutative", "").split(),
        resolver,
        _leading(slots, chapter.table.get("leading", "")),
    )
    _check_conditions(row)
    _check_first(row)
    for each in (row.form.availability, *(needed for _, needed in row.needs)):
        _check_availability(each, surroundings)
    return row


def _check_availability(availability: Availability, surroundings: Surroundings) -> None:
    """Versions and targets are ones that the table knows."""
    targets = surroundings.targets
    for version in (availability.ptx, availability.removed_ptx or availability.ptx):
        if version not in surroundings.versions:
            raise ValueError(f"there is no PTX version {version}")
    for name in availability.targets:
        if name not in targets:
            raise ValueError(f"there is no target {name!r}")
    for number in {availability.sm, availability.removed_sm} - {0}:
        if all(target.number != number for target in targets.values()):
            raise ValueError(f"there is no target 'sm_{number}'")


def _leading(slots: tuple[Slot, ...], listed: str) -> int:
    """How many slots at the beginning hold nothing but leading words of the file."""
    words = {word.removeprefix(".") for word in listed.split()}
    return next((at for at, slot in enumerate(slots) if not words.issuperset(slot.values)), len(slots))


def _read_slots(
    syntax: Syntax, entry: dict[str, Any], sets: dict[str, str], surroundings: Surroundings
) -> tuple[Slot, ...]:
    """The slots of a form with their values. Raises ValueError for a word that means nothing."""
    types, spaces = surroundings.types, surroundings.spaces
    words = [element.word for element in syntax.elements]
    unused = entry.keys() - _FORM_KEYS - set(words)
    if unused:
        raise ValueError(f"{min(unused)!r} is no key of a form and no slot of this one")
    literal = [word not in entry and word not in sets for word in words]
    last_type = max((i for i, word in enumerate(words) if literal[i] and word in types), default=-1)
    slots: list[Slot] = []
    for index, element in enumerate(syntax.elements):
        word = element.word
        name = word
        if literal[index]:
            values: tuple[str, ...] = (word,)
            if index == last_type:
                name = "type"
            elif word in spaces and "space" not in words:
                name = "space"
        else:
            values = _values(entry[word] if word in entry else sets[word], sets)
        for value in values:
            if value not in types and value not in surroundings.modifiers and value not in spaces:
                raise ValueError(f"unknown slot or modifier '.{value}': say its values or add it to modifiers.toml")
        # `.row.col.f32.f16.f16.f32`: a word that comes again is a slot of its own
        again = sum(other.name.partition("#")[0] == name for other in slots)
        slots.append(Slot(f"{name}#{again + 1}" if again else name, values, element.groups))
    return tuple(slots)


def _values(text: str, sets: Mapping[str, str]) -> tuple[str, ...]:
    """`".f32 .f64 int"`: values with a dot, other sets without."""
    found: list[str] = []
    for word in text.split():
        if word.startswith("."):
            found.append(word[1:])
        elif word in sets:
            found.extend(_values(sets[word], sets))
        else:
            raise ValueError(f"{word!r} is neither a value like `.f32` nor a set of this file")
    if len(found) != len(set(found)):
        raise ValueError(f"a value stands twice in {text!r}")
    return tuple(found)


def _check_conditions(row: Row) -> None:
    """Every condition speaks of slots and values that the row has, every note of a state space there is."""
    for each in row.notes.values():
        for alternative in each.alternatives:
            if alternative.space and alternative.space not in row.resolver.spaces:
                raise ValueError(f"{alternative.space!r} is no state space")
    names = {slot.name: set(slot.values) for slot in row.slots}
    conditions = [c for c, _ in row.needs] + list(row.never)
    for note in row.notes.values():
        conditions += [n.when for n in note.alternatives if n.when] + ([note.present] if note.present else [])
    for condition in conditions:
        for term in condition.terms:
            if term.slot and term.slot not in names:
                raise ValueError(f"the condition {condition.text!r} speaks of {term.slot!r}, no slot here")
            wrong = term.values - {""} - (names[term.slot] if term.slot else row.every_value)
            if wrong:
                raise ValueError(f"the condition {condition.text!r} speaks of {min(wrong)!r}, no value here")


def _check_first(row: Row) -> None:
    """The first choice can be built: slots, notes and types fit together."""
    first = next(row.choices(), None)
    if first is None:
        raise ValueError("`never` leaves nothing of the form")
    if not row.build(first):
        raise ValueError("no operand list is left for the first choice of modifiers")
