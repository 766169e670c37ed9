"""Sums of products as tensor cores form them, against the same rules over fractions, and against the exact sums."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.vectors.inputs import FORMATS as FIELDS
from bench.vectors.matrix_floats import floats
from ptxgen.executing.emulator import matrices, tensor_sums
from ptxgen.executing.emulator.rounding import FORMATS, Format, widen

TYPES = [
    ("f32", "f16", "f16", "f32"), ("f16", "f16", "f16", "f16"), ("f32", "bf16", "bf16", "f32"),
    ("f32", "tf32", "tf32", "f32"), ("f32", "e4m3", "e5m2", "f32"), ("f16", "e5m2", "e4m3", "f16"),
    ("f16", "f16", "f16", "f32"), ("f32", "f16", "f16", "f16"),
]  # fmt: skip


def _exponent(value: float, low: int) -> int:
    return max(math.frexp(value)[1] - 1, low)


def _cut(value: Fraction) -> int:
    return math.floor(abs(value)) * (1 if value > 0 else -1)


def _nearest(value: Fraction, fmt: Format) -> Fraction:
    """Ties to even; no value here overflows."""
    quantum = Fraction(2) ** (max(math.frexp(float(value))[1] - 1, fmt.low) - fmt.mantissa)
    return round(value / quantum) * quantum


def _toward_zero(value: Fraction, fmt: Format) -> Fraction:
    exponent = fmt.low
    while abs(value) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    quantum = Fraction(2) ** (exponent - fmt.mantissa)
    return _cut(value / quantum) * quantum


def _step(a: list[float], b: list[float], c: Fraction, lows: tuple[int, int], fmt: Format) -> Fraction:
    """The rules, one dot product at a time."""
    terms = [
        (Fraction(x) * Fraction(y), _exponent(x, lows[0]) + _exponent(y, lows[1]))
        for x, y in zip(a, b, strict=True) if x and y
    ]  # fmt: skip
    if c:
        terms.append((c, _exponent(float(c), fmt.low)))
    if not terms:
        return Fraction(0)
    quantum = Fraction(2) ** (max(e for _, e in terms) - tensor_sums.KEPT)
    total = sum((_cut(value / quantum) for value, _ in terms), 0) * quantum
    return (_nearest if fmt.name == "f16" else _toward_zero)(total, fmt)


def _numbers(name: str, kind: str, shape: tuple[int, int], family: int) -> np.ndarray:
    count = shape[0] * shape[1]
    words = floats(name, kind, count, each=count, first=family)
    size = 8 if sum(FIELDS[kind]) == 7 else 16 if sum(FIELDS[kind]) == 15 else 32
    return matrices.numbers(words.astype(f"u{size // 8}"), kind).reshape(1, *shape)


@pytest.mark.parametrize("types", TYPES, ids=lambda t: ".".join(t))
@settings(max_examples=20)
@given(st.integers(0, 2**32), st.sampled_from([0, 1, 3, 4, 7]), st.sampled_from([4, 8, 16]))
def test_sums_are_what_the_rules_say(types: tuple[str, ...], seed: int, family: int, depth: int) -> None:
    d, a, b, c = types
    narrow = a in FIELDS and sum(FIELDS[a]) == 7
    left = _numbers(f"{seed}a", a, (4, depth), family)
    right = _numbers(f"{seed}b", b, (depth, 4), family)
    third = _numbers(f"{seed}c", c, (4, 4), family)
    with np.errstate(all="ignore"):
        found = tensor_sums.product(types)(left, right, third)[0]
    sums = FORMATS["f32" if "f32" in (d, c) else "f16"]
    lows = tuple((FORMATS["f16"] if narrow else FORMATS[kind]).low for kind in (a, b))
    for row in range(4):
        for column in range(4):
            x, y = left[0, row].tolist(), right[0, :, column].tolist()
            start = Fraction(float(third[0, row, column]))
            if narrow:
                first, second = ([k for k in range(depth) if (k % 4 >= 2) == later] for later in (False, True))
                total = _step([x[k] for k in first], [y[k] for k in first], Fraction(0), lows, sums)
                total = _step([x[k] for k in second], [y[k] for k in second], total, lows, sums)
                total = _nearest(total + start, sums)
            else:
                total = _step(x, y, start, lows, sums)
            value = float(widen(found[row, column : column + 1], FORMATS[d])[0])
            if math.isfinite(value):
                assert value == float(_nearest(total, FORMATS[d])), (row, column)
            else:
                largest = max(abs(Fraction(u) * Fraction(v)) for u, v in zip(x, y, strict=True)) + abs(start)
                assert largest * (depth + 1) > FORMATS[d].largest, (row, column)


@pytest.mark.parametrize(("terms", "result"), [
    ([(2.0**12, 2.0**13), (1.0, 1.0), (-(2.0**12), 2.0**13)], 1.0),           # the 25th bit is kept,
    ([(2.0**13, 2.0**13), (1.0, 1.0), (-(2.0**13), 2.0**13)], 0.0),           # the next is not;
    ([(2.0**12 * 1.5, 2.0**13 * 1.5), (1.0, 1.0), (-(2.0**12) * 1.5, 2.0**13 * 1.5)], 1.0),   # a carry is no exponent
    ([(2.0**12, 2.0**12), (1.0, 1.75)], 2.0**24),                             # sums are cut off to f32,
    ([(-(2.0**12), 2.0**12), (-1.0, 1.75)], -(2.0**24)),                      # towards zero
    ([(2.0**-24, 2.0**-24), (2.0**-24, 2.0**-24)], 2.0**-47),                 # subnormal factors count
])  # fmt: skip
def test_single_sums(terms: list[tuple[float, float]], result: float) -> None:
    a, b = np.zeros((1, 1, 16)), np.zeros((1, 16, 1))
    for k, (x, y) in enumerate(terms):
        a[0, 0, k], b[0, k, 0] = x, y
    found = tensor_sums.product(("f32", "f16", "f16", "f32"))(a, b, np.zeros((1, 1, 1)))
    assert float(found.view(np.float32)[0, 0, 0]) == result


@pytest.mark.parametrize("types", TYPES[:4], ids=lambda t: ".".join(t))
def test_an_infinity_or_a_nan_goes_where_its_row_and_column_meet(types: tuple[str, ...]) -> None:
    a, b, c = np.ones((1, 2, 8)), np.ones((1, 8, 2)), np.ones((1, 2, 2))
    a[0, 0, 3], b[0, 3, 1] = np.inf, 0
    with np.errstate(all="ignore"):
        found = widen(tensor_sums.product(types)(a, b, c).reshape(-1), FORMATS[types[0]])
    assert np.array_equal(found, [np.inf, np.nan, 9, 8], equal_nan=True)


def test_many_warps_give_what_each_gives_alone() -> None:
    rng = np.random.default_rng(5)
    a, b, c = rng.standard_normal((300, 16, 16)), rng.standard_normal((300, 16, 8)), rng.standard_normal((300, 16, 8))
    a, b, c = (x.astype(np.float16).astype(np.float64) for x in (a, b, c))
    product = tensor_sums.product(("f32", "f16", "f16", "f32"))
    together = product(a, b, c)
    for warp in (0, 127, 128, 299):
        assert np.array_equal(product(a[warp:][:1], b[warp:][:1], c[warp:][:1])[0], together[warp])


def _error(types: tuple[str, ...], depth: int, family: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Of many sums, and the matrices."""
    _, a_type, b_type, c_type = types
    a = _numbers("left", a_type, (64, depth), family)
    b = _numbers("right", b_type, (depth, 64), family)
    c = _numbers("third", c_type, (64, 64), family)
    found = widen(tensor_sums.product(types)(a, b, c), FORMATS["f32"])
    assert np.isfinite(found).all()
    error = np.abs(found - (a @ b + c))
    assert error.any()
    return error, [a, b, c]


