"""What of a table can never matter: values that no choice can show, conditions that never hold, forms behind others.

These checks are too slow for every start; `check_table` makes them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ptxgen.isa.conditions import Condition
from ptxgen.isa.model import Expansion, Operand
from ptxgen.isa.problems import TableError
from ptxgen.isa.rows import Row

#: What two expansions of one opcode must differ in to be told apart.
_Signature = tuple[tuple[frozenset[str], str, int, int], ...]


def check_reach(row: Row) -> None:
    """Raises TableError for a value of a slot that no choice shows, and for a condition that holds for none."""
    shown = row.covering_choices()
    for index, slot in enumerate(row.slots):
        for value in slot.values:
            if all(choice[index] != value for choice in shown) and not _shows(row, index, value):
                raise _fail(row, f"no choice shows .{value} in the slot {slot.name!r}", "`never` takes it away")
    conditions = [condition for condition, _ in row.needs]
    for notes in row.notes.values():
        conditions += [note.when for note in notes.alternatives if note.when is not None]
        conditions += [notes.present] if notes.present is not None else []
    for condition in conditions:
        if not any(condition.holds(row.named(choice)) for choice in shown) and not _holds_somewhere(row, condition):
            raise _fail(row, f"the condition {condition.text!r} holds for no choice")


def check_shadow(row: Row, candidates: Callable[[str], Sequence[Expansion]]) -> None:
    """Raises TableError for an undocumented row of which documented forms take every expansion already."""
    other: Expansion | None = None
    for choice in row.choices():
        for expansion in row.build(choice):
            signature = _signature(expansion.operands)
            same = (c for c in candidates(expansion.opcode) if _signature(c.operands) == signature)
            other = next((c for c in same if not c.form.undocumented and _covers(c, expansion)), None)
            if other is None:
                return
    if other is not None:
        raise _fail(row, "it is documented", f"{other.form.file}:{other.form.line}: {other.form.syntax}")


def _covers(documented: Expansion, other: Expansion) -> bool:
    """Whether it is there wherever the other one is, as far as that can be seen without trying every target."""
    mine, theirs = documented.availability, other.availability
    return mine.ptx <= theirs.ptx and mine.sm <= theirs.sm and mine.targets in ((), theirs.targets)


def _signature(operands: Sequence[Operand]) -> _Signature:
    return tuple((frozenset(map(str, o.kinds)), o.type, o.vector, len(o.parts)) for o in operands)


def _holds_somewhere(row: Row, condition: Condition) -> bool:
    return any(condition.holds(row.named(choice)) for choice in row.choices())


def _shows(row: Row, index: int, value: str) -> bool:
    return any(choice[index] == value for choice in row.choices())


def _fail(row: Row, what: str, why: str = "") -> TableError:
    where = f"{row.form.file}:{row.form.line}"
    return TableError(f"the form {row.form.syntax!r} is wrong: {what}", where=where, why=why)
