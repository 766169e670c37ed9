"""Sums of products of floats as the tensor cores of an sm_90 form them.

A step takes some products and the sum so far. All are aligned to the largest exponent among them, which for a product
is the sum of its factors' exponents; what then lies more than 25 bits below is cut off, term by term, and the sum of
what is left is exact. It is cut off to f32, or rounded to nearest to f16, and goes into the next step. PTX leaves all
this open. The scheme is that of Xie, Wang, Yang and Yang, "MMA-Sim: Bit-Accurate Reference Model of Tensor Cores and
Matrix Cores" (2025); which instruction takes which steps was read from the code that ptxas makes for an sm_90, and
the records of an H200 (bench/vectors) confirm both to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from ptxgen.executing.emulator import rounding
from ptxgen.executing.emulator.rounding import FORMATS, Format
from ptxgen.executing.emulator.values import Array

#: Fraction bits of the largest term that the aligned terms keep.
KEPT = 25
#: An exponent below all that occur, for zeros.
_NOTHING = -2000
#: No sum of exponents of numbers is less; what scales by it is finite.
_LEAST = -500
#: Matrices of so many warps are summed up at once: their sums stay in a processor's cache.
_AT_ONCE = 128
_F16, _F32 = FORMATS["f16"], FORMATS["f32"]
#: 8-bit floats are widened to f16.
_NARROW = frozenset({"e4m3", "e5m2"})


class Product(Protocol):
    """a @ b + c over (warps, rows, columns) of numbers, as words of the result's type.

    Of a sparse matrix `a` holds the elements that are there, and `places` their columns, (warps, rows, k / 2).
    """

    def __call__(self, a: Array, b: Array, c: Array, places: Array | None = None) -> Array: ...


def product(types: Sequence[str], *, whole: bool = False) -> Product:
    """`types` are those of d, a, b and c; `whole`: of wmma."""
    d_type, a_type, b_type, c_type = types
    sums, narrow = _F32 if "f32" in (d_type, c_type) else _F16, a_type in _NARROW
    lows = [(_F16 if narrow else FORMATS[kind]).low for kind in (a_type, b_type)]

    def multiply(a: Array, b: Array, c: Array, places: Array | None = None) -> Array:
        k = np.arange(a.shape[2])
        if narrow:
            # Two products over halves of each register, and an addition.
            total = _steps(a, b, np.zeros_like(c), places, [k[k // 2 % 2 == 0], k[k // 2 % 2 == 1]], lows, sums)
            return rounding.add(rounding.narrow(c, sums, "rn"), rounding.narrow(total, sums, "rn"), sums, "rn")
        parts = [k[:4], k[4:]] if whole and a_type == "tf32" else [slice(None)]
        return rounding.narrow(_steps(a, b, c, places, parts, lows, sums), FORMATS[d_type], "rn")

    return multiply


def quarter(d_type: str) -> Callable[[Array, Array, Array], Array]:
    """a @ b + c as above for mma.m8n8k4 over f16, which an sm_90 replaces by f32 arithmetic.

    For results in f32 a chain of fused multiply-adds is added to c, for those in f16 two chains of two products.
    """

    def multiply(a: Array, b: Array, c: Array) -> Array:
        left, right, third = (rounding.narrow(x, _F32, "rn") for x in (a, b, c))

        def chain(total: Array, *places: int) -> Array:
            for k in places:
                x, y = np.broadcast_arrays(left[:, :, k, None], right[:, None, k, :])
                total = rounding.fma(x, y, total, _F32, "rn")
            return total

        if d_type == "f32":
            return rounding.add(third, chain(np.zeros_like(third), 0, 1, 2, 3), _F32, "rn")
        # Begun with -0 a chain begins with a product, whose zero may be negative.
        nothing = np.full_like(third, 1 << 31)
        total = rounding.add(third, chain(nothing, 0, 1), _F32, "rn")
        total = rounding.add(total, chain(nothing, 2, 3), _F32, "rn")
        return rounding.narrow(rounding.widen(total, _F32), FORMATS[d_type], "rn")

    return multiply


def _steps(
    a: Array, b: Array, c: Array, places: Array | None, parts: Sequence[Any], lows: list[int], fmt: Format
) -> Array:
    """One step after the other, over numbers; the sums are numbers of `fmt`."""
    found = []
    for first in range(0, max(a.shape[0], 1), _AT_ONCE):
        some = slice(first, first + _AT_ONCE)
        # Warps side by side, so that NumPy's innermost loops are long.
        left = np.ascontiguousarray(a[some].transpose(2, 1, 0))[:, :, None]
        right = np.ascontiguousarray(b[some].transpose(1, 2, 0))[:, None]
        factors = [left, right, _exponents(left, lows[0]), _exponents(right, lows[1])]
        if places is not None:
            chosen, warps = places[some].transpose(2, 1, 0), np.arange(left.shape[3])
            factors[1::2] = [np.ascontiguousarray(x[chosen, 0, :, warps].swapaxes(2, 3)) for x in factors[1::2]]
        total = np.ascontiguousarray(c[some].transpose(1, 2, 0))
        for part in parts:
            taken = [x[part] for x in factors]
            total = _rounded(_step(taken[:2], taken[2:], total, _exponents(total, fmt.low)), fmt)
        found.append(total.transpose(2, 0, 1))
    return np.concatenate(found)


def _step(factors: list[Array], exponents: list[Array], c: Array, top: Array) -> Array:
    """Factors and their exponents are (k, rows, 1, warps) and (k, rows or 1, columns, warps); `top` is that of c."""
    for x, y in zip(*exponents, strict=True):
        np.maximum(top, x + y, out=top)
    scale = np.ldexp(1.0, KEPT - np.maximum(top, _LEAST).astype(np.intc))
    total = np.trunc(c * scale)
    term = np.empty_like(total)
    for x, y in zip(*factors, strict=True):
        np.multiply(x, y, out=term)
        term *= scale
        np.trunc(term, out=term)
        total += term
    total /= scale
    # A zero is positive, whatever the signs of what it is made of.
    total += 0.0
    if not all(np.isfinite(x).all() for x in (*factors, c)):
        plain = (factors[0] * factors[1]).sum(axis=0) + c
        total = np.where(np.isfinite(plain), total, plain)
    return total


def _exponents(values: Array, low: int) -> Array:
    """Of the leading bit, at least that of the least normal number; far below that of zeros."""
    _, exponent = np.frexp(values)
    found = np.maximum(exponent - 1, low).astype(np.int16)
    return np.where(values == 0, np.int16(_NOTHING), found)


def _rounded(total: Array, fmt: Format) -> Array:
    """To nearest in f16; towards zero in f32, but to infinity where that is too small."""
    if fmt is _F16:
        return total.astype(np.float16).astype(np.float64) + 0.0
    near = total.astype(np.float32)
    away = np.abs(near) > np.abs(total)
    away &= np.abs(total) < 2.0**128
    return (near.view(np.uint32) - away).view(np.float32).astype(np.float64)
