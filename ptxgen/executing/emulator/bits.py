"""Logic, shift and bit-field instructions over unsigned arrays (signed ones where the type is signed)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxgen.executing.emulator.values import UNSIGNED

Ints = Any


def _bits(a: Ints) -> int:
    return int(a.dtype.itemsize) * 8


def shift_left(a: Ints, amount: Ints) -> Ints:
    """Amounts (uint32) of the width or more give 0."""
    bits = _bits(a)
    moved = a << np.minimum(amount, bits - 1).astype(a.dtype)
    return np.where(amount >= bits, np.zeros(1, a.dtype), moved)


def shift_right(a: Ints, amount: Ints) -> Ints:
    """Amounts of the width or more give 0, or for signed arrays the sign everywhere."""
    bits = _bits(a)
    moved = a >> np.minimum(amount, bits - 1).astype(a.dtype)
    if a.dtype.kind == "i":
        return moved
    return np.where(amount >= bits, np.zeros(1, a.dtype), moved)


def funnel_shift(low: Ints, high: Ints, amount: Ints, *, left: bool, clamp: bool) -> Ints:
    """shf: the 64 bits high:low shifted, the upper (left) or lower (right) word of it."""
    count = np.minimum(amount, 32) if clamp else amount & np.uint32(31)
    both = (high.astype(np.uint64) << np.uint64(32)) | low.astype(np.uint64)
    wide = count.astype(np.uint64)
    if left:
        return ((both << wide) >> np.uint64(32)).astype(np.uint32)
    return (both >> wide).astype(np.uint32)


def three_input_logic(a: Ints, b: Ints, c: Ints, table: int) -> Ints:
    """lop3: bit i of `table` is the result for inputs whose bits spell i as a*4 + b*2 + c."""
    result = np.zeros(np.broadcast_shapes(a.shape, b.shape, c.shape), a.dtype)
    for row in range(8):
        if table >> row & 1:
            result |= (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
    return result


def count_ones(a: Ints) -> Ints:
    """uint32 population count of uint32 or uint64."""
    x = a.astype(np.uint64)
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return ((x * np.uint64(0x0101010101010101)) >> np.uint64(56)).astype(np.uint32)


def _highest_one(a: Ints) -> Ints:
    """int64 index of the highest set bit of unsigned arrays, -1 for zero."""
    x = a.astype(np.uint64)
    high = (x >> np.uint64(32)).astype(np.float64)
    low = (x & np.uint64(0xFFFFFFFF)).astype(np.float64)
    top = np.frexp(high)[1].astype(np.int64) + 31
    bottom = np.frexp(low)[1].astype(np.int64) - 1
    return np.where(high != 0, top, np.where(low != 0, bottom, -1))


def count_leading_zeros(a: Ints) -> Ints:
    return (_bits(a) - 1 - _highest_one(a)).astype(np.uint32)


def find_highest(a: Ints, *, shift_amount: bool) -> Ints:
    """bfind: position of the highest bit that differs from the sign; 0xffffffff if there is none."""
    bits = _bits(a)
    if a.dtype.kind == "i":
        a = np.where(a < 0, ~a, a)
    place = _highest_one(a.view(UNSIGNED[bits]))
    if shift_amount:
        place = np.where(place >= 0, bits - 1 - place, place)
    return place.astype(np.uint32)


def reverse_bits(a: Ints) -> Ints:
    bits = _bits(a)
    x = a.astype(np.uint64)
    steps = ((1, 0x5555555555555555), (2, 0x3333333333333333), (4, 0x0F0F0F0F0F0F0F0F))
    for shift, mask in steps:
        s, m = np.uint64(shift), np.uint64(mask)
        x = ((x >> s) & m) | ((x & m) << s)
    return (x.byteswap() >> np.uint64(64 - bits)).astype(a.dtype)


def _field_bounds(bits: int, position: Ints, length: Ints) -> tuple[Ints, Ints]:
    """Position and length as int64. The manual leaves values above 255 open: 32-bit instructions read the low
    8 bits of each, the shifts that ptxas makes of the 64-bit ones the whole word.
    """
    reach = np.uint32(0xFF if bits == 32 else 0xFFFFFFFF)
    return (position & reach).astype(np.int64), (length & reach).astype(np.int64)


def extract_field(a: Ints, position: Ints, length: Ints) -> Ints:
    """bfe: `length` bits from `position`, sign- or zero-extended by the dtype's kind.

    Bits beyond the word read as the sign of the word for signed types, 0 for unsigned ones.
    """
    bits = _bits(a)
    pos, size = _field_bounds(bits, position, length)
    unsigned = a.view(UNSIGNED[bits]).astype(np.uint64)
    signed = a.dtype.kind == "i"
    if signed:
        sign_place = np.minimum(pos + size - 1, bits - 1)
        sign = (unsigned >> np.maximum(sign_place, 0).astype(np.uint64)) & np.uint64(1)
        sign = np.where(size == 0, np.uint64(0), sign)
    else:
        sign = np.zeros(1, np.uint64)
    fill = np.uint64(0) - sign
    moved = np.where(pos < bits, unsigned >> np.minimum(pos, 63).astype(np.uint64), np.uint64(0))
    # How many bits of the result come from the word itself.
    known = np.clip(np.minimum(size, bits - pos), 0, 64)
    ones = (np.uint64(1) << np.minimum(known, 63).astype(np.uint64)) - np.uint64(1)
    mask = np.where(known >= 64, ~np.uint64(0), ones)
    result = (moved & mask) | (fill & ~mask)
    return result.astype(UNSIGNED[bits]).view(a.dtype)


def insert_field(a: Ints, b: Ints, position: Ints, length: Ints) -> Ints:
    """bfi: the low `length` bits of `a` placed at `position` in `b`."""
    bits = _bits(a)
    pos, size = (bound.astype(np.uint64) for bound in _field_bounds(bits, position, length))
    ones = np.where(size >= 64, ~np.uint64(0), (np.uint64(1) << np.minimum(size, np.uint64(63))) - np.uint64(1))
    inside = pos < np.uint64(bits)
    shift = np.minimum(pos, np.uint64(63))
    mask = np.where(inside, ones << shift, np.uint64(0))
    x = a.astype(np.uint64) << shift
    return ((b.astype(np.uint64) & ~mask) | (x & mask)).astype(a.dtype)


def field_mask(position: Ints, length: Ints, *, clamp: bool) -> Ints:
    """bmsk: `length` ones from bit `position` of a uint32."""
    pos = position.astype(np.uint64)
    size = length.astype(np.uint64)
    if clamp:
        pos, size = np.minimum(pos, np.uint64(32)), np.minimum(size, np.uint64(32))
    else:
        pos, size = pos & np.uint64(31), size & np.uint64(31)
    return (((np.uint64(1) << size) - np.uint64(1)) << pos).astype(np.uint32)


def sign_extend(a: Ints, size: Ints, *, clamp: bool) -> Ints:
    """szext: the low `size` bits of a 32-bit word, sign-extended for int32, zero-extended for uint32."""
    amount = np.minimum(size, 32) if clamp else size & np.uint32(31)
    shift = (32 - amount.astype(np.int64))
    wide = a.view(np.uint32).astype(np.uint64) << shift.astype(np.uint64)
    word = wide.astype(np.uint32).view(a.dtype)
    move = np.minimum(shift, 31).astype(a.dtype)
    return np.where(amount == 0, np.zeros(1, a.dtype), word >> move)


def carryless_multiply(a: Ints, b: Ints, *, high: bool) -> Ints:
    """A half of the product of two uint64 words as polynomials over bits."""
    a, b = np.broadcast_arrays(a, b)
    result = np.zeros(a.shape, np.uint64)
    for place in range(1 if high else 0, 64):
        part = b >> np.uint64(64 - place) if high else b << np.uint64(place)
        result ^= np.where(a >> np.uint64(place) & np.uint64(1) != 0, part, np.uint64(0))
    return result


def find_nth(mask: Ints, base: Ints, offset: Ints) -> Ints:
    """fns: the place of the offset-th set bit of a uint32 from bit `base` up (down for negative offsets).

    An offset of 0 asks for bit `base` itself. All ones where there is no such bit, or no bit `base`. An offset of
    -2**31 gives 0: the code that ptxas makes cannot negate it.
    """
    mask, base, offset = np.broadcast_arrays(mask, base, offset)
    places = np.arange(32)
    down = offset[:, None] < 0
    inside = np.where(down, places <= base[:, None], places >= base[:, None])
    inside &= base[:, None] < 32
    inside &= (mask[:, None] >> places.astype(np.uint32) & np.uint32(1)) != 0
    upward = np.cumsum(inside, axis=1)
    rank = np.where(down, upward[:, -1:] + 1 - upward, upward)
    wanted = np.abs(offset.astype(np.int64))[:, None]
    hit = inside & np.where(wanted == 0, places == base[:, None], rank == wanted)
    found = np.where(hit.any(axis=1), hit.argmax(axis=1), 0xFFFFFFFF)
    return np.where(offset == -(2**31), 0, found).astype(np.uint32)


def permute_bytes(a: Ints, b: Ints, selector: Ints, mode: str) -> Ints:
    """prmt: four bytes picked out of the eight of b:a; the modes replace the selector's meaning."""
    a, b, selector = np.broadcast_arrays(a, b, selector)
    both = np.empty((a.size, 8), np.uint8)
    both[:, :4] = np.ascontiguousarray(a).view(np.uint8).reshape(-1, 4)
    both[:, 4:] = np.ascontiguousarray(b).view(np.uint8).reshape(-1, 4)
    signs = np.zeros((a.size, 4), bool)
    if mode == "":
        nibbles = (selector[:, None] >> np.array([0, 4, 8, 12], np.uint32)) & np.uint32(15)
        picks, signs = nibbles & np.uint32(7), nibbles > 7
    else:
        rows = {
            "f4e": ("3210", "4321", "5432", "6543"), "b4e": ("5670", "6701", "7012", "0123"),
            "rc8": ("0000", "1111", "2222", "3333"), "ecl": ("3210", "3211", "3222", "3333"),
            "ecr": ("0000", "1110", "2210", "3210"), "rc16": ("1010", "3232", "1010", "3232"),
        }[mode]
        table = np.array([[int(c) for c in reversed(row)] for row in rows], np.uint32)
        picks = table[selector & np.uint32(3)]
    chosen = np.take_along_axis(both, picks.astype(np.intp), axis=1)
    replicated = np.where(chosen & 0x80, np.uint8(0xFF), np.uint8(0))
    return np.ascontiguousarray(np.where(signs, replicated, chosen).astype(np.uint8)).view(np.uint32).reshape(-1)
