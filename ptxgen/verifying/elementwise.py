"""Functions of an oracle that work element by element, over tracked numbers.

A monotone function of one variable is taken at both ends of its argument's interval.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ptxgen.verifying.approximations import approximation_error
from ptxgen.verifying.storage import Array
from ptxgen.verifying.tracked import Arithmetic, Tracked, exact, truth

Function = Callable[..., Tracked]

_MONOTONE: dict[str, Callable[[Array], Array]] = {
    name: getattr(np, name)
    for name in [
        "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "cbrt", "tanh", "arctan", "floor",
        "ceil", "trunc", "rint", "sign",
    ]
}  # fmt: skip
_OPERATORS = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "true_divide": "/", "floor_divide": "//",
    "mod": "%", "remainder": "%", "power": "**", "pow": "**", "bitwise_and": "&", "bitwise_or": "|",
    "bitwise_xor": "^", "left_shift": "<<", "right_shift": ">>",
}  # fmt: skip
_COMPARISONS = {
    "equal": "==", "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=",
}  # fmt: skip


class Elementwise:
    """`named`: every function by its name; each takes and gives Tracked."""

    def __init__(self, arithmetic: Arithmetic) -> None:
        self.arithmetic = arithmetic
        invert = arithmetic.invert
        self.named: dict[str, Function] = {
            **{name: self._monotone(name) for name in _MONOTONE},
            **{name: self._operator(sign) for name, sign in _OPERATORS.items()},
            **{name: self._comparison(sign) for name, sign in _COMPARISONS.items()},
            **{name: self._classifier(name) for name in ("isnan", "isinf", "isfinite")},
            **dict.fromkeys(("abs", "absolute", "fabs"), self.absolute),
            **dict.fromkeys(("bitwise_not", "invert"), invert),
            "negative": arithmetic.negative,
            "positive": lambda x: x,
            "square": lambda x: self._op("*", x, x),
            "reciprocal": lambda x: self._op("/", exact(1), x),
            "round": self.round,
            "sin": self._wave("sin"),
            "cos": self._wave("cos"),
            "tan": lambda x: self._op("/", self._wave("sin")(x), self._wave("cos")(x)),
            "cosh": lambda x: self._exponentials(x, "+"),
            "sinh": lambda x: self._exponentials(x, "-"),
            "maximum": self._extremum(np.maximum),
            "minimum": self._extremum(np.minimum),
            "fmax": self._extremum(np.fmax),
            "fmin": self._extremum(np.fmin),
            "fmod": self.fmod,
            "clip": self.clip,
            "hypot": self.hypot,
            "where": arithmetic.choose,
            "copysign": self.copysign,
            "logical_and": self._logical("&"),
            "logical_or": self._logical("|"),
            "logical_xor": self._logical("^"),
            "logical_not": lambda x: invert(truth(arithmetic, x)),
            "bitwise_count": self.bitwise_count,
        }

    def _op(self, sign: str, a: Tracked, b: Tracked) -> Tracked:
        return self.arithmetic.binary(sign, a, b)

    def _operator(self, sign: str) -> Function:
        return lambda a, b: self._op(sign, a, b)

    def _comparison(self, sign: str) -> Function:
        return lambda a, b: self.arithmetic.compare(sign, a, b)

    def _monotone(self, name: str) -> Function:
        function = _MONOTONE[name]

        def apply(x: Tracked) -> Tracked:
            precision, (x,) = self.arithmetic.floats(x)
            with np.errstate(all="ignore"):
                value = function(x.value)
                ends = [np.abs(function(x.value + side * x.bound) - value) for side in (-1, 1)]
                propagated = np.where(x.bound > 0, np.nan_to_num(np.maximum(*ends), nan=np.inf), 0.0)
            own = approximation_error(name, x.value, value, precision)
            return self.arithmetic.rounded(value, propagated + own, precision)

        return apply

    def _wave(self, name: str) -> Function:
        def apply(x: Tracked) -> Tracked:
            precision, (x,) = self.arithmetic.floats(x)
            with np.errstate(all="ignore"):
                value = getattr(np, name)(x.value)
            own = approximation_error(name, x.value, value, precision)
            return self.arithmetic.rounded(value, x.bound + own, precision)

        return apply

    def _exponentials(self, x: Tracked, sign: str) -> Tracked:
        exp = self.named["exp"]
        return self._op("/", self._op(sign, exp(x), exp(self.arithmetic.negative(x))), exact(2.0))

    def _extremum(self, function: Callable[[Array, Array], Array]) -> Function:
        def apply(a: Tracked, b: Tracked) -> Tracked:
            precision, left, right = self.arithmetic.alike(a, b)
            value = np.asarray(function(left.value, right.value))
            # Only an operand that can win passes its error on.
            with np.errstate(all="ignore"):
                far = [
                    np.abs(value - x.value.astype(np.float64)) > left.bound + right.bound
                    if value.dtype.kind == "f"
                    else False
                    for x in (left, right)
                ]
            bounds = [np.where(out, 0.0, x.bound) for out, x in zip(far, (left, right), strict=True)]
            return Tracked(value, np.broadcast_to(np.maximum(*bounds), value.shape), precision)

        return apply

    def absolute(self, x: Tracked) -> Tracked:
        return Tracked(np.asarray(np.abs(x.value)), x.bound, x.precision)

    def round(self, x: Tracked) -> Tracked:
        return self.named["rint"](x)

    def clip(self, x: Tracked, low: Tracked | None = None, high: Tracked | None = None) -> Tracked:
        if low is not None:
            x = self.named["maximum"](x, low)
        return x if high is None else self.named["minimum"](x, high)

    def hypot(self, a: Tracked, b: Tracked) -> Tracked:
        return self.named["sqrt"](self._op("+", self._op("*", a, a), self._op("*", b, b)))

    def copysign(self, a: Tracked, b: Tracked) -> Tracked:
        precision, (a, b) = self.arithmetic.floats(a, b)
        value = np.copysign(a.value, b.value)
        unsure = (b.bound > 0) & (np.abs(b.value) <= b.bound)
        return Tracked(value, np.where(unsure, a.bound + 2 * np.abs(value), a.bound), precision)

    def _classifier(self, name: str) -> Function:
        def apply(x: Tracked) -> Tracked:
            if x.kind != "float":
                x = Tracked(x.value.astype(np.float64), x.bound)
            return Tracked(np.asarray(getattr(np, name)(x.value)), np.where(np.isinf(x.bound), 1.0, 0.0))

        return apply

    def _logical(self, sign: str) -> Function:
        return lambda a, b: self._op(sign, truth(self.arithmetic, a), truth(self.arithmetic, b))

    def bitwise_count(self, x: Tracked) -> Tracked:
        """Ones among the bits of the magnitude, as NumPy counts."""
        ones = [abs(int(value)).bit_count() for value in x.value.ravel()]
        return exact(np.array(ones, dtype=np.int64).reshape(x.shape))

    def fmod(self, a: Tracked, b: Tracked) -> Tracked:
        """The remainder with the sign of the dividend."""
        return self.copysign(self._op("%", self.absolute(a), self.absolute(b)), a)
