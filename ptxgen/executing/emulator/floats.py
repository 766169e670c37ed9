"""Floating-point instructions over words: flushing, saturation, minimum and maximum, the approximate functions.

Every function takes and gives unsigned words of a `Format`, so NaN payloads and signed zeros are plain bits.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ptxgen.executing.emulator import rounding
from ptxgen.executing.emulator.rounding import Format
from ptxgen.executing.emulator.values import Array, Bools, F64Array


def sign_bit(fmt: Format) -> int:
    return 1 << (fmt.word.itemsize * 8 - 1)


def _mantissa_bits(fmt: Format) -> int:
    return 23 if fmt.name == "tf32" else fmt.mantissa


def exponent_mask(fmt: Format) -> int:
    return (sign_bit(fmt) - 1) & ~((1 << _mantissa_bits(fmt)) - 1)


def is_nan(words: Array, fmt: Format) -> Bools:
    return (words & fmt.word.type(sign_bit(fmt) - 1)) > fmt.word.type(exponent_mask(fmt))


def is_subnormal(words: Array, fmt: Format) -> Bools:
    low = words & fmt.word.type((1 << _mantissa_bits(fmt)) - 1)
    return ((words & fmt.word.type(exponent_mask(fmt))) == 0) & (low != 0)


def flush(words: Array, fmt: Format) -> Array:
    """Subnormals become zeros of the same sign."""
    exponentless = (words & fmt.word.type(exponent_mask(fmt))) == 0
    if not exponentless.any():
        return words
    return np.where(exponentless, words & fmt.word.type(sign_bit(fmt)), words)


def saturate(words: Array, fmt: Format) -> Array:
    """Clamp to [+0, 1]; NaN becomes +0."""
    one = rounding.encode(np.array([1.0]), fmt)[0]
    negative = (words & fmt.word.type(sign_bit(fmt))) != 0
    above = words > one
    return np.where(negative | is_nan(words, fmt), fmt.word.type(0), np.where(above, one, words))


def relu(words: Array, fmt: Format) -> Array:
    """Negative values become +0, NaN the canonical NaN."""
    negative = (words & fmt.word.type(sign_bit(fmt))) != 0
    return np.where(is_nan(words, fmt), fmt.word.type(fmt.nan), np.where(negative, fmt.word.type(0), words))


def finish(
    operation: Callable[..., Array], fmt: Format, *, ftz: bool = False, sat: bool = False, rectify: bool = False
) -> Callable[..., Array]:
    """`operation` over words, with the modifiers .ftz (inputs and result), .sat and .relu around it."""
    if not (ftz or sat or rectify):
        return operation

    def whole(*words: Array) -> Array:
        result = operation(*(flush(w, fmt) for w in words)) if ftz else operation(*words)
        if ftz:
            result = flush(result, fmt)
        if sat:
            result = saturate(result, fmt)
        return relu(result, fmt) if rectify else result

    return whole


#: The NaN, of either sign, that a tensor copy gives for 16-bit elements out of bounds (seen on an H200).
_OUTSIDE = 0x7FF7


def out_of_bounds(operation: Callable[..., Array], fmt: Format) -> Callable[..., Array]:
    """A fused multiply-add, but +0 where a factor is the NaN of elements out of bounds."""

    def whole(a: Array, b: Array, c: Array) -> Array:
        outside = (absolute(a, fmt) == _OUTSIDE) | (absolute(b, fmt) == _OUTSIDE)
        return np.where(outside, fmt.word.type(0), operation(a, b, c))

    return whole


def default_nan(operation: Callable[..., Array]) -> Callable[..., Array]:
    """An f64 `operation` whose NaN is `F64.nan` where no operand is one, whatever the host's own default is."""
    fmt = rounding.F64

    def whole(*words: Array) -> Array:
        result = operation(*words)
        made = is_nan(result, fmt)
        if not made.any():
            return result
        for word in words:
            made = made & ~is_nan(word, fmt)
        return np.where(made, fmt.word.type(fmt.nan), result)

    return whole


def chosen_nan(operation: Callable[..., Array]) -> Callable[..., Array]:
    """An f64 sum, product or fma of which a NaN operand goes through, sign and payload: the second before the third
    before the first, as an sm_90 GPU has it."""
    fmt = rounding.F64

    def whole(*words: Array) -> Array:
        result = operation(*words)
        if not is_nan(result, fmt).any():
            return result
        first, *others = words
        for word in (first, *reversed(others)):
            result = np.where(is_nan(word, fmt), quiet(word, fmt), result)
        return result

    return default_nan(whole)


def negate(words: Array, fmt: Format) -> Array:
    return words ^ fmt.word.type(sign_bit(fmt))


def absolute(words: Array, fmt: Format) -> Array:
    return words & fmt.word.type(sign_bit(fmt) - 1)


def _ordered(words: Array, fmt: Format) -> Array:
    """Signed integers that sort like the floats, -0 just below +0."""
    signed = words.view(np.dtype(f"i{fmt.word.itemsize}"))
    return np.where(signed < 0, signed ^ np.array(sign_bit(fmt) - 1, signed.dtype), signed)


