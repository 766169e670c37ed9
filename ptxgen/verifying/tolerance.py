"""Is an element right? The oracle's value and bound, and what storing the result costs."""

from __future__ import annotations

import numpy as np

from ptxgen.spec import Tolerance
from ptxgen.verifying.oracle import Expected
from ptxgen.verifying.storage import DTYPES, PRECISIONS, Array, Precision, widen


def wrong_elements(expected: Expected, stored: Array, tolerance: Tolerance | str = "auto") -> Array:
    """A mask of the elements that no correct kernel could have stored.

    Floats: half an ulp of the output type for the last rounding, plus the bound; NaN where NaN is expected
    and nowhere else, infinities likewise. Integers: exact, unless the oracle is in doubt itself.
    """
    if expected.kind not in PRECISIONS:
        return _wrong_integers(expected, stored)
    precision = PRECISIONS[expected.kind]
    got = widen(expected.kind, stored)
    value = expected.value
    allowed, free = allowed_error(expected, tolerance)
    with np.errstate(all="ignore"):
        # From here on rounding gives infinity.
        threshold = precision.largest + precision.ulp(np.array(precision.largest)) / 2
        size = np.abs(value)
        may_overflow = np.isfinite(value) & (size + allowed >= threshold)
        must_overflow = np.isfinite(value) & (size - allowed >= threshold)
        same_infinity = np.isinf(got) & (np.sign(got) == np.sign(value))
        near = np.isfinite(got) & (np.abs(got - value) <= allowed) & ~must_overflow
        right = np.where(
            np.isnan(value),
            np.isnan(got),
            np.where(np.isinf(value), got == value, near | (may_overflow & same_infinity)),
        )
    return ~(right | free)


def allowed_error(expected: Expected, tolerance: Tolerance | str = "auto") -> tuple[Array, Array]:
    """For floats: the absolute error granted to each element, and the mask of those that tell nothing."""
    precision = PRECISIONS[expected.kind]
    with np.errstate(all="ignore"):
        if isinstance(tolerance, Tolerance):
            return _asked_for(tolerance, precision, expected.value), np.zeros(expected.value.shape, dtype=bool)
        allowed = expected.bound + precision.ulp(np.abs(expected.value) + expected.bound) / 2
    return np.nan_to_num(allowed, nan=0.0, posinf=np.inf), np.isinf(expected.bound)


def _asked_for(tolerance: Tolerance, precision: Precision, value: Array) -> Array:
    if tolerance.ulp is not None:
        return np.asarray(tolerance.ulp * precision.ulp(value))
    return np.asarray(np.nan_to_num(tolerance.atol + tolerance.rtol * np.abs(value), nan=0.0, posinf=0.0))


def _wrong_integers(expected: Expected, stored: Array) -> Array:
    differs = stored != expected.value
    if not expected.bound.any():
        return np.asarray(differs)
    bits = 8 * DTYPES[expected.kind].itemsize
    # The distance on the type's circle, as sums wrap around.
    around = (stored.astype(object) - expected.value.astype(object)) % (1 << bits)
    apart = np.minimum(around, (1 << bits) - around).astype(np.float64)
    return np.asarray(differs & (apart > expected.bound))
