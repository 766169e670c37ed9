"""Reads a syntax line in the manual's notation: `"ld{.weak}{.space}.type d, [a]{, cache-policy}"`.

The opcode becomes elements (a slot or a word each, perhaps in an optional group), the operands become
the operand lists that the optional parts allow. What a slot or an operand *means* is said elsewhere.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Literal

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_:\-]*")
_OPCODE = re.compile(r"([a-z][a-z0-9_]*)((?:[.{}A-Za-z0-9_:]+)?)")
_WORD = re.compile(r"\.([A-Za-z0-9_:]+)")


@dataclass(frozen=True, slots=True)
class Element:
    """A dotted part of an opcode. `groups` are the optional groups it stands in, outermost first."""

    word: str
    groups: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class OperandPattern:
    """One written operand: its first name, its shape, and the names of further parts.

    pair: `d|p`; address: `[a]` or `[a, {b}]`; vector: `{a, b}`; arguments: `(a)`; `negatable`: `{!}a`.
    """

    name: str
    shape: Literal["plain", "pair", "address", "vector", "arguments"] = "plain"
    parts: tuple[str, ...] = ()
    negatable: bool = False


@dataclass(frozen=True, slots=True)
class Syntax:
    """A whole line: name, elements, and every operand list that optional parts allow, shortest first."""

    name: str
    elements: tuple[Element, ...]
    operand_lists: tuple[tuple[OperandPattern, ...], ...]


@cache
def parse_syntax(text: str) -> Syntax:
    """Raises ValueError that says what stands where it should not."""
    opcode, _, operands = text.partition(" ")
    match = _OPCODE.fullmatch(opcode)
    if match is None:
        raise ValueError(f"{opcode!r} is no opcode pattern like `fma.rnd{{.ftz}}.f32`")
    return Syntax(match.group(1), _elements(match.group(2)), _operand_lists(operands.strip()))


def _elements(text: str) -> tuple[Element, ...]:
    found: list[Element] = []
    open_groups: list[int] = []
    groups = 0
    at = 0
    while at < len(text):
        if text[at] == "{":
            groups += 1
            open_groups.append(groups)
            at += 1
        elif text[at] == "}":
            if not open_groups:
                raise ValueError(f"a '}}' without its '{{' in {text!r}")
            open_groups.pop()
            at += 1
        else:
            word = _WORD.match(text, at)
            if word is None:
                raise ValueError(f"a '.' is missing at {text[at:]!r}")
            found.append(Element(word.group(1), tuple(open_groups)))
            at = word.end()
    if open_groups:
        raise ValueError(f"a '{{' without its '}}' in {text!r}")
    return tuple(found)


def _operand_lists(text: str) -> tuple[tuple[OperandPattern, ...], ...]:
    if not text:
        return ((),)
    chosen = sorted(dict.fromkeys(_without_options(text)), key=len)
    return tuple(_operand_list(plain) for plain in chosen)


def _without_options(text: str) -> list[str]:
    """Every reading of optional operands: `{, b}` and `[|p]` there or not. `{!}` and `[a, {b}]` stay."""
    match = re.search(r"\{(\s*,[^{}]*)\}|\[(\|[^\[\]]*)\]", _masked(text))
    if match is None:
        return [text]
    inner = text[match.start() + 1 : match.end() - 1]
    before, after = text[: match.start()], text[match.end() :]
    return [*_without_options(before + after), *_without_options(before + inner + after)]


def _masked(text: str) -> str:
    """The text with `{!}` out of the way of the search for optional groups."""
    return text.replace("{!}", "   ")


def _operand_list(text: str) -> tuple[OperandPattern, ...]:
    found = []
    depth, start = 0, 0
    for at, char in enumerate(text + ","):
        if char in "[({":
            depth += 1
        elif char in "])}":
            depth -= 1
        elif char == "," and depth == 0:
            found.append(_operand(text[start:at].strip()))
            start = at + 1
    if depth:
        raise ValueError(f"unbalanced brackets in the operands {text!r}")
    return tuple(found)


def _operand(text: str) -> OperandPattern:
    negatable = text.startswith("{!}")
    body = text[3:] if negatable else text
    names = tuple(_NAME.findall(body))
    if names:
        first, rest = names[0], names[1:]
        if body == first:
            return OperandPattern(first, negatable=negatable)
        if body == "|".join(names) and len(names) == 2:
            return OperandPattern(first, "pair", rest)
        if body == f"({first})":
            return OperandPattern(first, "arguments")
        if body.startswith("[") and body.endswith("]"):
            return OperandPattern(first, "address", rest)
        if body == "{" + ", ".join(names) + "}":
            return OperandPattern(first, "vector", rest)
    raise ValueError(f"{text!r} is no operand like `d`, `p|q`, `[a]`, `{{a, b}}`, `(list)` or `{{!}}c`")
