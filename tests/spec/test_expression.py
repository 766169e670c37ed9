"""Size arithmetic: exact, bounded, and clear about what it refuses."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptxgen.spec import Expression, SpecError
from ptxgen.spec.problems import Unfit


@pytest.mark.parametrize(
    ("text", "sizes", "value"),
    [
        ("ceil(n / 256)", {"n": 0}, 0),
        ("ceil(n / 256)", {"n": 256}, 1),
        ("ceil(n / 256)", {"n": 257}, 2),
        ("n // 4 + n % 4", {"n": 11}, 5),
        ("-(-n // 8)", {"n": 9}, 2),
        ("max(1, min(n, 3, m))", {"n": 9, "m": 2}, 2),
        ("floor(n * 3 / 2)", {"n": 5}, 7),
        ("n / 3 * 3", {"n": 7}, 7),
        (1024, {}, 1024),
        (" 4 * (n + 1) ", {"n": 2}, 12),
    ],
)
def test_value(text, sizes, value):
    assert Expression.parse(text).evaluate(sizes) == value


def test_names_are_in_order_of_appearance():
    assert Expression.parse("ceil(rows * cols / rows) + n").names == ("rows", "cols", "n")


@given(st.integers(0, 2**31), st.integers(1, 2**16))
def test_ceil_is_exact_where_floats_are_not(n, d):
    assert Expression.parse(f"ceil(n / {d})").evaluate({"n": n}) == -(-n // d)


_ATOMS = st.sampled_from(["n", "m", "3", "7", "256"])
_TEXTS = st.recursive(
    _ATOMS,
    lambda inner: st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "//", "%"]), inner).map(
        lambda t: f"({t[0]} {t[1]} {t[2]})"
    ),
    max_leaves=8,
)


@given(_TEXTS, st.integers(0, 1000), st.integers(0, 1000))
def test_agrees_with_exact_python(text, n, m):
    numbers = {"n": "F(n)", "m": "F(m)"}
    words = text.replace("(", " ( ").replace(")", " ) ").split()
    spelled = " ".join(numbers.get(word, f"F({word})" if word.isdigit() else word) for word in words)
    try:
        exact = eval(spelled, {"F": Fraction, "n": n, "m": m})
    except ZeroDivisionError:
        with pytest.raises(SpecError, match="zero"):
            Expression.parse(text).evaluate({"n": n, "m": m})
        return
    expression = Expression.parse(text)
    if exact == math.floor(exact) and abs(exact) < 2**40:
        assert expression.evaluate({"n": n, "m": m}) == exact
    else:
        with pytest.raises(SpecError):
            expression.evaluate({"n": n, "m": m})


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("2 ** 10", "not size arithmetic"),
        ("n if n else 1", "not size arithmetic"),
        ("__import__('os')", "no function"),
        ("n.bit_length()", "not size arithmetic"),
        ("ciel(n)", "no function `ciel`"),
        ("ceil(n, 2)", "argument"),
        ("ceil", "is a function"),
        ("1.5 * n", "not size arithmetic"),
        ("True", "not a number"),
        ("n +", "not an expression"),
        ("(" * 300 + "n" + ")" * 300, "characters"),
        ("-" * 200 + "n", "deep"),
        (str(10**30), "64 bits"),
        (10**400, "64 bits"),
        (1.5, "neither"),
        (True, "neither"),
        ([], "neither"),
        ("n\0", "not an expression"),
    ],
)
def test_refusal(text, fragment):
    with pytest.raises(Unfit, match=fragment):
        Expression.parse(text)


def test_refusal_names_the_nearest_function():
    with pytest.raises(Unfit) as caught:
        Expression.parse("ciel(n)")
    assert "`ceil`" in caught.value.fix


def test_fraction_tells_what_to_write():
    with pytest.raises(SpecError, match="not a whole number") as caught:
        Expression.parse("n / 256").evaluate({"n": 5})
    assert "ceil(n / 256)" in caught.value.fix


def test_products_are_bounded():
    with pytest.raises(SpecError, match="64 bits"):
        Expression.parse("n * n * n").evaluate({"n": 2**31})


def test_unknown_size():
    with pytest.raises(SpecError, match="no value for the size `m`"):
        Expression.parse("m").evaluate({"n": 1})
