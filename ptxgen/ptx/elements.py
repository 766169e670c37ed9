"""Elements of arrays, `a[1]`: the tree has the addresses that they mean, so sizes are kept while reading."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ptxgen.ptx.tree import Address, Arguments, Name, Operand, Pair, Span, Variable, Vector

_BITS = re.compile(r"(\d+)(?:x(\d+))?$")


@dataclass(frozen=True, slots=True)
class Element:
    """`a[1]`, until the instruction around it says what is meant."""

    array: Name
    index: int
    span: Span


def element_size(variable: Variable) -> int | None:
    """Bytes from one element to the next; None for what is no array. Vectors and rows count by their elements."""
    bits = _BITS.search(variable.type)
    if not variable.dimensions or bits is None:
        return None
    return int(bits[1]) * int(bits[2] or 1) // 8


def addressed(
    opcode: str, operands: tuple[Any, ...], sizes: Mapping[str, int], fault: Callable[[Span, str, str], None]
) -> tuple[Operand, ...]:
    """The operands with `a[1]` as `[a+4]` in memory accesses, and as `a+4` where its address is a number."""
    name = opcode.partition(".")[0]
    access = name in ("ld", "ldu", "st")
    out: list[Operand] = []
    for operand in operands:
        if isinstance(operand, Element):
            size = sizes.get(operand.array.text)
            if not access and (name not in ("mov", "cvta", "mapa", "getctarank") or opcode.startswith("cvta.to.")):
                fault(operand.span, "bad-element", f"{name} does not take {operand.array.text}[{operand.index}]")
            elif size is None:
                fault(operand.span, "bad-element", f"{operand.array.text} is no array that was declared before")
            operand = Address(operand.array, (size or 1) * operand.index, (), access, operand.span)
        out.append(_alone(operand, fault))
    return tuple(out)


def _alone(operand: Any, fault: Callable[[Span, str, str], None]) -> Any:
    """The operand itself: within another one an element means nothing, and its array's name is left of it."""
    if isinstance(operand, Element):
        fault(operand.span, "bad-element", f"{operand.array.text}[{operand.index}] is possible only by itself")
        return operand.array
    if isinstance(operand, Vector | Arguments):
        if any(isinstance(element, Element | Vector) for element in operand.elements):
            return replace(operand, elements=tuple(_alone(element, fault) for element in operand.elements))
    elif isinstance(operand, Pair):
        if isinstance(operand.first, Element) or isinstance(operand.second, Element):
            return replace(operand, first=_alone(operand.first, fault), second=_alone(operand.second, fault))
    elif isinstance(operand, Address) and operand.components:
        return replace(operand, components=tuple(_alone(part, fault) for part in operand.components))
    return operand
