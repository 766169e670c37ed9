"""Conversions to and from floats of 4, 6 and 8 bits, scales, tf32 and packed integers, against exact references."""

from __future__ import annotations

import bisect
import functools
import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from one_instruction import evaluate

from ptxgen.executing.emulator import smallfloats

#: Exponent bits, mantissa bits, and how many of the highest words are no finite numbers.
SHAPES = {"e4m3": (4, 3, 1), "e5m2": (5, 2, 4), "e3m2": (3, 2, 0), "e2m3": (2, 3, 0), "e2m1": (2, 1, 0)}
NAN = {"e4m3": 0x7F, "e5m2": 0x7F}
CONTAINER = {"e4m3": 8, "e5m2": 8, "e3m2": 8, "e2m3": 8, "e2m1": 4}


def value(word: int, name: str) -> Fraction:
    """The exact value of a finite word, from the definition."""
    exponent_bits, mantissa_bits, _ = SHAPES[name]
    bias = (1 << exponent_bits - 1) - 1
    mantissa = word & (1 << mantissa_bits) - 1
    exponent = word >> mantissa_bits & (1 << exponent_bits) - 1
    size = Fraction(mantissa, 1 << mantissa_bits) + (1 if exponent else 0)
    size *= Fraction(2) ** (max(exponent, 1) - bias)
    return -size if word >> exponent_bits + mantissa_bits else size


def finite(name: str) -> list[int]:
    """Words of the numbers from 0 up."""
    exponent_bits, mantissa_bits, lost = SHAPES[name]
    return list(range((1 << exponent_bits + mantissa_bits) - lost))


@functools.cache
def numbers(name: str) -> list[Fraction]:
    """All sizes of a format, by word."""
    return [value(word, name) for word in finite(name)]


def nearest(exact: Fraction, name: str) -> int:
    """The word nearest to a number: ties to the even word, beyond the largest the largest."""
    sign = 1 << sum(SHAPES[name][:2]) if exact < 0 else 0
    sizes = numbers(name)
    above = min(bisect.bisect(sizes, abs(exact)), len(sizes) - 1)
    around = (max(above - 1, 0), above)
    return sign | min(around, key=lambda word: (abs(sizes[word] - abs(exact)), word & 1))


@pytest.mark.parametrize("name", SHAPES)
def test_every_word_has_its_value(name: str) -> None:
    sign = 1 << sum(SHAPES[name][:2])
    words = [word | s for word in finite(name) for s in (0, sign)]
    decoded = smallfloats.decode(np.array(words, np.uint8), name)
    assert [Fraction(float(v)) for v in decoded] == [value(word, name) for word in words]
    rest = [word for word in range(sign) if word not in finite(name)]
    if name == "e5m2":
        assert np.isinf(smallfloats.decode(np.array([0x7C, 0xFC], np.uint8), name)).all()
        rest.remove(0x7C)
    assert np.isnan(smallfloats.decode(np.array(rest, np.uint8), name)).all()


@pytest.mark.parametrize("name", SHAPES)
def test_every_word_survives_the_way_through_f16(name: str) -> None:
    width = CONTAINER[name]
    sign = 1 << sum(SHAPES[name][:2])
    words = [word | s for word in finite(name) for s in (0, sign)]
    source = f"{name}x2"
    pairs = [[a | b << width] for a, b in zip(words, reversed(words), strict=True)]
    body = f"cvt.rn.f16x2.{source} %a0, %s0; mov.b32 %d, %a0;"
    if width == 4:
        body = f".reg .b8 %x; cvt.u8.u16 %x, %s0; cvt.rn.f16x2.{source} %a0, %x; mov.b32 %d, %a0;"
    halves = [
        (word & 0xFFFF, word >> 16) for word in evaluate("", "b32", ["b16"], pairs, body=body)
    ]
    as_f16 = [int(np.array([float(value(word, name))]).astype(np.float16).view(np.uint16)[0]) for word in words]
    as_f16 = [half | 0x8000 if word & sign and not half else half for word, half in zip(words, as_f16, strict=True)]
    assert halves == list(zip(as_f16, reversed(as_f16), strict=True))


def f32(word: int) -> float:
    return float(np.array([word], np.uint32).view(np.float32)[0])


