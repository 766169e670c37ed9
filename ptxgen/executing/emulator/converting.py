"""cvt: between integers and floats of every width, in every direction, with saturation.

Sources: PTX ISA, cvt. Float to integer clamps to the destination's range and turns NaN into 0; with a narrower
destination type the result is that type's, widened into the register afterwards by whoever stores it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxgen.executing.emulator import rounding
from ptxgen.executing.emulator.floats import flush
from ptxgen.executing.emulator.rounding import FORMATS, Format
from ptxgen.executing.emulator.values import Array, F64Array, number_dtype

_DIRECTIONS = {"rni": "rn", "rzi": "rz", "rmi": "rm", "rpi": "rp"}
INTEGRAL_ROUNDINGS = frozenset(_DIRECTIONS)


def integer_to_integer(value: Any, target: str, *, saturate: bool) -> Any:
    """A typed array to the target's dtype: truncated, or clamped with `saturate`."""
    dtype: Any = number_dtype(target)
    if not saturate:
        return value.astype(dtype)
    info, have = np.iinfo(dtype), np.iinfo(value.dtype)
    low, high = max(int(info.min), int(have.min)), min(int(info.max), int(have.max))
    return np.clip(value, np.array(low, value.dtype), np.array(high, value.dtype)).astype(dtype)


def integer_to_float(value: Any, fmt: Format, mode: str) -> Array:
    """Words of the rounded value of an integer array."""
    if mode == "rn" and fmt.name in {"f32", "f64"}:
        return np.asarray(value.astype(np.float32 if fmt.name == "f32" else np.float64)).view(fmt.word)
    if value.dtype.itemsize < 8:
        return rounding.narrow(value.astype(np.float64), fmt, mode)
    shift = np.array(32, value.dtype)
    high = (value >> shift).astype(np.float64) * 4294967296.0
    low = (value & np.array(0xFFFFFFFF, value.dtype)).astype(np.float64)
    s, e = rounding.two_sum(high, low)
    if fmt.name == "f64":
        return rounding.directed(s, e, mode).view(np.uint64)
    return rounding.narrow(rounding.to_odd(s, e), fmt, mode)


def to_integral(value: F64Array, rounding_name: str) -> F64Array:
    """Round to an integral value, still a float: rni, rzi, rmi, rpi."""
    return {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}[rounding_name](value)


def float_to_integer(words: Array, fmt: Format, target: str, rounding_name: str) -> Any:
    """A typed array of the target's dtype, clamped; NaN gives 0."""
    value = to_integral(rounding.widen(words, fmt), rounding_name)
    dtype: Any = number_dtype(target)
    info = np.iinfo(dtype)
    low, above = float(info.min), float(int(info.max) + 1)
    inside = (value >= low) & (value < above)
    result = np.where(inside, value, 0.0).astype(dtype)
    result = np.where(value >= above, dtype.type(info.max), result)
    return np.where(value < low, dtype.type(info.min), result)


def float_to_float(words: Array, source: Format, target: Format, mode: str, *, ftz: bool) -> Array:
    """Words of `target`; `mode` is a rounding, an integral rounding, or "" for exact widening."""
    if ftz and source.name == "f32":
        words = flush(words, source)
    if source.name == target.name and not mode:
        return words
    value = rounding.widen(words, source)
    if mode in _DIRECTIONS:
        value = to_integral(value, mode)
        mode = "rn"
    result = _double_to_single(value, mode) if target.name == "f32" else rounding.narrow(value, target, mode or "rn")
    return flush(result, target) if ftz and target.name == "f32" else result


def _double_to_single(value: F64Array, mode: str) -> Array:
    return rounding.narrow(value, FORMATS["f32"], mode or "rn")
