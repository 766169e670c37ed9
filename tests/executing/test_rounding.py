"""Float arithmetic is what rounding the exact result once gives, in every format and direction."""

from __future__ import annotations

import math
from fractions import Fraction

import exact
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxgen.executing.emulator import rounding

MODES = ["rn", "rz", "rm", "rp"]
NANS = {"f16": 0x7FFF, "bf16": 0x7FFF, "f32": 0x7FFFFFFF}


def words(name: str) -> st.SearchStrategy[int]:
    """Any word, with exponents drawn near each other often, so that sums cancel and products meet the limits."""
    form = exact.FORMATS[name]
    anything = st.integers(0, (1 << form.bits) - 1)
    top = (1 << form.exponent) - 1
    exponents = st.sampled_from([0, 1, 2, form.bias - 1, form.bias, form.bias + 1, form.bias + form.mantissa,
                                 form.bias // 2, form.bias * 3 // 2, top - 1, top])
    mantissas = st.one_of(st.sampled_from([0, 1, (1 << form.mantissa) - 1, 1 << form.mantissa - 1]),
                          st.integers(0, (1 << form.mantissa) - 1))
    built = st.builds(
        lambda s, e, m: s << form.bits - 1 | e << form.mantissa | m, st.integers(0, 1), exponents, mantissas
    )
    return st.one_of(anything, built)


def run(function, name: str, mode: str, *operands: int) -> int:
    fmt = rounding.FORMATS[name]
    arrays = [np.array([word, word], fmt.word) for word in operands]
    with np.errstate(all="ignore"):
        result = function(*arrays, fmt, mode)
    assert result.dtype == fmt.word
    assert result[0] == result[1]
    return int(result[0])


def check(name: str, got: int, want: int | None) -> None:
    """`None` wants a NaN: the canonical one but for f64."""
    form = exact.FORMATS[name]
    if want is None:
        assert exact.is_nan(got, form)
        assert name == "f64" or got == NANS[name]
    else:
        assert got == want, f"{got:#x} instead of {want:#x}"


def sum_of(terms: list[tuple[Fraction | None, int]], form: exact.Binary, mode: str) -> int | None:
    """Terms as (value, sign); a value of None is an infinity."""
    infinite = {sign for value, sign in terms if value is None}
    if len(infinite) == 2:
        return None
    if infinite:
        return form.infinity | (1 << form.bits - 1 if infinite.pop() else 0)
    total = sum((value for value, _ in terms if value is not None), Fraction(0))
    signs = {sign for _, sign in terms}
    negative = signs == {1} or (mode == "rm" and signs == {0, 1})
    return exact.rounded(total, form, mode, zero_negative=negative)


def term(word: int, form: exact.Binary) -> tuple[Fraction | None, int]:
    sign = int(exact.is_negative(word, form))
    return (None if exact.is_infinite(word, form) else exact.value(word, form)), sign


def product(a: int, b: int, form: exact.Binary) -> tuple[Fraction | None, int] | None:
    (x, s), (y, t) = term(a, form), term(b, form)
    if (x is None and y == 0) or (y is None and x == 0):
        return None
    return (None if x is None or y is None else x * y), s ^ t


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", list(exact.FORMATS))
@given(data=st.data())
@settings(max_examples=20, deadline=None)
def test_fma_add_and_mul_round_once(name: str, mode: str, data: st.DataObject) -> None:
    form = exact.FORMATS[name]
    a, b, c = (data.draw(words(name)) for _ in range(3))
    nan = [exact.is_nan(word, form) for word in (a, b, c)]
    pair = None if nan[0] or nan[1] else product(a, b, form)
    want = None if pair is None or nan[2] else sum_of([pair, term(c, form)], form, mode)
    check(name, run(rounding.fma, name, mode, a, b, c), want)
    want = None if nan[0] or nan[1] else sum_of([term(a, form), term(b, form)], form, mode)
    check(name, run(rounding.add, name, mode, a, b), want)
    want = None if pair is None else sum_of([pair], form, mode)
    check(name, run(rounding.multiply, name, mode, a, b), want)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["f32", "f64"])
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_division_rounds_once(name: str, mode: str, data: st.DataObject) -> None:
    form = exact.FORMATS[name]
    a, b = data.draw(words(name)), data.draw(words(name))
    (x, s), (y, t) = ((None, 0), (None, 0)) if exact.is_nan(a, form) or exact.is_nan(b, form) else (
        term(a, form), term(b, form))
    sign = (s ^ t) << form.bits - 1
    if exact.is_nan(a, form) or exact.is_nan(b, form) or (x is None and y is None) or (x == 0 and y == 0):
        want = None
    elif x is None or y == 0:
        want = form.infinity | sign
    elif y is None or x == 0:
        want = sign
    else:
        want = exact.rounded(x / y, form, mode)
    check(name, run(rounding.divide, name, mode, a, b), want)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["f32", "f64"])
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_square_root_lies_between_its_neighbours(name: str, mode: str, data: st.DataObject) -> None:
    form = exact.FORMATS[name]
    a = data.draw(words(name))
    got = run(rounding.square_root, name, mode, a)
    if exact.is_nan(a, form) or (exact.is_negative(a, form) and a << 1 & (1 << form.bits) - 1):
        check(name, got, None)
    elif exact.is_infinite(a, form) or exact.value(a, form) == 0:
        assert got == a
    else:
        x, r = exact.value(a, form), exact.value(got, form)
        below, above = exact.value(got - 1, form), exact.value(got + 1, form)
        if mode == "rn":
            assert ((r + below) / 2) ** 2 <= x <= ((r + above) / 2) ** 2
        elif mode == "rp":
            assert below**2 < x <= r**2
        else:
            assert r**2 <= x < above**2


