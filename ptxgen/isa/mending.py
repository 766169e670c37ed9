"""Why an opcode is no form of the table, told by the one change that would make it one.

A word more makes it right: something is missing. Another word in the place of one: that one does not go with
the rest. A word less: it does not belong there. Where no single change helps, the nearest form is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from ptxgen.isa.matching import USUAL, nearest_fit
from ptxgen.isa.model import Mismatch
from ptxgen.isa.rows import Row

ROUNDING = frozenset({"rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi", "rna", "rs", "approx", "full"})
_MOST_LISTED = 12


def explain_opcode(rows: Mapping[str, tuple[Row, ...]], opcode: str, names: Sequence[str]) -> Mismatch:
    """Why an opcode is no row of the table. `names` are the opcodes that look most like it, best first."""
    name, *words = opcode.split(".")
    near = tuple(names)
    if name not in rows:
        hint = f"did you mean {near[0]}?" if near else ""
        return Mismatch("unknown-opcode", f"there is no instruction {name!r}", hint, None, near)
    mine = rows[name]
    for row in mine:
        choice = row.assign(words, anywhere=True)
        if choice is not None:
            return _out_of_order(row, choice, words)
    every = frozenset().union(*(row.every_value for row in mine))
    unknown = [word for word in dict.fromkeys(words) if word not in every]
    if not unknown and (missing := _usual_first(_insertions(mine, words))):
        return _missing(mine[0], opcode, words, missing, near)
    if len(unknown) <= 1:
        changes = [_change(mine, words, at) for at, word in enumerate(words) if not unknown or word in unknown]
        changes = [change for change in changes if change.without or change.instead]
        if changes:
            changes.sort(key=lambda change: _blame(change, mine[0]))
            return _wrong(mine, name, words, changes, near)
    return _far_off(mine, opcode, words, unknown, near)


@dataclass(frozen=True, slots=True)
class _Change:
    """What would make the opcode right at one of its words: leaving it out, or others in its place."""

    at: int
    word: str
    without: bool
    instead: tuple[str, ...]


def _insertions(rows: Sequence[Row], words: Sequence[str]) -> list[str]:
    """Words of which one, added, makes a form."""
    found: dict[str, None] = {}
    for row in rows:
        if row.every_value.issuperset(words):
            for value in _values(row):
                if value not in found and _spells(row, [*words, value]):
                    found[value] = None
    return list(found)


def _change(rows: Sequence[Row], words: Sequence[str], at: int) -> _Change:
    before, after = words[:at], words[at + 1 :]
    rest = [*before, *after]
    without = False
    instead: dict[str, None] = {}
    for row in rows:
        if row.every_value.issuperset(rest):
            without = without or _spells(row, rest)
            for value in _values(row):
                if value not in instead and value != words[at] and _spells(row, [*before, value, *after]):
                    instead[value] = None
    return _Change(at, words[at], without, tuple(instead))


def _values(row: Row) -> Iterator[str]:
    for slot in row.slots:
        yield from slot.values


def _spells(row: Row, words: Sequence[str]) -> bool:
    return row.assign(words, anywhere=True) is not None


def _usual_first(values: Sequence[str]) -> list[str]:
    return sorted(values, key=lambda value: USUAL.index(value) if value in USUAL else len(USUAL))


def _blame(change: _Change, row: Row) -> tuple[bool, bool]:
    """A word that can be left out is to blame before one that must be exchanged, and a type last."""
    return change.word in row.resolver.types, not change.without


def _missing(
    row: Row, opcode: str, words: Sequence[str], values: Sequence[str], near: tuple[str, ...]
) -> Mismatch:
    rounding = [value for value in values if value in ROUNDING]
    types = [value for value in values if value in row.resolver.types]
    if rounding:
        code, what, values = "missing-rounding", f"a rounding modifier: {_one_of(rounding)}", rounding
    elif types:
        code, what, values = "missing-type", f"a type: {_one_of(types)}", types
    else:
        code, what = "missing-modifier", _one_of(values)
    best = next((n for n in near if n.split(".")[1:].count(values[0]) > words.count(values[0])), "")
    right = best or f"{opcode}.{values[0]}"
    return Mismatch(code, f"{opcode} needs {what}", f"write {right}", None, near)


def _wrong(
    rows: Sequence[Row], name: str, words: Sequence[str], changes: Sequence[_Change], near: tuple[str, ...]
) -> Mismatch:
    """Of the words that a change helps at, the first is to blame; where it must stay, a type may make room."""
    change, *others = changes
    word, types = change.word, rows[0].resolver.types
    rest = ".".join([name, *words[: change.at], *words[change.at + 1 :]])
    hints = []
    if word in types:
        own = sorted((v for v in change.instead if v in types), key=lambda v: types[v].bits != types[word].bits)
        told = f"{rest} does not exist for .{word}"
        if own:
            hints.append(f"it takes {_listed(own)}")
        elif change.without:
            hints.append("leave the type out")
    else:
        told = f".{word} does not go with {rest}"
        if change.without:
            hints.append("leave it out")
        same = [value for value in change.instead if value not in types]
        if change.without:
            same = _like(word, same, rows)
        if same:
            hints.append(f"{'or ' if hints else ''}put {_one_of(_usual_first(same))} in its place")
        for other in others:
            fitting = [value for value in other.instead if value in types]
            if other.word in types and fitting and not change.without:
                hints.append(f"{'or ' if hints else ''}put {_one_of(fitting)} in the place of .{other.word}")
    if words.count(word) > 1:
        told = f".{word} is said twice"
    return Mismatch("bad-modifier", told, ", ".join(hints), None, near)


def _like(word: str, values: Sequence[str], rows: Sequence[Row]) -> list[str]:
    """Those that are of the word's own sort, or, where nothing knows the word, look like it."""
    siblings = {value for row in rows for slot in row.slots if word in slot.values for value in slot.values}
    return [value for value in values if value in (siblings or get_close_matches(word, values, cutoff=0.5))]


