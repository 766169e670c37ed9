"""Exactly rounded floating-point arithmetic in the four IEEE directions, for f16, bf16, f32 and f64.

Narrow formats compute in float64 and round once: a sum's error is found by an error-free transformation and
folded into the last bit (rounding to odd), after which rounding to any format of at most 51 bits gives what
rounding the exact value would have given. For f64 itself the error of the nearest result says which way a directed
rounding moves. Sources: Boldo and Melquiond, "Emulation of FMA and correctly rounded sums" (2008); Dekker (1971).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ptxgen.executing.emulator.values import Array, Bools, F64Array


@dataclass(frozen=True, slots=True)
class Format:
    """A binary format: stored mantissa bits, exponents of the least and the largest normal number.

    `nan` is what an invalid operation gives, and in all formats but f64 every other NaN result too.
    """

    name: str
    mantissa: int
    low: int
    high: int
    word: np.dtype[np.generic]
    nan: int

    @property
    def largest(self) -> float:
        return math.ldexp(2.0 - math.ldexp(1.0, -self.mantissa), self.high)


F16 = Format("f16", 10, -14, 15, np.dtype(np.uint16), 0x7FFF)
BF16 = Format("bf16", 7, -126, 127, np.dtype(np.uint16), 0x7FFF)
F32 = Format("f32", 23, -126, 127, np.dtype(np.uint32), 0x7FFFFFFF)
TF32 = Format("tf32", 10, -126, 127, np.dtype(np.uint32), 0x7FFFE000)
F64 = Format("f64", 52, -1022, 1023, np.dtype(np.uint64), 0xFFF8000000000000)
FORMATS = {
    "f16": F16, "bf16": BF16, "f32": F32, "f64": F64, "tf32": TF32, "f16x2": F16, "bf16x2": BF16, "f32x2": F32,
}


def widen(bits: Array, fmt: Format) -> F64Array:
    """The value of each word, exactly, as float64."""
    if fmt.name == "f64":
        return bits.view(np.float64)
    if fmt.name in {"f32", "tf32"}:
        return bits.view(np.float32).astype(np.float64)
    if fmt.name == "f16":
        return bits.view(np.float16).astype(np.float64)
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)


def _to_integral(value: F64Array, mode: str) -> F64Array:
    if mode == "rn":
        return np.rint(value)
    if mode == "rz":
        return np.trunc(value)
    if mode == "rm":
        return np.floor(value)
    if mode == "rp":
        return np.ceil(value)
    return np.trunc(value + np.copysign(0.5, value))  # rna: ties away from zero


def encode(value: F64Array, fmt: Format) -> Array:
    """The words of values that `fmt` holds exactly; NaN becomes the format's canonical NaN."""
    nan = np.isnan(value)
    if fmt.name == "f16":
        words: Array = value.astype(np.float16).view(np.uint16)
    elif fmt.name == "bf16":
        words = (value.astype(np.float32).view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    elif fmt.name == "f64":
        return value.view(np.uint64)
    else:
        words = value.astype(np.float32).view(np.uint32)
    if nan.any():
        words[nan] = fmt.nan
    return words


def narrow(value: F64Array, fmt: Format, mode: str) -> Array:
    """Round float64 values (exact, or rounded to odd) to the words of `fmt`; overflow as IEEE 754 says."""
    if fmt.name == "f64" or (mode == "rn" and fmt.name in {"f16", "f32"}):
        return encode(value, fmt)
    _, exponent = np.frexp(value)
    quantum = np.maximum(exponent - 1, fmt.low) - fmt.mantissa
    rounded = np.ldexp(_to_integral(np.ldexp(value, -quantum), mode), quantum)
    finite = np.isfinite(value)
    over = finite & (np.abs(rounded) > fmt.largest)
    if over.any():
        away = np.full(value.shape, mode in {"rn", "rna"})
        if mode in {"rm", "rp"}:
            away = (value > 0) == (mode == "rp")
        rounded = np.where(over, np.copysign(np.where(away, np.inf, fmt.largest), value), rounded)
    return encode(np.where(finite, rounded, value), fmt)


def narrow_randomly(value: F64Array, fmt: Format, random: Array, bits: int) -> Array:
    """Away from zero where the discarded fraction, cut to `bits` bits, and the random bits sum up to 1 or more."""
    _, exponent = np.frexp(value)
    quantum = np.maximum(exponent - 1, fmt.low) - fmt.mantissa
    scaled = np.ldexp(np.where(np.isfinite(value), np.abs(value), 0.0), -quantum)
    whole = np.floor(scaled)
    whole += np.floor((scaled - whole) * (1 << bits)) + random >= 1 << bits
    rounded = np.copysign(np.ldexp(whole, quantum), value)
    rounded = np.where(np.abs(rounded) > fmt.largest, np.copysign(np.inf, value), rounded)
    return encode(np.where(np.isfinite(value), rounded, value), fmt)


def two_sum(a: F64Array, b: F64Array) -> tuple[F64Array, F64Array]:
    """(s, e) with s the nearest sum and s + e exactly a + b (e is not finite where s is not)."""
    s = a + b
    part = s - a
    return s, (a - (s - part)) + (b - part)


def two_product(a: F64Array, b: F64Array) -> tuple[F64Array, F64Array]:
    """(p, e) with p + e exactly a * b, for operands that stay away from overflow and underflow."""
    splitter = 134217729.0
    ca, cb = a * splitter, b * splitter
    ah = ca - (ca - a)
    bh = cb - (cb - b)
    al, bl = a - ah, b - bh
    p = a * b
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl


def to_odd(s: F64Array, error: F64Array) -> F64Array:
    """Round to odd: `s` is the nearest double of `s + error`; an inexact even result moves to its odd neighbour."""
    words = s.view(np.int64)
    move = (error != 0) & np.isfinite(error) & ((words & 1) == 0)
    if not move.any():
        return s
    step = np.where(np.signbit(error) == np.signbit(s), 1, -1)
    return np.where(move, words + step, words).view(np.float64)


def directed(nearest: F64Array, sign: F64Array, mode: str) -> F64Array:
    """The directed rounding, from the nearest result and the sign of (exact - nearest). Works for f32 and f64."""
    if mode == "rn":
        return nearest
    zero = nearest.dtype.type(0)
    infinity = nearest.dtype.type(np.inf)
    if mode == "rz":
        inward = np.where(nearest > 0, sign < 0, (nearest < 0) & (sign > 0))
        return np.where(inward, np.nextafter(nearest, zero), nearest)
    if mode == "rm":
        return np.where(sign < 0, np.nextafter(nearest, -infinity), nearest)
    return np.where(sign > 0, np.nextafter(nearest, infinity), nearest)


def _overflow_sign(nearest: F64Array, error: F64Array, finite: Bools) -> F64Array:
    """The error's sign where the nearest result overflowed from finite operands: exact lies towards zero."""
    lost = np.isinf(nearest) & finite
    return np.where(lost, -np.sign(nearest), np.where(np.isfinite(nearest), error, 0.0))


def add(a: Array, b: Array, fmt: Format, mode: str) -> Array:
    """a + b over words of `fmt`."""
    if mode == "rn" and fmt.name in {"f32", "f64"}:
        kind = np.float32 if fmt.name == "f32" else np.float64
        return _native(a.view(kind) + b.view(kind), fmt)
    x, y = widen(a, fmt), widen(b, fmt)
    return _round_sum(x, y, fmt, mode)


def _round_sum(x: F64Array, y: F64Array, fmt: Format, mode: str) -> Array:
    if mode == "rn" and fmt.name in {"f16", "f32"}:
        return _nearest_sum(x, y, fmt)
    s, e = two_sum(x, y)
    if mode == "rm":
        # An exact zero is negative when rounding down, unless both terms are positive zeros.
        s = np.where((s == 0) & (np.signbit(x) | np.signbit(y)), -0.0, s)
    if fmt.name == "f64":
        sign = _overflow_sign(s, e, np.isfinite(x) & np.isfinite(y))
        return encode(directed(s, sign, mode), fmt)
    return narrow(to_odd(s, e), fmt, mode)


def _nearest_sum(x: F64Array, y: F64Array, fmt: Format) -> Array:
    """x + y rounded once to f16 or f32. Rounding the nearest double again is right unless that lies half way between
    two numbers of the format, or is so small that the format has fewer bits there."""
    s = x + y
    below = 52 - fmt.mantissa
    doubt = (s.view(np.int64) & (1 << below) - 1) == 1 << below - 1
    result = s.astype(np.float16 if fmt.name == "f16" else np.float32)
    words: Array = result.view(fmt.word)
    size = words & fmt.word.type((1 << fmt.word.itemsize * 8 - 1) - 1)
    small = size <= fmt.word.type(1 << fmt.mantissa)
    if small.any():
        doubt |= small & (s != 0)
    nan = size > fmt.word.type((1 << fmt.word.itemsize * 8 - 1) - (1 << fmt.mantissa))
    if nan.any():
        words[nan] = fmt.nan
    if doubt.any():
        x, y = np.broadcast_arrays(x, y)
        words[doubt] = encode(to_odd(*two_sum(x[doubt], y[doubt])), fmt)
    return words


def _native(result: F64Array, fmt: Format) -> Array:
    """Words of an f32 or f64 result; f32 NaNs are canonical, f64 NaNs keep their payload."""
    if fmt.name == "f64":
        return result.view(np.uint64)
    nan = np.isnan(result)
    words: Array = result.view(np.uint32)
    if nan.any():
        words[nan] = fmt.nan
    return words


def multiply(a: Array, b: Array, fmt: Format, mode: str) -> Array:
    """a * b over words of `fmt`."""
    if mode == "rn" and fmt.name in {"f32", "f64"}:
        kind = np.float32 if fmt.name == "f32" else np.float64
        return _native(a.view(kind) * b.view(kind), fmt)
    x, y = widen(a, fmt), widen(b, fmt)
    if fmt.name == "f64":
        return _wide(x, y, None, mode, _product_sign, lambda u, v, w: u * v, _exact_product)
    return narrow(x * y, fmt, mode)


def fma(a: Array, b: Array, c: Array, fmt: Format, mode: str) -> Array:
    """a * b + c, rounded once, over words of `fmt`."""
    x, y, z = widen(a, fmt), widen(b, fmt), widen(c, fmt)
    if fmt.name != "f64":
        return _round_sum(x * y, z, fmt, mode)
    x, y, z = np.broadcast_arrays(x, y, z)
    size = np.frexp(np.where(np.isfinite(x), x, 1.0))[1] + np.frexp(np.where(np.isfinite(y), y, 1.0))[1]
    safe = _middling(x) & _middling(y) & (size > -900) & (size < 900) & ((z == 0) | _middling(z))
    product, low = two_product(x, y)
    th, tl = two_sum(z, low)
    vh, vl = two_sum(product, th)
    tail = to_odd(*two_sum(tl, vl))
    s, e = two_sum(vh, tail)
    if mode == "rm":
        s = np.where((s == 0) & (np.signbit(z) | (np.signbit(x) != np.signbit(y))), -0.0, s)
    result: F64Array = directed(s, e, mode)
    # Zeros, infinities and NaNs need no care: the plain expression is right for them, once a finite product
    # beside an infinite addend is kept from overflowing.
    special = ~(np.isfinite(x) & np.isfinite(y) & np.isfinite(z)) | (((x == 0) | (y == 0)) & (z != 0))
    lone = np.isfinite(x) & np.isfinite(y) & ~np.isfinite(z)
    result = np.where(special, np.where(lone, 0.0, x * y) + z, result)
    result = np.where((x * y == 0) & ((x == 0) | (y == 0)) & (z == 0), _zero_sum(x * y, z, mode), result)
    rest = np.flatnonzero(~(safe | special | (x == 0) | (y == 0)))
    for lane in rest:
        result[lane] = nearest_double(_exact_fma(x[lane], y[lane], z[lane]), mode, negative_zero=mode == "rm")
    return result.view(np.uint64)


def _zero_sum(x: F64Array, y: F64Array, mode: str) -> F64Array:
    s = x + y
    return np.where(np.signbit(x) | np.signbit(y), -0.0, s) if mode == "rm" else s


def _middling(x: F64Array) -> Bools:
    """Far enough from both ends of the exponent range that no error term over- or underflows."""
    size = np.abs(x)
    return (size > 2.0**-400) & (size < 2.0**400)


def _exact_fma(x: float, y: float, z: float) -> Fraction:
    return Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))