@pytest.mark.parametrize("types", [t for t in TYPES if t[0] == "f32"], ids=lambda t: ".".join(t))
@pytest.mark.parametrize("depth", [8, 16, 32])
@pytest.mark.parametrize("family", [0, 1, 3, 7])
def test_errors_are_within_what_verification_grants(types: tuple[str, ...], depth: int, family: int) -> None:
    """u times the number of terms and one, of the sum of their sizes (ptxgen.verifying.reductions)."""
    error, (a, b, c) = _error(types, depth, family)
    assert (error <= (depth + 1) * 2.0**-24 * (np.abs(a) @ np.abs(b) + np.abs(c))).all()


@pytest.mark.parametrize("types", [t for t in TYPES if t[0] == "f32"], ids=lambda t: ".".join(t))
@pytest.mark.parametrize("depth", [4, 8, 16, 32])
@pytest.mark.parametrize("family", [0, 1, 3, 4, 7])
def test_errors_are_within_the_bound_of_a_step(types: tuple[str, ...], depth: int, family: int) -> None:
    """As docs/emulator.md has it: a subnormal factor counts as the least normal number."""
    if family == 4 and types[1] in ("bf16", "tf32"):
        family = 1                                       # products of tiny numbers would all be too small
    error, matrices_ = _error(types, depth, family)
    narrow = sum(FIELDS[types[1]]) == 7
    lows = [(FORMATS["f16"] if narrow else FORMATS[kind]).low for kind in types[1:3]] + [FORMATS["f32"].low]
    a, b, c = (
        np.where(x == 0, 0, np.maximum(np.abs(x), 2.0**low)) for x, low in zip(matrices_, lows, strict=True)
    )
    steps = 2 if narrow else 1
    relative = steps * ((depth / steps + 1) * 2.0**-25 + 2.0**-23)
    assert (error <= relative * (a @ b + c) + 2.0**-149).all()
