"""Elements of arrays, `a[1]`: the tree has the addresses that they mean, so sizes are kept while reading."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ptxgen.ptx.tree import Address, Name, Operand, Span, Variable

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
    """The operands with `a[1]` as `[a+4]` in memory accesses, and as `a+4` elsewhere, where only `mov` takes it."""
    access = opcode.partition(".")[0] in ("ld", "ldu", "st")
    out: list[Operand] = []
    for operand in operands:
        if isinstance(operand, Element):
            size = sizes.get(operand.array.text)
            if size is None:
                fault(operand.span, "bad-element", f"{operand.array.text} is no array that was declared before")
            operand = Address(operand.array, (size or 1) * operand.index, (), access, operand.span)
        out.append(operand)
    return tuple(out)
