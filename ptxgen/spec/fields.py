"""How single values of a spec are read: lists, ranges, tolerances, numbers.

Each function takes what TOML gave and returns the value, or raises Unfit with what would be right.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import PlainValidator

from ptxgen.spec.expression import Expression
from ptxgen.spec.problems import Unfit, nearest


def as_list(value: object) -> object:
    if isinstance(value, list):
        return tuple(value)
    raise Unfit("must be a list", "write it in brackets: [256]")


def one_of(known: tuple[str, ...]) -> Any:
    def check(value: object) -> object:
        if value not in known:
            raise Unfit(
                f"{value!r:.40} is none of {', '.join(known)}",
                nearest(value, known) if isinstance(value, str) else "",
            )
        return value

    return PlainValidator(check)


def finite(value: float) -> float:
    if not math.isfinite(value):
        raise Unfit("must be a finite number", "NaN and infinity cannot stand here")
    return value


Size = Annotated[Expression, PlainValidator(Expression.parse)]


def as_number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e308:
        raise Unfit(f"{value!s:.40} is not a finite number")
    return finite(float(value))


Number = Annotated[float, PlainValidator(as_number)]


def as_names(value: object) -> object:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list):
        return tuple(value)
    raise Unfit("must be a name, or a list of names", 'write it as "sm_80"')


def as_expressions(value: object) -> object:
    """The text itself, or a table of output name to text."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and value and all(isinstance(text, str) for text in value.values()):
        return value
    raise Unfit("must be an expression, or a table with one expression for each output")


@dataclass(frozen=True, slots=True)
class SizeRange:
    """`low` to `high`, inclusive; or, when `derived` is set, computed from other sizes."""

    low: int
    high: int
    derived: Expression | None = None


def as_size_range(value: object) -> SizeRange:
    if isinstance(value, str):
        return SizeRange(0, 0, Expression.parse(value))
    bounds = [value, value] if type(value) is int else value
    if not isinstance(bounds, list) or len(bounds) != 2 or any(type(bound) is not int for bound in bounds):
        raise Unfit(
            "must be a range of whole numbers, a number, or arithmetic over other sizes",
            'write [0, 4096], 64 or "2 * n"',
        )
    if not 0 <= bounds[0] <= bounds[1] < 2**31:
        raise Unfit(f"[{bounds[0]:.6g}, {bounds[1]:.6g}] is not a range", "the smaller first, from 0 to 2147483647")
    return SizeRange(bounds[0], bounds[1])


@dataclass(frozen=True, slots=True)
class ValueRange:
    """`low` to `high`, inclusive."""

    low: float
    high: float


def as_value_range(value: object) -> ValueRange:
    if not isinstance(value, list) or len(value) != 2 or any(type(bound) not in (int, float) for bound in value):
        raise Unfit("must be a range of two numbers", "write [-1.0, 1.0]")
    low, high = (finite(bound) if isinstance(bound, float) else bound for bound in value)
    if not low <= high:
        raise Unfit(f"[{low:g}, {high:g}] is not a range", "the smaller number comes first")
    return ValueRange(low, high)


@dataclass(frozen=True, slots=True)
class Tolerance:
    """`ulp`, or `rtol` and `atol` as in `numpy.isclose`."""

    rtol: float = 0.0
    atol: float = 0.0
    ulp: float | None = None


def as_tolerance(value: object) -> Tolerance | Literal["auto"]:
    fix = 'write "auto", { rtol = 1e-5, atol = 1e-6 } or { ulp = 2 }'
    if value == "auto":
        return "auto"
    if not isinstance(value, dict) or not value:
        raise Unfit(f"{value!r:.40} is no tolerance", fix)
    for key, number in value.items():
        if key not in ("rtol", "atol", "ulp"):
            raise Unfit(f"unknown key `{key}` in a tolerance", nearest(key, ("rtol", "atol", "ulp")))
        if type(number) not in (int, float) or not math.isfinite(number) or number < 0:
            raise Unfit(f"`{key}` must be a finite number from 0", fix)
    if "ulp" in value and len(value) > 1:
        raise Unfit("`ulp` stands alone, without `rtol` and `atol`", fix)
    return Tolerance(**{key: float(number) for key, number in value.items()})
