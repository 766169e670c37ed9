"""How PTX values lie in NumPy arrays.

A register is stored as the unsigned integer of its width (predicates as bool); instructions look at it through
the type they name. One array holds one register of every lane.
"""

from __future__ import annotations

import struct
from typing import Any, TypeAlias

import numpy as np

from ptxgen.ptx.tree import Immediate

#: NumPy arrays of one value per lane. NumPy's generic parameters cannot say "of the dtype of that other operand",
#: so these names only document: words or numbers of an instruction's type, and truth values.
Array: TypeAlias = Any
Bools: TypeAlias = Any
F64Array: TypeAlias = Any

UNSIGNED: dict[int, np.dtype[np.generic]] = {
    8: np.dtype(np.uint8), 16: np.dtype(np.uint16), 32: np.dtype(np.uint32), 64: np.dtype(np.uint64),
    128: np.dtype([("low", np.uint64), ("high", np.uint64)]),
}
SIGNED: dict[int, np.dtype[np.generic]] = {
    8: np.dtype(np.int8), 16: np.dtype(np.int16), 32: np.dtype(np.int32), 64: np.dtype(np.int64),
}

#: Width in bits of every type the emulator knows; packed types are whole registers.
BITS: dict[str, int] = {
    "pred": 1,
    "b8": 8, "b16": 16, "b32": 32, "b64": 64, "b128": 128,
    "u8": 8, "u16": 16, "u32": 32, "u64": 64,
    "s8": 8, "s16": 16, "s32": 32, "s64": 64,
    "f16": 16, "bf16": 16, "f32": 32, "f64": 64, "tf32": 32,
    "f16x2": 32, "bf16x2": 32, "u16x2": 32, "s16x2": 32, "f32x2": 64, "u8x4": 32, "s8x4": 32,
    "e4m3": 8, "e5m2": 8, "ue8m0": 8, "e4m3x2": 16, "e5m2x2": 16, "e2m3x2": 16, "e3m2x2": 16, "e2m1x2": 8,
    "b1": 1, "u2": 2, "s2": 2, "b4": 4, "u4": 4, "s4": 4, "e2m1": 4, "e2m3": 6, "e3m2": 6, "ue4m3": 8, "b8x16": 128,
    "ue8m0x4": 32, "e2m1p4x4": 32, "ue5m3x2": 16,
    "ue8m0x2": 16, "s2f6x2": 16, "e4m3x4": 32, "e5m2x4": 32, "e2m3x4": 32, "e3m2x4": 32, "e2m1x4": 16,
}


def is_signed(type_name: str) -> bool:
    return type_name.startswith("s")


def is_float(type_name: str) -> bool:
    return type_name in _FLOATS


_FLOATS = frozenset({"f16", "bf16", "f32", "f64", "f16x2", "bf16x2", "f32x2", "tf32"})


def storage(type_name: str) -> np.dtype[np.generic]:
    """The dtype a register of this type is stored in. Raises KeyError for a type without registers here."""
    bits = BITS[type_name]
    return np.dtype(np.bool_) if bits == 1 else UNSIGNED[bits]


def number_dtype(type_name: str) -> np.dtype[np.generic]:
    """The dtype through which integer instructions of this type compute (`.b` types as unsigned)."""
    bits = BITS[type_name]
    return (SIGNED if is_signed(type_name) else UNSIGNED)[bits]


def bfloat16_bits(value: float) -> int:
    """Nearest-even bfloat16 of a double, as its 16 bits; NaN becomes 0x7fff."""
    if value != value:
        return 0x7FFF
    from ptxgen.executing.emulator.rounding import BF16, narrow

    return int(narrow(np.array([value], np.float64), BF16, "rn")[0])


def float_bits(value: float, type_name: str) -> int:
    """The bits of `value` rounded to nearest even in a float type (`f16x2`: in both halves)."""
    with np.errstate(all="ignore"):
        if type_name == "f64":
            return int(struct.unpack("<Q", struct.pack("<d", value))[0])
        if type_name in {"f32", "tf32"}:
            return int(np.array([value], np.float64).astype(np.float32).view(np.uint32)[0])
        half = bfloat16_bits(value) if type_name.startswith("bf16") else int(
            np.array([value], np.float64).astype(np.float16).view(np.uint16)[0]
        )
    return half | half << 16 if type_name.endswith("x2") else half


def immediate_bits(constant: Immediate, type_name: str) -> int:
    """The bits an immediate has as an operand of this type.

    Hexadecimal floats are bit patterns: `0f3F800000` of a 32-bit operand is exactly these bits, NaN payload
    included, and so it is of an f64 one, as the low half (seen on a GPU). Integers are truncated to the width, as the
    assembler does.
    """
    bits = BITS[type_name]
    text = constant.text.lstrip("-").lower()
    if constant.kind == "f32" and text.startswith("0f"):
        pattern = int(text[2:], 16)
        if bits in (32, 64):
            return pattern ^ (1 << 31 if constant.text.startswith("-") else 0)
    if constant.kind == "f64" and text.startswith("0d") and bits == 64:
        return int(text[2:], 16) ^ (1 << 63 if constant.text.startswith("-") else 0)
    if is_float(type_name):
        return float_bits(float(constant.value), type_name)
    if constant.kind != "int":
        # A float constant of a .b operand keeps its own pattern: `mov.b32 %r1, 1.0` moves 0x3F800000.
        wide = "f64" if bits == 64 else "f32"
        return float_bits(float(constant.value), wide) & (1 << bits) - 1
    return int(constant.value) & (1 << bits) - 1


def wide_words(low: Array, high: Array) -> Array:
    """128-bit words of two arrays of 64-bit ones."""
    low, high = np.broadcast_arrays(low, high)
    words = np.empty(low.shape, UNSIGNED[128])
    words["low"], words["high"] = low, high
    return words


def quarter_words(quarters: list[Array]) -> Array:
    """128-bit words of four arrays of 32-bit ones, the lowest first."""
    wide = [quarter.astype(np.uint64) for quarter in quarters]
    return wide_words(wide[0] | wide[1] << np.uint64(32), wide[2] | wide[3] << np.uint64(32))


def quarters_of(words: Array) -> list[Array]:
    """The four 32-bit parts of 128-bit words, the lowest first."""
    table = np.ascontiguousarray(words).view(np.uint32).reshape(-1, 4)
    return [table[:, number].copy() for number in range(4)]


def is_packed(type_name: str) -> bool:
    """Several numbers in one register: f16x2, f32x2, u8x4, …"""
    return type_name.endswith(("x2", "x4"))


def part_dtype(type_name: str) -> np.dtype[np.generic]:
    """The unsigned dtype of one number of a packed type."""
    return UNSIGNED[BITS[type_name] // int(type_name[-1])]


def parts(words: Array, type_name: str) -> Array:
    """The numbers of packed words, low first: two (or four) times as many."""
    return np.ascontiguousarray(words).view(part_dtype(type_name))


def scalar_bits(value: int | float, type_name: str) -> int:
    """The bits of a by-value kernel argument."""
    if is_float(type_name) and not isinstance(value, int | np.integer):
        return float_bits(float(value), type_name)
    if is_float(type_name):
        return float_bits(float(int(value)), type_name)
    return int(value) & (1 << BITS[type_name]) - 1
