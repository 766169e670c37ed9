"""Arithmetic over operands of different types and over packed integers, against fractions and Python's integers."""

from __future__ import annotations

from fractions import Fraction

import exact
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from one_instruction import evaluate
from test_small_floats import NAN, SHAPES, finite, nearest, value

WORD = st.integers(0, 2**32 - 1)


def finite_word(form: exact.Binary) -> st.SearchStrategy[int]:
    """Words of finite numbers."""
    return st.integers(0, (1 << form.bits) - 1).filter(lambda w: not exact.is_nan(w, form) and w >> form.mantissa
                                                       & (1 << form.exponent) - 1 != (1 << form.exponent) - 1)


FORMS = [
    (name, narrow, mode) for narrow in ("f16", "bf16") for name in ("add", "sub", "fma")
    for mode in ("rn", "rz", "rm", "rp")
]


@pytest.mark.parametrize(("name", "narrow", "mode"), FORMS)
@settings(max_examples=3, deadline=None)
@given(data=st.data())
def test_half_and_single_sum_up_to_single(name: str, narrow: str, mode: str, data: st.DataObject) -> None:
    form = exact.FORMATS[narrow]
    kinds = [(narrow, form)] * (2 if name == "fma" else 1) + [("f32", exact.SINGLE)]
    rows = [[data.draw(finite_word(f)) for _, f in kinds] for _ in range(20)]
    found = evaluate(f"{name}.{mode}.f32.{narrow}", "f32", [k for k, _ in kinds], rows)
    for row, word in zip(rows, found, strict=True):
        numbers = [exact.value(w, f) for w, (_, f) in zip(row, kinds, strict=True)]
        total = numbers[0] * numbers[1] + numbers[2] if name == "fma" else numbers[0] + numbers[1]
        if name == "sub":
            total = numbers[0] - numbers[1]
        if total:
            assert word == exact.rounded(total, exact.SINGLE, mode)


@pytest.mark.parametrize("narrow", ["f16", "bf16"])
@settings(max_examples=3, deadline=None)
@given(data=st.data())
def test_pairs_of_halves_and_singles(narrow: str, data: st.DataObject) -> None:
    form = exact.FORMATS[narrow]
    drawn = [[data.draw(finite_word(f)) for f in (form, form, exact.SINGLE, exact.SINGLE)] for _ in range(20)]
    rows = [[a | b << 16, c | d << 32] for a, b, c, d in drawn]
    found = evaluate(f"add.rz.f32x2.{narrow}x2.f32x2", "b64", ["b32", "b64"], rows)
    for (a, b, c, d), word in zip(drawn, found, strict=True):
        for half, single, part in ((a, c, word & 0xFFFFFFFF), (b, d, word >> 32)):
            total = exact.value(half, form) + exact.value(single, exact.SINGLE)
            if total:
                assert part == exact.rounded(total, exact.SINGLE, "rz")


ELEMENTS = {"e5m2x4": ("e5m2", 8), "e4m3x4": ("e4m3", 8), "e3m2x4": ("e3m2", 8), "e2m3x4": ("e2m3", 8),
            "e2m1x4": ("e2m1", 4), "e2m1p4x4": ("e2m1", 8)}


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(["add", "sub", "mul", "fma"]), st.sampled_from(["e5m2x4", "e4m3x4"]),
       st.sampled_from(list(ELEMENTS)), st.sampled_from(list(ELEMENTS)), st.booleans(), st.data())
