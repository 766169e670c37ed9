"""The questions that a form raises: statements with their target and version, and what the table expects of each.

    accepted   every tried choice at its least version and target, with each kind of operand, register types that
               may stand there, and one choice of each availability on every target that has it
    below      one version or one target less, the plain target of an `a` or `f` feature, removed forms
    near       near misses
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ptxgen.isa.conformance_choices import tried_choices
from ptxgen.isa.conformance_expecting import expected
from ptxgen.isa.conformance_misses import modifier_misses, operand_misses
from ptxgen.isa.model import Availability, Expansion, Operand, Target, Version
from ptxgen.isa.probing import WIDE, Statement, probes, usual_kinds, write
from ptxgen.isa.profiles import unavailable
from ptxgen.isa.rows import Row
from ptxgen.isa.table import Table

Group = Literal["accepted", "below", "near"]


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What an assembler knows: its targets, oldest first (without `a` and `f` before with), and its newest PTX."""

    targets: tuple[Target, ...]
    newest: Version


@dataclass(frozen=True, slots=True)
class Question:
    """One statement to be judged. `kind` and `tried` say what about it is asked, `takes` what the table expects."""

    group: Group
    kind: str
    tried: str
    opcode: str
    statement: str
    arch: str
    version: Version
    takes: bool


def least(expansion: Expansion, knowledge: Knowledge) -> tuple[Target, Version] | None:
    """The least target and version where the expansion exists; None where this assembler knows none."""
    for target in knowledge.targets:
        version = max(expansion.availability.ptx, target.ptx)
        if version <= knowledge.newest and unavailable(expansion.availability, target, version) is None:
            return target, version
    return None


def questions(
    row: Row, table: Table, knowledge: Knowledge, choices: Sequence[tuple[str, ...]] | None = None
) -> Iterator[Question]:
    """Every question of a form (about some `choices` of it), each statement once for its target and version."""
    seen: set[tuple[str, str, Version]] = set()
    for question in _every(row, table, knowledge, tried_choices(row) if choices is None else choices):
        key = (question.statement, question.arch, question.version)
        if key not in seen:
            seen.add(key)
            yield question


def _every(
    row: Row, table: Table, knowledge: Knowledge, choices: Sequence[tuple[str, ...]]
) -> Iterator[Question]:
    covering = set(row.covering_choices())
    lists: set[tuple[Operand, ...]] = set()
    seen: set[object] = set()
    availabilities: set[Availability] = set()
    rows = table.data.rows[row.form.instruction]
    # one form speaks for all of the instruction with as many operands, where only syntax is asked
    first = next(other for other in rows if len(other.operand_lists[0]) == len(row.operand_lists[0])) is row
    for choice in choices:
        for expansion in row.build(choice):
            where = least(expansion, knowledge)
            if where is None:
                continue
            plain = write(expansion, usual_kinds(expansion), table.types)
            ask = _Asking(table, expansion.opcode, where[0].name, where[1])
            for probe in probes(expansion, table.types):
                yield ask.right("kind" if probe.tried else "least", probe.tried, probe.written)
            yield from _below(expansion, plain, where[0], knowledge, ask)
            if expansion.availability not in availabilities:
                availabilities.add(expansion.availability)
                yield from _everywhere(expansion, plain, knowledge, ask)
            if expansion.operands not in lists:
                for wrong, tried, statement in operand_misses(expansion, plain, table, seen, first and not lists):
                    yield from ask.unless_taken(wrong, tried, statement)
                lists.add(expansion.operands)
            if choice in covering:
                for wrong, tried, statement in modifier_misses(row, choice, plain, rows):
                    yield from ask.unless_taken(wrong, tried, statement)


@dataclass(frozen=True, slots=True)
class _Asking:
    """Where the questions about an expansion are asked."""

    table: Table
    opcode: str
    arch: str
    version: Version

    def right(self, kind: str, tried: str, statement: Statement) -> Question:
        return Question("accepted", kind, tried, self.opcode, statement.text, self.arch, self.version, True)

    def unless_taken(self, kind: str, tried: str, statement: Statement) -> Iterator[Question]:
        """A near miss, unless the table has a place for it; a register type that may stand there is no miss."""
        if self.version < WIDE and any(operand.type == "b128" for operand in statement.operands):
            return
        if not expected(self.table, statement, self.arch, self.version):
            yield Question("near", kind, tried, self.opcode, statement.text, self.arch, self.version, False)
        elif kind in ("register-type", "element-type"):
            yield self.right(kind, tried, statement)

    def elsewhere(self, group: Group, kind: str, statement: Statement, target: Target, version: Version) -> Question:
        takes = expected(self.table, statement, target.name, version)
        group = "accepted" if takes else group
        where = f"{target.name}, PTX {version}"
        return Question(group, kind, where, self.opcode, statement.text, target.name, version, takes)


def _below(
    expansion: Expansion, plain: Statement, target: Target, knowledge: Knowledge, ask: _Asking
) -> Iterator[Question]:
    """One version below, for the least target that is old enough; one target below; the plain one of a variant."""
    availability = expansion.availability
    earlier = [version for version in ask.table.versions if version < availability.ptx]
    if earlier:
        below = earlier[-1]
        since = Availability(below, availability.sm, availability.targets)
        known = next((t for t in knowledge.targets if unavailable(since, t, below) is None), None)
        if known is not None:
            yield ask.elsewhere("below", "version", plain, known, below)
    lesser: list[Target] = [t for t in knowledge.targets if not t.variant and t.number < target.number][-1:]
    if target.variant:
        lesser += [t for t in knowledge.targets if t.number == target.number and not t.variant]
    for other in lesser:
        version = max(availability.ptx, other.ptx)
        if version <= knowledge.newest and unavailable(availability, other, version) is not None:
            yield ask.elsewhere("below", "target", plain, other, version)
    if availability.removed_ptx is not None:
        removed = max(availability.removed_ptx, target.ptx)
        if target.number >= availability.removed_sm and removed <= knowledge.newest:
            yield ask.elsewhere("below", "removed", plain, target, removed)


def _everywhere(expansion: Expansion, plain: Statement, knowledge: Knowledge, ask: _Asking) -> Iterator[Question]:
    """Every target that the assembler knows, those that have it and those that have not."""
    for target in knowledge.targets:
        version = max(expansion.availability.ptx, target.ptx)
        if version <= knowledge.newest:
            yield ask.elsewhere("below", "everywhere", plain, target, version)
