"""Numbers that know how far a correct kernel may be from them: a value and a running error bound.

Values are float64 (or exact integers, or truth values). Each operation adds what one rounding to the
operands' type costs, u·|value|, to what its operands' bounds become in it (Higham, Accuracy and Stability
of Numerical Algorithms, chapters 2 and 3). Approximate instructions add their documented errors
(`functions.py`). A bound of infinity says that the element tells nothing: an intermediate result left
the range of the type, or a comparison could go either way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ptxgen.verifying.storage import Array, Precision

Kind = Literal["float", "int", "bool"]


class OracleFailure(Exception):
    """The oracle cannot be evaluated on these inputs; told as a SpecError where the spec is known."""


@dataclass(frozen=True, slots=True, eq=False)
class Tracked:
    """`bound` has the shape of `value`. `precision` None: an integer, a truth value, or a constant of the
    expression, which takes the type of what it meets."""

    value: Array
    bound: Array
    precision: Precision | None = None

    @property
    def kind(self) -> Kind:
        code = self.value.dtype.kind
        return "float" if code == "f" else "bool" if code == "b" else "int"

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape


def exact(value: object, precision: Precision | None = None) -> Tracked:
    """A value without error."""
    array = np.asarray(value)
    return Tracked(array, np.zeros(array.shape), precision)


def product(a: Array, b: Array) -> Array:
    """a·b for bounds: zero times infinity is zero."""
    with np.errstate(all="ignore"):
        return np.where((a == 0) | (b == 0), 0.0, a * b)


class Arithmetic:
    """The operators of an oracle's expression. `default` is the precision of what is computed from
    integers and constants alone: that of the output."""

    def __init__(self, default: Precision) -> None:
        self.default = default

    # ------------------------------------------------------------ kinds

    def floats(self, *operands: Tracked) -> tuple[Precision, tuple[Tracked, ...]]:
        """Operands as floats of one precision: the widest of those that have one."""
        known = [operand.precision for operand in operands if operand.precision is not None]
        precision = max(known, key=lambda item: item.digits) if known else self.default
        return precision, tuple(self._as_float(operand, precision) for operand in operands)

    def _as_float(self, operand: Tracked, precision: Precision) -> Tracked:
        value = operand.value.astype(np.float64)
        bound = operand.bound
        if operand.precision is None:
            # A constant or an integer is rounded when it becomes a number of that type.
            rounded = precision.round(value)
            with np.errstate(invalid="ignore"):
                bound = bound + np.where(np.isfinite(rounded) & (rounded != value), precision.u * np.abs(value), 0)
        with np.errstate(invalid="ignore", over="ignore"):
            overflowed = np.isfinite(value) & (np.abs(value) + bound > precision.largest)
        return Tracked(value, np.where(overflowed, np.inf, bound), precision)

    def rounded(self, value: Array, bound: Array, precision: Precision, roundings: float = 1.0) -> Tracked:
        """The result of an operation: `bound` as propagated, and `roundings` roundings on top."""
        value = np.asarray(value, dtype=np.float64)
        # float64 arithmetic of ours is no better than a double-precision kernel's: count it too.
        u = precision.u * (2 if precision.digits == 53 else 1)
        with np.errstate(all="ignore"):
            bound = np.where(np.isnan(bound), np.inf, bound)
            own = roundings * (u * np.abs(value) + precision.smallest / 2)
            # An infinity or NaN that exact operands make is required exactly.
            total = np.where(np.isfinite(value), bound + own, np.where(np.isinf(bound), np.inf, 0.0))
        return Tracked(value, np.broadcast_to(total, value.shape).astype(np.float64), precision)

    def alike(self, a: Tracked, b: Tracked) -> tuple[Precision | None, Tracked, Tracked]:
        """Two operands in one kind of number."""
        if "float" in (a.kind, b.kind):
            precision, (left, right) = self.floats(a, b)
            return precision, left, right
        if np.uint64 in (a.value.dtype, b.value.dtype) or "O" in (a.value.dtype.kind, b.value.dtype.kind):
            return None, Tracked(a.value.astype(object), a.bound), Tracked(b.value.astype(object), b.bound)
        return None, a, b

    # ------------------------------------------------------------ operators

    def binary(self, operator: str, a: Tracked, b: Tracked) -> Tracked:
        if operator in _LOGIC and a.kind == b.kind == "bool":
            return self._logic(operator, a, b)
        if a.kind != "float" and b.kind != "float" and operator not in ("/",):
            return self._integers(operator, a, b)
        if operator in ("&", "|", "^", "<<", ">>"):
            raise OracleFailure(f"`{operator}` needs integers")
        precision, (a, b) = self.floats(a, b)
        return _FLOAT_RULES[operator](self, a, b, precision)

    def _integers(self, operator: str, a: Tracked, b: Tracked) -> Tracked:
        left, right = _integer_array(a), _integer_array(b)
        if {left.dtype.kind, right.dtype.kind} != {"i"}:
            # uint64 does not mix with int64 in NumPy; Python's integers hold both.
            left, right = left.astype(object), right.astype(object)
        with np.errstate(all="ignore"):
            value = np.asarray(_integer_rule(operator, left, right))
        doubt = np.maximum(*np.broadcast_arrays(a.bound, b.bound))
        if not doubt.any():
            return exact(value)
        if operator in ("+", "-"):
            return Tracked(value, a.bound + b.bound)
        return Tracked(value, np.where(doubt > 0, np.inf, 0.0))

    def _logic(self, operator: str, a: Tracked, b: Tracked) -> Tracked:
        rule = {"&": np.logical_and, "|": np.logical_or, "^": np.logical_xor}[operator]
        value = rule(a.value, b.value)
        # In doubt only where flipping what is in doubt can change the result.
        unsure = np.zeros(value.shape, dtype=bool)
        for flip_a in (False, True):
            for flip_b in (False, True):
                other = rule(a.value ^ (flip_a & (a.bound > 0)), b.value ^ (flip_b & (b.bound > 0)))
                unsure |= other != value
        return Tracked(value, unsure.astype(np.float64))

    def negative(self, a: Tracked) -> Tracked:
        value = -_integer_array(a) if a.kind != "float" else -a.value
        return Tracked(np.asarray(value), a.bound, a.precision)

    def invert(self, a: Tracked) -> Tracked:
        if a.kind == "float":
            raise OracleFailure("`~` needs integers or a condition")
        value = ~a.value if a.kind == "bool" else np.asarray(~_integer_array(a))
        return Tracked(value, a.bound)

    def compare(self, operator: str, a: Tracked, b: Tracked) -> Tracked:
        """A condition; its bound is 1 where the operands' errors could decide it, else 0."""
        rule = _COMPARISONS[operator]
        if a.kind == "float" or b.kind == "float":
            _, (a, b) = self.floats(a, b)
            left, right = a.value, b.value
        else:
            left, right = _integer_array(a).astype(object), _integer_array(b).astype(object)
        with np.errstate(all="ignore"):
            value = np.asarray(rule(left, right)).astype(bool)
            doubt = a.bound + b.bound
            apart = np.abs(np.asarray(left - right, dtype=np.float64))
            unsure = (doubt > 0) & ~(apart > doubt)
        return Tracked(value, np.broadcast_to(unsure, value.shape).astype(np.float64))

    def choose(self, condition: Tracked, a: Tracked, b: Tracked) -> Tracked:
        """`where`: in doubt about the condition, either choice is right."""
        if condition.kind != "bool":
            condition = self.compare("!=", condition, exact(0))
        precision: Precision | None = None
        if a.kind == "float" or b.kind == "float":
            precision, (a, b) = self.floats(a, b)
            left, right = a.value, b.value
        else:
            left, right = _together(a, b)
        value = np.asarray(np.where(condition.value, left, right))
        bound = np.where(condition.value, a.bound, b.bound)
        with np.errstate(all="ignore"):
            apart = np.nan_to_num(np.abs(np.asarray(left - right, dtype=np.float64)), nan=np.inf)
            bound = np.where(condition.bound > 0, a.bound + b.bound + apart, bound)
        return Tracked(value, np.broadcast_to(bound, value.shape), precision)


