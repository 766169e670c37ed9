"""One statement, fast: what decoding reads after every statement that a model wrote.

Plain instructions and labels on one line are read here by hand, in microseconds; anything else
(declarations, directives, calls, constant expressions, comments) goes to the grammar. Both give the same
nodes with the same spans; a property test holds them together.
"""

from __future__ import annotations

import re

from ptxgen.ptx import constants
from ptxgen.ptx.parsing import parse_statement_with_grammar
from ptxgen.ptx.tree import (
    Address,
    Guard,
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

_WS = r"[ \t\r\f\v]*"
_NAME = r"(?:[A-Za-z_][A-Za-z0-9_$]*|[%$][A-Za-z0-9_$]+)(?:\.[A-Za-z][A-Za-z0-9_]*)?"
_INT = r"0[xX][0-9A-Fa-f]+U?|0[bB][01]+U?|0[0-7]*U?|[1-9][0-9]*U?"
_FLOAT = (
    r"0[fF][0-9A-Fa-f]{8}(?![0-9A-Fa-f])|0[dD][0-9A-Fa-f]{16}(?![0-9A-Fa-f])"
    r"|(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+"
)
_LABEL = re.compile(rf"{_WS}((?:[A-Za-z][A-Za-z0-9_$]*|[_%$][A-Za-z0-9_$]+){_WS}:(?!:))\s*", re.ASCII)
_HEAD = re.compile(
    rf"{_WS}(?:(@){_WS}(!?){_WS}({_NAME}){_WS})?"
    r"([A-Za-z_][A-Za-z0-9_$]*(?:(?:\.[A-Za-z0-9_]|[ \t]+\.[A-Za-z])[A-Za-z0-9_]*(?:::[A-Za-z0-9_]+)*)*)"
    rf"{_WS}",
    re.ASCII,
)
_NAMED = re.compile(rf"({_NAME}){_WS}(?:\|{_WS}({_NAME}){_WS})?")
_CONSTANT = re.compile(rf"(-?){_WS}({_FLOAT}|{_INT}){_WS}")
_NEGATED = re.compile(rf"!{_WS}({_NAME}){_WS}")
_ADDRESS = re.compile(rf"\[{_WS}({_NAME}){_WS}(?:\+{_WS}(-?){_WS}({_INT}){_WS})?\]{_WS}")
_VECTOR_END = re.compile(rf"\}}{_WS}(?:\|{_WS}({_NAME}){_WS})?")
_DIGITS = frozenset("-.0123456789")
_BLANKS = re.compile(_WS)


class _NotPlain(Exception):
    """This one is for the grammar."""


def parse_statement(text: str) -> Statement:
    """One instruction, label, declaration, directive or block. Raises PtxSyntaxError.

    Spans count from line 1, column 1 of `text`.
    """
    body = text.rstrip()
    if body[-1:] in (";", ":") and body.isascii() and not any(mark in body for mark in ("/", "#", '"', "\n")):
        try:
            return _label(body) if body[-1] == ":" else _instruction(body)
        except (_NotPlain, constants.ConstantFault):
            pass
    return parse_statement_with_grammar(text)


def _label(text: str) -> Label:
    match = _LABEL.fullmatch(text)
    if not match:
        raise _NotPlain
    return Label(match[1][:-1].rstrip(), _span(match, 1))


def _instruction(text: str) -> Instruction:
    if _LABEL.match(text):
        raise _NotPlain
    head = _HEAD.match(text)
    if not head:
        raise _NotPlain
    opcode = "".join(head[4].split())
    if opcode.startswith("call") and opcode in ("call", "call.uni"):
        raise _NotPlain
    guard = None
    start = head.start(4)
    if head[1]:
        start = head.start(1)
        guard = Guard(head[3], bool(head[2]), Span(1, start + 1, 1, head.end(3) + 1))
    operands: tuple[Operand, ...] = ()
    at = head.end()
    if text[at] != ";":
        operands, at = _operands(text, at, ";")
    if at != len(text) - 1:
        raise _NotPlain
    return Instruction(opcode, operands, guard, Span(1, start + 1, 1, len(text) + 1))


def _operands(text: str, at: int, closing: str) -> tuple[tuple[Operand, ...], int]:
    """The list from `at` up to `closing`, and where that stands."""
    out: list[Operand] = []
    while True:
        operand, at = _operand(text, at, nested=closing == "}")
        out.append(operand)
        mark = text[at : at + 1]
        if mark == closing:
            return tuple(out), at
        if mark != ",":
            raise _NotPlain
        blanks = _BLANKS.match(text, at + 1)
        at = blanks.end() if blanks else at + 1


def _operand(text: str, at: int, nested: bool) -> tuple[Operand, int]:
    first = text[at : at + 1]
    if first == "[":
        match = _ADDRESS.match(text, at)
        if not match:
            raise _NotPlain
        offset = 0
        if match[3]:
            offset = int(constants.literal(match[3]).value)
            if match[2]:
                offset = int(constants.unary("-", constants.literal(match[3]), Span()).value)
        end = match.start() + match[0].rindex("]") + 1
        return Address(_name(match, 1), offset, (), True, Span(1, at + 1, 1, end + 1)), match.end()
    if first == "{":
        if nested:
            raise _NotPlain
        blanks = _BLANKS.match(text, at + 1)
        elements, end = _operands(text, blanks.end() if blanks else at + 1, "}")
        vector = Vector(elements, Span(1, at + 1, 1, end + 2))
        match = _VECTOR_END.match(text, end)
        if not match:
            raise _NotPlain
        if match[1]:
            return Pair(vector, _name(match, 1), Span(1, at + 1, 1, match.end(1) + 1)), match.end()
        return vector, match.end()
    if first == "!":
        match = _NEGATED.match(text, at)
        if not match:
            raise _NotPlain
        return Negated(_name(match, 1), Span(1, at + 1, 1, match.end(1) + 1)), match.end()
    if first in _DIGITS:
        match = _CONSTANT.match(text, at)
        if not match:
            raise _NotPlain
        constant = constants.literal(match[2], _span(match, 2))
        if match[1]:
            constant = constants.unary("-", constant, Span(1, at + 1, 1, match.end(2) + 1))
        return constant, match.end()
    match = _NAMED.match(text, at)
    if not match or match[1] == "WARP_SZ" or match[2] == "WARP_SZ":
        raise _NotPlain
    if match[2]:
        return Pair(_name(match, 1), _name(match, 2), Span(1, at + 1, 1, match.end(2) + 1)), match.end()
    return _name(match, 1), match.end()


def _span(match: re.Match[str], group: int) -> Span:
    return Span(1, match.start(group) + 1, 1, match.end(group) + 1)


def _name(match: re.Match[str], group: int) -> Name:
    return Name(match[group], _span(match, group))
