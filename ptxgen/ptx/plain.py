"""Plain statements, fast: instructions on one line, labels and `.loc`, by regular expressions and without lark.

Nine of ten lines of real files are of these. What is read here is read as the grammar reads it, node for node and
span for span (a property test holds them together); whatever looks unusual is left to the grammar, faults above all.
"""

from __future__ import annotations

import re
from typing import Any, TypeVar

from ptxgen.ptx import constants
from ptxgen.ptx.tree import (
    Address,
    Directive,
    Guard,
    Immediate,
    Instruction,
    Label,
    Name,
    Negated,
    Operand,
    Pair,
    Span,
    Statement,
    Vector,
)

_WS = r"[ \t\r\f]*"
#: As long as it can be, whatever follows; `WARP_SZ` is a constant.
_NAME = (
    r"(?!WARP_SZ(?![A-Za-z0-9_$]))"
    r"(?>(?:[A-Za-z_][A-Za-z0-9_$]*|[%$][A-Za-z0-9_$]+)(?:\.[A-Za-z][A-Za-z0-9_]*)?)"
)
_INT = r"0[xX][0-9A-Fa-f]+U?|0[bB][01]+U?|0[0-7]*U?|[1-9][0-9]*U?"
_FLOAT = (
    r"0[fF][0-9A-Fa-f]{8}(?![0-9A-Fa-f])|0[dD][0-9A-Fa-f]{16}(?![0-9A-Fa-f])"
    r"|(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+"
)
#: What follows an operand: a comma, or the end of the statement or of a vector.
_MARK = rf"([,;}}]){_WS}"
_LABEL = re.compile(rf"((?:[A-Za-z][A-Za-z0-9_$]*|[_%$][A-Za-z0-9_$]+)){_WS}:(?!:)", re.ASCII)
_HEAD = re.compile(
    rf"(?:(@){_WS}(!?){_WS}({_NAME}){_WS})?"
    r"([A-Za-z_][A-Za-z0-9_$]*(?:(?:\.[A-Za-z0-9_]|[ \t]+\.[A-Za-z])[A-Za-z0-9_]*(?:::[A-Za-z0-9_]+(?::[0-9]+)?)*)*)"
    rf"{_WS}(;)?",
    re.ASCII,
)
_NAMED = re.compile(rf"({_NAME}){_WS}(?:\|{_WS}({_NAME}){_WS})?{_MARK}")
_CONSTANT = re.compile(rf"(-?){_WS}((?>{_FLOAT}|{_INT})){_WS}{_MARK}")
_VALUE = re.compile(rf"(-?){_WS}((?>{_FLOAT}|{_INT}))")
_SPACE = re.compile(r"[ \t\r\n\f]*")
_NEGATED = re.compile(rf"!{_WS}({_NAME}){_WS}{_MARK}")
_ADDRESS = re.compile(rf"\[{_WS}({_NAME}){_WS}(?:\+{_WS}(-?){_WS}((?>{_INT})){_WS})?(\]){_WS}{_MARK}")
_BRACE = re.compile(rf"\{{{_WS}")
_BEHIND_VECTOR = re.compile(rf"(?:\|{_WS}({_NAME}){_WS})?{_MARK}")
#: Behind a label on its line; `.callprototype` and its like would make one directive of both.
_BEHIND_LABEL = re.compile(r"[ \t\r\f]*\n?[ \t\r\f]*(?:[^\s./#]|\.loc[ \t])")
_LOC = re.compile(
    r"\.loc[ \t]+[0-9]+[ \t]+[0-9]+[ \t]+[0-9]+"
    r"(?:[ \t]*,[ \t]*function_name[ \t]+[A-Za-z0-9_$%.]+(?:[ \t]*\+[ \t]*[0-9]+)?"
    r"[ \t]*,[ \t]*inlined_at[ \t]+[0-9]+[ \t]+[0-9]+[ \t]+[0-9]+)?(?=[ \t]*(?://|\n\s*[^\s,]))"
)
_COMMA = re.compile(r"\s*,\s*")
#: Between statements: blanks, newlines, comments to the line's end.
_BETWEEN = re.compile(r"[ \t\r\f]*(?://[^\n]*)?(\n?)")
_BLANKS = re.compile(_WS)
_DIGITS = frozenset("-.0123456789")
_CALL = re.compile(r"call(?:[ \t]*\.uni)?(?![A-Za-z0-9_.$])")
_span: Any = tuple.__new__