def around(name: str) -> list[int]:
    """f32 words at, between and beside the numbers of a format, and beyond."""
    sizes = [float(size) for size in numbers(name)]
    middles = [(a + b) / 2 for a, b in itertools.pairwise(sizes)]
    beyond = [sizes[-1] * k for k in (1.03, 1.0625, 1.07, 2, 1e9)]
    words = np.array([*sizes, *middles, *beyond], np.float32).view(np.uint32).astype(np.int64)
    spread = sorted({int(w) + d for w in words for d in (-1, 0, 1) if w + d >= 0} | {0, 1, 0x7F800000})
    return spread + [word | 1 << 31 for word in spread]


def narrow_all(name: str, words: list[int], modifiers: str = "") -> list[int]:
    """Results of the conversion of single f32 words (the other number of the pair is 0)."""
    found: list[int] = []
    opcode = f"cvt.rn.satfinite{modifiers}.{name}x2.f32"
    for start in range(0, len(words), 1024):
        rows = [[word, 0] for word in words[start : start + 1024]]
        body = f"{opcode} %a, %s0, %s1; cvt.u32.u16 %d, %a;"
        if name == "e2m1":
            body = f".reg .b8 %x; {opcode} %x, %s0, %s1; cvt.u32.u8 %d, %x;"
        found += evaluate("", "b32", ["f32", "f32"], rows, body=".reg .b16 %a;" + body)
    return [word >> CONTAINER[name] for word in found]


@pytest.mark.parametrize("name", SHAPES)
def test_narrowing_gives_the_nearest(name: str) -> None:
    words = around(name)
    want = []
    for word in words:
        number = f32(word)
        limit = float(value(finite(name)[-1], name))
        exact = Fraction(max(-limit, min(limit, number)))
        want.append(nearest(exact, name) | (1 << sum(SHAPES[name][:2]) if word >> 31 else 0))
    assert narrow_all(name, words) == want


@pytest.mark.parametrize("name", SHAPES)
def test_nan_and_relu(name: str) -> None:
    largest = finite(name)[-1]
    assert narrow_all(name, [0x7FC00000, 0xFFC00000]) == [NAN.get(name, largest)] * 2
    assert narrow_all(name, [0xBF800000, 0x80000000, 0x3F800000, 0x7FC00000], ".relu") == [
        0, 0, nearest(Fraction(1), name), NAN.get(name, largest)
    ]


@pytest.mark.parametrize("name", ["e4m3", "e5m2"])
def test_all_halves_become_the_nearest_fp8(name: str) -> None:
    words = np.arange(65536, dtype=np.uint32)
    found = np.concatenate([
        evaluate(f"cvt.rn.satfinite.{name}x2.f16x2", "b16", ["b32"], [[int(w) | 0x3C00 << 16] for w in part])
        for part in words.reshape(64, 1024)
    ])
    numbers = words.astype(np.uint16).view(np.float16).astype(np.float64)
    table = np.array([float(value(word, name)) for word in finite(name)])
    clipped = np.fmin(np.abs(numbers), table[-1])
    place = np.clip(np.searchsorted(table, clipped), 1, len(table) - 1)
    below, above = clipped - table[place - 1], table[place] - clipped
    word = np.where((below < above) | ((below == above) & ((place - 1) % 2 == 0)), place - 1, place)
    word = np.where(np.isnan(numbers), NAN[name], word | np.where(np.signbit(numbers), 0x80, 0))
    assert np.array_equal(found & 0xFF, word)
    assert (found >> 8 == nearest(Fraction(1), name)).all()


def truncated(name: str, exact_value: Fraction) -> int:
    """The word of the largest number that is no larger."""
    return bisect.bisect(numbers(name), exact_value) - 1


@pytest.mark.parametrize("name", ["e4m3", "e5m2", "e3m2", "e2m3"])
def test_truncation_and_positive_zeros(name: str) -> None:
    sizes = [float(size) for size in numbers(name)]
    values = [*sizes, *((a + b) / 2 for a, b in itertools.pairwise(sizes)), sizes[-1] * 3, 0.0, sizes[1] / 4]
    rows = [[int(np.float32(-v).view(np.uint32)), int(np.float32(v).view(np.uint32))] for v in values]
    sign = 1 << sum(SHAPES[name][:2])
    words = [truncated(name, Fraction(v)) for v in values]
    found = evaluate(f"cvt.rz.satfinite.{name}x2.f32", "b16", ["f32", "f32"], rows)
    assert found == [(w | sign) << 8 | w for w in words]
    found = evaluate(f"cvt.rz.satfinite.pzo.{name}x2.f32", "b16", ["f32", "f32"], rows)
    assert found == [(w | sign if w else 0) << 8 | w for w in words]


