"""What a kernel is run on: sizes and values, drawn by Hypothesis or from a fixed schedule, and built by NumPy.

A `Case` is a small description (sizes, scalars, and for each array a way to fill it and a seed), so that
drawing is fast and shrinking works on few choices. The ways are in order of simplicity: Hypothesis shrinks
towards the first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ptxgen.spec import Param, Spec, ValueRange, complete_sizes, free_sizes, size_range
from ptxgen.verifying.storage import PRECISIONS, Array, narrow, widen

#: All arrays of a case together, and all threads of its launch: what a CPU executor runs in a moment.
MAX_ELEMENTS = 32_768
MAX_THREADS = 32_768

_PRIMES = (97, 257, 1009)


@dataclass(frozen=True, slots=True)
class Fill:
    """How one array is filled. `offset`: elements by which its base address is shifted."""

    way: str
    seed: int = 0
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Case:
    """One example. Tuples of pairs, so that cases can be compared and remembered."""

    sizes: tuple[tuple[str, int], ...]
    scalars: tuple[tuple[str, int | float], ...]
    fills: tuple[tuple[str, Fill], ...]


@dataclass(frozen=True, slots=True)
class Inputs:
    """A case made real. `arrays` holds the initial contents of every pointer that the kernel may read, in
    storage form; `scalars` every scalar, sizes included, rounded to its type."""

    sizes: dict[str, int]
    scalars: dict[str, int | float]
    arrays: dict[str, Array]
    shapes: dict[str, tuple[int, ...]]
    offsets: dict[str, int]


# ---------------------------------------------------------------- values

_Generator = np.random.Generator
_Way = Callable[[_Generator, int, float], Array]

#: Ways to fill float arrays; the third argument is the smallest subnormal.
_FLOAT_WAYS: dict[str, _Way] = {
    "ramp": lambda rng, n, tiny: np.arange(1.0, n + 1.0) % 1024,
    "whole": lambda rng, n, tiny: rng.integers(-9, 10, n).astype(np.float64),
    "normal": lambda rng, n, tiny: rng.standard_normal(n),
    "large": lambda rng, n, tiny: 3.0 * rng.standard_normal(n),
    "small": lambda rng, n, tiny: 0.01 * rng.standard_normal(n),
    "negative": lambda rng, n, tiny: -np.abs(rng.standard_normal(n)),
    "uniform": lambda rng, n, tiny: rng.uniform(-1000.0, 1000.0, n),
    "cancelling": lambda rng, n, tiny: np.where(
        np.arange(n) % 2 == 0, 1.0, -1.0) * (100.0 + rng.integers(0, 2, n) * rng.uniform(0, 1e-3, n)),
    "zeros": lambda rng, n, tiny: rng.choice(np.array([0.0, -0.0, 0.0, 1.0]), n),
    "subnormal": lambda rng, n, tiny: tiny * rng.integers(-5, 6, n),
    "magnitudes": lambda rng, n, tiny: rng.choice([-1.0, 1.0], n) * 2.0 ** rng.uniform(-10, 10, n),
}  # fmt: skip
_SPECIAL = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, -2.0])
_INTEGER_WAYS = ("ramp", "whole", "uniform", "ends", "same")


def ways_to_fill(spec: Spec, param: Param) -> tuple[str, ...]:
    """The names of the ways for a parameter, simplest first."""
    if param.scalar.integer:
        return _INTEGER_WAYS
    return (*_FLOAT_WAYS, "special") if spec.verify.special else tuple(_FLOAT_WAYS)


def filled(spec: Spec, param: Param, fill: Fill, shape: tuple[int, ...]) -> Array:
    """The array in storage form, every element within the range that the spec gives."""
    rng = np.random.default_rng([fill.seed, _INTEGER_WAYS.index(fill.way) if param.scalar.integer else 99])
    count = math.prod(shape)
    span = spec.verify.values.get(param.name)
    values = (
        _integers(param, fill.way, rng, count, span)
        if param.scalar.integer
        else _floats(param, fill.way, rng, count, span)
    )
    return values.reshape(shape)


def _floats(param: Param, way: str, rng: _Generator, count: int, span: ValueRange | None) -> Array:
    precision = PRECISIONS[param.element]
    if way == "special":
        values = np.where(rng.random(count) < 0.3, rng.choice(_SPECIAL, count), rng.standard_normal(count))
    elif way == "uniform" and span is not None:
        values = rng.uniform(span.low, span.high, count)
    else:
        values = _FLOAT_WAYS[way](rng, count, precision.smallest)
    values = precision.round(values)
    if span is not None:
        # What falls outside is drawn anew inside, and rounding must not leave the range either.
        inside = (values >= span.low) & (values <= span.high)
        inside |= ~np.isfinite(values)
        values = np.where(inside, values, precision.round(rng.uniform(span.low, span.high, count)))
        outside = (values < span.low) | (values > span.high)
        values = np.where(outside & np.isfinite(values), values - np.sign(values) * precision.ulp(values), values)
    return narrow(param.element, values)


def _integers(param: Param, way: str, rng: _Generator, count: int, span: ValueRange | None) -> Array:
    low, high = integer_range(param, span)
    dtype = np.uint64 if param.element == "u64" else np.int64
    if way == "ramp":
        values = np.array([low + i % (high - low + 1) for i in range(1, count + 1)], dtype=dtype)
        if low <= 0 <= high:
            values = np.array([i % (high + 1) for i in range(1, count + 1)], dtype=dtype)
    elif way == "whole":
        values = (
            rng.integers(max(low, -9), min(high, 9), count, dtype=dtype, endpoint=True)
            if (max(low, -9) <= min(high, 9))
            else rng.integers(low, min(high, low + 9), count, dtype, endpoint=True)
        )
    elif way == "ends":
        ends = [end for end in (low, high, low + 1, high - 1, 0, 1, -1) if low <= end <= high]
        values = rng.choice(np.array(ends, dtype=dtype), count)
    elif way == "same":
        values = np.full(count, rng.integers(low, high, dtype=dtype, endpoint=True), dtype=dtype)
    else:
        values = rng.integers(low, high, count, dtype=dtype, endpoint=True)
    return narrow(param.element, values)


def integer_range(param: Param, span: ValueRange | None) -> tuple[int, int]:
    """The least and greatest value of an integer parameter."""
    if span is None:
        return param.scalar.low, param.scalar.high
    return math.ceil(span.low), math.floor(span.high)


def build(spec: Spec, case: Case) -> Inputs:
    """The arrays and scalars of a case. Raises SpecError for sizes at which the spec makes no sense."""
    sizes = dict(case.sizes)
    shapes = {p.name: spec.shape_at(p, sizes) for p in spec.kernel.params if p.pointer}
    fills = dict(case.fills)
    arrays = {p.name: filled(spec, p, fills[p.name], shapes[p.name]) for p in spec.inputs}
    drawn = dict(case.scalars)
    scalars = {p.name: sizes[p.name] if p.name in sizes else _rounded(p, drawn[p.name]) for p in spec.scalars}
    offsets = {name: fill.offset * spec.param(name).scalar.size for name, fill in fills.items()}
    return Inputs(sizes, scalars, arrays, shapes, offsets)


def _rounded(param: Param, value: int | float) -> int | float:
    if param.scalar.integer:
        return int(value)
    return float(widen(param.element, narrow(param.element, np.array([value], dtype=np.float64)))[0])


# ---------------------------------------------------------------- sizes


def limited(spec: Spec, chosen: dict[str, int]) -> dict[str, int]:
    """The sizes, the largest halved until arrays and launch are small enough to run in a moment."""
    chosen = dict(chosen)
    while True:
        sizes = complete_sizes(spec, chosen)
        elements = sum(math.prod(spec.shape_at(p, sizes)) for p in spec.kernel.params if p.pointer)
        launch = spec.launch_at(sizes)
        if elements <= MAX_ELEMENTS and math.prod(launch.grid) * spec.threads <= MAX_THREADS:
            return sizes
        movable = {name: value for name, value in chosen.items() if value > size_range(spec, name)[0]}
        if not movable:
            return sizes
        largest = max(movable, key=lambda name: movable[name])
        chosen[largest] = max(size_range(spec, largest)[0], chosen[largest] // 2)


def telling_sizes(spec: Spec, name: str) -> tuple[int, ...]:
    """Sizes at which kernels break: nothing, one, around a warp, a block and its sides, primes, several
    blocks; those within the range, the most telling first."""
    low, high = size_range(spec, name)
    threads = spec.threads
    telling = [
        threads + 1,
        1,
        threads,
        33,
        0,
        _PRIMES[0],
        threads - 1,
        32,
        31,
        2 * threads + 1,
        _PRIMES[1],
        3 * threads + 17,
        2,
        _PRIMES[2],
        5,
    ]
    for side in spec.launch.block[:2]:
        telling += [side + 1, side, side - 1, 2 * side + 1]
    inside = [size for size in telling if low <= size <= high]
    return tuple(dict.fromkeys([*inside, low, high]))


# ---------------------------------------------------------------- drawing


def cases(spec: Spec, seeds: tuple[int, int]) -> st.SearchStrategy[Case]:
    """Random cases. `seeds`: the range from which arrays draw theirs, so that held-out cases differ."""

    @st.composite
    def draw_case(draw: st.DrawFn) -> Case:
        chosen = {}
        for name in free_sizes(spec):
            low, high = size_range(spec, name)
            chosen[name] = draw(st.one_of(st.integers(low, high), st.sampled_from(sorted(telling_sizes(spec, name)))))
        sizes = limited(spec, chosen)
        scalars = tuple((p.name, draw(_scalar(spec, p))) for p in spec.scalars if p.name not in sizes)
        fills = []
        for param in spec.kernel.params:
            if param.pointer:
                way = draw(st.sampled_from(ways_to_fill(spec, param))) if param in spec.inputs else "ramp"
                seed = draw(st.integers(*seeds)) if param in spec.inputs else 0
                fills.append((param.name, Fill(way, seed, draw(st.sampled_from((0, 0, 0, 1, 3))))))
        return Case(tuple(sizes.items()), scalars, tuple(fills))

    return draw_case()


def _scalar(spec: Spec, param: Param) -> st.SearchStrategy[Any]:
    span = spec.verify.values.get(param.name)
    if param.scalar.integer:
        low, high = integer_range(param, span)
        near = st.integers(max(low, -9), min(high, 9)) if max(low, -9) <= min(high, 9) else st.just(low)
        return near | st.integers(low, high)
    low_end, high_end = (span.low, span.high) if span is not None else (-1000.0, 1000.0)
    simple = [value for value in _SIMPLE if low_end <= value <= high_end]
    drawn = st.floats(low_end, high_end, allow_nan=False, allow_infinity=False)
    special = st.sampled_from([math.inf, -math.inf, math.nan]) if spec.verify.special else st.nothing()
    return (st.sampled_from(simple) if simple else st.nothing()) | drawn | special


_SIMPLE = (2.0, 1.0, 0.5, -1.0, 3.0, 0.25, -2.0, 0.0, -0.5, 10.0)


def schedule(spec: Spec, seed: int) -> Iterator[Case]:
    """Cases that meet every telling size and every way to fill, the same ones for the same seed; endless."""
    rng = np.random.default_rng(seed)
    names = free_sizes(spec)
    telling = {name: telling_sizes(spec, name) for name in names}
    turn = 0
    while True:
        chosen = {
            name: telling[name][(turn * (2 * i + 1) + 3 * i) % len(telling[name])] for i, name in enumerate(names)
        }
        sizes = limited(spec, chosen)
        scalars = tuple(
            (p.name, _scheduled_scalar(spec, p, rng, turn + i))
            for i, p in enumerate(spec.scalars)
            if p.name not in sizes
        )
        fills = []
        for i, param in enumerate(p for p in spec.kernel.params if p.pointer):
            ways = ways_to_fill(spec, param)
            # The simplest two ways say least, so the rotation begins after them.
            fill = Fill(ways[(turn + i + 2) % len(ways)], int(rng.integers(2**31)), (0, 0, 1, 0, 3)[(turn + i) % 5])
            fills.append((param.name, fill))
        yield Case(tuple(sizes.items()), scalars, tuple(fills))
        turn += 1


def _scheduled_scalar(spec: Spec, param: Param, rng: _Generator, turn: int) -> int | float:
    span = spec.verify.values.get(param.name)
    if param.scalar.integer:
        low, high = integer_range(param, span)
        if turn % 2:
            low, high = max(low, min(high, -9)), min(high, max(low, 9))
        return int(rng.integers(low, high, dtype=np.uint64 if low >= 0 else np.int64, endpoint=True))
    if span is not None:
        return float(rng.uniform(span.low, span.high))
    simple = _SIMPLE[turn % len(_SIMPLE)]
    return simple if turn % 2 else simple * float(rng.standard_normal())
