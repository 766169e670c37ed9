"""The mathematical library, within the errors that the CUDA C++ Programming Guide gives (section Mathematical
Functions), against float64 for f32 and the C library's long double for f64."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np

from bench.applications.case import AnyArray, Case, Expected, exact, generator, given, grid, output, within
from ptxgen.executing import Scalar

_Function = Callable[..., AnyArray]
_EACH = 24


def _one_by_one(function: Callable[[float], float]) -> _Function:
    return lambda x, y: np.array([function(float(v)) for v in x]).astype(x.dtype)


def _remainder(x: AnyArray, y: AnyArray) -> AnyArray:
    return np.array([math.remainder(float(a), float(b)) for a, b in zip(x, y, strict=True)]).astype(x.dtype)


#: Function, least and largest argument, ulps for f32 and f64 (0: exact), as in the kernels' order.
_LIBRARY: tuple[tuple[_Function, float, float, float, float], ...] = (
    (lambda x, y: np.sin(x), -30, 30, 2, 2), (lambda x, y: np.cos(x), -30, 30, 2, 2),
    (lambda x, y: np.tan(x), -30, 30, 4, 2), (lambda x, y: np.arcsin(x), -1, 1, 4, 2),
    (lambda x, y: np.arccos(x), -1, 1, 3, 2), (lambda x, y: np.arctan(x), -50, 50, 2, 2),
    (lambda x, y: np.sinh(x), -20, 20, 3, 2), (lambda x, y: np.cosh(x), -20, 20, 2, 1),
    (lambda x, y: np.tanh(x), -4, 4, 2, 2), (lambda x, y: np.arcsinh(x), -50, 50, 3, 3),
    (lambda x, y: np.arccosh(x), 1, 60, 4, 3), (lambda x, y: np.arctanh(x), -0.99, 0.99, 3, 2),
    (lambda x, y: np.exp(x), -80, 80, 2, 1), (lambda x, y: np.exp2(x), -120, 120, 2, 1),
    (lambda x, y: np.power(x.dtype.type(10), x), -36, 36, 2, 1), (lambda x, y: np.expm1(x), -5, 20, 1, 1),
    (lambda x, y: np.log(x), 0.01, 1000, 1, 1), (lambda x, y: np.log2(x), 0.01, 1000, 1, 1),
    (lambda x, y: np.log10(x), 0.01, 1000, 2, 1), (lambda x, y: np.log1p(x), -0.9, 50, 1, 1),
    (lambda x, y: np.sqrt(x), 0, 1000, 0, 0), (lambda x, y: 1 / np.sqrt(x), 0.01, 1000, 2, 1),
    (lambda x, y: np.cbrt(x), -1000, 1000, 1, 1), (_one_by_one(math.erf), -4, 4, 2, 3),
    (_one_by_one(math.erfc), -4, 9, 4, 6), (_one_by_one(math.gamma), 0.1, 30, 5, 12),
    (_one_by_one(math.lgamma), 3, 200, 6, 6), (lambda x, y: np.power(x, y), 0.1, 30, 4, 2),
    (lambda x, y: np.arctan2(x, y), -9, 9, 3, 2), (lambda x, y: np.hypot(x, y), -99, 99, 3, 2),
    (lambda x, y: np.fmod(x, y), -999, 999, 0, 0), (_remainder, -999, 999, 0, 0),
    (lambda x, y: np.ldexp(x, np.trunc(y).astype(int)), -9, 9, 0, 0), (lambda x, y: np.nextafter(x, y), -9, 9, 0, 0),
    (lambda x, y: np.maximum(x - y, 0), -9, 9, 0, 0), (lambda x, y: np.trunc(x + np.copysign(0.5, x)), -99, 99, 0, 0),
    (lambda x, y: np.rint(x), -99, 99, 0, 0), (lambda x, y: np.floor(np.log2(np.abs(x))), 0.01, 999, 0, 0),
    (lambda x, y: np.copysign(x, y), -9, 9, 0, 0), (lambda x, y: x / y, -9, 9, 0, 0),
)
_NARROW = {33}                      # by their own type, not a wider one


def cases() -> Iterator[Case]:
    for name, dtype, wider, column in (("singles", "f4", "f8", 3), ("doubles", "f8", "g", 4)):
        yield _library(name, dtype, wider, column)
    yield _fast()
    yield _directed()
    yield _split()


def _library(name: str, dtype: str, wider: str, column: int) -> Case:
    rng = generator(name)
    x = np.stack([rng.uniform(row[1], row[2], _EACH) for row in _LIBRARY]).astype(dtype)
    y = rng.uniform(-9, 9, x.shape).astype(dtype)
    rows, bounds = [], []
    for number, (function, *_, single, double) in enumerate(_LIBRARY):
        kind = dtype if number in _NARROW else wider
        with np.errstate(all="ignore"):
            wanted = np.asarray(function(x[number].astype(kind), y[number].astype(kind))).astype(wider)
        unit = np.spacing(np.abs(wanted.astype(dtype))).astype(wider)
        units = single if column == 3 else double
        # where there is an error at all, the oracle's own rounding comes to it
        bounds.append((units + 0.5) * unit if units else np.zeros(_EACH, wider))
        rows.append(wanted if units else wanted.astype(dtype).astype(wider))
    return Case("mathematics", name, grid((1, len(_LIBRARY)), 32),
                (given(x), given(y), output(x.shape, dtype), Scalar("s32", _EACH)),
                {2: Expected(np.stack(rows), np.stack(bounds), lambda found: found.astype(wider))})


def _fast() -> Case:
    x = generator("fast").uniform(-3, 3, 64).astype("f4")
    w = x.astype("f8")
    size = np.abs(w)
    rows = [
        (np.sin(w), 2.0**-21.4), (np.cos(w), 2.0**-21.1), (np.exp(w), np.exp(w) * 2.0**-23 * (2 + 1.16 * size)),
        (np.log(size + np.float32(0.6)), 1e-6), (1 / w, 2.0**-22 / size), (size**1.5, size**1.5 * 2e-6),
        (np.tan(w * np.float32(0.3)), 3e-6), (1 / np.sqrt(size + 1), 2.0**-24),
    ]
    bounds = [np.broadcast_to(np.asarray(bound), w.shape) for _, bound in rows]
    return Case("mathematics", "fast", grid(2, 32), (given(x), output((64, 8), "f4"), Scalar("s32", 64)),
                {1: within(np.stack([value for value, _ in rows], 1), np.stack(bounds, 1))})


def _rounded(value: Fraction, dtype: str, direction: str) -> float:
    """A quotient of integers rounded to a float, down, up or toward zero."""
    bits = np.finfo(dtype).nmant + 1
    if value == 0:
        return 0.0
    size = abs(value)
    power = size.numerator.bit_length() - size.denominator.bit_length() - bits - 1
    while size / Fraction(2) ** power >= 2**bits:
        power += 1
    scaled = size / Fraction(2) ** power
    whole = scaled.numerator // scaled.denominator
    away = direction == ("ru" if value > 0 else "rd")
    if away and whole != scaled:
        whole += 1
    return math.copysign(float(whole) * 2.0**power, value)


def _root(value: float, dtype: str, direction: str) -> float:
    near = float(np.sqrt(np.array(value, dtype)))
    square, wanted = Fraction(near) ** 2, Fraction(value)
    toward = np.nextafter(np.array(near, dtype), np.array(np.inf if direction == "ru" else 0, dtype))
    if (direction == "ru" and square < wanted) or (direction == "rd" and square > wanted):
        return float(toward)
    return near


def _directed() -> Case:
    rng = generator("directed")
    a, b = rng.standard_normal((2, 32)).astype("f4")
    c, d = rng.standard_normal((2, 32))

    def rows(x: AnyArray, y: AnyArray, dtype: str, plan: list[tuple[str, str]]) -> list[list[float]]:
        out = []
        for u, v in zip(x.tolist(), y.tolist(), strict=True):
            p, q = Fraction(u), Fraction(v)
            values = {"add": p + q, "mul": p * q, "fma": p * q + p, "div": p / q, "rcp": 1 / q, "sub": p - q}
            out.append([_root(abs(u), dtype, way) if name == "sqrt" else _rounded(values[name], dtype, way)
                        for name, way in plan])
        return out

    single = rows(a, b, "f4", [("add", "rd"), ("mul", "ru"), ("fma", "rz"), ("div", "ru"), ("sqrt", "rd"),
                               ("rcp", "rz"), ("add", "rz"), ("mul", "rz")])
    narrow = np.array(single, "f4")
    narrow[:, 6] = a - b
    double = rows(c, d, "f8", [("add", "ru"), ("mul", "rd"), ("fma", "rd"), ("div", "rz"), ("sqrt", "ru"),
                               ("rcp", "rd")])
    return Case("mathematics", "directed", grid(1, 32),
                (given(a), given(b), output((32, 8), "f4"), given(c), given(d), output((32, 6), "f8")),
                {2: exact(narrow), 5: exact(np.array(double))})


def _split() -> Case:
    x = generator("split").uniform(-20, 20, 32).astype("f4")
    w = x.astype("f8")
    fraction, power = np.frexp(w)
    by = float(np.float32(0.7))
    quotient = np.rint(w / by).astype(int)
    rest = np.array([math.remainder(v, by) for v in w.tolist()])
    parts = np.stack([np.sin(w), np.cos(w), np.modf(w)[0], np.modf(w)[1], fraction, rest], 1)
    sizes = np.abs(quotient) & 7
    ints = np.stack([power, np.where(quotient < 0, -sizes, sizes) & 7, np.floor(np.log2(np.abs(w))),
                     1 | (w < 0) * 2 | np.rint(w).astype(int) << 8], 1)
    # Bessel's integral by the rule of the trapezium, which converges geometrically here
    angle = (np.arange(400) + 0.5) * np.pi / 400
    bessel = np.cos(w[:, None] * np.sin(angle)).mean(1)
    normal = np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in w.tolist()])
    return Case("mathematics", "split", grid(1, 32),
                (given(x), output((32, 6), "f4"), output((32, 4), "i4"), output((32, 2), "f8"), Scalar("s32", 32)),
                {1: within(parts, 2.0**-22), 2: exact(ints.astype("i4")),
                 3: within(np.stack([bessel, normal], 1), 1e-14)})