def integers(x: Tracked) -> Array:
    """The value of an integer or truth value. Raises OracleFailure for floats."""
    if x.kind == "float":
        raise OracleFailure("integers are needed where the oracle has floats")
    return x.value.astype(np.int64) if x.kind == "bool" else x.value


def truth(arithmetic: Arithmetic, x: Tracked) -> Tracked:
    """A condition: numbers are true unless 0."""
    return x if x.kind == "bool" else arithmetic.compare("!=", x, exact(0))


def _integer_array(operand: Tracked) -> Array:
    if operand.kind == "bool":
        return operand.value.astype(np.int64)
    if operand.kind == "float":
        raise OracleFailure("an integer is needed where the oracle has a float")
    if operand.value.dtype.kind == "O" or operand.value.dtype == np.uint64:
        return operand.value
    return operand.value.astype(np.int64)


def _together(a: Tracked, b: Tracked) -> tuple[Array, Array]:
    """Two integer operands in one dtype."""
    if a.kind == b.kind == "bool":
        return a.value.astype(np.int64), b.value.astype(np.int64)
    left, right = _integer_array(a), _integer_array(b)
    if left.dtype != right.dtype:
        return left.astype(object), right.astype(object)
    return left, right


def _integer_rule(operator: str, a: Array, b: Array) -> Array:
    match operator:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "//" | "%":
            if (b == 0).any():
                raise OracleFailure("an integer division by zero")
            return a // b if operator == "//" else a % b
        case "&":
            return a & b
        case "|":
            return a | b
        case "^":
            return a ^ b
        case "<<" | ">>":
            if (b < 0).any():
                raise OracleFailure("a shift by a negative amount")
            # From 64 on everything is shifted out; NumPy leaves such shifts undefined.
            if operator == "<<":
                shifted = a << np.minimum(b, 63)
                return np.where(b > 63, shifted * 0, shifted)
            return a >> np.minimum(b, 63)
        case "**":
            if (b < 0).any() or (b > 64).any():
                raise OracleFailure("an integer power is from 0 to 64")
            return a**b
    raise OracleFailure(f"`{operator}` needs floats")


