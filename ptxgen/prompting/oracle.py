"""What an oracle computes, read from its NumPy text: operations, and a form in which two oracles compare.

Nothing is executed; an oracle is looked at as a syntax tree only.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ptxgen.spec import Spec

#: Plain operation names for what NumPy writes in several ways.
_CALLS: dict[str, tuple[str, ...]] = {
    "maximum": ("max",), "fmax": ("max",), "minimum": ("min",), "fmin": ("min",), "clip": ("max", "min"),
    "abs": ("abs",), "absolute": ("abs",), "fabs": ("abs",), "negative": ("neg",),
    "exp": ("exp",), "exp2": ("exp",), "expm1": ("exp", "sub"), "log": ("log",), "log2": ("log",),
    "sqrt": ("sqrt",), "tanh": ("tanh",), "sin": ("sin",), "cos": ("cos",), "hypot": ("mul", "sqrt"),
    "square": ("mul",), "power": ("pow",), "reciprocal": ("div",), "where": ("select",), "floor": ("round",),
    "add": ("add",), "subtract": ("sub",), "multiply": ("mul",), "divide": ("div",), "true_divide": ("div",),
    "sum": ("reduce-add",), "max": ("reduce-max",), "amax": ("reduce-max",), "min": ("reduce-min",),
    "amin": ("reduce-min",), "prod": ("reduce-mul",), "mean": ("reduce-add", "div"),
    "any": ("reduce-or",), "all": ("reduce-and",), "cumsum": ("scan",), "sort": ("sort",),
    "dot": ("mul", "reduce-add"), "matmul": ("mul", "reduce-add"), "inner": ("mul", "reduce-add"),
    "bincount": ("scatter",), "histogram": ("scatter",), "transpose": ("transpose",), "swapaxes": ("transpose",),
    "flip": ("reverse",), "flipud": ("reverse",), "fliplr": ("reverse",), "roll": ("shift-index",),
    "take": ("gather",), "bitwise_count": ("popcount",), "bitwise_xor": ("xor",), "bitwise_and": ("and",),
    "bitwise_or": ("or",), "mod": ("mod",), "remainder": ("mod",),
}
_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "div", ast.Mod: "mod",
    ast.Pow: "pow", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor", ast.LShift: "shift",
    ast.RShift: "shift",
}
_COMMUTATIVE = {"add", "mul", "and", "or", "xor", "maximum", "minimum", "fmax", "fmin"}


def oracle_trees(spec: Spec) -> tuple[ast.AST, ...]:
    """The syntax trees of the oracle: one expression an output, or the Python function. Empty if unreadable."""
    if spec.expressions:
        return tuple(expression.tree for expression in spec.expressions.values())
    file, _, function = (spec.oracle.python or "").partition(":")
    try:
        module = ast.parse((spec.path.parent / file).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return ()
    return tuple(n for n in module.body if isinstance(n, ast.FunctionDef) and n.name == function)


def operations(spec: Spec) -> frozenset[str]:
    """The plain names of all operations of the oracle: "add", "exp", "reduce-max", "transpose", ..."""
    found: set[str] = set()
    for tree in oracle_trees(spec):
        for node in ast.walk(tree):
            found.update(_operations_of(node, spec))
    return frozenset(found)


def _operations_of(node: ast.AST, spec: Spec) -> Iterator[str]:
    match node:
        case ast.BinOp(op=ast.MatMult()):
            yield from ("mul", "reduce-add")
        case ast.BinOp(op=operator):
            yield _BINARY[type(operator)]
        case ast.UnaryOp(op=ast.USub(), operand=operand) if not isinstance(operand, ast.Constant):
            yield "neg"
        case ast.Compare():
            yield "compare"
        case ast.Attribute(attr="T"):
            yield "transpose"
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in _CALLS:
            yield from _CALLS[name]
        case ast.Subscript(value=ast.Name(id=array), slice=ast.Name(id=index)):
            names = {p.name for p in spec.kernel.params if p.pointer}
            if array in names and index in names:
                yield "gather"
        case ast.Slice(step=ast.UnaryOp(op=ast.USub())):
            yield "reverse"


def normal_form(spec: Spec) -> str:
    """A text that is equal for two oracles that compute the same over arrays of the same types.

    Parameter names are replaced by their kind, `np.` is dropped and the operands of commutative operations are
    sorted, so `a * x + y` and `y + x * a` agree. Two arrays are not told apart: rather one reference
    too few than the answer in the prompt.
    """
    kinds = {p.name: f"array<{p.element}>" if p.pointer else f"scalar<{p.type}>" for p in spec.kernel.params}
    return " | ".join(_normal(tree, kinds) for tree in oracle_trees(spec))


def _normal(node: ast.AST, kinds: dict[str, str]) -> str:
    match node:
        case ast.Name(id=name):
            return kinds.get(name, name)
        case ast.Constant(value=value):
            return f"{float(value):g}" if isinstance(value, int | float) else repr(value)
        case ast.Attribute(value=ast.Name(id="np" | "numpy"), attr=name):
            return name
        case ast.BinOp(op=operator, left=left, right=right):
            name = _BINARY.get(type(operator), type(operator).__name__)
            return _application(name, [_normal(left, kinds), _normal(right, kinds)])
        case ast.Call(func=function, args=arguments, keywords=keywords):
            words = [f"{k.arg}={_normal(k.value, kinds)}" for k in keywords]
            return _application(_normal(function, kinds), [_normal(a, kinds) for a in arguments] + words)
    parts = [_normal(child, kinds) for child in ast.iter_child_nodes(node)]
    return f"{type(node).__name__}({', '.join(parts)})"


def _application(name: str, parts: list[str]) -> str:
    return f"{name}({', '.join(sorted(parts) if name in _COMMUTATIVE else parts)})"
