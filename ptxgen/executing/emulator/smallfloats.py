"""Floats of 4, 6 and 8 bits and power-of-two scales: words to float64 and back.

All finite values of these formats are exact in float64. Conversions into them saturate, as `.satfinite`, which PTX
demands there, says: values beyond the largest become the largest, NaN the format's NaN, or the largest positive
number where it has none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ptxgen.executing.emulator.values import Array, F64Array


@dataclass(frozen=True, slots=True)
class Small:
    """A small format, of `bits` with a sign bit (which lies above the words of those without a sign).

    `nan`: its NaN's word, None without one. `infinity`: the word of its infinity, None without.
    """

    name: str
    bits: int
    mantissa: int
    bias: int
    largest: int                       # word of the largest finite number
    nan: int | None = None
    infinity: int | None = None

    @property
    def low(self) -> int:
        """Exponent of the least normal number."""
        return 1 - self.bias


SMALL = {
    "e4m3": Small("e4m3", 8, 3, 7, 0x7E, 0x7F),
    "e5m2": Small("e5m2", 8, 2, 15, 0x7B, 0x7F, 0x7C),
    "e2m3": Small("e2m3", 6, 3, 1, 0x1F),
    "e3m2": Small("e3m2", 6, 2, 3, 0x1F),
    "e2m1": Small("e2m1", 4, 1, 1, 0x07),
    "ue4m3": Small("ue4m3", 8, 3, 7, 0x7E, 0x7F),
    "ue5m3": Small("ue5m3", 9, 3, 15, 0xFE, 0xFF),
}
_TABLES: dict[str, F64Array] = {}


def _value(word: int, fmt: Small) -> float:
    size = word & (1 << fmt.bits - 1) - 1
    exponent, mantissa = size >> fmt.mantissa, size & (1 << fmt.mantissa) - 1
    if fmt.infinity is not None and size >= fmt.infinity:
        value = float("inf") if size == fmt.infinity else float("nan")
    elif size == fmt.nan:
        value = float("nan")
    elif exponent:
        value = (1 + mantissa / (1 << fmt.mantissa)) * 2.0 ** (exponent - fmt.bias)
    else:
        value = mantissa / (1 << fmt.mantissa) * 2.0**fmt.low
    return -value if word >> fmt.bits - 1 and not fmt.name.startswith("u") else value


def decode(words: Array, name: str) -> F64Array:
    """The value of each word; bits above the format's are ignored."""
    if name == "ue8m0":
        exponent = words.astype(np.int64) & 0xFF
        return np.where(exponent == 255, np.nan, np.ldexp(1.0, exponent - 127))
    table = _TABLES.get(name)
    if table is None:
        fmt = SMALL[name]
        table = _TABLES[name] = np.array([_value(word, fmt) for word in range(1 << fmt.bits)])
    return table[words.astype(np.intp) & table.size - 1]


@dataclass(frozen=True, slots=True)
class Rounding:
    """How numbers become small.

    `mode`: rn, rz, or rp for formats without a sign. Negative ones become 0 (`relu`), or only zeros lose their sign
    (`positive_zero`). Beyond the largest stands the largest (`saturate`), or else infinity or NaN.
    """

    mode: str = "rn"
    relu: bool = False
    positive_zero: bool = False
    saturate: bool = True


def encode(value: F64Array, name: str, how: Rounding, *, random: Array | None = None) -> Array:
    """uint8 words of the numbers, rounded as `how` says (nearest: ties to even).

    With `random`, 16 bits a number, stochastically: away from zero where the discarded fraction, cut to 16 bits, and
    the random bits sum up to 1 or more. A format without a sign takes sizes.
    """
    fmt = SMALL[name]
    nan = np.isnan(value)
    size = np.abs(np.where(nan, 0.0, value))
    _, exponent = np.frexp(size)
    quantum = np.maximum(exponent - 1, fmt.low) - fmt.mantissa
    scaled = np.ldexp(np.minimum(size, 2.0**200), -quantum)
    if random is None:
        whole = {"rn": np.rint, "rz": np.floor, "rp": np.ceil}[how.mode](scaled)
    else:
        whole = np.floor(scaled)
        whole += np.floor((scaled - whole) * 65536.0) + (random & 0xFFFF) >= 65536.0
    rounded = np.ldexp(whole, quantum)
    word = _word_of(rounded, fmt)
    if not how.saturate:
        beyond = fmt.infinity if fmt.infinity is not None else fmt.nan
        word = np.where((rounded > _value(fmt.largest, fmt)) & (how.mode != "rz"), beyond, word)
    if not name.startswith("u"):
        sign = np.where((word == 0) & how.positive_zero, 0, 1 << fmt.bits - 1)
        word = np.where(np.signbit(value), 0 if how.relu else word | sign, word)
    return np.where(nan, fmt.largest if fmt.nan is None else fmt.nan, word).astype(np.uint8)


def _word_of(size: F64Array, fmt: Small) -> Any:
    """The word of a size that the format holds exactly, the largest for anything beyond."""
    _, exponent = np.frexp(size)
    field = np.maximum(exponent - 1, fmt.low)
    mantissa = np.ldexp(size, fmt.mantissa - field).astype(np.int64)
    normal = mantissa >> fmt.mantissa != 0
    word = np.where(normal, field + fmt.bias, 0) << fmt.mantissa | mantissa & (1 << fmt.mantissa) - 1
    return np.where(size > _value(fmt.largest, fmt), fmt.largest, word)


def encode_scale(value: F64Array, mode: str, *, saturate: bool) -> Array:
    """uint8 words of ue8m0: the power of two below (rz) or above (rp) the size; NaN for NaN and overflow."""
    nan = np.isnan(value)
    size = np.abs(np.where(nan, 0.0, value))
    part, exponent = np.frexp(np.minimum(size, 2.0**200))
    power = exponent - 1 + ((part > 0.5) & (mode == "rp"))
    word = np.clip(np.where(size == 0, 0, power + 127), 0, 255)
    word = np.where(word == 255, 254 if saturate else 255, word)
    return np.where(nan, 255, word).astype(np.uint8)


def encode_fixed(value: F64Array, mode: str) -> Array:
    """uint8 words of s2f6, two's complement with six fraction bits: nearest even or cut, and clamped.

    NaN gives the largest.
    """
    whole = np.rint if mode == "rn" else np.trunc
    scaled = whole(np.clip(np.where(np.isnan(value), 2.0, value), -2.0, 2.0) * 64.0)
    return np.minimum(scaled, 127).astype(np.int8).view(np.uint8)


def decode_fixed(words: Array) -> F64Array:
    """Values of s2f6 words."""
    return words.astype(np.uint8).view(np.int8) / 64.0