T = TypeVar("T")


class _Token(list[T]):
    """Nodes that follow each other, as one token of the parser."""

    type = ""

    def __init__(self, nodes: list[T], start: tuple[int, int, int], end: tuple[int, int, int]) -> None:
        """`start` and `end`: position, line and column."""
        super().__init__(nodes)
        self.start_pos, self.line, self.column = start
        self.end_pos, self.end_line, self.end_column = end


class Run(_Token[Statement]):
    """Plain statements."""

    type = "PLAIN"


class Values(_Token[Immediate]):
    """Plain constants: all that stands between the braces of an initialiser."""

    type = "VALUES"


def read_run(text: str, at: int, line: int, line_start: int) -> tuple[Run | None, int, int, int]:
    """As many plain statements as follow from `at` on; and position, line and its start behind them and blanks."""
    statements: list[Statement] = []
    begun = (at, line, at - line_start + 1)
    end = begun
    length = len(text)
    while True:
        while True:
            gap = _BETWEEN.match(text, at)
            assert gap is not None
            at = gap.end()
            if not gap[1]:
                break
            line += 1
            line_start = at
        if at == length:
            break
        try:
            read = read_plain(text, at, line, line_start)
        except constants.ConstantFault:
            break
        if read is None:
            break
        statement, at = read
        statements.append(statement)
        end = (at, line, at - line_start + 1)
    run = Run(statements, begun, end) if statements else None
    return run, at, line, line_start


def read_values(text: str, at: int, line: int, line_start: int) -> tuple[Values | None, int, int, int]:
    """The constants from `at` up to the closing brace, if nothing else stands there; and where it stands."""
    values: list[Immediate] = []
    begun, place = (at, line, at - line_start + 1), (at, line, line_start)
    while True:
        at, line, line_start = _over_blanks(text, at, line, line_start)
        found = _VALUE.match(text, at)
        if found is None:
            return None, *place
        try:
            values.append(_constant(found, line, 1 - line_start))
        except constants.ConstantFault:
            return None, *place
        at, line, line_start = _over_blanks(text, found.end(), line, line_start)
        mark = text[at : at + 1]
        if mark == "}":
            return Values(values, begun, (at, line, at - line_start + 1)), at, line, line_start
        if mark != ",":
            return None, *place
        at += 1


def _over_blanks(text: str, at: int, line: int, line_start: int) -> tuple[int, int, int]:
    end = _SPACE.match(text, at).end()  # type: ignore[union-attr]
    newlines = text.count("\n", at, end)
    return (end, line + newlines, text.rindex("\n", at, end) + 1) if newlines else (end, line, line_start)


