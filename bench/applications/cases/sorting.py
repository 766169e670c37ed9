"""Sorting and counting."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.applications.case import Case, exact, generator, given, grid, output, zeros
from ptxgen.executing import Buffer, Scalar


def cases() -> Iterator[Case]:
    yield from _sorting()
    yield from _histograms()


def _sorting() -> Iterator[Case]:
    rng = generator("sorting")
    f = rng.standard_normal(512).astype("f4")
    yield Case("sorting", "bitonic", grid(2, 256), (Buffer(f),), {0: exact(np.sort(f.reshape(2, 256), 1))})
    keys = rng.integers(0, 2**32, 128, dtype="u4")
    keys[40] = keys[7]
    order = np.argsort(keys, kind="stable")
    yield Case("sorting", "radix", grid(1, 128), (given(keys), output(128, "u4"), output(128, "u2")),
               {1: exact(keys[order]), 2: exact(order)})
    short = rng.integers(-(2**15), 2**15, 65, dtype="i2")
    yield Case("sorting", "odd_even", grid(1, 64, 256), (Buffer(short), Scalar("s32", 65)),
               {0: exact(np.sort(short))})
    a, b = np.sort(rng.integers(0, 50, 90, dtype="i4")), np.sort(rng.integers(0, 50, 70, dtype="i4"))
    yield Case("sorting", "merge", grid(3, 64),
               (given(a), Scalar("s32", 90), given(b), Scalar("s32", 70), output(160, "i4")),
               {4: exact(np.sort(np.concatenate([a, b])))})
    rows = rng.integers(-99, 99, (32, 24), dtype="i4")
    yield Case("sorting", "quicksorts", grid(2, 16), (Buffer(rows), Scalar("s32", 24)), {0: exact(np.sort(rows, 1))})
    wide = rng.integers(0, 2**64, 64, dtype="u8")
    yield Case("sorting", "warp_sort", grid(1, 64), (given(wide), output(64, "u8")),
               {1: exact(np.sort(wide.reshape(2, 32), 1))})


def _histograms() -> Iterator[Case]:
    rng = generator("histograms")
    data = rng.integers(0, 256, 2048, dtype="u1")
    yield Case("histograms", "by_shared", grid(2, 128), (given(data), zeros(256, "u4"), Scalar("s32", 2048)),
               {1: exact(np.bincount(data, minlength=256))})
    f = rng.standard_normal(500).astype("f4")
    low, width, bins = np.float32(-2), np.float32(0.25), 16
    where = np.clip(np.floor((f - low) / width), 0, bins - 1).astype(int)
    yield Case("histograms", "by_global", grid(4, 128),
               (given(f), zeros(bins, "u8"), Scalar("f32", -2), Scalar("f32", 0.25), Scalar("s32", bins),
                Scalar("s32", 500)),
               {1: exact(np.bincount(where, minlength=bins))})
    few = rng.integers(0, 16, 250, dtype="i4")
    yield Case("histograms", "by_match", grid(2, 128), (given(few), zeros(17, "i4"), Scalar("s32", 250)),
               {1: exact([*np.bincount(few, minlength=16), 0])})
    yield Case("histograms", "by_bytes", grid(1, 64), (given(data), output(16, "u4"), Scalar("s32", 32)),
               {1: exact(np.bincount(data & 15, minlength=16))})
    x = rng.integers(-100, 100, 700, dtype="i4")
    kept = x[x > 20]
    yield Case("histograms", "compact", grid(6, 128),
               (given(x), Buffer(np.full(700, 2**31 - 1, "i4")), zeros(1, "i4"), Scalar("s32", 20),
                Scalar("s32", 700)),
               {1: exact(np.sort(np.concatenate([kept, np.full(700 - kept.size, 2**31 - 1)])), np.sort),
                2: exact([kept.size])})
    words = rng.integers(0, 2**16, 300, dtype="u2")
    packed = np.bincount(words & 31, minlength=32).astype("u2").view("u4")
    present = np.zeros(256, "u1")
    present[words % 256] = 1
    yield Case("histograms", "by_exchange", grid(3, 128),
               (given(words), zeros(16, "u4"), zeros(4, "u8"), Scalar("s32", 300)),
               {1: exact(packed), 2: exact(np.packbits(present, bitorder="little").view("u8"))})
