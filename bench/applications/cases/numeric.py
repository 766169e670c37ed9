"""Networks and simulations."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from bench.applications.case import Case, Expected, exact, generator, given, grid, output, within, zeros
from ptxgen.executing import Scalar


def bfloat(values: npt.NDArray[np.floating]) -> npt.NDArray[np.uint16]:
    """The upper halves of f32 words, rounded to nearest even."""
    bits = values.astype("f4").view("u4").astype("u8")
    return np.asarray((bits + 0x7FFF + (bits >> 16 & 1)) >> 16, "u2")


def widened(words: npt.NDArray[np.generic]) -> npt.NDArray[np.float32]:
    """bf16 words as f32."""
    return (words.astype("u4") << 16).view("f4")


def cases() -> Iterator[Case]:
    yield from _networks()
    yield from _simulation()


def _networks() -> Iterator[Case]:
    rng = generator("networks")
    x = (rng.standard_normal((3, 200)) * 4).astype("f4")
    e = np.exp(x.astype("f8") - x.max(1, keepdims=True))
    yield Case("networks", "softmax", grid(3, 128), (given(x), output(x.shape, "f4"), Scalar("s32", 200)),
               {1: within(e / e.sum(1, keepdims=True), 1e-8, 4e-6)})
    h, scale, shift = (rng.standard_normal(shape).astype("f2") for shape in ((4, 96), 96, 96))
    wide = h.astype("f8")
    normal = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    yield Case("networks", "layer_norm", grid(2, 64),
               (given(h), given(scale), given(shift), output(h.shape, "f2"), Scalar("s32", 96)),
               {3: within(normal * scale.astype("f8") + shift.astype("f8"), 4e-3, 2e-3)})
    q, k, v = (rng.standard_normal((45, 16)).astype("f4") for _ in range(3))
    s = q.astype("f8") @ k.astype("f8").T * 0.25
    p = np.exp(s - s.max(1, keepdims=True))
    yield Case("networks", "attention", grid(2, 32),
               (given(q), given(k), given(v), output(q.shape, "f4"), Scalar("s32", 45), Scalar("f32", 0.25)),
               {3: within(p / p.sum(1, keepdims=True) @ v.astype("f8"), 1e-5)})
    words = bfloat(rng.standard_normal(100) * 3)
    a = widened(words).astype("f8")
    silu = a / (1 + np.exp(-a))
    gelu = 0.5 * a * (1 + np.array([math.erf(value / math.sqrt(2)) for value in a]))
    yield Case("networks", "activations", grid(1, 128),
               (given(words), output(100, "u2"), output(100, "f4"), Scalar("s32", 100)),
               {1: Expected(silu, 2.0**-8 * np.abs(silu) + 1e-30, lambda found: widened(found).astype("f8")),
                2: within(gelu, 1e-6)})
    ids, table = rng.integers(0, 20, 7, dtype="i4"), rng.standard_normal((20, 12)).astype("f4")
    yield Case("networks", "embed", grid(7, 32),
               (given(ids), given(table), output((7, 12), "f4"), Scalar("s32", 3)), {2: exact(table[ids] * 2)})
    rows = rng.integers(0, 200, (2, 150)).astype("f4")
    order = np.argsort(-rows, 1, kind="stable")[:, :5]
    yield Case("networks", "top_k", grid(2, 64, 600),
               (given(rows), output((2, 5), "f4"), output((2, 5), "i4"), Scalar("s32", 150), Scalar("s32", 5)),
               {1: exact(np.take_along_axis(rows, order, 1)), 2: exact(order)})


def _mandelbrot(width: int, height: int, most: int) -> npt.NDArray[np.int64]:
    c = (-2 + np.arange(width) * 0.0625)[None, :] + 1j * (1 - np.arange(height) * 0.0625)[:, None]
    z, count = np.zeros_like(c), np.zeros(c.shape, int)
    for _ in range(most):
        inside = z.real**2 + z.imag**2 <= 4
        count += inside
        r = z.real * z.real - z.imag * z.imag + c.real
        i = 2 * z.real * z.imag + c.imag
        z = np.where(inside, r + 1j * i, z)
    return count


def _philox(i: int, seed: int) -> list[int]:
    c, k0, k1 = [i, 0, 7, 0], seed, ~seed & 0xFFFFFFFF
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [p1 >> 32 ^ c[1] ^ k0, p1 & 0xFFFFFFFF, p0 >> 32 ^ c[3] ^ k1, p0 & 0xFFFFFFFF]
        k0, k1 = k0 + 0x9E3779B9 & 0xFFFFFFFF, k1 + 0xBB67AE85 & 0xFFFFFFFF
    return c


def _darts(threads: int, seed: int, each: int) -> int:
    s = np.uint64(seed) + np.arange(threads, dtype="u8") * np.uint64(0x9E3779B97F4A7C15)
    hits = 0
    for _ in range(each):
        s ^= s << np.uint64(13)
        s ^= s >> np.uint64(7)
        s ^= s << np.uint64(17)
        x, y = s >> np.uint64(32) & np.uint64(0xFFFF), s & np.uint64(0xFFFF)
        hits += int((x * x + y * y < np.uint64(1 << 32)).sum())
    return hits


def _simulation() -> Iterator[Case]:
    rng = generator("simulation")
    bodies = rng.standard_normal((100, 4)).astype("f4")
    b = bodies.astype("f8")
    away = b[None, :, :3] - b[:, None, :3]
    force = b[None, :, 3] / ((away**2).sum(2) + 0.01) ** 1.5
    yield Case("simulation", "n_body", grid(2, 64), (given(bodies), output((100, 3), "f4"), Scalar("s32", 100)),
               {1: within((force[..., None] * away).sum(1), 3e-6 * (np.abs(force[..., None] * away)).sum(1))})
    yield Case("simulation", "mandelbrot", grid((3, 5), (16, 8)),
               (output((33, 40), "u2"), Scalar("s32", 40), Scalar("s32", 33), Scalar("f64", -2), Scalar("f64", 1),
                Scalar("f64", 0.0625), Scalar("s32", 40)), {0: exact(_mandelbrot(40, 33, 40))})
    price, strike, years = rng.uniform(5, 30, 80), rng.uniform(1, 100, 80), rng.uniform(0.25, 10, 80)
    d1 = (np.log(price / strike) + (0.02 + 0.045) * years) / (0.3 * np.sqrt(years))
    d2, later = d1 - 0.3 * np.sqrt(years), strike * np.exp(-0.02 * years)
    below = np.vectorize(lambda value: 0.5 * math.erfc(-value / math.sqrt(2)))
    yield Case("simulation", "black_scholes", grid(1, 64),
               (given(price), given(strike), given(years), output(80, "f8"), output(80, "f8"), Scalar("f64", 0.02),
                Scalar("f64", 0.3), Scalar("s32", 80)),
               {3: within(price * below(d1) - later * below(d2), 1e-12),
                4: within(later * below(-d2) - price * below(-d1), 1e-12)})
    yield Case("simulation", "philox_words", grid(2, 32), (output((64, 4), "u4"), Scalar("u32", 12345)),
               {0: exact([_philox(i, 12345) for i in range(64)])})
    yield Case("simulation", "darts", grid(2, 64), (zeros(1, "u8"), Scalar("u32", 99), Scalar("s32", 50)),
               {0: exact([_darts(128, 99, 50)])})
    z = rng.standard_normal((2, 128, 2)).astype("f4")
    wave = np.fft.fft(z[..., 0].astype("f8") + 1j * z[..., 1], axis=1)
    yield Case("simulation", "fft", grid(2, 32, 1024), (given(z), output(z.shape, "f4"), Scalar("s32", 7)),
               {1: within(np.stack([wave.real, wave.imag], -1), 3e-5)})
    by, what = rng.standard_normal((50, 4)).astype("f4"), rng.standard_normal((50, 3)).astype("f4")
    unit = by.astype("f8") / np.linalg.norm(by.astype("f8"), axis=1, keepdims=True)
    t = 2 * np.cross(unit[:, :3], what)
    yield Case("simulation", "rotate", grid(1, 64),
               (given(by), given(what), output((50, 3), "f4"), Scalar("s32", 50)),
               {2: within(what + unit[:, 3:] * t + np.cross(unit[:, :3], t), 3e-6)})
    c = rng.standard_normal((32, 2))
    w = c[:, 0] + 1j * c[:, 1]
    powers = (w**5 + w.conj()) / (w - 3j)
    yield Case("simulation", "complex_powers", grid(1, 32),
               (given(c), output((32, 2), "f8"), output(32, "f8"), Scalar("s32", 5)),
               {1: within(np.stack([powers.real, powers.imag], 1), 1e-12), 2: within(np.abs(w), 1e-15)})