def read_plain(text: str, at: int, line: int, line_start: int) -> tuple[Statement, int] | None:
    """The plain statement that begins at `at`, and where it ends; None if the grammar is needed.

    `line` counts from 1 and begins at `line_start`. Raises ConstantFault for a constant that denotes nothing.
    """
    column = 1 - line_start
    if text[at] == ".":
        loc = _LOC.match(text, at)
        if loc is None:
            return None
        words = _COMMA.sub(", ", " ".join(loc[0].split()))
        return Directive("loc", words, None, Span(line, at + column, line, loc.end() + column)), loc.end()
    label = _LABEL.match(text, at)
    if label is not None:
        if _BEHIND_LABEL.match(text, label.end()) is None:
            return None
        return Label(label[1], Span(line, at + column, line, label.end() + column)), label.end()
    head = _HEAD.match(text, at)
    if head is None:
        return None
    sign, negation, predicate, opcode, end = head.groups()
    if " " in opcode or "\t" in opcode:
        opcode = "".join(opcode.split())
    if opcode.startswith("call") and _CALL.match(text, head.start(4)):
        return None
    guard = None
    if sign:
        guard = Guard(predicate, bool(negation), _span(Span, (line, at + column, line, head.end(3) + column)))
    operands: tuple[Operand, ...] = ()
    last = head.end()
    if end is None:
        read = _operands(text, last, ";", line, column)
        if read is None:
            return None
        operands, last = read
    return Instruction(opcode, operands, guard, _span(Span, (line, at + column, line, last + column))), last


def _operands(text: str, at: int, closing: str, line: int, column: int) -> tuple[tuple[Operand, ...], int] | None:
    """The list from `at` up to `closing`, and where that ends."""
    out: list[Operand] = []
    while True:
        first = text[at : at + 1]
        found: re.Match[str] | None
        operand: Operand
        if first == "[":
            found = _ADDRESS.match(text, at)
            if found is None:
                return None
            span = _span(Span, (line, at + column, line, found.end(4) + column))
            operand = Address(_name(found, 1, line, column), _offset(found), (), True, span, found[3] is not None)
        elif first in _DIGITS:
            found = _CONSTANT.match(text, at)
            if found is None:
                return None
            operand = _constant(found, line, column)
        elif first == "!":
            found = _NEGATED.match(text, at)
            if found is None:
                return None
            span = _span(Span, (line, at + column, line, found.end(1) + column))
            operand = Negated(_name(found, 1, line, column), span)
        elif first == "{":
            read = _vector(text, at, line, column) if closing == ";" else None
            if read is None:
                return None
            operand, found = read
        else:
            found = _NAMED.match(text, at)
            if found is None:
                return None
            operand = _name(found, 1, line, column)
            if found[2] is not None:
                span = _span(Span, (line, at + column, line, found.end(2) + column))
                operand = Pair(operand, _name(found, 2, line, column), span)
        out.append(operand)
        # The mark is the last group of all these expressions.
        group = found.lastindex or 0
        mark = found[group]
        if mark == closing:
            return tuple(out), found.end(group)
        if mark != ",":
            return None
        at = found.end()


def _vector(text: str, at: int, line: int, column: int) -> tuple[Operand, re.Match[str]] | None:
    """A vector, perhaps the first of a pair, and what matched behind its elements."""
    brace = _BRACE.match(text, at)
    read = _operands(text, brace.end(), "}", line, column) if brace else None
    if read is None:
        return None
    elements, end = read
    vector = Vector(elements, _span(Span, (line, at + column, line, end + column)))
    blanks = _BLANKS.match(text, end)
    behind = _BEHIND_VECTOR.match(text, blanks.end() if blanks else end)
    if behind is None:
        return None
    if behind[1] is None:
        return vector, behind
    span = _span(Span, (line, at + column, line, behind.end(1) + column))
    return Pair(vector, _name(behind, 1, line, column), span), behind


def _name(found: re.Match[str], group: int, line: int, column: int) -> Name:
    start, end = found.span(group)
    return Name(found[group], _span(Span, (line, start + column, line, end + column)))


def _constant(found: re.Match[str], line: int, column: int) -> Immediate:
    start, end = found.span(2)
    constant = constants.literal(found[2], _span(Span, (line, start + column, line, end + column)))
    if not found[1]:
        return constant
    return constants.unary("-", constant, _span(Span, (line, found.start() + column, line, end + column)))


def _offset(found: re.Match[str]) -> int:
    if found[3] is None:
        return 0
    offset = constants.literal(found[3])
    return int((constants.unary("-", offset, Span()) if found[2] else offset).value)
