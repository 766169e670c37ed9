"""Walking an oracle's expression: every node becomes a tracked number.

The expression has been checked by `ptxgen.spec.oracle`, so only the allowed nodes and functions occur here.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ptxgen.spec import REDUCTIONS, SHAPING, OracleExpression, function_name
from ptxgen.verifying.functions import functions
from ptxgen.verifying.storage import Precision
from ptxgen.verifying.tracked import Arithmetic, OracleFailure, Tracked, exact

#: No array of an oracle may have more elements.
MAX_ELEMENTS = 2**26

_CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan, "newaxis": None}
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
}  # fmt: skip
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip

# Which arguments are plain shapes, axes and amounts: all, all but the first, and these keywords.
_ALL_PLAIN = frozenset({"zeros", "ones", "arange", "eye"})
_REST_PLAIN = (REDUCTIONS | SHAPING) - {"dot", "matmul", "take", "outer"}
_PLAIN_KEYWORDS = frozenset(
    [
        "axis", "axis1", "axis2", "axes", "keepdims", "minlength", "mode", "constant_values", "shape",
        "shift", "repeats", "reps",
    ]
)  # fmt: skip
_GROWING = frozenset(["zeros", "ones", "arange", "eye", "full", "repeat", "tile", "broadcast_to", "pad", "bincount"])


def evaluate(expression: OracleExpression, values: Mapping[str, Tracked], default: Precision) -> Tracked:
    """The expression at these values. Raises OracleFailure where NumPy cannot do what it says."""
    return _Evaluator(values, default).number(expression.tree)


class _Evaluator:
    def __init__(self, values: Mapping[str, Tracked], default: Precision) -> None:
        self.values = values
        self.arithmetic = Arithmetic(default)
        self.functions = functions(self.arithmetic)

    def number(self, node: ast.expr) -> Tracked:
        result = self.visit(node)
        if isinstance(result, Tracked):
            return result
        raise OracleFailure(f"`{ast.unparse(node)[:60]}` is no number")

    def visit(self, node: ast.expr) -> Any:
        """A Tracked, or None, a text, Ellipsis, or a tuple of such."""
        match node:
            case ast.Constant(value=value):
                return _constant(value) if isinstance(value, bool | int | float) else value
            case ast.Name(id=name) if name in self.values:
                return self.values[name]
            case ast.Name() | ast.Attribute():
                value = _CONSTANTS[function_name(node) or ""]
                return None if value is None else exact(value)
            case ast.UnaryOp(op=op, operand=operand):
                inner = self.number(operand)
                if isinstance(op, ast.USub):
                    return self.arithmetic.negative(inner)
                return self.arithmetic.invert(inner) if isinstance(op, ast.Invert) else inner
            case ast.BinOp(op=ast.MatMult(), left=left, right=right):
                return self.functions["matmul"](self.number(left), self.number(right))
            case ast.BinOp(op=op, left=left, right=right):
                return self.arithmetic.binary(_OPERATORS[type(op)], self.number(left), self.number(right))
            case ast.Compare(ops=[op], left=left, comparators=[right]):
                return self.arithmetic.compare(_COMPARISONS[type(op)], self.number(left), self.number(right))
            case ast.Call():
                return self.call(node)
            case ast.Subscript(value=value, slice=index):
                array = self.number(value)
                at = self.index(index)
                return Tracked(np.asarray(array.value[at]), np.asarray(array.bound[at]), array.precision)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                return tuple(self.visit(element) for element in elements)
        raise AssertionError("the spec's check lets nothing else through")

    def call(self, node: ast.Call) -> Tracked:
        name = function_name(node.func) or ""
        arguments = [self.visit(argument) for argument in node.args]
        keywords = {item.arg or "": self.visit(item.value) for item in node.keywords}
        first_plain = 0 if name in _ALL_PLAIN else 1 if name in _REST_PLAIN else 2 if name == "bincount" else 99
        arguments = [plain(item) if i >= first_plain else item for i, item in enumerate(arguments)]
        if name == "full" and arguments:
            arguments[0] = plain(arguments[0])
        keywords = {key: plain(item) if key in _PLAIN_KEYWORDS else item for key, item in keywords.items()}
        if name in _GROWING:
            _bounded([*arguments, *keywords.values()])
        try:
            result = self.functions[name](*arguments, **keywords)
        except AttributeError as error:
            raise OracleFailure(f"`{name}` does not take these arguments") from error
        if result.value.size > MAX_ELEMENTS:
            raise OracleFailure(f"`{name}` makes an array of {result.value.size} elements")
        return result

    def index(self, node: ast.expr) -> Any:
        match node:
            case ast.Tuple(elts=elements):
                return tuple(self.index(element) for element in elements)
            case ast.Slice(lower=lower, upper=upper, step=step):
                return slice(*(None if part is None else plain(self.visit(part)) for part in (lower, upper, step)))
        value = self.visit(node)
        if isinstance(value, Tracked) and value.value.ndim:
            if value.kind == "float" or value.bound.any():
                raise OracleFailure(f"`{ast.unparse(node)[:60]}` cannot be an index: it is not exact")
            return value.value if value.kind == "bool" else value.value.astype(np.int64)
        return plain(value)


def _constant(value: bool | int | float) -> Tracked:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 2**63:
        return exact(np.array(value, dtype=np.uint64))
    return exact(value)


def plain(value: Any) -> Any:
    """A shape, an axis or an amount as Python knows it. Raises OracleFailure for anything that is not exact."""
    if isinstance(value, tuple):
        return tuple(plain(item) for item in value)
    if not isinstance(value, Tracked):
        return value
    if value.value.ndim or value.bound.any():
        raise OracleFailure("a shape or an axis must be a number that does not depend on the data")
    number = value.value.item()
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _bounded(arguments: list[Any]) -> None:
    """Refuse shapes and counts that would fill the memory."""
    for argument in arguments:
        numbers = argument if isinstance(argument, tuple) else (argument,)
        flat = [n for item in numbers for n in (item if isinstance(item, tuple) else (item,))]
        extents = [max(1, abs(n)) for n in flat if isinstance(n, int | float) and not isinstance(n, bool)]
        if extents and math.prod(extents) > MAX_ELEMENTS:
            raise OracleFailure(f"an array of more than {MAX_ELEMENTS} elements")
