"""A set of legal statements, as rows of alternatives: what `allowed` answers and masks are built from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

_NUMBERED = re.compile(r"(!?%[a-z]+)([0-9]+)")
#: Guard, opcode and operands of an instruction's line.
_LINE = re.compile(r"\t(@!?[^ ]+ )?([^ ;]+)(?: ([^;]+))?;\n")
#: Between two operands: the elements of a vector belong together.
_COMMA = re.compile(r", (?![^{]*\})")
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

    def takes(self, operands: str | None) -> bool:
        """Whether a text is one of the operand lists; None: no operands."""
        if operands is None or not self.operands:
            return operands is None and not self.operands
        if len(self.operands) == 1:
            return _chosen(self.operands[0], operands)
        split = _COMMA.split(operands)
        return len(split) == len(self.operands) and all(map(_chosen, self.operands, split))


@dataclass(frozen=True)
class AllowedStatements:
    """Every legal next statement. `rows` pairs opcodes with their rows, `fixed` are whole lines (labels,
    `}`), `excluded` are regular expressions of lines that the rows would let through."""

    rows: tuple[tuple[tuple[str, ...], Row], ...] = ()
    fixed: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()

    @cached_property
    def exclude(self) -> str:
        """A regular expression of the excluded lines; "" if there are none."""
        return "|".join(self.excluded)

    @property
    def empty(self) -> bool:
        return not self.fixed and not self.rows

    def contains(self, line: str) -> bool:
        """Whether `line` (with its newline) is one of the legal statements."""
        if not _chosen(self.fixed, line) and not self._in_rows(line):
            return False
        return not any(re.fullmatch(expression, line) for expression in self.excluded)

    def _in_rows(self, line: str) -> bool:
        parts = _LINE.fullmatch(line)
        if parts is None:
            return False
        guard, opcode, operands = parts[1] or "", parts[2], parts[3]
        return any(
            _chosen(row.guards, guard) and _chosen(opcodes, opcode) and row.takes(operands)
            for opcodes, row in self.rows
        )


def _chosen(alternatives: tuple[str, ...], text: str) -> bool:
    return text in alternatives or any(isinstance(a, Pattern) and re.fullmatch(a, text) for a in alternatives)


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
