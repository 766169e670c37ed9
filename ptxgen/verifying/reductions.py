"""Functions of an oracle that take many elements together, over tracked numbers.

Sums are granted n·u times the sum of absolute values, never a part of the result, which covers any order
of addition (Higham, Accuracy and Stability of Numerical Algorithms, section 4.2).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptxgen.verifying.storage import PRECISIONS, Array, Precision
from ptxgen.verifying.tracked import Arithmetic, Tracked, exact, integers, truth

Function = Callable[..., Tracked]


class Reductions:
    """`named`: every function by its name; axes are plain numbers."""

    def __init__(self, arithmetic: Arithmetic, square_root: Function) -> None:
        self.arithmetic = arithmetic
        self.named: dict[str, Function] = {
            "sum": self.sum,
            "mean": self.mean,
            "prod": self.prod,
            "var": self.var,
            "std": lambda x, **k: square_root(self.var(x, **k)),
            "cumsum": self.cumsum,
            **dict.fromkeys(("max", "amax"), self._extremum(np.max)),
            **dict.fromkeys(("min", "amin"), self._extremum(np.min)),
            "any": self._truth(np.any),
            "all": self._truth(np.all),
            "argmax": self._position(np.argmax),
            "argmin": self._position(np.argmin),
            "count_nonzero": lambda x, *a, **k: self.sum(truth(arithmetic, x), *a, **k),
            **dict.fromkeys(("dot", "matmul"), self.matmul),
            "bincount": self.bincount,
        }

    def sum(self, x: Tracked, axis: Any = None, keepdims: bool = False) -> Tracked:
        if x.kind != "float":
            value = x.value.astype(np.int64) if x.kind == "bool" else x.value
            return Tracked(
                np.asarray(value.sum(axis=axis, keepdims=keepdims)),
                np.asarray(x.bound.sum(axis=axis, keepdims=keepdims)),
            )
        precision, (x,) = self.arithmetic.floats(x)
        with np.errstate(all="ignore"):
            value = np.asarray(x.value.sum(axis=axis, keepdims=keepdims))
            terms = x.value.size / max(value.size, 1)
            size = np.nan_to_num(np.abs(x.value).sum(axis=axis, keepdims=keepdims), posinf=0.0)
        bound = x.bound.sum(axis=axis, keepdims=keepdims) + terms * _accumulator_u(precision) * size
        # The result is not rounded to a narrow type until it is stored.
        return Tracked(value, _settled(value, bound), precision)

    def mean(self, x: Tracked, axis: Any = None, keepdims: bool = False) -> Tracked:
        total = self.sum(x, axis, keepdims)
        return self.arithmetic.binary("/", total, exact(x.value.size / max(total.value.size, 1)))

    def var(self, x: Tracked, axis: Any = None, keepdims: bool = False) -> Tracked:
        apart = self.arithmetic.binary("-", x, self.mean(x, axis, True))
        return self.mean(self.arithmetic.binary("*", apart, apart), axis, keepdims)

    def prod(self, x: Tracked, axis: Any = None, keepdims: bool = False) -> Tracked:
        if x.kind != "float":
            return exact(np.asarray(integers(x).prod(axis=axis, keepdims=keepdims)))
        precision, (x,) = self.arithmetic.floats(x)
        with np.errstate(all="ignore"):
            value = np.asarray(x.value.prod(axis=axis, keepdims=keepdims))
            outer = (np.abs(x.value) + x.bound).prod(axis=axis, keepdims=keepdims)
            terms = x.value.size / max(value.size, 1)
            bound = outer * (1 + 2 * precision.u) ** terms - np.abs(value) + precision.smallest
        return self.arithmetic.rounded(value, np.where(np.isfinite(value), bound, 0.0), precision)

    def cumsum(self, x: Tracked, axis: Any = None) -> Tracked:
        if x.kind != "float":
            return Tracked(np.asarray(integers(x).cumsum(axis=axis)), np.asarray(x.bound.cumsum(axis=axis)))
        precision, (x,) = self.arithmetic.floats(x)
        value = x.value.cumsum(axis=axis)
        terms = x.value.size if axis is None else x.value.shape[axis]
        size = np.abs(x.value).cumsum(axis=axis)
        bound = x.bound.cumsum(axis=axis) + terms * _accumulator_u(precision) * size
        return Tracked(value, _settled(value, bound), precision)

    def _extremum(self, function: Callable[..., Any]) -> Function:
        def apply(x: Tracked, axis: Any = None, keepdims: bool = False) -> Tracked:
            value = np.asarray(function(x.value, axis=axis, keepdims=keepdims))
            return Tracked(value, np.asarray(np.max(x.bound, axis=axis, keepdims=keepdims)), x.precision)

        return apply

    def _truth(self, function: Callable[..., Any]) -> Function:
        def apply(x: Tracked, axis: Any = None, keepdims: bool = False) -> Tracked:
            x = truth(self.arithmetic, x)
            value = np.asarray(function(x.value, axis=axis, keepdims=keepdims))
            doubt = np.asarray(np.max(x.bound, axis=axis, keepdims=keepdims, initial=0.0))
            return Tracked(value, doubt)

        return apply

    def _position(self, function: Callable[..., Any]) -> Function:
        def apply(x: Tracked, axis: Any = None, keepdims: bool = False) -> Tracked:
            value = np.asarray(function(x.value, axis=axis, keepdims=keepdims))
            doubt = np.asarray(np.max(x.bound, axis=axis, keepdims=keepdims, initial=0.0))
            return Tracked(value, np.where(doubt > 0, np.inf, 0.0))

        return apply

    def matmul(self, a: Tracked, b: Tracked) -> Tracked:
        if "float" not in (a.kind, b.kind):
            return exact(np.asarray(integers(a).astype(object) @ integers(b).astype(object)))
        precision, (a, b) = self.arithmetic.floats(a, b)
        left, right = np.abs(a.value), np.abs(b.value)
        terms = a.value.shape[-1] if a.value.ndim else 1
        with np.errstate(all="ignore"):
            value = np.asarray(a.value @ b.value)
            bound = left @ b.bound + a.bound @ right + a.bound @ b.bound
            bound = bound + (terms + 1) * _accumulator_u(precision) * (left @ right)
        return Tracked(value, np.asarray(np.nan_to_num(_settled(value, bound), nan=np.inf)), precision)

    def bincount(self, x: Tracked, weights: Tracked | None = None, minlength: int = 0) -> Tracked:
        at = integers(x).astype(np.int64)
        if weights is None:
            return exact(np.bincount(at, minlength=minlength).astype(np.int64))
        precision, (weights,) = self.arithmetic.floats(weights)
        size = np.bincount(at, np.abs(weights.value), minlength)
        bound = np.bincount(at, weights.bound, minlength) + at.size * _accumulator_u(precision) * size
        return Tracked(np.bincount(at, weights.value, minlength), bound, precision)


def _accumulator_u(precision: Precision) -> float:
    """Half types are summed in f32: their own u would excuse almost anything."""
    return max(2 * PRECISIONS["f64"].u, min(precision.u, PRECISIONS["f32"].u))


def _settled(value: Array, bound: Array) -> Array:
    """Infinities and NaN that exact terms make are required exactly."""
    return np.where(np.isfinite(value), bound, np.where(np.isinf(bound), np.inf, 0.0))
