"""Reductions inside an oracle: what is summed, and what is done with the sums."""

from __future__ import annotations

import ast
from dataclasses import dataclass

_KINDS = {"sum": "add", "max": "max", "amax": "max", "min": "min", "amin": "min", "prod": "mul"}
#: What only rearranges or converts an array.
_SHAPING = frozenset({"reshape", "ravel", "pad", "expand_dims", "float32", "float64"})
_NAMES = {"add": "s", "max": "m", "min": "m", "mul": "p"}
#: The first value of an accumulator, by reduction and type.
_IDENTITIES = {
    ("add", "f32"): "0f00000000", ("max", "f32"): "0fFF800000", ("min", "f32"): "0f7F800000",
    ("mul", "f32"): "0f3F800000", ("add", "f64"): "0d0000000000000000",
    ("add", "s32"): "0", ("max", "s32"): "-2147483648", ("min", "s32"): "2147483647",
    ("add", "u32"): "0", ("max", "u32"): "0", ("min", "u32"): "4294967295",
}


@dataclass(frozen=True, slots=True)
class Reduction:
    """`kind` is the combining instruction (add, max, min, mul); `axis` None where all is reduced."""

    name: str
    kind: str
    inner: ast.expr
    axis: int | None


@dataclass(frozen=True, slots=True)
class Split:
    """An expression with its reductions taken out: `rest` names them. Innermost first."""

    reductions: tuple[Reduction, ...]
    rest: ast.expr

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(reduction.name for reduction in self.reductions)


def identity(kind: str, element: str) -> str:
    """The PTX constant an accumulator starts with; "" where none is known."""
    return _IDENTITIES.get((kind, element), "")


def plain(tree: ast.expr) -> ast.expr:
    """The expression without calls that only rearrange: `reshape(s, (rows, 1))` is `s`."""
    stripped: ast.expr = _Plain().visit(_copy(tree))
    return stripped


def split(tree: ast.expr) -> Split:
    """Take out every reduction, equal ones once, and name them `m`, `s`, then `m2`, `s2`."""
    taking = _Taking()
    rest = taking.visit(_copy(plain(tree)))
    return Split(tuple(taking.found.values()), rest)


def _copy(tree: ast.expr) -> ast.expr:
    return ast.parse(ast.unparse(tree), mode="eval").body


def _called(node: ast.Call) -> str:
    match node.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


class _Plain(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        if _called(node) in _SHAPING and node.args:
            inner: ast.AST = self.visit(node.args[0])
            return inner
        self.generic_visit(node)
        return node


class _Taking(ast.NodeTransformer):
    def __init__(self) -> None:
        self.found: dict[str, Reduction] = {}

    def visit_Call(self, node: ast.Call) -> ast.AST:
        kind = _KINDS.get(_called(node))
        if kind is None or not node.args:
            self.generic_visit(node)
            return node
        inner = self.visit(node.args[0])
        axis = next((k.value for k in node.keywords if k.arg == "axis"), None)
        at = axis.value if isinstance(axis, ast.Constant) and isinstance(axis.value, int) else None
        # `keepdims` changes only the shape, so that a sum with and one without it are the same loop.
        key = f"{kind} {at} {ast.unparse(inner)}"
        if key not in self.found:
            used = sum(1 for r in self.found.values() if _NAMES[r.kind] == _NAMES[kind])
            name = _NAMES[kind] + (str(used + 1) if used else "")
            self.found[key] = Reduction(name, kind, inner, at)
        return ast.Name(self.found[key].name, ast.Load())
