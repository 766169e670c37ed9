"""Numba's kernels. An array is a structure by value: two pointers of its owner, elements, bytes of one, the data's
address, extents and strides."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from bench.applications.case import Case, Expected, exact, generator, grid, within
from ptxgen.executing import Argument, Buffer, Launch, Scalar

_POINTER = 4


def array(data: npt.NDArray[np.generic], *, written: bool = False, read_only: bool = False) -> list[Argument]:
    """The parameters of an array argument; `written`: its contents are not defined yet."""
    words = [0, 0, data.size, data.itemsize]
    after = [*data.shape, *data.strides]
    whole = Buffer(data, initialised=not written, read_only=read_only)
    return [*(Scalar("u64", w) for w in words), whole, *(Scalar("u64", w) for w in after)]


def _case(name: str, launch: Launch, parts: list[list[Argument]], expected: dict[int, Expected]) -> Case:
    """`expected` is by the argument's number in Python."""
    flat = tuple(argument for part in parts for argument in part)
    starts = np.cumsum([0, *(len(part) for part in parts)])
    places = {int(starts[number]) + _POINTER: value for number, value in expected.items()}
    return Case(f"numba_{name}", None, launch, flat, places, name=name)


def cases() -> Iterator[Case]:
    rng = generator("numba")
    f, g = rng.standard_normal((2, 100)).astype("f4")
    yield _case("axpy", grid(1, 128),
                [[Scalar("f32", 1.5)], array(f, read_only=True), array(g), array(np.zeros(100, "f4"), written=True)],
                {3: within(1.5 * f.astype("f8") + g, 1e-6)})
    d = rng.standard_normal(300)
    yield _case("block_sums", grid(3, 128), [array(d), array(np.zeros(1))],
                {1: within(d.sum(keepdims=True), 1e-12)})
    a, b = rng.standard_normal((20, 35)).astype("f4"), rng.standard_normal((35, 23)).astype("f4")
    yield _case("matrix_product", grid((2, 2), (16, 16)),
                [array(a), array(b), array(np.zeros((20, 23), "f4"), written=True)],
                {2: within(a.astype("f8") @ b.astype("f8"), 37 * 2.0**-24 * (np.abs(a) @ np.abs(b)))})
    c = (-2 + np.arange(24) * 0.125)[None] + 1j * (-1 + np.arange(17) * 0.125)[:, None]
    z, counts = np.zeros_like(c), np.zeros(c.shape, int)
    for _ in range(20):
        inside = z.real**2 + z.imag**2 < 16
        counts += inside
        z = np.where(inside, z * z + c, z)
    yield _case("mandelbrot", grid((3, 3), (8, 8)),
                [array(np.zeros((17, 24), "i4"), written=True), [Scalar("s32", 20)]], {0: exact(counts)})
    bytes_ = rng.integers(0, 256, 500, dtype="u1")
    yield _case("histogram", grid(2, 64), [array(bytes_), array(np.zeros(32, "i4"))],
                {1: exact(np.bincount(bytes_ & 31, minlength=32))})
    x = rng.integers(-9, 9, (2, 32), dtype="i4")
    yield _case("warp_scan", grid(1, 64), [array(x.reshape(-1)), array(np.zeros(64, "i4"), written=True)],
                {1: exact(np.cumsum(x, 1) + (x > 0).sum(1, keepdims=True))})
    rows = rng.standard_normal((32, 8))
    order = np.sort(rows, 1)
    yield _case("local_arrays", grid(1, 32), [array(rows), array(np.zeros((32, 8)), written=True)],
                {1: exact(order + np.clip(order[:, ::-1], -1, 1))})
    v = rng.uniform(-3, 3, 32)
    wanted = [
        [math.sin(u) * math.exp(-u), math.sqrt(abs(u)) + math.log1p(abs(u)), math.erf(u) + math.gamma(abs(u) + 1),
         math.atan2(u, 2) + u**3, u // 0.75 + u % 0.75] for u in v.tolist()
    ]
    yield _case("functions", grid(1, 32), [array(v), array(np.zeros((32, 5)), written=True)],
                {1: within(wanted, 1e-13, 1e-13)})
    numbers = [0, 1, 1, 2, 3, 5, 8, 13, 21, 34]
    yield _case("recursive", grid(1, 32), [array(np.zeros(32, "i8"), written=True)],
                {0: exact([numbers[i % 10] for i in range(32)])})
    p, q = rng.integers(-(2**40), 2**40, 32), rng.integers(-1000, 1000, 32)
    q[3] = 0
    safe = np.where(q == 0, 1, q)
    mixed = np.where(q == 0, -1, p // safe * 10 + p % safe + (p >> 3) - (q << 2))
    yield _case("wide_integers", grid(1, 32), [array(p), array(q), array(np.zeros(32, "i8"), written=True)],
                {2: exact(mixed)})
    cube = rng.integers(-99, 99, (3, 7, 9), dtype="i4")
    yield _case("strided", grid((1, 2), (8, 8)), [array(cube), array(np.zeros((7, 9), "i4"), written=True)],
                {1: exact(cube.sum(0))})
    marks = np.full(17, -1, "i4")
    marks[16] = 0
    i = np.arange(64)
    ends = np.concatenate([np.full(8, 99), i[56:], [np.bitwise_xor.reduce(i * 77)]])
    yield _case("exchange", grid(1, 64), [array(np.zeros(64, "i4")), array(marks)],
                {0: exact([8], lambda found: found.sum(keepdims=True)),
                 1: exact(ends, lambda found: np.where(np.arange(17) < 8, 99, found))})
