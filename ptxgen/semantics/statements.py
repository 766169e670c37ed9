"""A set of legal statements, as rows of alternatives: what `allowed` answers and masks are built from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

_NUMBERED = re.compile(r"(!?%[a-z]+)([0-9]+)")
_SPECIAL = re.compile(r"([\\.^$|?*+()\[\]{}/&~])")


def escape(text: str) -> str:
    """Quote a literal for a regular expression that llguidance and Python read alike."""
    return _SPECIAL.sub(r"\\\1", text).replace("\t", "\\t").replace("\n", "\\n")


class Pattern(str):
    """An alternative that is already a regular expression."""

    __slots__ = ()


def alternation(alternatives: Iterable[str]) -> str:
    """One regular expression for a choice; remembered, for the same choices come again and again."""
    return _alternation(alternatives if isinstance(alternatives, tuple) else tuple(alternatives))


@lru_cache(maxsize=16384)
def _alternation(alternatives: tuple[str, ...]) -> str:
    """Registers of one prefix share it: the shorter the expression, the faster the grammar compiles."""
    numbered: dict[str, list[str]] = {}
    parts: list[str] = []
    for a in alternatives:
        if isinstance(a, Pattern):
            parts.append(a)
        elif (match := _NUMBERED.fullmatch(a)) is not None:
            numbered.setdefault(match[1], []).append(match[2])
        else:
            parts.append(escape(a))
    for prefix, numbers in numbered.items():
        parts.append(escape(prefix) + (numbers[0] if len(numbers) == 1 else f"({_numbers(tuple(numbers))})"))
    return parts[0] if len(parts) == 1 else f"({'|'.join(parts)})"


@lru_cache(maxsize=4096)
def _numbers(numbers: tuple[str, ...]) -> str:
    """The numbers by their leading digits: 1 to 12 is `[1-9]|1[0-2]`."""
    last: dict[str, list[str]] = {}
    for n in dict.fromkeys(numbers):
        last.setdefault(n[:-1], []).append(n[-1])
    return "|".join(head + (d[0] if len(d) == 1 else f"[{''.join(sorted(d))}]") for head, d in last.items())


@dataclass(frozen=True, slots=True)
class Row:
    """`guards` x `operands`: a guard is "" or "@%p1 ", an operand a tuple of alternatives."""

    operands: tuple[tuple[str, ...], ...]
    guards: tuple[str, ...] = ("",)

    def possible(self) -> bool:
        return bool(self.guards) and all(self.operands)


@dataclass(frozen=True)
class AllowedStatements:
    """Every legal next statement. `rows` pairs opcodes with their rows, `fixed` are whole lines (labels,
    `}`), `excluded` are regular expressions of lines that the rows would let through."""

    rows: tuple[tuple[tuple[str, ...], Row], ...] = ()
    fixed: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()

    @cached_property
    def include(self) -> str:
        """A regular expression of whole lines, excluded ones not yet taken away. "" if nothing is legal."""
        parts = [alternation(self.fixed)] if self.fixed else []
        lines = []
        for opcodes, row in self.rows:
            guards = [g for g in row.guards if g]
            guard = f"{alternation(guards)}{'?' if '' in row.guards else ''}" if guards else ""
            if guard.endswith("?") and not guard.startswith("("):
                guard = f"({guard[:-1]})?"
            operands = ", ".join(alternation(o) for o in row.operands)
            lines.append(f"{guard}{alternation(opcodes)}{' ' if operands else ''}{operands}")
        if lines:
            parts.append(f"\\t({'|'.join(lines)});\\n")
        return "|".join(parts)

    @cached_property
    def exclude(self) -> str:
        """A regular expression of the excluded lines; "" if there are none."""
        return "|".join(self.excluded)

    @property
    def empty(self) -> bool:
        return not self.fixed and not self.rows

    def contains(self, line: str) -> bool:
        """Whether `line` (with its newline) is one of the legal statements."""
        if not self.include or re.fullmatch(self.include, line) is None:
            return False
        return not self.exclude or re.fullmatch(self.exclude, line) is None


def collect(
    choices: Iterable[tuple[Sequence[str], Sequence[Row]]], fixed: Sequence[str], excluded: Sequence[str]
) -> AllowedStatements:
    """Group opcodes that share a row: grammars stay small, and so does the time to compile them."""
    grouped: dict[Row, dict[str, None]] = {}
    for opcodes, rows in choices:
        for row in rows:
            if row.possible():
                grouped.setdefault(row, {}).update(dict.fromkeys(opcodes))
    return AllowedStatements(tuple((tuple(o), r) for r, o in grouped.items()), tuple(fixed), tuple(excluded))
