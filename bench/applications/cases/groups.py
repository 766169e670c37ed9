"""Cooperative groups, CUB and Thrust."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.applications.case import Case, exact, generator, given, grid, output, within, zeros
from ptxgen.executing import Buffer, Scalar


def cases() -> Iterator[Case]:
    yield from _groups()
    yield from _blocks()


def _groups() -> Iterator[Case]:
    rng = generator("groups")
    x = rng.integers(-9, 9, 128, dtype="i4")
    eights = x.reshape(-1, 8)
    firsts = np.packbits(eights > 0, axis=1, bitorder="little")[:, 0].astype("u4")
    five = (eights == 5).any(1)
    firsts |= five.astype("u4") << 8 | (~five).astype("u4") << 9 | (np.arange(16, dtype="u4") % 8) << 16
    yield Case("groups", "tiles", grid(2, 64), (given(x), output(16, "i4"), output(16, "u4")),
               {1: exact(eights.sum(1)), 2: exact(firsts)})
    warps, halves = x[:64].reshape(2, 32), x[:64].reshape(4, 16)
    inclusive = np.cumsum(halves, 1)
    rows = np.stack([
        np.repeat(warps.sum(1), 32), np.repeat(warps.min(1), 32), np.repeat(np.bitwise_xor.reduce(warps, 1), 32),
        inclusive.reshape(-1), (inclusive - halves).reshape(-1),
    ], 1)
    products = np.repeat(np.prod(1.0 + (warps & 1), 1), 32)
    yield Case("groups", "reductions", grid(1, 64), (given(x[:64]), output((64, 5), "i4"), output(64, "f4")),
               {1: exact(rows), 2: exact(products)})
    thirds = np.flatnonzero(x[:100] % 3 == 0)
    yield Case("groups", "coalesced", grid(2, 64),
               (given(x[:100]), zeros(1, "i4"), Buffer(np.full(100, 999, "i4")), Scalar("s32", 100)),
               {1: exact([thirds.size]),
                2: exact(np.concatenate([thirds, np.full(100 - thirds.size, 999)]), np.sort)})
    v = x[:32]
    same = (v[:, None] & 3) == (v & 3)
    signs = (v[:, None] > 0) == (v > 0)
    ranks = np.tril(same, -1).sum(1)
    yield Case("groups", "by_label", grid(1, 32), (given(v), output(32, "i4"), output(32, "i4")),
               {1: exact((same * v).sum(1)), 2: exact(same.sum(1) * 100 + signs.sum(1) + (ranks << 16))})
    fours = rng.integers(-99, 99, (2, 64, 4), dtype="i4")
    f = fours[:, ::-1]
    yield Case("groups", "copied", grid(2, 64), (given(fours), output((2, 64), "i4"), Scalar("s32", 128)),
               {1: exact(f[..., 0] - f[..., 1] + f[..., 2] * f[..., 3])})
    y = rng.integers(-99, 99, (2, 64), dtype="i4")
    yield Case("groups", "big_tiles", grid(1, 128), (given(y), output(128, "i4")),
               {1: exact(np.repeat(y.max(1) * 10 + [0, 1], 64))})


def _blocks() -> Iterator[Case]:
    rng = generator("blocks")
    x = rng.integers(-999, 999, 256, dtype="i4")
    yield Case("blocks", "sums", grid(1, 128), (given(x), output(3, "i4")),
               {1: exact([x[:128].sum(), x[:128].max(), x[:100].sum()])})
    yield Case("blocks", "scans", grid(1, 64), (given(x), output(256, "i4"), output(256, "i4"), output(1, "i4")),
               {1: exact(np.cumsum(x)), 2: exact(np.cumsum(x) - x), 3: exact([x.sum()])})
    keys = rng.permutation(np.linspace(-5, 5, 256).astype("f4"))
    order = np.argsort(-keys)
    yield Case("blocks", "radix_sort", grid(1, 64), (given(keys), given(x), output(256, "f4"), output(256, "i4")),
               {2: exact(keys[order]), 3: exact(x[order])})
    short = rng.integers(-999, 999, 192, dtype="i2")
    yield Case("blocks", "merge_sort", grid(1, 64), (Buffer(short),), {0: exact(np.sort(short))})
    few = rng.integers(0, 32, 256, dtype="u1")
    few[10:20] = few[10]
    heads = np.concatenate([[1], (few[1:] != few[:-1]).astype(int)])
    yield Case("blocks", "counts", grid(1, 64), (given(few), output(32, "u4"), output(256, "i4")),
               {1: exact(np.bincount(few, minlength=32)), 2: exact(heads)})
    d = rng.standard_normal((2, 32))
    yield Case("blocks", "warps", grid(1, 64), (given(d), output(2, "f8"), output((2, 32), "f8"), output(64, "i4")),
               {1: within(d.sum(1), 1e-14), 2: exact(np.maximum.accumulate(d, 1)),
                3: exact(np.roll(np.arange(64) * 3, -5))})
    rows = rng.integers(-9, 9, (32, 21), dtype="i4")
    yield Case("blocks", "by_thrust", grid(1, 32), (Buffer(rows), Scalar("s32", 21), output(32, "i4")),
               {0: exact(np.sort(rows, 1)), 2: exact((rows < 0).sum(1))})
