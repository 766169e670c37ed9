"""The running error bound holds what honest low-precision arithmetic does, and little more."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxgen.spec import ORACLE_FUNCTIONS, parse_oracle
from ptxgen.verifying.evaluate import evaluate
from ptxgen.verifying.functions import functions
from ptxgen.verifying.oracle import Expected
from ptxgen.verifying.storage import PRECISIONS, narrow, widen
from ptxgen.verifying.tolerance import wrong_elements
from ptxgen.verifying.tracked import Arithmetic, OracleFailure, exact

_SCOPE = {name: getattr(np, name) for name in ORACLE_FUNCTIONS if hasattr(np, name)}


def tracked(text: str, kind: str = "f32", **arrays: np.ndarray):
    """The expression over arrays in storage form."""
    precision = PRECISIONS[kind]
    values = {name: exact(widen(kind, array), precision) for name, array in arrays.items()}
    return evaluate(parse_oracle(text, frozenset(arrays)), values, precision)


def naive(text: str, **arrays: np.ndarray) -> np.ndarray:
    """The same text in NumPy's own arithmetic on the storage types, one rounding an operation."""
    with np.errstate(all="ignore"):
        return np.asarray(eval(text, dict(_SCOPE), arrays))


def accepted(text: str, kind: str, **arrays: np.ndarray) -> np.ndarray:
    """Which elements of the naive result are within the bound."""
    result = tracked(text, kind, **arrays)
    got = np.broadcast_to(naive(text, **arrays), result.value.shape).astype(arrays["x"].dtype)
    return ~wrong_elements(Expected(kind, result.value.astype(np.float64), result.bound), got)


def test_every_function_of_the_spec_is_there():
    assert set(functions(Arithmetic(PRECISIONS["f32"]))) == ORACLE_FUNCTIONS


_TEXTS = st.recursive(
    st.sampled_from(["x", "y", "0.1", "2.0", "3"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        inner.map(lambda t: f"exp({t})"),
        inner.map(lambda t: f"sqrt(abs({t}))"),
        inner.map(lambda t: f"tanh({t})"),
        inner.map(lambda t: f"log(abs({t}) + 1.0)"),
        inner.map(lambda t: f"floor({t})"),
        st.tuples(inner, inner).map(lambda t: f"maximum({t[0]}, {t[1]})"),
        st.tuples(inner, inner, inner).map(lambda t: f"where({t[0]} > {t[1]}, {t[2]}, 1.0)"),
        inner.map(lambda t: f"(x - sum(x * ({t})))"),
    ),
    max_leaves=7,
)


@settings(max_examples=150, deadline=None)
@given(_TEXTS, st.integers(0, 2**32), st.sampled_from([0.01, 1.0, 30.0]), st.sampled_from([np.float32, np.float64]))
def test_honest_arithmetic_is_never_rejected(text, seed, scale, dtype):
    rng = np.random.default_rng(seed)
    x, y = ((scale * rng.standard_normal(16)).astype(dtype) for _ in range(2))
    kind = "f32" if dtype is np.float32 else "f64"
    right = accepted(f"({text}) + 0 * x", kind, x=x, y=y)
    assert right.all(), (tracked(text, kind, x=x, y=y), naive(text, x=x, y=y))


@pytest.mark.parametrize("text", ["x + y", "x * y", "x - y * 0.5", "maximum(x, y)", "x / (abs(y) + 1.0)"])
@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_half_arithmetic_is_accepted(text, kind):
    rng = np.random.default_rng(1)
    x, y = (narrow(kind, rng.standard_normal(512)) for _ in range(2))
    if kind == "f16":
        assert accepted(text, kind, x=x, y=y).all()
    result = tracked(text, kind, x=x, y=y)
    stored = narrow(kind, result.value)
    assert not wrong_elements(Expected(kind, result.value, result.bound), stored).any()


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("x + y", 2.0),
        ("x * y + x", 4.0),
        ("exp(x)", 16.0),
        ("x / y", 6.0),
        ("sqrt(abs(x))", 4.0),
        ("maximum(x, y)", 0.0),
        ("where(x > 0, x, 0)", 0.0),
        ("transpose(reshape(x, (4, 16)))", 0.0),
    ],
)
def test_bounds_are_tight(text, limit):
    """In units of u·(|x| + |y| + |result|): a bound that excuses everything would pass the test above too."""
    rng = np.random.default_rng(2)
    x, y = (rng.uniform(0.5, 2.0, 64).astype(np.float32) for _ in range(2))
    result = tracked(text, x=x, y=y)
    size = 2.0 + 2.0 + np.abs(result.value)
    assert (result.bound <= limit * 2.0**-24 * size + 2.0**-120).all()


def test_sums_scale_with_absolute_values_not_with_the_result():
    x = np.array([1e4, -1e4] * 50, dtype=np.float32)
    result = tracked("sum(x)", x=x)
    assert result.value == 0
    assert 100 * 2.0**-24 * 1e6 * 0.99 <= result.bound <= 100 * 2.0**-24 * 1e6 * 1.01


def test_half_sums_are_held_to_an_f32_accumulator():
    x = np.ones(256, dtype=np.float16)
    assert tracked("sum(x)", "f16", x=x).bound < 0.01