def extreme(
    a: Array, b: Array, fmt: Format, *, largest: bool, propagate: bool = False, xorsign: bool = False
) -> Array:
    """min or max: -0 < +0; one NaN gives the other operand unless `propagate`; `xorsign` as `.xorsign.abs`.

    Of two f64 NaNs the second is the result (quiet), of two others the canonical NaN.
    """
    nan_a, nan_b = is_nan(a, fmt), is_nan(b, fmt)
    sign = (a ^ b) & fmt.word.type(sign_bit(fmt))
    if xorsign:
        a, b = absolute(a, fmt), absolute(b, fmt)
    first = _ordered(a, fmt) > _ordered(b, fmt)
    pick: Array = np.where(first == largest, a, b)
    if xorsign:
        pick = pick | sign
    canonical = fmt.word.type(fmt.nan)
    other_a, other_b = (a | sign, b | sign) if xorsign else (a, b)
    if propagate:
        return np.where(nan_a | nan_b, canonical, pick)
    pick = np.where(nan_a, other_b, np.where(nan_b, other_a, pick))
    return np.where(nan_a & nan_b, quiet(b, fmt) if fmt.name == "f64" else canonical, pick)


def quiet(words: Array, fmt: Format) -> Array:
    """Words of NaNs with the quiet bit set."""
    return words | fmt.word.type(1 << _mantissa_bits(fmt) - 1)


def copy_sign(sign: Array, magnitude: Array, fmt: Format) -> Array:
    return absolute(magnitude, fmt) | (sign & fmt.word.type(sign_bit(fmt)))


def test_property(words: Array, prop: str, fmt: Format) -> Bools:
    """testp: finite, infinite, number, notanumber, normal, subnormal."""
    size = absolute(words, fmt)
    top = fmt.word.type(exponent_mask(fmt))
    if prop == "finite":
        return size < top
    if prop == "infinite":
        return size == top
    if prop == "number":
        return size <= top
    if prop == "notanumber":
        return size > top
    if prop == "subnormal":
        return is_subnormal(words, fmt)
    # Zeros are normal to the hardware.
    return (size < top) & ~is_subnormal(words, fmt)


def _reciprocal_root(x: F64Array) -> F64Array:
    """1 / sqrt(x): one Newton step with the exact residual mends the two roundings of the plain expression."""
    _, exponent = np.frexp(x)
    even = exponent & ~1
    scaled = np.ldexp(x, -even)
    root = 1.0 / np.sqrt(scaled)
    once, once_low = rounding.two_product(scaled, root)
    twice, twice_low = rounding.two_product(once, root)
    residual = ((1.0 - twice) - twice_low) - once_low * root
    mended = np.ldexp(root + 0.5 * root * residual, -(even // 2))
    return np.where(np.isfinite(x) & (x > 0), mended, 1.0 / np.sqrt(x))


#: The approximate functions, computed in float64 and rounded once; the manual bounds the hardware's own errors.
APPROXIMATE: dict[str, Callable[[F64Array], F64Array]] = {
    "rcp": np.reciprocal,
    "sqrt": np.sqrt,
    "rsqrt": _reciprocal_root,
    "ex2": np.exp2,
    "lg2": np.log2,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
}


def approximate(name: str, fmt: Format) -> Callable[[Array], Array]:
    """The function over words of a format."""
    function = APPROXIMATE[name]

    def compute(words: Array) -> Array:
        value = function(rounding.widen(words, fmt))
        if fmt.name == "f64":
            return value.view(np.uint64)
        return rounding.narrow(value, fmt, "rn")

    return compute


def approximate_high(name: str) -> Callable[[Array], Array]:
    """rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64: the upper 32 bits in, the upper 32 bits out (PTX ISA).

    What is NaN then, infinities with a payload in the lower half being none, gives 0x7fffffff00000000.
    """
    function, half = APPROXIMATE[name], np.uint64(0xFFFFFFFF00000000)

    def compute(words: Array) -> Array:
        result = flush(function(flush(words & half, rounding.F64).view(np.float64)).view(np.uint64), rounding.F64)
        return np.where(is_nan(result, rounding.F64), np.uint64(0x7FFFFFFF00000000), result & half)

    return compute


def divide_approximately(a: Array, b: Array, *, full: bool) -> Array:
    """div.full.f32 and div.approx.f32: the nearest quotient; div.approx loses divisors above 2**126.

    There it gives 0 for a finite dividend and NaN for an infinite one (PTX ISA, div).
    """
    result = rounding.divide(a, b, rounding.F32, "rn")
    if full:
        return result
    size = absolute(b, rounding.F32)
    large = (size > np.uint32(0x7E800000)) & (size < np.uint32(0x7F800000))
    if not large.any():
        return result
    top = np.uint32(0x7F800000)
    sign = (a ^ b) & np.uint32(0x80000000)
    lost = np.where(absolute(a, rounding.F32) == top, np.uint32(rounding.F32.nan), sign)
    return np.where(large & (absolute(a, rounding.F32) <= top), lost, result)


def negate_number(words: Array, fmt: Format) -> Array:
    """The neg instruction: sign flipped, but for NaN (see `_nan_aside`)."""
    return _nan_aside(negate(words, fmt), words, fmt)


def absolute_number(words: Array, fmt: Format) -> Array:
    """The abs instruction: sign cleared, but for NaN (see `_nan_aside`)."""
    return _nan_aside(absolute(words, fmt), words, fmt)


def _nan_aside(result: Array, words: Array, fmt: Format) -> Array:
    """`result`, but where the operand `words` is NaN that NaN, sign and all, in f64, and the canonical one elsewhere.

    In f64 both instructions are additions to -0, whose sign and magnitude modifiers do not touch a NaN.
    """
    nan = is_nan(words, fmt)
    if not nan.any():
        return result
    return np.where(nan, quiet(words, fmt) if fmt.name == "f64" else fmt.word.type(fmt.nan), result)
