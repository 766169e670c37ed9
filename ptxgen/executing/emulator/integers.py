"""Integer instructions over typed arrays: wrap-around arithmetic, high halves, carries, division, dot products.

Operands are arrays of the instruction's own dtype (int32 for .s32, and so on); results likewise, except where a
function says otherwise.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxgen.executing.emulator.values import SIGNED, UNSIGNED, Bools

Ints = Any  # an integer array; NumPy's generic parameters cannot say "of the same dtype as the other operand"


def wide_dtype(dtype: np.dtype[np.generic]) -> np.dtype[np.generic]:
    """The dtype of twice the width and the same signedness."""
    return (SIGNED if dtype.kind == "i" else UNSIGNED)[dtype.itemsize * 16]


def multiply_wide(a: Ints, b: Ints) -> Ints:
    """The whole product in twice the width."""
    wide = wide_dtype(a.dtype)
    return a.astype(wide) * b.astype(wide)


def multiply_high(a: Ints, b: Ints) -> Ints:
    """The upper half of the product."""
    bits = a.dtype.itemsize * 8
    if bits < 64:
        return (multiply_wide(a, b) >> bits).astype(a.dtype)
    x, y = a.view(np.uint64), b.view(np.uint64)
    mask, shift = np.uint64(0xFFFFFFFF), np.uint64(32)
    x0, x1, y0, y1 = x & mask, x >> shift, y & mask, y >> shift
    low = x0 * y0
    cross = x1 * y0 + (low >> shift)
    cross2 = x0 * y1 + (cross & mask)
    high = x1 * y1 + (cross >> shift) + (cross2 >> shift)
    if a.dtype.kind == "i":
        high = high - np.where(a < 0, y, np.uint64(0)) - np.where(b < 0, x, np.uint64(0))
    return high.view(a.dtype)


def multiply_24(a: Ints, b: Ints, *, high: bool) -> Ints:
    """mul24: bits 0 to 31 (low) or 16 to 47 (high) of the product of the low 24 bits of each operand."""
    wide = np.int64 if a.dtype.kind == "i" else np.uint64
    shift = np.array(40, wide)
    x = (a.astype(wide) << shift) >> shift
    y = (b.astype(wide) << shift) >> shift
    product = x * y
    return (product >> np.array(16, wide) if high else product).astype(a.dtype)


def saturating_add(a: Ints, b: Ints) -> Ints:
    info = np.iinfo(a.dtype)
    return np.clip(a.astype(np.int64) + b.astype(np.int64), info.min, info.max).astype(a.dtype)


def saturating_subtract(a: Ints, b: Ints) -> Ints:
    info = np.iinfo(a.dtype)
    return np.clip(a.astype(np.int64) - b.astype(np.int64), info.min, info.max).astype(a.dtype)


def divide(a: Ints, b: Ints) -> Ints:
    """Towards zero. By zero: all ones, as the code that GPUs run for it gives; MIN / -1 wraps to MIN."""
    zero = b == 0
    safe = np.where(zero, np.ones(1, b.dtype), b)
    if a.dtype.kind == "u":
        return np.where(zero, ~np.zeros(1, a.dtype), a // safe)
    unsigned = UNSIGNED[a.dtype.itemsize * 8]
    quotient = np.abs(a).view(unsigned) // np.abs(safe).view(unsigned)
    signed = quotient.view(a.dtype)
    result = np.where((a < 0) != (safe < 0), -signed, signed)
    return np.where(zero, np.array([-1], a.dtype), result)


def remainder(a: Ints, b: Ints) -> Ints:
    """The sign of the dividend. By zero: all ones, as for division; MIN % -1 is 0."""
    zero = b == 0
    result = a - divide(a, b) * b
    return np.where(zero, ~np.zeros(1, a.dtype), result)


def absolute_difference(a: Ints, b: Ints) -> Ints:
    """|a - b| with the subtraction not wrapping, as sad uses it, in the operand's width."""
    return np.where(a < b, b - a, a - b)


def add_with_carry(a: Ints, b: Ints, carry: Bools | None) -> tuple[Ints, Bools]:
    """(a + b + carry, carry out) over unsigned arrays."""
    total = a + b
    out = total < a
    if carry is not None:
        more = total + carry.astype(a.dtype)
        out = out | (more < total)
        total = more
    return total, out


def subtract_with_carry(a: Ints, b: Ints, carry: Bools | None) -> tuple[Ints, Bools]:
    """(a - b - borrow, carry out) over unsigned arrays.

    A carry is the absence of a borrow, as in the hardware's adder: `addc` after `sub.cc` sees what it sees on a GPU.
    """
    return add_with_carry(a, ~b, np.ones(1, np.bool_) if carry is None else carry)


def dot_bytes(a: Ints, b: Ints, c: Ints, *, signed_a: bool, signed_b: bool) -> Ints:
    """dp4a over uint32 words: four byte products added to `c` (uint32, wrapping)."""
    x = np.ascontiguousarray(a).view(np.int8 if signed_a else np.uint8).reshape(-1, 4).astype(np.int64)
    y = np.ascontiguousarray(b).view(np.int8 if signed_b else np.uint8).reshape(-1, 4).astype(np.int64)
    return ((x * y).sum(axis=1) + c.astype(np.int64)).astype(np.uint32)


def dot_halves(a: Ints, b: Ints, c: Ints, *, signed_a: bool, signed_b: bool, high: bool) -> Ints:
    """dp2a over uint32 words: both halves of `a` times the low or high two bytes of `b`, added to `c`."""
    x = np.ascontiguousarray(a).view(np.int16 if signed_a else np.uint16).reshape(-1, 2).astype(np.int64)
    y = np.ascontiguousarray(b).view(np.int8 if signed_b else np.uint8).reshape(-1, 4).astype(np.int64)
    chosen = y[:, 2:] if high else y[:, :2]
    return ((x * chosen).sum(axis=1) + c.astype(np.int64)).astype(np.uint32)
