"""Sums, maxima and running sums."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.applications.case import Case, exact, generator, given, grid, output, within, zeros
from ptxgen.executing import Buffer, Scalar


def cases() -> Iterator[Case]:
    yield from _reductions()
    yield from _scans()


def _reductions() -> Iterator[Case]:
    rng = generator("reductions")
    n = 1000
    x = rng.integers(-1000, 1000, n, dtype="i4")
    yield Case("reductions", "sum_shuffle", grid(4, 256), (given(x), zeros(1, "i4"), Scalar("s32", n)),
               {1: exact([x.sum()])})
    f = rng.standard_normal(1024).astype("f4")
    by_block = f.astype("f8").reshape(4, 256)
    yield Case("reductions", "sum_shared", grid(4, 128), (given(f), output(4, "f4")),
               {1: within(by_block.sum(1), 9 * 2.0**-24 * np.abs(by_block).sum(1))})
    yield Case("reductions", "sum_last_block", grid(6, 128),
               (given(f), output(6, "f4"), output(1, "f4"), Scalar("s32", 1024)),
               {2: within(f.astype("f8").sum(keepdims=True), 20 * 2.0**-24 * np.abs(f).sum())})
    bits = np.bitwise_or.reduce(x.view("u4"))
    yield Case("reductions", "extremes", grid(4, 256),
               (given(x), Buffer(np.array([2**31 - 1], "i4")), Buffer(np.array([-(2**31)], "i4")), zeros(1, "u4"),
                Scalar("s32", n)),
               {1: exact([x.min()]), 2: exact([x.max()]), 3: exact([bits])})
    a, b = rng.standard_normal((2, 777))
    yield Case("reductions", "dot_double", grid(2, 128), (given(a), given(b), zeros(1, "f8"), Scalar("s32", 777)),
               {2: within([a @ b], 40 * 2.0**-53 * (np.abs(a) @ np.abs(b)))})
    f = f.copy()
    f[100] = f[300] = f.min() - 1
    best = np.zeros(1, [("value", "f4"), ("index", "i4")])
    best["value"], best["index"] = f.min(), 100
    yield Case("reductions", "arg_least", grid(1, 64), (given(f), output(2, "u4"), Scalar("s32", 1024)),
               {1: exact(best.view("u4"))})
    n, width = 250, 8
    padded = np.zeros(256, "i4")
    padded[:n] = x[:n]
    yield Case("reductions", "segment_sums", grid(2, 128),
               (given(x[:n]), output(32, "i4"), Scalar("s32", n), Scalar("s32", width)),
               {1: exact(padded.reshape(-1, width).sum(1))})


def _scans() -> Iterator[Case]:
    rng = generator("scans")
    x = rng.integers(-(2**31), 2**31, 512, dtype="i4")
    yield Case("scans", "hillis_steele", grid(2, 256), (given(x), output(512, "i4")),
               {1: exact(np.cumsum(x.reshape(2, 256), 1, dtype="i4"))})
    u = rng.integers(0, 2**32, 256, dtype="u4")
    yield Case("scans", "blelloch", grid(1, 128, 1024), (given(u), output(256, "u4")),
               {1: exact(np.cumsum(u, dtype="u4") - u)})
    wide = rng.integers(-(2**60), 2**60, 256, dtype="i8")
    yield Case("scans", "warp_scans", grid(2, 128), (given(wide), output(256, "i8")),
               {1: exact(np.cumsum(wide.reshape(2, 128), 1))})
    n = 900
    x = rng.integers(-1000, 1000, n, dtype="i4")
    yield Case("scans", "look_back", grid(8, 128),
               (given(x), output(n, "i8"), zeros(8, "u8"), Scalar("s32", n)), {1: exact(np.cumsum(x, dtype="i8"))})
    values = rng.integers(-50, 50, 128).astype("f4")
    heads = (rng.random(128) < 0.2).astype("u1")
    heads[::64] = 1
    begins = np.maximum.accumulate(np.where(heads, np.arange(128), 0))
    sums = np.array([values[begin : i + 1].sum() for i, begin in enumerate(begins)], "f4")
    yield Case("scans", "segmented", grid(2, 64), (given(values), given(heads), output(128, "f4")), {2: exact(sums)})
