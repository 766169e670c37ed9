"""Arithmetic over sizes, as in `ceil(n / 256)`: parsed once, evaluated exactly.

Numbers are fractions until the end, so `n / 256` keeps its remainder and `ceil` is exact; the result
must be whole. Everything is bounded: the text, the depth, and each intermediate number.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from ptxgen.spec.problems import SpecError, Unfit, nearest

MAX_TEXT = 400
MAX_DEPTH = 40
#: No size, count of bytes or grid can be larger than this, intermediate results included.
MAX_NUMBER = 2**63

_BINARY: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: Fraction(a // b),
    ast.Mod: lambda a, b: a % b,
}
_FUNCTIONS: dict[str, tuple[int, int, Callable[..., Fraction]]] = {
    "ceil": (1, 1, lambda a: Fraction(math.ceil(a))),
    "floor": (1, 1, lambda a: Fraction(math.floor(a))),
    "min": (1, 8, lambda *a: min(a)),
    "max": (1, 8, lambda *a: max(a)),
}
SIZE_FUNCTIONS = frozenset(_FUNCTIONS)
_HELP = "use + - * / // %, ceil, floor, min, max, parentheses, whole numbers and the names of sizes"


@dataclass(frozen=True, slots=True)
class Expression:
    """A checked expression. `names` are the sizes it mentions, in order of appearance."""

    text: str
    names: tuple[str, ...]
    _tree: ast.expr = field(repr=False, compare=False)

    @classmethod
    def parse(cls, value: object) -> Expression:
        """From an int or a text. Raises Unfit for anything that is not size arithmetic."""
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise Unfit(f"{value!r:.40} is neither a whole number nor arithmetic over sizes", _HELP)
        if isinstance(value, int) and abs(value) > MAX_NUMBER:
            raise Unfit("a number beyond 64 bits")
        text = value if isinstance(value, str) else str(value)
        if not text.strip():
            raise Unfit("an empty expression", _HELP)
        if len(text) > MAX_TEXT:
            raise Unfit(f"an expression of {len(text)} characters; {MAX_TEXT} are the most", _HELP)
        try:
            tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise Unfit(f"`{_short(text)}` is not an expression", _HELP) from error
        names: dict[str, None] = {}
        _check(tree, names, 0)
        return cls(text.strip(), tuple(names), tree)

    @property
    def constant(self) -> bool:
        return not self.names

    def evaluate(self, sizes: Mapping[str, int]) -> int:
        """The value at these sizes. Raises SpecError when it is not a whole number or out of range."""
        try:
            value = _evaluate(self._tree, sizes)
        except ZeroDivisionError:
            raise SpecError(f"`{self.text}` divides by zero{_at(self.names, sizes)}") from None
        except OverflowError:
            raise SpecError(f"`{self.text}` leaves the range of 64 bits{_at(self.names, sizes)}") from None
        if value.denominator != 1:
            raise SpecError(
                f"`{self.text}` is {float(value):g}{_at(self.names, sizes)}, not a whole number",
                fix=f"write `ceil({self.text})` or divide with `//`",
            )
        return value.numerator

    def __str__(self) -> str:
        return self.text


def _at(names: tuple[str, ...], sizes: Mapping[str, int]) -> str:
    known = ", ".join(f"{name} = {sizes[name]}" for name in names if name in sizes)
    return f" at {known}" if known else ""


def _short(text: str) -> str:
    line = re.sub(r"\s+", " ", text)
    return line if len(line) <= 60 else line[:57] + "..."


def _check(node: ast.expr, names: dict[str, None], depth: int) -> None:
    if depth > MAX_DEPTH:
        raise Unfit(f"an expression nested more than {MAX_DEPTH} deep")
    match node:
        case ast.Constant(value=bool()):
            raise Unfit(f"{node.value!r} is not a number", _HELP)
        case ast.Constant(value=int(value)):
            if value > MAX_NUMBER:
                raise Unfit("a number beyond 64 bits")
        case ast.Name(id=name):
            if name in SIZE_FUNCTIONS:
                raise Unfit(f"`{name}` is a function: write `{name}(…)`")
            names[name] = None
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            _check(operand, names, depth + 1)
        case ast.BinOp(op=op, left=left, right=right) if type(op) in _BINARY:
            _check(left, names, depth + 1)
            _check(right, names, depth + 1)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            if name not in _FUNCTIONS:
                raise Unfit(f"there is no function `{name}`", nearest(name, SIZE_FUNCTIONS))
            least, most, _ = _FUNCTIONS[name]
            if not least <= len(arguments) <= most:
                raise Unfit(f"`{name}` takes {least if least == most else f'{least} to {most}'} argument(s)")
            for argument in arguments:
                _check(argument, names, depth + 1)
        case _:
            raise Unfit(f"`{_short(ast.unparse(node))}` is not size arithmetic", _HELP)


def _evaluate(node: ast.expr, sizes: Mapping[str, int]) -> Fraction:
    match node:
        case ast.Constant(value=int(value)):
            result = Fraction(value)
        case ast.Name(id=name):
            if name not in sizes:
                raise SpecError(f"no value for the size `{name}`", fix=nearest(name, sizes))
            result = Fraction(sizes[name])
        case ast.UnaryOp(op=op, operand=operand):
            inner = _evaluate(operand, sizes)
            result = -inner if isinstance(op, ast.USub) else inner
        case ast.BinOp(op=op, left=left, right=right):
            result = _BINARY[type(op)](_evaluate(left, sizes), _evaluate(right, sizes))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            result = _FUNCTIONS[name][2](*(_evaluate(argument, sizes) for argument in arguments))
        case _:
            raise AssertionError("`_check` lets nothing else through")
    if abs(result.numerator) > MAX_NUMBER or result.denominator > MAX_NUMBER:
        raise OverflowError
    return result
