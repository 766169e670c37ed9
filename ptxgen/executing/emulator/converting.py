"""cvt: between integers and floats of every width, in every direction, with saturation.

Sources: PTX ISA, cvt; NaN payloads as an sm_90 GPU gives them. Float to integer clamps to the destination's range;
with a narrower destination type the result is that type's, widened into the register afterwards by whoever stores it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxgen.executing.emulator import rounding
from ptxgen.executing.emulator.floats import exponent_mask, flush, is_nan, quiet
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
    """A typed array of the target's dtype, clamped.

    NaN gives 0; where the source is f64 or the target has 64 bits, it gives the highest bit alone.
    """
    value = to_integral(rounding.widen(words, fmt), rounding_name)
    dtype: Any = number_dtype(target)
    info = np.iinfo(dtype)
    low, above = float(info.min), float(int(info.max) + 1)
    inside = (value >= low) & (value < above)
    result = np.where(inside, value, 0.0).astype(dtype)
    if fmt.name == "f64" or dtype.itemsize == 8:
        top = dtype.type(info.min if info.min < 0 else int(info.max) // 2 + 1)
        result = np.where(np.isnan(value), top, result)
    result = np.where(value >= above, dtype.type(info.max), result)
    return np.where(value < low, dtype.type(info.min), result)


def float_to_float(words: Array, source: Format, target: Format, mode: str, *, ftz: bool) -> Array:
    """Words of `target`; `mode` is a rounding, an integral rounding, or "" for exact widening."""
    if ftz and source.name == "f32":
        words = _canonical(flush(words, source), source)
    if source.name == target.name and not mode:
        return _canonical(words, source) if source.name == "f16" else words
    value = rounding.widen(words, source)
    if mode in _DIRECTIONS:
        value = to_integral(value, mode)
        mode = "rn"
    if (source.name, target.name) == ("bf16", "f32") and not mode:
        # A word of bf16 is the upper half of an f32 word, NaNs included.
        result: Array = words.astype(np.uint32) << np.uint32(16)
    else:
        result = rounding.narrow(value, target, mode or "rn")
    if target.name == "f64":
        return np.where(is_nan(result, target), quiet(result, target), result)
    if source.name == "f64":
        result = _keep_payload(words, result, target)
    if not ftz or target.name != "f32":
        return result
    return flush(result, target) if source.name == "f64" else _canonical(flush(result, target), target)


def to_tf32_away(words: Array, *, satfinite: bool) -> Array:
    """cvt.rna.tf32.f32 over uint32 words: an addition and a mask, to which a NaN is a number like others.

    `satfinite` steps down from infinity and beyond, as an sm_90 GPU does it.
    """
    finite = (words & np.uint32(0x7F800000)) != 0x7F800000
    result = np.where(finite, words + np.uint32(0x1000), words) & np.uint32(0xFFFFE000)
    if not satfinite:
        return result
    return np.where((result & np.uint32(0x7F800000)) == 0x7F800000, result - np.uint32(0x2000), result)


def _canonical(words: Array, fmt: Format) -> Array:
    """Every NaN becomes the format's own."""
    return np.where(is_nan(words, fmt), fmt.word.type(fmt.nan), words)


def _keep_payload(doubles: Array, result: Array, target: Format) -> Array:
    """NaNs of f64 keep their sign and the upper bits of their payload in a narrower type."""
    nan = is_nan(doubles, FORMATS["f64"])
    if not nan.any():
        return result
    bits = target.word.itemsize * 8
    sign = (doubles >> np.uint64(64 - bits)) & np.uint64(1 << bits - 1)
    exponent = np.uint64(exponent_mask(target))
    payload = (doubles >> np.uint64(52 - target.mantissa)) & np.uint64((1 << target.mantissa) - 1)
    return np.where(nan, quiet((sign | exponent | payload).astype(target.word), target), result)