def test_small_floats_are_rounded_once(
    name: str, target: str, first: str, second: str, saturate: bool, data: st.DataObject
) -> None:
    kinds = {"mul": [first, second], "fma": [first, second, target]}.get(name, [first, target])
    words, numbers = [], []
    for kind in kinds:
        element, bits = ELEMENTS[kind]
        sign = 1 << sum(SHAPES[element][:2])
        signed = st.sampled_from([word | s for word in finite(element) for s in (0, sign)])
        drawn = [data.draw(signed) for _ in range(4)]
        words.append(sum(w << i * bits for i, w in enumerate(drawn)))
        numbers.append([value(w, element) for w in drawn])
    types = {"mul": [target, first, second], "fma": [target, first, second]}.get(name, [target, first])
    opcode = f"{name}.rn{'.satfinite' if saturate else ''}.{'.'.join(types)}"
    (found,) = evaluate(opcode, "b32", ["b16" if k == "e2m1x4" else "b32" for k in kinds], [words])
    element = ELEMENTS[target][0]
    largest = value(finite(element)[-1], element)
    for place in range(4):
        x = [n[place] for n in numbers]
        result = {"add": lambda x: x[0] + x[-1], "sub": lambda x: x[0] - x[-1], "mul": lambda x: x[0] * x[1],
                  "fma": lambda x: x[0] * x[1] + x[-1]}[name](x)
        word = found >> 8 * place & 0xFF
        if result == 0:
            assert word & 0x7F == 0
            continue
        step = largest - value(finite(element)[-2], element)
        # A tie is even below infinity in e4m3, not in e5m2.
        over = abs(result) > largest + step / 2 or (abs(result) == largest + step / 2 and element == "e5m2")
        if over and not saturate:
            assert word & 0x7F == (0x7C if element == "e5m2" else NAN[element])
        else:
            assert word == nearest(Fraction(result), element)


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(["add", "sub", "min", "max"]), st.sampled_from(["u8x4", "s8x4"]), st.booleans(), WORD, WORD)
def test_packed_bytes(name: str, kind: str, saturate: bool, x: int, y: int) -> None:
    saturate = saturate and name in {"add", "sub"}
    low, high = (0, 255) if kind[0] == "u" else (-128, 127)
    want = 0
    for place in range(0, 32, 8):
        a, b = (w >> place & 0xFF for w in (x, y))
        a, b = (n - 256 if kind[0] == "s" and n > 127 else n for n in (a, b))
        result = {"add": a + b, "sub": a - b, "min": min(a, b), "max": max(a, b)}[name]
        want |= ((max(low, min(high, result)) if saturate else result) & 0xFF) << place
    assert evaluate(f"{name}{'.sat' if saturate else ''}.{kind}", "b32", ["b32"] * 2, [[x, y]]) == [want]


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(["eq", "ne", "lt", "le", "gt", "ge"]), st.sampled_from(["u8x4", "s8x4", "u16x2", "s16x2"]), WORD,
    WORD,
)
def test_packed_comparisons_fill_their_places(how: str, kind: str, x: int, y: int) -> None:
    bits = 8 if kind.endswith("x4") else 16
    want = 0
    for place in range(0, 32, bits):
        a, b = (w >> place & (1 << bits) - 1 for w in (x, y))
        a, b = (n - (1 << bits) if kind[0] == "s" and n >> bits - 1 else n for n in (a, b))
        holds = {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[how]
        want |= ((1 << bits) - 1 if holds else 0) << place
    assert evaluate(f"set.{how}.{kind}", "b32", ["b32"] * 2, [[x, y]]) == [want]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_carryless_products(a: int, b: int, c: int) -> None:
    product = 0
    for place in range(64):
        product ^= (b << place) if a >> place & 1 else 0
    rows = [[a, b, c]]
    assert evaluate("clmad.lo.u64", "b64", ["b64"] * 3, rows) == [(product & 2**64 - 1) ^ c]
    assert evaluate("clmad.hi.u64", "b64", ["b64"] * 3, rows) == [(product >> 64) ^ c]


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
def test_a_matrix_product_of_doubles_is_a_chain_of_fused_steps(mode: str) -> None:
    rng = np.random.default_rng(5)
    a, b, c = rng.standard_normal(32) * 1e3, rng.standard_normal(32), rng.standard_normal(64)
    words = [x.view(np.uint64) for x in (a, b)]
    rows = [[int(words[0][i]), int(words[1][i]), *(int(w) for w in c.view(np.uint64)[2 * i : 2 * i + 2])]
            for i in range(32)]
    body = f""".reg .f64 %x, %y; wmma.mma.sync.aligned.row.col.m8n8k4.{mode}.f64.f64.f64.f64
    {{%x, %y}}, {{%s0}}, {{%s1}}, {{%s2, %s3}}; mov.b64 %d, %x;"""
    found = evaluate("", "b64", ["b64"] * 4, rows, body=body)
    left, right = a.reshape(8, 4), b.reshape(8, 4)
    third = c.reshape(8, 8)
    for lane in range(32):
        row, column = divmod(2 * lane, 8)
        total = int(third[row, column : column + 1].view(np.uint64)[0])
        for k in range(4):
            exactly = Fraction(left[row, k]) * Fraction(right[column, k]) + exact.value(total, exact.DOUBLE)
            total = exact.rounded(exactly, exact.DOUBLE, mode)
        assert found[lane] == total
