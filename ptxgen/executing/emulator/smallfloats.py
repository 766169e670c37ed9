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
    """A small format. `nan`: its NaN's word, None without one. `infinity`: the word of its infinity, None without."""

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


def encode(
    value: F64Array, name: str, *, random: Array | None = None, relu: bool = False, saturate: bool = True
) -> Array:
    """uint8 words of the nearest values (ties to even), or with `random` (16 bits each) of stochastic rounding.

    Without `saturate`, infinity or NaN beyond the largest. Stochastic: away from zero where the discarded fraction,
    cut to 16 bits, and the random bits sum up to 1 or more.
    """
    fmt = SMALL[name]
    nan = np.isnan(value)
    size = np.abs(np.where(nan, 0.0, value))
    _, exponent = np.frexp(size)
    quantum = np.maximum(exponent - 1, fmt.low) - fmt.mantissa
    scaled = np.ldexp(np.minimum(size, 2.0**200), -quantum)
    if random is None:
        whole = np.rint(scaled)
    else:
        whole = np.floor(scaled)
        whole += np.floor((scaled - whole) * 65536.0) + (random & 0xFFFF) >= 65536.0
    rounded = np.ldexp(whole, quantum)
    word = _word_of(rounded, fmt)
    if not saturate:
        beyond = fmt.infinity if fmt.infinity is not None else fmt.nan
        word = np.where(rounded > _value(fmt.largest, fmt), beyond, word)
    negative = np.signbit(value)
    sign = 0 if relu else 1 << fmt.bits - 1
    word = np.where(negative, 0 if relu else word | sign, word)
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


def encode_fixed(value: F64Array) -> Array:
    """uint8 words of s2f6, two's complement with six fraction bits: nearest even, clamped; NaN gives the largest."""
    scaled = np.rint(np.clip(np.where(np.isnan(value), 2.0, value), -2.0, 2.0) * 64.0)
    return np.minimum(scaled, 127).astype(np.int8).view(np.uint8)


def decode_fixed(words: Array) -> F64Array:
    """Values of s2f6 words."""
    return words.astype(np.uint8).view(np.int8) / 64.0
