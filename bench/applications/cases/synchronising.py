"""Locks, barriers, cooperative groups, libcu++, clusters."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.applications.case import Case, exact, generator, given, grid, output, within, zeros
from ptxgen.executing import Buffer, Scalar


def cases() -> Iterator[Case]:
    yield from _own_making()
    yield from _scoped()
    yield from _clusters()


def _own_making() -> Iterator[Case]:
    rng = generator("locks")
    yield Case("synchronising", "spin_lock", grid(2, 48), (zeros(1, "i4"), output(96, "i4")),
               {0: exact([96]), 1: exact(np.arange(96), np.sort)})
    yield Case("synchronising", "ticket_lock", grid(2, 64), (zeros(2, "u4"), zeros(1, "i4")),
               {0: exact([16, 16]), 1: exact([(3**16 - 1) // 2])})
    nodes = np.zeros((64, 2), "i4")
    yield Case("synchronising", "stack", grid(2, 32),
               (Buffer(np.array([0xFFFFFFFF], "u8")), Buffer(nodes), output(64, "i4"), Scalar("s32", 64)),
               {2: exact(np.arange(64) ** 2, np.sort), 0: exact([128 << 32 | 0xFFFFFFFF])})
    a = rng.integers(-(2**20), 2**20, 100).astype("f4")
    wanted = a.copy()
    for _ in range(4):
        wanted = np.float32(0.5) * (np.roll(wanted, 1) + np.roll(wanted, -1))
    yield Case("synchronising", "jacobi", grid(4, 32),
               (Buffer(a), output(100, "f4"), Scalar("s32", 100), Scalar("s32", 4)), {0: exact(wanted)})
    x = rng.integers(-99, 99, (5, 64), dtype="i4")
    yield Case("synchronising", "producer_consumer", grid(1, 128), (given(x), output(64, "i4"), Scalar("s32", 5)),
               {1: exact(2 * x.sum(0)[::-1])})
    v = rng.integers(0, 70, 96, dtype="i4")
    yield Case("synchronising", "voting_barriers", grid(1, 96), (given(v), output(3, "i4")),
               {1: exact([(v & 1).sum(), 1, 0])})
    t = np.arange(32)
    yield Case("synchronising", "hand_over", grid(5, 32), (output(160, "i4"), zeros(5, "i4"), output(32, "i4")),
               {2: exact(t * 16 + 15)})
    warp = rng.integers(-99, 99, (4, 32), dtype="i4")
    after = warp
    for round_ in range(4):
        after = np.roll(after, 1, 1) - np.roll(after, -1, 1) + round_
    yield Case("synchronising", "within_warps", grid(1, 128), (given(warp), output((4, 32), "i4"), Scalar("s32", 4)),
               {1: exact(after)})


def _scoped() -> Iterator[Case]:
    rng = generator("scoped")
    t = np.arange(64)
    yield Case("scoped", "message", grid(2, 64), (output(64, "i4"), zeros(1, "i4"), output(64, "i4")),
               {2: exact(t * 7 + 1)})
    yield Case("scoped", "scopes", grid(3, 64), (zeros(4, "i4"), zeros(1, "u8"), zeros(1, "f4")),
               {0: exact([192, 2016, 2016, 2016]), 1: exact([63002]), 2: exact([96.0])})
    x = rng.integers(-99, 99, 128, dtype="i4")
    v = x
    for _ in range(5):
        v = 3 * v + np.roll(v, -1)
    yield Case("scoped", "barriers", grid(1, 128), (given(x), output(128, "i4"), Scalar("s32", 5)), {1: exact(v)})
    rows = rng.integers(-99, 99, (2, 256), dtype="i4")
    wanted = rows[:, :64] + 2 * rows[:, 64:128] + 3 * rows[:, 255:191:-1]
    yield Case("scoped", "copies", grid(2, 64), (given(rows), output((2, 64), "i4")), {1: exact(wanted)})
    steps = rng.integers(-99, 99, (7, 64)).astype("f4")
    yield Case("scoped", "pipelined", grid(1, 64), (given(steps), output(64, "f4"), Scalar("s32", 7)),
               {1: exact(steps.sum(0)[::-1])})
    parts = rng.integers(-99, 99, (6, 32), dtype="i4")
    sums = np.zeros(32, "i4")
    for step, row in enumerate(parts):
        sums = sums * 3 + row + step
    yield Case("scoped", "divided", grid(1, 64), (given(parts), output(32, "i4"), Scalar("s32", 6)),
               {1: exact(sums[::-1])})
    yield Case("scoped", "latched", grid(1, 64), (output(64, "i4"),), {0: exact(68 - t)})
    yield Case("scoped", "semaphore", grid(3, 64), (zeros(1, "i4"),), {0: exact([63])})
    z = rng.standard_normal((64, 2)).astype("f4")
    w = (z[:, 0].astype("f8") + 1j * z[:, 1]) ** 2 + (1 - 1j)
    words = [[i, i * 77, 5] for i in range(64)]
    total = [sum(v.bit_count() + (32 - v.bit_length()) * 64 for v in row) for row in words]
    bits = [((s << 5 | s >> 27) & 0xFFFFFFFF) ^ 1 << i.bit_length() for i, s in enumerate(total)]
    yield Case("scoped", "standard", grid(1, 64), (given(z), output((64, 2), "f4"), output(64, "u4")),
               {1: within(np.stack([w.real, w.imag], 1), 1e-5), 2: exact(bits)})


def _clusters() -> Iterator[Case]:
    rng = generator("clusters")
    x = rng.integers(0, 64, 500, dtype="i4")
    yield Case("clusters", "spread_histogram", grid(4, 64), (given(x), zeros(64, "i4"), Scalar("s32", 500)),
               {1: exact(np.bincount(x, minlength=64))})
    rows = rng.integers(-99, 99, (8, 64), dtype="i4")
    sent = (rows + np.arange(8)[:, None] % 4)[[3, 0, 1, 2, 7, 4, 5, 6], ::-1]
    yield Case("clusters", "ring", grid(8, 64), (given(rows), output((8, 64), "i4")), {1: exact(sent)})
    y, x2 = np.divmod(np.arange(16), 4)
    rank = x2 % 2 + y % 2 * 2
    places = rank | x2 % 2 << 4 | y % 2 << 8 | 2 << 12 | 2 << 16 | 128 << 20
    yield Case("clusters", "places", grid((4, 4), 32), (output(16, "u4"),), {0: exact(places)})
    wide = rng.integers(-99, 99, (2, 128), dtype="i4")
    yield Case("clusters", "bulk", grid(2, 128), (given(wide), output((2, 128), "i4")), {1: exact(wide * 2 + 1)})
    f = rng.integers(-99, 99, (4, 32)).astype("f4")
    sums = f.sum(1)
    yield Case("clusters", "exchange_sums", grid(4, 32), (given(f), output(4, "f4")),
               {1: exact(sums - sums[[1, 0, 3, 2]])})