def _far_off(
    rows: Sequence[Row], opcode: str, words: Sequence[str], unknown: Sequence[str], near: tuple[str, ...]
) -> Mismatch:
    """No single change helps: the nearest form decides what is said."""
    name = opcode.partition(".")[0]
    fit = nearest_fit(rows, words)
    hint = f"did you mean {near[0]}?" if near else f"the form is {fit.row.form.syntax}"
    if unknown:
        return Mismatch("bad-modifier", f"{name} has no modifier .{unknown[0]}", hint, None, near)
    if fit.left_over:
        wrong = fit.left_over[0]
        rest = ".".join([name, *(word for word in words if word != wrong)])
        return Mismatch("bad-modifier", f".{wrong} does not go with {rest}", hint, None, near)
    if fit.unfilled:
        return Mismatch("missing-modifier", f"{opcode} needs {_one_of(fit.unfilled[0].values)}", hint, None, near)
    return Mismatch("bad-modifier", f"{opcode}: these modifiers do not go together", hint, None, near)


def _out_of_order(row: Row, choice: Sequence[str], words: Sequence[str]) -> Mismatch:
    """A leading word stands too late: assemblers read it as a part of the name."""
    first = [value for value in choice[: row.leading] if value]
    at, word = next((i, word) for i, word in enumerate(first) if words[i] != word)
    before = ".".join([row.form.instruction, *first[:at]])
    right = ".".join([row.form.instruction, *(value for value in choice if value)])
    return Mismatch("modifier-order", f".{word} must follow {before} directly", f"write {right}", None, (right,))


def _one_of(values: Sequence[str]) -> str:
    return f"one of {_listed(values)}" if len(values) > 1 else f".{values[0]}"


def _listed(values: Sequence[str]) -> str:
    more = " …" if len(values) > _MOST_LISTED else ""
    return " ".join(f".{value}" for value in values[:_MOST_LISTED]) + more
