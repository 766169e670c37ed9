"""Declarations: from their parts to one `Variable` a declared name, and the flattening of initial values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from lark import Token

from ptxgen.ptx.places import span_of
from ptxgen.ptx.printing import print_parameter
from ptxgen.ptx.tree import Name, Operand, Span, Variable

Fault = Callable[[Span, str, str, str], None]


@dataclass(frozen=True, slots=True)
class Declaration:
    """What the names of one declaration have in common."""

    space: str
    type: str
    vector: int
    alignment: int | None
    attributes: tuple[str, ...]

    @classmethod
    def of(cls, parts: Sequence[Any]) -> Declaration:
        """`parts`: the tokens and pairs before the first name, in any order."""
        space = kind = ""
        vector, alignment = 1, None
        attributes: list[str] = []
        for part in parts:
            if isinstance(part, tuple):
                if part[0] == "align":
                    alignment = part[1]
                else:
                    attributes.append(part[1])
            elif part.type == "SPACE":
                space = str(part)[1:]
            elif part.type == "TYPE":
                kind = str(part)[1:]
            elif part.type == "VECTOR":
                vector = int(part[2:4])
            else:
                attributes.extend(split_attributes(str(part)))
        return cls(space, kind, vector, alignment, tuple(attributes))


def check_head(parts: Sequence[Any], fault: Fault) -> None:
    """What the words before a declared name say too often, too late or not at all."""
    vectors = [t for t in parts if isinstance(t, Token) and t.type == "VECTOR"]
    for vector in vectors[1:]:
        fault(span_of(vector), "bad-vector", "a variable has one .v2 or .v4", "")
    if vectors and vectors[0] == ".v1":
        fault(span_of(vectors[0]), "bad-vector", "there are no .v1 variables", "leave it out")
    after = parts[parts.index(vectors[0]) :] if vectors else ()
    if any(isinstance(t, tuple) and t[0] == "align" for t in after):
        fault(span_of(vectors[0]), "misplaced-alignment", f".align stands before {vectors[0]}", "")
    for token in parts:
        if isinstance(token, Token) and token.type == "ATTRIBUTE" and not split_attributes(str(token)):
            fault(span_of(token), "bad-attribute", ".attribute names none", "write .attribute(.managed)")


@dataclass(frozen=True, slots=True)
class Unlinked:
    """A variable that still waits for the linkage written before it."""

    variable: Variable

    def named(self, linkage: tuple[str, ...]) -> Variable:
        """The variable, with its linkage."""
        return replace(self.variable, linkage=linkage) if linkage else self.variable


def declare(head: Declaration, name: Token, parts: Sequence[Any], fault: Fault) -> Unlinked:
    """One declared name. `parts`: `("count", n)`, `("dimension", n)` and at most one initialiser."""
    span = span_of(name)
    count = None
    dimensions: list[int | None] = []
    initialiser: tuple[Operand, ...] | None = None
    for part in parts:
        if isinstance(part, tuple) and part[0] == "count":
            count = part[1]
        elif isinstance(part, tuple):
            dimensions.append(part[1])
        else:
            value = Name(str(part), span_of(part)) if isinstance(part, Token) else part
            shape = (*dimensions, head.vector) if head.vector > 1 else tuple(dimensions)

            def report(text: str) -> None:
                fault(span, "bad-initialiser", text, "")

            if isinstance(value, list) and not shape and not _are_fields(value):
                report("a single value stands without braces")
            elif shape and not isinstance(value, list):
                report("the values of an array or a vector stand in braces")
            values = value if isinstance(value, list) else [value]
            initialiser = flatten(values, shape, report, head.vector) if shape else tuple(values)
    return Unlinked(
        Variable(
            head.space, head.type, str(name), count, head.vector, head.alignment,
            tuple(dimensions), initialiser, (), head.attributes, span,
        )
    )


def _are_fields(values: list[Any]) -> bool:
    """Whether they are `width = 4` and the like, which textures, samplers and surfaces have."""
    return bool(values) and all(isinstance(v, Name) and "=" in v.text for v in values)


def flatten(
    values: list[Any], shape: tuple[int | None, ...], fault: Callable[[str], None], vector: int = 1
) -> tuple[Operand, ...]:
    """Nested initial values as one flat list, in the order that they lie in memory.

    A row that is shorter than its extent is not filled up: the next row begins right behind its last value. That is
    what ptxas makes of it, unlike C. `shape` holds the extents, the vector's last, whose elements must all be given.
    """
    nested = sum(isinstance(v, list) for v in values)
    if nested < len(values) and (nested or len(shape) > 1):
        fault("the values of each row need braces of their own")
        return ()
    if not nested:
        if len(shape) == 1 and 1 < vector != len(values):
            fault(f"{len(values)} values for a vector of {vector}")
        return tuple(values)
    inner = shape[1:]
    if not inner or any(extent is None for extent in inner):
        fault("more braces than the array has dimensions")
        return ()
    if shape[0] is not None and len(values) > shape[0]:
        fault(f"{len(values)} rows where {shape[0]} fit")
    width = prod(extent or 0 for extent in inner)
    flat: list[Operand] = []
    for value in values:
        row = flatten(value, inner, fault, vector)
        if len(row) > width:
            fault(f"a row of {len(row)} values where {width} fit")
        flat.extend(row)
    return tuple(flat)


def split_attributes(text: str) -> tuple[str, ...]:
    """`.attribute(.managed, .unified(1, 2))` as ("managed", "unified(1,2)")."""
    inside = "".join(text.split())[len(".attribute(") : -1]
    out: list[str] = []
    depth = 0
    for piece in inside.split(","):
        if depth:
            out[-1] += "," + piece
        else:
            out.append(piece.removeprefix("."))
        depth += piece.count("(") - piece.count(")")
    return tuple(a for a in out if a)


def words(
    name: str, returns: tuple[Variable, ...], params: tuple[Variable, ...], directives: list[str]
) -> str:
    """A call prototype's text, from `.callprototype` to the semicolon."""
    out = ".callprototype "
    if returns:
        out += f"({', '.join(print_parameter(v) for v in returns)}) "
    out += f"{name} ({', '.join(print_parameter(v) for v in params)})"
    return "".join((out, *(f" {d}" for d in directives), ";"))
