"""Functions of an oracle that move, make or convert elements: bounds move along with values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptxgen.verifying.storage import DTYPES, PRECISIONS, wrap
from ptxgen.verifying.tracked import Arithmetic, Tracked, exact, integers

Function = Callable[..., Tracked]

_MOVERS = [
    "reshape", "ravel", "transpose", "swapaxes", "expand_dims", "squeeze", "flip", "roll", "repeat", "tile",
    "broadcast_to", "tril", "triu",
]  # fmt: skip
_CONVERSIONS = {
    "int8": "s8", "uint8": "u8", "int16": "s16", "uint16": "u16", "int32": "s32", "uint32": "u32",
    "int64": "s64", "uint64": "u64", "float16": "f16", "float32": "f32", "float64": "f64",
}  # fmt: skip


class Shaping:
    """`named`: every function by its name; shapes, axes and amounts are plain numbers."""

    def __init__(self, arithmetic: Arithmetic) -> None:
        self.arithmetic = arithmetic
        self.named: dict[str, Function] = {
            **{name: self._mover(name) for name in _MOVERS},
            **{name: self._conversion(kind) for name, kind in _CONVERSIONS.items()},
            "concatenate": self._joiner(np.concatenate),
            "stack": self._joiner(np.stack),
            "pad": self.pad,
            "sort": self.sort,
            "take": self.take,
            "diff": self.diff,
            "outer": self.outer,
            "arange": lambda *bounds: exact(np.arange(*bounds)),
            "eye": lambda n: exact(np.eye(n)),
            "zeros": lambda shape: exact(np.zeros(shape)),
            "ones": lambda shape: exact(np.ones(shape)),
            "full": _full,
            "zeros_like": lambda x: _full(x.shape, exact(x.value.dtype.type(0), x.precision)),
            "ones_like": lambda x: _full(x.shape, exact(x.value.dtype.type(1), x.precision)),
            "full_like": lambda x, value: _full(x.shape, value),
        }

    def _mover(self, name: str) -> Function:
        function = getattr(np, name)

        def apply(x: Tracked, *arguments: Any, **keywords: Any) -> Tracked:
            moved = [np.asarray(function(part, *arguments, **keywords)) for part in (x.value, x.bound)]
            return Tracked(moved[0], moved[1], x.precision)

        return apply

    def _joiner(self, function: Callable[..., Any]) -> Function:
        def apply(parts: Any, axis: int = 0) -> Tracked:
            first: Tracked
            first, *others = parts
            pieces = [first]
            for other in others:
                _, first, other = self.arithmetic.alike(first, other)
                pieces.append(other)
            pieces[0] = first
            value = np.asarray(function([piece.value for piece in pieces], axis=axis))
            return Tracked(value, np.asarray(function([piece.bound for piece in pieces], axis=axis)), first.precision)

        return apply

    def pad(self, x: Tracked, width: Any, mode: str = "constant", constant_values: Any = 0) -> Tracked:
        if mode == "edge":
            return Tracked(np.pad(x.value, width, mode="edge"), np.pad(x.bound, width, mode="edge"), x.precision)
        value = np.pad(x.value, width, constant_values=constant_values)
        return Tracked(value, np.pad(x.bound, width), x.precision)

    def sort(self, x: Tracked, axis: int = -1) -> Tracked:
        doubt = x.bound.max(initial=0.0)
        return Tracked(np.sort(x.value, axis=axis), np.full(x.shape, doubt), x.precision)

    def take(self, x: Tracked, indices: Tracked, axis: int | None = None) -> Tracked:
        at = integers(indices).astype(np.int64)
        return Tracked(np.take(x.value, at, axis=axis), np.take(x.bound, at, axis=axis), x.precision)

    def diff(self, x: Tracked, axis: int = -1) -> Tracked:
        later, earlier = ([slice(None)] * x.value.ndim for _ in range(2))
        later[axis], earlier[axis] = slice(1, None), slice(None, -1)
        parts = [Tracked(x.value[tuple(at)], x.bound[tuple(at)], x.precision) for at in (later, earlier)]
        return self.arithmetic.binary("-", *parts)

    def outer(self, a: Tracked, b: Tracked) -> Tracked:
        return self.arithmetic.binary("*", _reshaped(a, (-1, 1)), _reshaped(b, (1, -1)))

    def _conversion(self, kind: str) -> Function:
        def apply(x: Tracked) -> Tracked:
            if kind in PRECISIONS:
                precision = PRECISIONS[kind]
                value = precision.round(x.value.astype(np.float64))
                return Tracked(value, np.where(x.bound > 0, x.bound + precision.ulp(value), 0.0), precision)
            if x.kind == "float":
                return truncated(kind, x)
            return Tracked(wrap(kind, x.value).astype(np.uint64 if kind == "u64" else np.int64), x.bound)

        return apply


def _full(shape: Any, value: Tracked) -> Tracked:
    return Tracked(np.full(shape, value.value), np.full(shape, value.bound), value.precision)


def truncated(kind: str, x: Tracked) -> Tracked:
    """Floats to integers as `cvt.rzi` does: towards zero, held within the type's range, NaN to 0."""
    limits = np.iinfo(DTYPES[kind])
    with np.errstate(all="ignore"):
        value, low, high = (np.trunc(x.value + side * np.where(x.bound > 0, x.bound, 0)) for side in (0, -1, 1))
        bound = np.nan_to_num(np.maximum(high - value, value - low), nan=np.inf)
    whole = [
        0
        if np.isnan(item)
        else max(limits.min, min(limits.max, int(item)))
        if np.isfinite(item)
        else (limits.max if item > 0 else limits.min)
        for item in value.ravel()
    ]
    dtype = np.uint64 if kind == "u64" else np.int64
    return Tracked(np.array(whole, dtype=dtype).reshape(value.shape), np.where(x.bound > 0, bound, 0.0))


def _reshaped(x: Tracked, shape: tuple[int, ...]) -> Tracked:
    return Tracked(x.value.reshape(shape), x.bound.reshape(shape), x.precision)
