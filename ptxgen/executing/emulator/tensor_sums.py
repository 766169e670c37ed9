"""Sums of products of floats as the tensor cores of an sm_90 form them.

A step takes some products and the sum so far. All are aligned to the largest exponent among them, which for a product
is the sum of its factors' exponents; what then lies more than 25 bits below is cut off, term by term, and the sum of
what is left is exact. It is cut off to f32, or rounded to nearest to f16, and goes into the next step. PTX leaves all
this open. The scheme is that of Xie, Wang, Yang and Yang, "MMA-Sim: Bit-Accurate Reference Model of Tensor Cores and
Matrix Cores" (2025); which instruction takes which steps was read from the code that ptxas makes for an sm_90, and
the records of an H200 (bench/vectors) confirm both to the bit.
"""

from __future__ import annotations

import numpy as np

from ptxgen.executing.emulator import rounding
from ptxgen.executing.emulator.rounding import FORMATS
from ptxgen.executing.emulator.values import Array

#: Fraction bits of the largest term that the aligned terms keep.
KEPT = 25
#: An exponent below all that occur, for zeros.
_NOTHING = -2000
#: No sum of exponents of numbers is less; what scales by it is finite.
_LEAST = -500
#: Matrices of so many warps are summed up at once: their sums stay in a processor's cache.
_AT_ONCE = 128


def sums(a: Array, b: Array, c: Array, lows: tuple[int, int, int], target: str, kept: int = KEPT) -> Array:
    """One step: a @ b + c over (warps, rows, columns) of float64, as float64 that are words of `target` (f16, f32).

    `lows` are the exponents of the least normal numbers of the types of a, b and c.
    """
    parts = range(0, max(a.shape[0], 1), _AT_ONCE)
    with np.errstate(invalid="ignore", over="ignore"):
        found = [
            _step(a[p : p + _AT_ONCE], b[p : p + _AT_ONCE], c[p : p + _AT_ONCE], lows, target, kept) for p in parts
        ]
    return np.concatenate(found)


def _step(a: Array, b: Array, c: Array, lows: tuple[int, int, int], target: str, kept: int) -> Array:
    left, right, top = (_exponents(x, low) for x, low in zip((a, b, c), lows, strict=True))
    # Rows of one k lie side by side, and so do columns.
    left, tall = (np.ascontiguousarray(x.transpose(2, 0, 1))[..., None] for x in (left, a))
    right, wide = (np.ascontiguousarray(x.transpose(1, 0, 2))[:, :, None, :] for x in (right, b))
    for k in range(a.shape[2]):
        np.maximum(top, left[k] + right[k], out=top)
    scale = np.ldexp(1.0, kept - np.maximum(top, _LEAST).astype(np.intc))
    total = np.trunc(c * scale)
    term = np.empty_like(total)
    for k in range(a.shape[2]):
        np.multiply(tall[k], wide[k], out=term)
        term *= scale
        np.trunc(term, out=term)
        total += term
    total /= scale
    if not (np.isfinite(a).all() and np.isfinite(b).all() and np.isfinite(c).all()):
        plain = np.matmul(a, b) + c
        total = np.where(np.isfinite(plain), total, plain)
    return _rounded(total, target)


def _exponents(values: Array, low: int) -> Array:
    """Of the leading bit, at least that of the least normal number; far below that of zeros."""
    _, exponent = np.frexp(values)
    found = np.maximum(exponent - 1, low).astype(np.int16)
    return np.where(values == 0, np.int16(_NOTHING), found)


def _rounded(total: Array, target: str) -> Array:
    """To nearest in f16; towards zero in f32, but to infinity where that is too small."""
    if target == "f16":
        return total.astype(np.float16).astype(np.float64)
    fmt = FORMATS["f32"]
    cut = rounding.widen(rounding.narrow(total, fmt, "rz"), fmt)
    return np.where(np.abs(total) >= 2.0**128, np.copysign(np.inf, total), cut)