@given(st.lists(words("f32"), min_size=3, max_size=3))
@settings(max_examples=100, deadline=None)
def test_f32_fma_is_not_rounded_twice(operands: list[int]) -> None:
    """The trap of computing in float64: a product plus a far smaller term that only breaks a tie."""
    a = 0x3F800001 | operands[0] & 0x1FFE
    b = 0x3F800001 | operands[1] & 0x1FFE
    c = operands[2] & 0x80FFFFFF | 0x10000000
    x = exact.value(a, exact.SINGLE) * exact.value(b, exact.SINGLE) + exact.value(c, exact.SINGLE)
    check("f32", run(rounding.fma, "f32", "rn", a, b, c), exact.rounded(x, exact.SINGLE, "rn"))


def test_double_rounding_example() -> None:
    """(1 + 2^-12)^2 = 1 + 2^-11 + 2^-24: a tie, which a tiny negative term must break downwards."""
    a, tiny = 0x3F800800, 0x80000001
    assert run(rounding.fma, "f32", "rn", a, a, tiny) == 0x3F801000
    assert run(rounding.fma, "f32", "rn", a, a, tiny ^ 1 << 31) == 0x3F801001


@pytest.mark.parametrize("name", ["f16", "f32"])
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_sums_are_rounded_as_through_an_odd_one(name: str, seed: int) -> None:
    """The short way to the nearest sum: of words that cancel, lie about half way, over- or underflow, or are odd."""
    fmt, random, size = rounding.FORMATS[name], np.random.default_rng(seed), 2000
    few = np.array([0, 1, (1 << fmt.mantissa) - 1, 1 << fmt.mantissa, fmt.nan], fmt.word)
    words = [random.integers(0, 1 << fmt.word.itemsize * 8, size).astype(fmt.word) for _ in range(2)]
    words = [np.where(random.random(size) < 0.3, random.choice(few, size), word) for word in words]
    with np.errstate(all="ignore"):
        x, y = (rounding.widen(word, fmt) for word in words)
        half = rounding.widen(words[0], fmt) * 2.0 ** -random.integers(fmt.mantissa, fmt.mantissa + 3, size)
        near = -x * y * (1 + 2.0 ** -random.integers(8, 52, size))
        for a, b in ((x, y), (x * y, x), (x, half), (half, -x), (x * y, near), (x[:1], y)):
            want = rounding.narrow(rounding.to_odd(*rounding.two_sum(a, b)), fmt, "rn")
            assert np.array_equal(rounding._nearest_sum(a, b, fmt), want)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["f16", "bf16", "f32"])
@given(value=st.floats(allow_nan=False))
@settings(max_examples=30, deadline=None)
def test_narrowing_rounds_once(name: str, mode: str, value: float) -> None:
    form, fmt = exact.FORMATS[name], rounding.FORMATS[name]
    with np.errstate(all="ignore"):
        got = int(rounding.narrow(np.array([value]), fmt, mode)[0])
    if math.isinf(value):
        assert got == form.infinity | (1 << form.bits - 1 if value < 0 else 0)
    else:
        negative = math.copysign(1, value) < 0
        assert got == exact.rounded(Fraction(value), form, mode, zero_negative=negative)


@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_widening_and_encoding_are_inverse(name: str) -> None:
    fmt, form = rounding.FORMATS[name], exact.FORMATS[name]
    every = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16)
    with np.errstate(all="ignore"):
        back = rounding.encode(rounding.widen(every, fmt), fmt)
    nan = np.array([exact.is_nan(int(word), form) for word in every])
    assert np.array_equal(back[~nan], every[~nan])
    assert (back[nan] == fmt.nan).all()
