"""Kernels in LLVM's language."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.applications.case import Case, exact, generator, given, grid, output
from ptxgen.executing import Buffer, Scalar

_ALL = 2**128 - 1


def _signed(word: int) -> int:
    return word - (word >> 127 << 128)


def _wide(x: int, y: int) -> int:
    s = x * y + x & _ALL
    q = _signed(s >> 7 ^ y) >> 3
    return q & _ALL if q < _signed(y) else s


def _chosen(t: int, v: int) -> int:
    if v in {0, 6}:
        return -1
    by = {1: t + 100, 5: t + 100, 2: t * 7, 3: t.bit_count(), 4: (t << 5 | v >> 27) & 0xFFFFFFFF}
    return by[v] if v in by else min(v + 2147483000, 2**31 - 1)


def cases() -> Iterator[Case]:
    rng = generator("llvm")
    words = rng.integers(0, 2**64, (2, 32, 2), dtype="u8")
    a, b = [[int(low) | int(high) << 64 for low, high in side] for side in words]
    wanted = [_wide(x, y) for x, y in zip(a, b, strict=True)]
    yield Case("whole", "wide", grid(1, 32), (given(words[0]), given(words[1]), output((32, 2), "u8")),
               {2: exact(np.array([[w & 2**64 - 1, w >> 64] for w in wanted], "u8"))})
    v = rng.integers(-3, 10, 32, dtype="i4")
    yield Case("whole", "chosen", grid(1, 32), (given(v), output(32, "i4")),
               {1: exact([_chosen(t, x) for t, x in enumerate(v.tolist())])})
    data = rng.integers(0, 256, (32, 64), dtype="u1")
    room = np.full((32, 64), 90, "u1")
    room[:, :50] = data[:, :50]
    room[:, 5:45] = room[:, :40].copy()
    yield Case("whole", "copied", grid(1, 32), (given(data), output((32, 64), "u1"), Scalar("u64", 50)),
               {1: exact(room)})
    yield _narrow()
    f = rng.standard_normal((32, 4)).astype("f4")
    s = np.stack([f[:, 3], f[:, 0], np.zeros(32, "f4"), f[:, 1]], 1)
    r = np.where(f < s, f + s, f)
    r[:, 1] = np.copysign(np.maximum(np.minimum(r[:, 2], f[:, 0]), np.float32(-0.5)), f[:, 0])
    yield Case("whole", "vectors", grid(1, 32), (given(f), output((32, 4), "f4")), {1: exact(r)})
    x = rng.integers(-9, 9, 32, dtype="i4")
    powers = np.array([pow(int(base), t) & 0xFFFFFFFF for t, base in enumerate(x)], "u4")
    yield Case("whole", "powers", grid(1, 32), (given(x), output(32, "u4")), {1: exact(powers[::-1])})


def _narrow() -> Case:
    t = np.arange(32)
    start, halves = np.arange(8, dtype="u1") * 40, np.array([5, 30, 2, 28, 1, 99, 7, 3], "u2")
    sums = (start + np.bincount(t & 7, t, 8).astype(int)).astype("u1")
    most = np.maximum(halves, t[24:]).astype("u2")
    word = Buffer(np.array([0xF0F0F0F0], "u4"))         # what comes of `nand` hangs on the order
    return Case("whole", "narrow", grid(1, 32), (Buffer(start), Buffer(halves), Buffer(np.zeros(1, "i4")), word),
                {0: exact(sums), 1: exact(most), 2: exact([77])})
