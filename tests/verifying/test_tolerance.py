"""Which stored elements are right: rounding, NaN, infinities, integers, and tolerances that a spec asks for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptxgen.spec import Tolerance
from ptxgen.verifying.oracle import Expected
from ptxgen.verifying.storage import DTYPES, PRECISIONS, narrow, widen
from ptxgen.verifying.tolerance import wrong_elements

INF, NAN = np.inf, np.nan


def right(kind: str, expected: float, stored: float, bound: float = 0.0, tolerance: Tolerance | str = "auto") -> bool:
    value = np.array([expected])
    return not wrong_elements(
        Expected(kind, value, np.array([bound])), narrow(kind, np.array([stored])), tolerance
    ).any()


@pytest.mark.parametrize("kind", ["f16", "bf16", "f32", "f64"])
@given(value=st.floats(-60000, 60000))
def test_the_nearest_number_is_right_and_its_neighbours_are_wrong(kind, value):
    precision = PRECISIONS[kind]
    nearest = float(precision.round(np.float64(value)))
    ulp = float(precision.ulp(np.float64(nearest)))
    assert right(kind, value, nearest)
    assert not right(kind, nearest, nearest + ulp)
    assert not right(kind, nearest, nearest - 2 * ulp)


@pytest.mark.parametrize(
    ("expected", "stored", "ok"),
    [
        (NAN, NAN, True), (NAN, 1.0, False), (1.0, NAN, False), (INF, INF, True), (INF, -INF, False),
        (INF, 3e38, False), (1.0, INF, False), (3e38, INF, False), (1e39, INF, True), (-1e39, -INF, True),
        (1e39, -INF, False), (1e39, 3.4028234e38, False), (INF, NAN, False), (0.0, -0.0, True),
    ],
)  # fmt: skip
def test_nan_and_infinity_must_match(expected, stored, ok):
    assert right("f32", expected, stored) == ok


def test_near_overflow_either_is_right():
    top = PRECISIONS["f32"].largest
    assert right("f32", top, INF, bound=1e32)
    assert right("f32", top, top, bound=1e32)


def test_an_infinite_bound_excuses_everything():
    for stored in (0.0, INF, NAN, -5.0):
        assert right("f32", 1e30, stored, bound=INF)


def test_bounds_add_to_the_rounding():
    assert right("f32", 1.0, 1.5, bound=0.5)
    assert not right("f32", 1.0, 1.5001, bound=0.5)


@pytest.mark.parametrize(
    ("tolerance", "stored", "ok"),
    [
        (Tolerance(rtol=1e-3), 100.09, True), (Tolerance(rtol=1e-3), 100.11, False),
        (Tolerance(atol=0.5), 100.4, True), (Tolerance(atol=0.5), 100.6, False),
        (Tolerance(ulp=2), 100 + 2 * 2**-17, True), (Tolerance(ulp=2), 100 + 3 * 2**-17, False),
    ],
)  # fmt: skip
def test_a_spec_may_ask_for_its_own(tolerance, stored, ok):
    assert right("f32", 100.0, stored, tolerance=tolerance) == ok
    assert not right("f32", NAN, 1.0, tolerance=tolerance)


def test_integers_are_exact():
    expected = Expected("s32", np.array([5, -1], dtype=np.int32), np.zeros(2))
    assert wrong_elements(expected, np.array([5, -2], dtype=np.int32)).tolist() == [False, True]


def test_integers_in_doubt_are_compared_around_the_circle():
    expected = Expected("u32", np.array([0, 0, 0], dtype=np.uint32), np.ones(3))
    stored = np.array([2**32 - 1, 1, 2], dtype=np.uint32)
    assert wrong_elements(expected, stored).tolist() == [False, False, True]


# ---------------------------------------------------------------- storage


@given(st.integers(0, 65535))
def test_bf16_is_the_upper_half_of_f32(bits):
    stored = np.array([bits], dtype=np.uint16)
    wide = widen("bf16", stored)
    expected = np.array([bits << 16], dtype=np.uint32).view(np.float32)
    np.testing.assert_array_equal(wide, expected.astype(np.float64))
    if not np.isnan(wide[0]):
        assert narrow("bf16", wide).tolist() == [bits]


@given(st.floats(allow_nan=False))
def test_rounding_agrees_with_numpy(value):
    with np.errstate(over="ignore"):
        for kind in ("f16", "f32"):
            ours = PRECISIONS[kind].round(np.array([value]))
            np.testing.assert_array_equal(ours, np.array([value]).astype(DTYPES[kind]).astype(np.float64))


@given(st.integers(-(2**70), 2**70))
def test_integers_wrap(value):
    for kind, bits in {"u8": 8, "s16": 16, "u32": 32, "s64": 64, "u64": 64}.items():
        low = -(2 ** (bits - 1)) if kind.startswith("s") else 0
        got = narrow(kind, np.array([value], dtype=object)).tolist()
        assert got == [(value - low) % 2**bits + low]