def _exact_product(x: float, y: float, _: float) -> Fraction:
    return Fraction(float(x)) * Fraction(float(y))


def _product_sign(x: F64Array, y: F64Array, _: F64Array, nearest: F64Array) -> F64Array:
    return two_product(x, y)[1]


def _wide(
    x: F64Array, y: F64Array, z: F64Array | None, mode: str,
    sign_of_error: Callable[[F64Array, F64Array, F64Array, F64Array], F64Array],
    nearest_of: Callable[[F64Array, F64Array, F64Array], F64Array],
    exact_of: Callable[[float, float, float], Fraction],
) -> Array:
    """A directed f64 operation: nearest result and error sign where that is safe, fractions elsewhere."""
    x, y, z = (np.atleast_1d(v) for v in np.broadcast_arrays(x, y, y if z is None else z))
    nearest = np.array(nearest_of(x, y, z))
    moved: F64Array = directed(nearest, sign_of_error(x, y, z, nearest), mode)
    special = ~(np.isfinite(x) & np.isfinite(y)) | (x == 0) | (y == 0)
    moved[special] = nearest[special]
    for lane in np.flatnonzero(~special & ~(_middling(x) & _middling(y) & _middling(nearest))):
        moved[lane] = nearest_double(exact_of(x[lane], y[lane], z[lane]), mode)
    return moved.view(np.uint64)