def _add(self: Arithmetic, a: Tracked, b: Tracked, precision: Precision) -> Tracked:
    with np.errstate(all="ignore"):
        return self.rounded(a.value + b.value, a.bound + b.bound, precision)


def _subtract(self: Arithmetic, a: Tracked, b: Tracked, precision: Precision) -> Tracked:
    with np.errstate(all="ignore"):
        return self.rounded(a.value - b.value, a.bound + b.bound, precision)


def _multiply(self: Arithmetic, a: Tracked, b: Tracked, precision: Precision) -> Tracked:
    left, right = np.abs(a.value), np.abs(b.value)
    bound = product(left, b.bound) + product(right, a.bound) + product(a.bound, b.bound)
    with np.errstate(all="ignore"):
        return self.rounded(a.value * b.value, bound, precision)


def _divide(self: Arithmetic, a: Tracked, b: Tracked, precision: Precision) -> Tracked:
    """div.full and div.approx: 2 ulp, that is 4 u, for divisors from 2^-126 to 2^126."""
    with np.errstate(all="ignore"):
        value = a.value / b.value
        room = np.abs(b.value) - b.bound
        bound = (a.bound + product(np.abs(value), b.bound)) / room
        bound = np.where((a.bound == 0) & (b.bound == 0), 0.0, np.where(room > 0, bound, np.inf))
        if precision.name == "f32":
            outside = (np.abs(b.value) < 2.0**-126) | (np.abs(b.value) > 2.0**126)
            bound = np.where(outside & (b.value != 0) & np.isfinite(b.value), np.inf, bound)
    return self.rounded(value, bound, precision, roundings=1 if precision.digits == 53 else 4)


def _floor_divide(self: Arithmetic, a: Tracked, b: Tracked, precision: Precision) -> Tracked:
    quotient = _divide(self, a, b, precision)
    with np.errstate(all="ignore"):
        low = np.floor(quotient.value - quotient.bound)
        high = np.floor(quotient.value + quotient.bound)
        value = np.floor(quotient.value)
        return Tracked(value, np.nan_to_num(np.maximum(high - value, value - low), nan=np.inf), precision)


def _remainder(self: Arithmetic, a: Tracked, b: Tracked, precision: Precision) -> Tracked:
    """a - floor(a/b)·b; near a multiple of b either end of the range is right."""
    whole = _floor_divide(self, a, b, precision)
    with np.errstate(all="ignore"):
        value = np.mod(a.value, b.value)
        bound = a.bound + product(np.abs(whole.value), b.bound) + precision.u * np.abs(a.value)
        bound = np.where(whole.bound > 0, bound + np.abs(b.value), bound)
    return self.rounded(value, bound, precision)


def _power(self: Arithmetic, a: Tracked, b: Tracked, precision: Precision) -> Tracked:
    """Repeated products, or ex2.approx(b · lg2.approx(a)); the larger error is granted."""
    with np.errstate(all="ignore"):
        value = np.power(a.value, b.value)
        corners = [
            np.abs(np.power(a.value + s * a.bound, b.value + t * b.bound) - value) for s in (-1, 1) for t in (-1, 1)
        ]
        bound = np.where((a.bound == 0) & (b.bound == 0), 0.0, np.maximum.reduce(corners))
        logarithm = np.abs(np.log2(np.abs(a.value)))
        steps = np.abs(b.value) * (np.log(2) * 4 * precision.u * np.maximum(1.0, logarithm))
        relative = steps + (4 + 2 * np.abs(b.value)) * precision.u
        bound = bound + product(np.nan_to_num(relative, posinf=0.0), np.abs(value))
    return self.rounded(value, bound, precision)


_LOGIC = frozenset("&|^")
_FLOAT_RULES: dict[str, Callable[[Arithmetic, Tracked, Tracked, Precision], Tracked]] = {
    "+": _add, "-": _subtract, "*": _multiply, "/": _divide, "//": _floor_divide, "%": _remainder, "**": _power,
}  # fmt: skip
_COMPARISONS: dict[str, Callable[[Array, Array], Array]] = {
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
}  # fmt: skip
