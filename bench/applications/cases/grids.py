"""Images and grids."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from bench.applications.case import Case, exact, generator, given, grid, output, within
from ptxgen.executing import Buffer, Scalar

_WEIGHTS = np.array([0.25, -0.5, 1, 2, 1, -0.5, 0.25])
_BINOMIAL = np.array([1, 4, 6, 4, 1])


def _life(world: npt.NDArray[np.uint8], rounds: int) -> npt.NDArray[np.uint8]:
    for _ in range(rounds):
        around = sum(np.roll(world, (j, i), (0, 1)) for j in (-1, 0, 1) for i in (-1, 0, 1) if i or j)
        world = ((around == 3) | ((around == 2) & (world == 1))).astype("u1")
    return world


def _stencil_2d(a: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    out = a.copy()
    out[1:-1, 1:-1] += 0.125 * (a[1:-1, :-2] + a[1:-1, 2:] + a[:-2, 1:-1] + a[2:, 1:-1] - 4 * a[1:-1, 1:-1])
    return out


def _around_3d(a: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    p = np.pad(a, 1)
    return (p[2:, 1:-1, 1:-1] + p[:-2, 1:-1, 1:-1] + p[1:-1, 2:, 1:-1] + p[1:-1, :-2, 1:-1] + p[1:-1, 1:-1, 2:]
            + p[1:-1, 1:-1, :-2] - 6 * a)


def _convolved(a: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    p = np.pad(a.astype("i8"), 2, mode="edge")
    rows = sum(w * p[:, i : i + a.shape[1]] for i, w in enumerate(_BINOMIAL))
    return np.asarray((sum(w * rows[j : j + a.shape[0]] for j, w in enumerate(_BINOMIAL)) + 128) >> 8)


def _hsv(p: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
    out = np.zeros((len(p), 4))
    for row, (r, g, b, a) in enumerate(p.astype(int)):
        most, span = max(r, g, b), max(r, g, b) - min(r, g, b)
        h = 0.0
        if span:
            h = (g - b) / span + (6 if g < b else 0) if most == r else (b - r) / span + 2 if most == g \
                else (r - g) / span + 4
        out[row] = h, span / most if most else 0, most / 255, a / 255
    return out


def _resized(a: npt.NDArray[np.float64], to_h: int, to_w: int) -> npt.NDArray[np.float64]:
    h, w = a.shape
    y = np.maximum((np.arange(to_h) + 0.5) * h / to_h - 0.5, 0)[:, None]
    x = np.maximum((np.arange(to_w) + 0.5) * w / to_w - 0.5, 0)[None, :]
    y0, x0 = y.astype(int), x.astype(int)
    y1, x1, fy, fx = np.minimum(y0 + 1, h - 1), np.minimum(x0 + 1, w - 1), y - y0, x - x0
    upper, lower = (a[row, x0] * (1 - fx) + a[row, x1] * fx for row in (y0, y1))
    return np.asarray(upper * (1 - fy) + lower * fy)


def cases() -> Iterator[Case]:
    rng = generator("grids")
    f = rng.standard_normal((37, 45)).astype("f4")
    size = (Scalar("s32", 45), Scalar("s32", 37))
    yield Case("grids", "transpose", grid((2, 2), (32, 8)), (given(f), output(f.size, "f4"), *size), {1: exact(f.T)})
    squares = rng.integers(0, 256, (32, 4, 4), dtype="u1")
    yield Case("grids", "transpose_bytes", grid(1, 32), (given(squares), output(512, "u1")),
               {1: exact(squares.transpose(0, 2, 1))})
    x = rng.standard_normal(300).astype("f4")
    wanted = np.convolve(x.astype("f8"), _WEIGHTS, "same")
    yield Case("grids", "stencil_1d", grid(3, 128), (given(x), output(300, "f4"), Scalar("s32", 300)),
               {1: within(wanted, 8 * 2.0**-24 * np.convolve(np.abs(x), np.abs(_WEIGHTS), "same"))})
    d = rng.standard_normal((37, 45))
    yield Case("grids", "stencil_2d", grid((3, 5), (16, 8)), (given(d), output(d.size, "f8"), *size),
               {1: within(_stencil_2d(d), 1e-14)})
    box = rng.integers(-99, 99, (5, 8, 16)).astype("f4")
    yield Case("grids", "stencil_3d", grid(1, (16, 8)), (given(box), output(box.size, "f4"), Scalar("s32", 5)),
               {1: exact(_around_3d(box.astype("f8")).astype("f4"))})
    image = rng.integers(0, 256, (37, 45), dtype="u1")
    yield Case("grids", "convolve", grid((3, 3), (16, 16)), (given(image), output(image.size, "u1"), *size),
               {1: exact(_convolved(image))})
    world = rng.integers(0, 2, (16, 16), dtype="u1")
    yield Case("grids", "life", grid(1, (16, 16)), (Buffer(world), Scalar("s32", 7)), {0: exact(_life(world, 7))})
    rgb = rng.integers(0, 256, (200, 3), dtype="u1")
    wide = rgb.astype("i8")
    yield Case("grids", "grey", grid(2, 128), (given(rgb), output(200, "u1"), output(200, "f4"), Scalar("s32", 200)),
               {1: exact((wide @ [77, 150, 29] + 128) >> 8),
                2: within(np.clip(wide @ [0.299, 0.587, 0.114] / 255, 0, 1), 1e-6)})
    rgba = rng.integers(0, 256, (150, 4), dtype="u1")
    rgba[:10, :3] = rgba[:10, :1]
    rgba[:2] = 0
    yield Case("grids", "hsv", grid(2, 128), (given(rgba), output((150, 4), "f4"), Scalar("s32", 150)),
               {1: within(_hsv(rgba), 1e-6)})
    yield Case("grids", "resize", grid((4, 3), (16, 8)),
               (given(f), *size, output((23, 61), "f4"), Scalar("s32", 61), Scalar("s32", 23)),
               {3: within(_resized(f.astype("f8"), 23, 61), 3e-5)})
    square = rng.integers(0, 256, (32, 32), dtype="u1")
    yield Case("grids", "integral", grid(1, 32), (given(square), output((32, 32), "u4")),
               {1: exact(square.astype("u4").cumsum(0).cumsum(1))})
