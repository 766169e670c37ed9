"""How far a kernel's elementary functions may be off, beyond what their argument's error does.

The figures are those that the PTX manual documents for the approximate instructions (ex2.approx, lg2.approx,
sqrt.approx, sin.approx, cos.approx, tanh.approx and their half-precision forms), put through the usual
identities: exp(x) = ex2(x · log2 e), ln(x) = lg2(x) · ln 2.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ptxgen.verifying.storage import Array, Precision

#: Below this an approximate f32 or bf16 instruction may flush its result to zero (`.ftz` forms).
FLUSH = 2.0**-126


def approximation_error(name: str, x: Array, value: Array, precision: Precision) -> Array:
    """The absolute error granted to `name` at `x` (exact), where `value` is the true result."""
    if name in EXACT:
        return np.zeros(np.shape(value))
    if precision.digits == 53:
        # There are no approximate f64 forms: what a careful software version reaches.
        return 16 * precision.u * np.abs(value)
    with np.errstate(all="ignore"):
        return np.asarray(np.nan_to_num(_RULES[name](x, value, precision), nan=0.0, posinf=np.inf))


def _exponential(x: Array, value: Array, p: Precision, scale: float) -> Array:
    """ex2.approx: 2 ulp (4 u) for f32, relative 2^-9.9 for f16 and 2^-7 for bf16; the product x · scale is
    rounded and so is the constant, which a relative error of 2 u · |x| in the result pays for."""
    own = {"f16": 2.0**-9.9, "bf16": 2.0**-7}.get(p.name, 4 * p.u)
    flushed = 0.0 if p.name == "f16" else FLUSH
    return np.asarray(np.abs(value) * (own + 2 * p.u * np.abs(x) * scale) + flushed)


def _logarithm(x: Array, value: Array, p: Precision, scale: float) -> Array:
    """lg2.approx: absolute 2^-22 on (0.5, 2), else relative 2^-22, times `scale`, which is rounded."""
    own = 2.0**-22 if p.digits == 24 else 2 * p.u
    return np.asarray(own * np.maximum(scale, np.abs(value)) + 2 * p.u * np.abs(value))


def _circular(x: Array, value: Array, p: Precision) -> Array:
    """sin.approx, cos.approx: absolute 2^-20.5 on ±2π, 2^-14.7 on ±100π; beyond, in proportion.

    An H200 was seen to be 6.98e-7 off near 4.78, beyond the documented 6.74e-7, so 2^-20.4 is granted.
    """
    far = np.abs(x) / (100 * np.pi)
    near = np.where(np.abs(x) <= 2 * np.pi, 2.0**-20.4, 2.0**-14.7 * np.maximum(1.0, far))
    return np.asarray(near + 2 * p.u * np.abs(value))


def _hyperbolic_tangent(x: Array, value: Array, p: Precision) -> Array:
    """tanh.approx: relative 2^-11 (f32), absolute 2^-10.987 (f16) and 2^-8 (bf16); written with exp it
    loses a few u of 1 near 0."""
    if p.name == "f32":
        return 2.0**-11 * np.abs(value) + 16 * p.u
    return np.full(np.shape(value), {"f16": 2.0**-10.987, "bf16": 2.0**-8}[p.name] + 4 * p.u)


def _square_root(x: Array, value: Array, p: Precision) -> Array:
    """sqrt.approx: relative 2^-23, 2 u."""
    return 2 * p.u * np.abs(value) + (np.sqrt(FLUSH) * (np.abs(x) < FLUSH) if p.name == "f32" else 0.0)


_RULES: dict[str, Callable[[Array, Array, Precision], Array]] = {
    "exp": lambda x, v, p: _exponential(x, v, p, 1.0),
    "exp2": lambda x, v, p: _exponential(x, v, p, 0.0),
    # e^x - 1: the exponential's error, and the subtraction of 1 from a rounded number near 1.
    "expm1": lambda x, v, p: _exponential(x, np.abs(v) + 1, p, 1.0) + 2 * p.u,
    "log": lambda x, v, p: _logarithm(x, v, p, float(np.log(2))),
    "log2": lambda x, v, p: _logarithm(x, v, p, 1.0),
    "log10": lambda x, v, p: _logarithm(x, v, p, float(np.log10(2))),
    # ln(1 + x): the sum is rounded, an absolute error of 2 u in its logarithm.
    "log1p": lambda x, v, p: _logarithm(x, v, p, float(np.log(2))) + 2 * p.u,
    "sqrt": _square_root,
    # ex2(lg2(x) / 3): an absolute error in the exponent becomes a relative one.
    "cbrt": lambda x, v, p: np.abs(v) * (8 * p.u + 2.0**-22 * np.abs(np.log2(np.abs(x) + FLUSH))),
    "sin": _circular,
    "cos": _circular,
    "tanh": _hyperbolic_tangent,
    "arctan": lambda x, v, p: 16 * p.u * (np.abs(v) + 1),
}
EXACT = frozenset({"floor", "ceil", "trunc", "rint", "sign"})