def test_a_scale_divides_on_the_way_down_and_multiplies_on_the_way_up() -> None:
    body = """.reg .b8 %scale; .reg .b16 %w; cvt.u8.u32 %scale, %s2;
    cvt.rn.satfinite.scaled::n1::ue8m0.e4m3x2.f32 %w, %s0, %s1, %scale; cvt.u32.u16 %d, %w;"""
    rows = [[0x41000000, 0xC0800000, 129], [0x3F800000, 1, 126], [0x43E00000, 0x44600000, 128]]
    assert evaluate("", "b32", ["f32", "f32", "b32"], rows, body=body) == [0x40B8, 0x4000, 0x767E]
    body = """.reg .b16 %a, %w; cvt.u16.u32 %a, %s0; cvt.u16.u32 %w, %s1;
    cvt.rn.scaled::n2::ue8m0.bf16x2.e4m3x2 %d, %a, %w;"""
    assert evaluate("", "b32", ["b32", "b32"], [[0x38B8, 128 << 8 | 126]], body=body) == [0x4000BF00]


def test_scales_with_three_bits_of_mantissa() -> None:
    """ue5m3: numbers without a sign from 2**-17 to 114688."""
    words = [0, 1, 8, 0x78, 0x79, 0xFE, 0xFF]
    halves = evaluate("cvt.rn.f16x2.ue5m3x2", "b32", ["b16"], [[w] for w in words])
    real = np.array([h & 0xFFFF for h in halves], np.uint16).view(np.float16).astype(np.float64)
    assert real[:5].tolist() == [0.0, 2.0**-17, 2.0**-14, 1.0, 1.125]
    assert np.isinf(real[5])
    assert np.isnan(real[6])
    singles = [0.0, 2.0**-17, 1.0, 1.0625, 1.1875, 114688.0, 1e6, -1.0, float("nan")]
    rows = [[int(np.float32(v).view(np.uint32)), 0] for v in singles]
    for mode, saturate, want in (
        ("rn", ".satfinite", [0, 1, 0x78, 0x78, 0x7A, 0xFE, 0xFE, 0x78, 0xFF]),
        ("rz", ".satfinite", [0, 1, 0x78, 0x78, 0x79, 0xFE, 0xFE, 0x78, 0xFF]),
        ("rp", "", [0, 1, 0x78, 0x79, 0x7A, 0xFE, 0xFF, 0x78, 0xFF]),
    ):
        found = evaluate(f"cvt.{mode}{saturate}.ue5m3x2.f32", "b16", ["f32", "f32"], rows)
        assert [word >> 8 for word in found] == want, mode


def test_fixed_point_numbers() -> None:
    """s2f6: two's complement, six bits of fraction."""
    singles = [0.0, 1.0, -1.0, 1.984375, 5.0, -5.0, 0.5 / 64, 1.5 / 64, float("nan")]
    rows = [[int(np.float32(v).view(np.uint32)), 0x3F800000] for v in singles]
    found = evaluate("cvt.rn.satfinite.s2f6x2.f32", "b16", ["f32", "f32"], rows)
    assert [word >> 8 for word in found] == [0, 64, 192, 127, 127, 128, 0, 2, 127]
    assert all(word & 0xFF == 64 for word in found)
    assert evaluate("cvt.rn.bf16x2.s2f6x2", "b32", ["b16"], [[0x40C0]]) == [0x3F80BF80]


# ---------------------------------------------------------------- scales and stochastic rounding


@pytest.mark.parametrize(("mode", "word", "want"), [
    ("rz", 0x3F800000, 127), ("rp", 0x3F800000, 127), ("rz", 0x3FC00000, 127), ("rp", 0x3F800001, 128),
    ("rz", 0, 0), ("rp", 1, 0), ("rz", 0xC0000000, 128), ("rp", 0x7F000001, 255), ("rz", 0x7F800000, 255),
    ("rz", 0x7FC00000, 255), ("rz", 0x00800000, 1), ("rz", 0x00400000, 0), ("rp", 0x00400001, 1),
])
def test_scales_are_powers_of_two(mode: str, word: int, want: int) -> None:
    assert evaluate(f"cvt.{mode}.ue8m0x2.f32", "b16", ["f32", "f32"], [[word, 0x40000000]]) == [want << 8 | 128]
    if want == 255 and word != 0x7FC00000:
        assert evaluate(f"cvt.{mode}.satfinite.ue8m0x2.f32", "b16", ["f32", "f32"], [[word, 0]]) == [254 << 8]