def nearest_double(value: Fraction, mode: str, *, negative_zero: bool = False) -> float:
    """One exact value rounded to a double; the slow path and the reference for the fast one."""
    try:
        nearest = value.numerator / value.denominator
    except OverflowError:
        nearest = math.inf if value > 0 else -math.inf
    if value == 0:
        return -0.0 if negative_zero else 0.0
    if nearest == 0:
        nearest = math.copysign(0.0, value)
    below = nearest == math.inf or (nearest != -math.inf and Fraction(nearest) > value)
    above = nearest == -math.inf or (nearest != math.inf and Fraction(nearest) < value)
    if (mode == "rm" and below) or (mode == "rz" and below and value > 0):
        return math.nextafter(nearest, -math.inf)
    if (mode == "rp" and above) or (mode == "rz" and above and value < 0):
        return math.nextafter(nearest, math.inf)
    return nearest


def divide(a: Array, b: Array, fmt: Format, mode: str) -> Array:
    """a / b over words of f32 or f64."""
    if fmt.name == "f64":
        x, y = a.view(np.float64), b.view(np.float64)
        if mode == "rn":
            return _native(x / y, fmt)

        def sign64(u: F64Array, v: F64Array, _: F64Array, q: F64Array) -> F64Array:
            high, low = two_product(q, v)
            return np.sign((u - high) - low) * np.sign(v)

        return _wide(
            x, y, None, mode, sign64, lambda u, v, w: u / v, lambda u, v, w: Fraction(float(u)) / Fraction(float(v))
        )
    x32, y32 = a.view(np.float32), b.view(np.float32)
    q = x32 / y32
    if mode == "rn":
        return _native(q, fmt)
    # q * b is exact in float64, and the sign of a float64 difference is always right.
    remainder = x32.astype(np.float64) - q.astype(np.float64) * y32.astype(np.float64)
    ordinary = np.isfinite(x32) & np.isfinite(y32) & (y32 != 0)
    sign = np.where(np.isinf(q), -np.sign(q), np.sign(remainder) * np.sign(y32))
    result = directed(q, np.where(ordinary, sign, 0.0), mode)
    return _native(result.astype(np.float32), fmt)


def square_root(a: Array, fmt: Format, mode: str) -> Array:
    """sqrt(a) over words of f32 or f64; -0 stays, other negatives give NaN."""
    if fmt.name == "f64":
        x = a.view(np.float64)
        if mode == "rn":
            return _native(np.sqrt(x), fmt)
        # Scaled by a power of four into the middle, where the residual is exact.
        _, exponent = np.frexp(x)
        even = exponent & ~1
        y = np.ldexp(x, -even)
        root = np.sqrt(y)
        high, low = two_product(root, root)
        moved = directed(root, np.where(np.isfinite(y), (y - high) - low, 0.0), mode)
        return np.where(np.isfinite(x) & (x != 0), np.ldexp(moved, even // 2), np.sqrt(x)).view(np.uint64)
    x32 = a.view(np.float32)
    root32 = np.sqrt(x32)
    if mode == "rn":
        return _native(root32, fmt)
    residual = x32.astype(np.float64) - root32.astype(np.float64) ** 2
    result = directed(root32, np.where(np.isfinite(root32), residual, 0.0), mode)
    return _native(result.astype(np.float32), fmt)
