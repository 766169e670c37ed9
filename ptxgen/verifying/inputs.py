"""What a kernel is run on: sizes and values, drawn by Hypothesis or from a fixed schedule, and built by NumPy.

A `Case` is a small description (sizes, scalars, and for each array a way to fill it and a seed), so that
drawing is fast and shrinking works on few choices. The ways are in order of simplicity: Hypothesis shrinks
towards the first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ptxgen.spec import Param, Spec, complete_sizes, free_sizes, size_range
from ptxgen.verifying.filling import HALF_PATTERNS, Fill, filled, held, integer_range, near_zero, ways_to_fill
from ptxgen.verifying.storage import PRECISIONS, Array

#: All arrays of a case together, and all threads of its launch: what a CPU executor runs in a moment.
MAX_ELEMENTS = 32_768
MAX_THREADS = 32_768
#: Vectors shorter than this would take too many cases to go through all values of a half type.
_LEAST_FOR_EVERY = 512


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


def build(spec: Spec, case: Case) -> Inputs:
    """The arrays and scalars of a case. Raises SpecError for sizes at which the spec makes no sense."""
    sizes = dict(case.sizes)
    shapes = {p.name: spec.shape_at(p, sizes) for p in spec.kernel.params if p.pointer}
    fills = dict(case.fills)
    arrays = {p.name: filled(spec, p, fills[p.name], shapes[p.name]) for p in spec.inputs}
    drawn = dict(case.scalars)
    scalars = {p.name: sizes[p.name] if p.name in sizes else _rounded(spec, p, drawn[p.name]) for p in spec.scalars}
    offsets = {name: fill.offset * spec.param(name).scalar.size for name, fill in fills.items()}
    return Inputs(sizes, scalars, arrays, shapes, offsets)


def _rounded(spec: Spec, param: Param, value: int | float) -> int | float:
    """As its type holds it, within the range that the spec gives."""
    if param.scalar.integer:
        return int(value)
    span = spec.verify.values.get(param.name)
    held_value = held(PRECISIONS[param.element], np.float64(value), span)
    return float(held_value)


# ---------------------------------------------------------------- sizes


def limited(spec: Spec, chosen: dict[str, int]) -> dict[str, int]:
    """The sizes, the largest halved until arrays and launch are small enough to run in a moment."""
    lowest = {name: size_range(spec, name)[0] for name in chosen}
    # What the smallest sizes cost cannot be avoided: a fixed grid, arrays of fixed length.
    least_elements, least_threads = _cost(spec, complete_sizes(spec, lowest))
    most_elements, most_threads = max(MAX_ELEMENTS, least_elements), max(MAX_THREADS, least_threads)
    chosen = dict(chosen)
    while True:
        sizes = complete_sizes(spec, chosen)
        elements, threads = _cost(spec, sizes)
        movable = [name for name, value in chosen.items() if value > lowest[name]]
        if not movable or (elements <= most_elements and threads <= most_threads):
            return sizes
        largest = max(movable, key=lambda name: chosen[name])
        chosen[largest] = max(lowest[largest], chosen[largest] // 2)


def _cost(spec: Spec, sizes: dict[str, int]) -> tuple[int, int]:
    """Elements of all arrays, and threads of the launch."""
    elements = sum(math.prod(spec.shape_at(p, sizes)) for p in spec.kernel.params if p.pointer)
    return elements, math.prod(spec.launch_at(sizes).grid) * spec.threads


def telling_sizes(spec: Spec, name: str) -> tuple[int, ...]:
    """Sizes at which kernels break: nothing, one, around a warp, a block and its sides, primes, several
    blocks; those within the range, the most telling first."""
    low, high = size_range(spec, name)
    threads = spec.threads
    telling = [threads + 1, 1, threads, 33, 0, 97, threads - 1, 32, 31]
    telling += [2 * threads + 1, 257, 3 * threads + 17, 2, 1009, 5]
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
        return st.integers(*near_zero(low, high)) | st.integers(low, high)
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
            name: telling[name][(turn + i * (turn // len(telling[name]) + 3)) % len(telling[name])]
            for i, name in enumerate(names)
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


def every_half(spec: Spec) -> tuple[Case, ...]:
    """Cases that together put every value of a half type through a kernel with one such vector as its input.

    Empty for other specs, and where vectors are too short for that to end soon.
    """
    free = free_sizes(spec)
    if len(spec.inputs) != 1 or len(free) != 1 or spec.inputs[0].scalar.bits != 16 or spec.inputs[0].scalar.integer:
        return ()
    vector = spec.inputs[0]
    sizes = limited(spec, {free[0]: size_range(spec, free[0])[1]})
    length = math.prod(spec.shape_at(vector, sizes))
    if length < _LEAST_FOR_EVERY:
        return ()
    rng = np.random.default_rng(length)
    scalars = tuple((p.name, _scheduled_scalar(spec, p, rng, 0)) for p in spec.scalars if p.name not in sizes)
    others = tuple((p.name, Fill("ramp")) for p in spec.kernel.params if p.pointer and p != vector)
    return tuple(
        Case(tuple(sizes.items()), scalars, ((vector.name, Fill("every", start)), *others))
        for start in range(0, HALF_PATTERNS, length)
    )


def _scheduled_scalar(spec: Spec, param: Param, rng: np.random.Generator, turn: int) -> int | float:
    span = spec.verify.values.get(param.name)
    if param.scalar.integer:
        low, high = integer_range(param, span)
        if turn % 2:
            low, high = near_zero(low, high)
        return int(rng.integers(low, high, dtype=np.uint64 if low >= 0 else np.int64, endpoint=True))
    if span is not None:
        share = float(rng.random())
        return span.low * (1 - share) + span.high * share
    simple = _SIMPLE[turn % len(_SIMPLE)]
    return simple if turn % 2 else simple * float(rng.standard_normal())