def test_scales_become_bf16() -> None:
    words = evaluate("cvt.rn.bf16x2.ue8m0x2", "b32", ["b16"], [[127 | 200 << 8], [255 | 0 << 8], [1]])
    assert words[0] == 0x3F80 | (200 << 7) << 16
    assert words[1] == 0x7FFF | 0x0040 << 16
    assert words[2] & 0xFFFF == 0x0080


@settings(max_examples=4, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 0x7F7FFFFF), st.integers(0, 0xFFFF)), min_size=50, max_size=50))
def test_stochastic_rounding_to_bf16_carries_into_the_kept_bits(pairs: list[tuple[int, int]]) -> None:
    rows = [[word, 0, bits << 16] for word, bits in pairs]
    want = [min((word + bits) >> 16, 0x7F80) << 16 for word, bits in pairs]
    assert evaluate("cvt.rs.bf16x2.f32", "b32", ["f32", "f32", "b32"], rows) == want


@settings(max_examples=4, deadline=None)
@given(st.lists(st.tuples(st.integers(0x38800000, 0x477FDFFF), st.integers(0, 0x1FFF)), min_size=50, max_size=50))
def test_stochastic_rounding_to_f16_uses_13_bits(pairs: list[tuple[int, int]]) -> None:
    want = [((word + bits) >> 13) - ((127 - 15) << 10) for word, bits in pairs]
    rows = [[0, word, bits] for word, bits in pairs]
    assert evaluate("cvt.rs.f16x2.f32", "b32", ["f32", "f32", "b32"], rows) == want


# ---------------------------------------------------------------- tf32, finite halves, packing


NUMBER = st.one_of(st.integers(-300, 300), st.integers(-(2**31), 2**31 - 1))


def tf32(word: int, mode: str) -> int:
    """The upper 19 bits after rounding; to `rna` a NaN is a number like others."""
    size, sign = word & 0x7FFFFFFF, word & 1 << 31
    if size > 0x7F800000:
        return word & 0xFFFFE000 if mode == "rna" else 0x7FFFE000
    if size == 0x7F800000:
        return word
    more = {"rn": 0xFFF + (size >> 13 & 1), "rz": 0, "rna": 0x1000}[mode]
    return (size + more) >> 13 << 13 | sign


@pytest.mark.parametrize("mode", ["rn", "rz", "rna"])
@settings(max_examples=4, deadline=None)
@given(words=st.lists(st.integers(0, (1 << 32) - 1), min_size=100, max_size=100))
def test_tf32_keeps_ten_bits_of_the_mantissa(mode: str, words: list[int]) -> None:
    words = [*words, 0x7F800000, 0x7F7FFFFF, 0xFF7FF000, 0x7FC00000, 1, 0x00801000]
    assert evaluate(f"cvt.{mode}.tf32.f32", "b32", ["f32"], [[w] for w in words]) == [tf32(w, mode) for w in words]


@pytest.mark.parametrize(("word", "want"), [
    (0x7F800000, 0x7BFF), (0xFF800000, 0xFBFF), (0x477FF000, 0x7BFF), (0x7FC00000, 0x7FFF), (0x3F800000, 0x3C00),
])
def test_finite_halves(word: int, want: int) -> None:
    assert evaluate("cvt.rn.satfinite.f16.f32", "b16", ["f32"], [[word]]) == [want]


@pytest.mark.parametrize("name", ["u2", "s2", "u4", "s4", "u8", "s8"])
@settings(max_examples=3, deadline=None)
@given(rows=st.lists(st.tuples(NUMBER, NUMBER, NUMBER), min_size=30, max_size=30))
def test_packing_integers_clamps_them(name: str, rows: list[tuple[int, int, int]]) -> None:
    bits = int(name[1:])
    low, high = (0, (1 << bits) - 1) if name[0] == "u" else (-(1 << bits - 1), (1 << bits - 1) - 1)
    want = []
    for a, b, c in rows:
        one, two = (max(low, min(high, n)) & (1 << bits) - 1 for n in (a, b))
        want.append((c << 2 * bits | one << bits | two) & 0xFFFFFFFF)
    words = [[n & 0xFFFFFFFF for n in row] for row in rows]
    assert evaluate(f"cvt.pack.sat.{name}.s32.b32", "b32", ["b32"] * 3, words) == want
