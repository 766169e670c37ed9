"""Input words of a vector: values at the edges, random ones, and small whole numbers where sums must be exact.

Words are a function of the vector's name alone, so that only outputs have to be recorded. The generator is
SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014), counted rather than stepped.
"""

from __future__ import annotations

import zlib

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]

#: Exponent bits, fraction bits of the float formats whose words are made from random signs and exponents.
FORMATS = {
    "f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "tf32": (8, 23), "f64": (11, 52),
    "e4m3": (4, 3), "e5m2": (5, 2), "e2m3": (2, 3), "e3m2": (3, 2), "e2m1": (2, 1),
}  # fmt: skip
_NEAR_ONE = 6                                        # exponents of moderate values lie so near to that of 1


def word_bits(type_name: str) -> int:
    """Width of a value of this type: the digits of its name, packed elements included."""
    if type_name == "pred":
        return 1
    scalar, _, count = type_name.partition("x")
    digits = "".join(c for c in scalar if c.isdigit())
    if scalar in FORMATS:
        exponent, fraction = FORMATS[scalar]
        return (1 + exponent + fraction) * int(count or 1)
    if scalar in ("ue8m0", "ue4m3", "s2f6"):
        return 8 * int(count or 1)
    return int(digits) * int(count or 1)


def column(name: str, type_name: str, rows: int, whole: bool = False) -> Words:
    """`rows` words of a type, as the low bits of 64-bit ones; for 128 bits only the low half is made.

    `whole`: floats are whole numbers from -4 to 4, whose sums and products are exact in every format.
    """
    random = random_words(name, rows)
    scalar, _, count = type_name.partition("x")
    packed = int(count or 1)
    if scalar in FORMATS:
        bits = word_bits(scalar)
        word = np.zeros(rows, np.uint64)
        for index in range(packed):
            element = _floats(random_words(f"{name}/{index}", rows), scalar, whole)
            word |= element << np.uint64(bits * index)
        return word
    bits = min(word_bits(type_name), 64)
    mask = np.uint64((1 << bits) - 1)
    return np.where(random & np.uint64(3) == 0, random >> np.uint64(2), _edges(random, bits)) & mask


def every_word(bits: int) -> Words:
    """All words of up to 16 bits."""
    return np.arange(1 << bits, dtype=np.uint64)


def random_words(name: str, rows: int) -> Words:
    """64 random bits a row, a function of the name."""
    seed = np.uint64(zlib.crc32(name.encode())) << np.uint64(32)
    with np.errstate(over="ignore"):
        z = seed + np.arange(1, rows + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)), np.uint64)


def _edges(random: Words, bits: int) -> Words:
    """Whole numbers near 0, near powers of two and near the ends; and a few with structure."""
    chosen = (random >> np.uint64(8)) % np.uint64(4)
    power = np.uint64(1) << ((random >> np.uint64(16)) % np.uint64(bits))
    near = (random >> np.uint64(32)) % np.uint64(5) - np.uint64(2)
    small = (random >> np.uint64(32)) % np.uint64(72)
    return np.asarray(
        np.select([chosen == 0, chosen == 1, chosen == 2], [power + near, small, np.uint64(0) - small], random),
        np.uint64,
    )


def _floats(random: Words, scalar: str, whole: bool) -> Words:
    """A third edges, a third of any exponent, a third near 1; tf32 has its lower fraction bits cleared."""
    exponent_bits, fraction_bits = FORMATS[scalar]
    bias = (1 << (exponent_bits - 1)) - 1
    sign = (random >> np.uint64(1) & np.uint64(1)) << np.uint64(exponent_bits + fraction_bits)
    fraction = (random >> np.uint64(8)) & np.uint64((1 << fraction_bits) - 1)
    if whole:
        return _whole(random, exponent_bits, fraction_bits, bias)
    top = np.uint64((1 << exponent_bits) - 1)
    low = max(bias - _NEAR_ONE, 0)
    near = np.uint64(low) + (random >> np.uint64(3)) % np.uint64(min(2 * _NEAR_ONE, (1 << exponent_bits) - 1 - low))
    anywhere = (random >> np.uint64(3)) % (top + np.uint64(1))
    special = np.array(specials(exponent_bits, fraction_bits), np.uint64)
    kind = (random >> np.uint64(60)) % np.uint64(3)
    exponent = np.where(kind == 1, anywhere, near) << np.uint64(fraction_bits)
    word = np.where(kind == 0, special[(random >> np.uint64(3)) % np.uint64(len(special))], exponent | fraction)
    return np.asarray(word | sign, np.uint64)


def _whole(random: Words, exponent_bits: int, fraction_bits: int, bias: int) -> Words:
    """0, 1, 2, 3 or 4 with a sign: every format here holds them."""
    one, half = bias << fraction_bits, 1 << (fraction_bits - 1)
    table = np.array([0, one, one + 2 * half, one + 3 * half, one + 4 * half], np.uint64)
    sign = (random >> np.uint64(1) & np.uint64(1)) << np.uint64(exponent_bits + fraction_bits)
    return np.asarray(table[(random >> np.uint64(8)) % np.uint64(len(table))] | sign, np.uint64)


def specials(exponent_bits: int, fraction_bits: int) -> list[int]:
    """Without sign: zero, least and greatest subnormal, least and greatest normal, infinity, NaNs, 1, halves."""
    one = ((1 << (exponent_bits - 1)) - 1) << fraction_bits
    infinity = ((1 << exponent_bits) - 1) << fraction_bits
    half_fraction = 1 << (fraction_bits - 1)
    return [
        0, 1, (1 << fraction_bits) - 1, 1 << fraction_bits, infinity - 1, infinity, infinity | half_fraction,
        infinity | half_fraction | 1, infinity | 1, infinity | (2 * half_fraction - 1),
        one, one - 1, one + 1, one | half_fraction, one - half_fraction,
        one + (1 << fraction_bits), one + (1 << fraction_bits) + half_fraction,
    ]  # fmt: skip
