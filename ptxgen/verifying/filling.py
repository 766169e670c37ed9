"""Filling arrays: each way makes values of a kind that has caught wrong kernels before."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ptxgen.spec import Param, Spec, ValueRange
from ptxgen.verifying.storage import DTYPES, PRECISIONS, Array, Precision, narrow, widen


@dataclass(frozen=True, slots=True)
class Fill:
    """How one array is filled. `offset`: elements by which its base address is shifted. The way "every" goes
    through all values of a half type, from the bit pattern `seed` on."""

    way: str
    seed: int = 0
    offset: int = 0


_Generator = np.random.Generator

#: Ways to fill float arrays, simplest first. The last argument is the smallest subnormal of the type.
_FLOAT_WAYS: dict[str, Callable[[_Generator, int, float], Array]] = {
    "ramp": lambda rng, n, tiny: np.arange(1.0, n + 1.0) % 1024,
    "whole": lambda rng, n, tiny: rng.integers(-9, 10, n).astype(np.float64),
    "normal": lambda rng, n, tiny: rng.standard_normal(n),
    "large": lambda rng, n, tiny: 3.0 * rng.standard_normal(n),
    "small": lambda rng, n, tiny: 0.01 * rng.standard_normal(n),
    "negative": lambda rng, n, tiny: -np.abs(rng.standard_normal(n)),
    "uniform": lambda rng, n, tiny: rng.uniform(-1000.0, 1000.0, n),
    "cancelling": lambda rng, n, tiny: (-1.0) ** np.arange(n) * (100 + rng.choice([0, 1], n) * rng.random(n) / 1000),
    "zeros": lambda rng, n, tiny: rng.choice(np.array([0.0, -0.0, 0.0, 1.0]), n),
    "subnormal": lambda rng, n, tiny: tiny * rng.integers(-5, 6, n),
    "magnitudes": lambda rng, n, tiny: rng.choice([-1.0, 1.0], n) * 2.0 ** rng.uniform(-10, 10, n),
}
_SPECIAL = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, -2.0])
#: How many values a half type has, NaNs and infinities included.
HALF_PATTERNS = 65536
_INTEGER_WAYS = ("ramp", "whole", "uniform", "ends", "same")


def ways_to_fill(spec: Spec, param: Param) -> tuple[str, ...]:
    """The names of the ways for a parameter, simplest first."""
    if param.scalar.integer:
        return _INTEGER_WAYS
    return (*_FLOAT_WAYS, "special") if spec.verify.special else tuple(_FLOAT_WAYS)


def filled(spec: Spec, param: Param, fill: Fill, shape: tuple[int, ...]) -> Array:
    """The array in storage form, every element within the range that the spec gives."""
    # The parameter's place keeps arrays of the same seed apart: x and y that are equal hide mistakes.
    place = spec.kernel.params.index(param)
    rng = np.random.default_rng([fill.seed, place])
    span = spec.verify.values.get(param.name)
    if param.scalar.integer:
        values = _integers(param, fill.way, rng, math.prod(shape), span, place)
    else:
        values = _floats(param, fill, rng, math.prod(shape), span, place, special=spec.verify.special)
    return values.reshape(shape)


def integer_range(param: Param, span: ValueRange | None) -> tuple[int, int]:
    """The least and greatest value of an integer parameter."""
    if span is None:
        return param.scalar.low, param.scalar.high
    return math.ceil(span.low), math.floor(span.high)


def _floats(
    param: Param, fill: Fill, rng: _Generator, count: int, span: ValueRange | None, place: int, *, special: bool
) -> Array:
    precision = PRECISIONS[param.element]
    way = fill.way
    if way == "every":
        patterns = ((fill.seed + np.arange(count)) % HALF_PATTERNS).astype(np.uint16).view(DTYPES[param.element])
        values = widen(param.element, patterns)
        values = values if special else np.where(np.isfinite(values), values, 1.0)
    elif way == "special":
        values = np.where(rng.random(count) < 0.3, rng.choice(_SPECIAL, count), rng.standard_normal(count))
    elif way == "uniform" and span is not None:
        values = _between(rng, count, span)
    else:
        values = _FLOAT_WAYS[way](rng, count, precision.smallest)
    if way == "ramp":
        values += place
    if span is not None:
        outside = np.isfinite(values) & ((values < span.low) | (values > span.high))
        values = np.where(outside, _between(rng, count, span), values)
    return narrow(param.element, held(precision, values, span))


def _between(rng: _Generator, count: int, span: ValueRange) -> Array:
    """Uniform in the range, which may be wider than a float64 can say."""
    share = rng.random(count)
    return np.asarray(span.low * (1 - share) + span.high * share)


def held(precision: Precision, values: Array | np.float64, span: ValueRange | None) -> Array:
    """Rounded to the type, without leaving the range."""
    rounded = precision.round(np.asarray(values))
    if span is None:
        return rounded
    step = precision.ulp(rounded)
    with np.errstate(invalid="ignore"):
        return np.where(rounded > span.high, rounded - step, np.where(rounded < span.low, rounded + step, rounded))


def _integers(param: Param, way: str, rng: _Generator, count: int, span: ValueRange | None, place: int) -> Array:
    low, high = integer_range(param, span)
    dtype = np.uint64 if param.element == "u64" else np.int64
    match way:
        case "ramp":
            start = max(low, 0) if high >= 0 else low
            values = np.array([start + (i + place) % (high - start + 1) for i in range(1, count + 1)], dtype=dtype)
        case "whole":
            least, most = near_zero(low, high)
            values = rng.integers(least, most, count, dtype=dtype, endpoint=True)
        case "ends":
            ends = [end for end in (low, high, low + 1, high - 1, 0, 1, -1) if low <= end <= high]
            values = rng.choice(np.array(ends, dtype=dtype), count)
        case "same":
            values = np.full(count, rng.integers(low, high, dtype=dtype, endpoint=True), dtype=dtype)
        case _:
            values = rng.integers(low, high, count, dtype=dtype, endpoint=True)
    return narrow(param.element, values)


def near_zero(low: int, high: int) -> tuple[int, int]:
    """The part of a range that is nearest to zero, some ten numbers of it."""
    least = min(max(low, -9), high) if high >= 0 else max(low, high - 9)
    return least, min(high, max(least, 9)) if low <= 9 else min(high, low + 9)