def test_a_comparison_in_doubt_allows_either_choice():
    x = np.array([1.0, 3.0], dtype=np.float32)
    # 0.1 · 3 - 0.3 is 0 or a few ulp around it, depending on the roundings.
    result = tracked("where(x * 0.1 > 0.3, 5.0, 7.0)", x=x)
    assert result.bound[0] < 1e-6
    assert result.bound[1] >= 2.0


def test_overflow_of_an_intermediate_tells_nothing():
    x = np.array([1e30, 1.0], dtype=np.float32)
    result = tracked("sqrt(x * x)", x=x)
    assert np.isinf(result.bound[0])
    assert result.bound[1] < 1e-6


def test_products_that_underflow_may_vanish():
    x = np.array([1e-30], dtype=np.float32)
    result = tracked("x * x", x=x)
    assert not wrong_elements(Expected("f32", result.value, result.bound), np.array([0], dtype=np.float32)).any()


# ---------------------------------------------------------------- integers


def integer(text: str, **arrays: np.ndarray):
    values = {name: exact(array.astype(np.uint64 if array.dtype == np.uint64 else np.int64))
              for name, array in arrays.items()}  # fmt: skip
    return evaluate(parse_oracle(text, frozenset(arrays)), values, PRECISIONS["f32"])


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_u64_arithmetic_is_exact(a, b):
    x, y = (np.array([value], dtype=np.uint64) for value in (a, b))
    assert integer("x * y + x - y", x=x, y=y).value.tolist() == [a * b + a - b]
    assert integer("(x ^ y) & x", x=x, y=y).value.tolist() == [(a ^ b) & a]
    assert integer("maximum(x, y)", x=x, y=y).value.tolist() == [max(a, b)]
    assert integer("x < y", x=x, y=y).value.tolist() == [a < b]


@given(st.integers(-(2**31), 2**31 - 1), st.integers(-(2**31), 2**31 - 1), st.integers(0, 70))
def test_s32_arithmetic_wraps_like_the_machine(a, b, shift):
    x, y, s = (np.array([value], dtype=np.int64) for value in (a, b, shift))
    right = {"x * y": a * b, "x + y": a + b, "x << s": a << shift, "x >> s": a >> shift, "-x": -a, "~x": ~a}
    for text, value in right.items():
        got = narrow("s32", integer(text, x=x, y=y, s=s).value)
        assert got.tolist() == [(value + 2**31) % 2**32 - 2**31], text


_IMPOSSIBLE = (
    "x // 0; x % 0; x << -1; x ** 100; zeros(10**9); tile(x, 10**9); x[9]; sum(x, axis=4); reshape(x, (5, 5)); "
    "x[x * 0.5]; exp(x, x, x, x)"
)


@pytest.mark.parametrize("text", _IMPOSSIBLE.split("; "))
def test_what_numpy_cannot_do_is_an_oracle_failure(text):
    x = np.arange(4)
    with pytest.raises((OracleFailure, ValueError, TypeError, IndexError)):
        integer(text, x=x)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("int32(f)", [2, -2]),
        ("uint8(f)", [2, 0]),
        ("floor(f)", [2.0, -3.0]),
        ("f[::-1]", [-2.5, 2.5]),
        ("f[newaxis, :]", [[2.5, -2.5]]),
        ("stack((f, f))", [[2.5, -2.5], [2.5, -2.5]]),
        ("concatenate([f, f])", [2.5, -2.5, 2.5, -2.5]),
        ("pad(f, (1, 0))", [0, 2.5, -2.5]),
        ("pad(f, (0, 1), 'edge')", [2.5, -2.5, -2.5]),
        ("sort(f)", [-2.5, 2.5]),
        ("diff(f)", [-5.0]),
        ("cumsum(f)", [2.5, 0.0]),
        ("outer(f, f)", [[6.25, -6.25], [-6.25, 6.25]]),
        ("f @ f", 12.5),
        ("np.dot(f, f)", 12.5),
        ("mean(f)", 0.0),
        ("var(f)", 6.25),
        ("std(f)", 2.5),
        ("argmax(f)", 0),
        ("any(f > 2)", True),
        ("all(f > 2)", False),
        ("count_nonzero(f)", 2),
        ("(f > 0) & (f < 3)", [True, False]),
        ("~(f > 0)", [False, True]),
        ("take(f, argmin(f))", -2.5),
        ("clip(f, -1, 1)", [1.0, -1.0]),
        ("copysign(1.0, f)", [1.0, -1.0]),
        ("fmod(f, 2.0)", [0.5, -0.5]),
        ("mod(f, 2.0)", [0.5, 1.5]),
        ("sign(f) * pi / pi", [1.0, -1.0]),
        ("f ** 2", [6.25, 6.25]),
        ("full(2, 3.0)", [3.0, 3.0]),
        ("zeros_like(f)", [0.0, 0.0]),
        ("arange(3)", [0, 1, 2]),
        ("hypot(f, 6.0)", [6.5, 6.5]),
        ("isnan(f) | isinf(f)", [False, False]),
    ],
)
def test_values_are_numpys(text, expected):
    f = np.array([2.5, -2.5], dtype=np.float32)
    np.testing.assert_allclose(tracked(text, f=f).value, expected, rtol=1e-12)
