"""Digests, big integers, tables and graphs."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from bench.applications.case import Case, exact, generator, given, grid, output, within, zeros
from ptxgen.executing import Buffer, Scalar


def cases() -> Iterator[Case]:
    yield from _hashing()
    yield from _tables()
    yield from _graphs()


def _words(number: int, count: int) -> list[int]:
    return [number >> 32 * k & 0xFFFFFFFF for k in range(count)]


def _unpacked(data: bytes) -> bytes:
    out, i = bytearray(), 0
    while i < len(data):
        head = data[i]
        if head < 128:
            out += data[i + 1 : i + head + 2]
            i += head + 2
        else:
            distance = data[i + 1] | data[i + 2] << 8
            for _ in range(head - 124):
                out.append(out[-distance])
            i += 3
    return bytes(out)


def _hashing() -> Iterator[Case]:
    rng = generator("hashing")
    text, lengths = rng.integers(0, 256, (32, 56), dtype="u1"), rng.integers(0, 56, 32, dtype="i4")
    digests = [np.frombuffer(hashlib.sha256(row[:n].tobytes()).digest(), ">u4")
               for row, n in zip(text, lengths, strict=True)]
    yield Case("hashing", "sha256", grid(1, 32),
               (given(text), Scalar("s32", 56), given(lengths), output((32, 8), "u4")), {3: exact(np.stack(digests))})
    messages = [text[i, : lengths[i]].tobytes() for i in range(16)]
    blocks = [m + b"\x80" + bytes(55 - len(m)) + (8 * len(m)).to_bytes(8, "little") for m in messages]
    yield Case("hashing", "md5", grid(1, 16),
               (given(np.frombuffer(b"".join(blocks), "u4")), output((16, 4), "u4")),
               {1: exact([np.frombuffer(hashlib.md5(m).digest(), "u4") for m in messages])})
    data = rng.integers(0, 256, 500, dtype="u1")
    starts = np.sort(rng.integers(0, 500, 33, dtype="i4"))
    sums = [zlib.crc32(data[a:b].tobytes()) for a, b in pairwise(starts)]
    yield Case("hashing", "crc32", grid(1, 32), (given(data), given(starts), output(32, "u4")), {2: exact(sums)})
    a, b = rng.integers(0, 2**32, (2, 32, 8), dtype="u4")
    a[0], b[1], a[2] = 2**32 - 1, 0, b[2]
    pairs = [tuple(int.from_bytes(row.tobytes(), "little") for row in both) for both in zip(a, b, strict=True)]
    borrowed = [_words(x - y, 9) for x, y in pairs]
    yield Case("hashing", "big_integers", grid(1, 32),
               (given(a), given(b), output((32, 9), "u4"), output((32, 9), "u4"), output((32, 16), "u4")),
               {2: exact([_words(x + y, 9) for x, y in pairs]), 3: exact(borrowed),
                4: exact([_words(x * y, 16) for x, y in pairs])})
    base, power, modulus = rng.integers(1, 2**64, (3, 16), dtype="u8")
    signed = zip(base.view("i8").tolist(), power.view("i8").tolist(), strict=True)
    high = [(int(x) * int(y) >> 64) ^ (s * t >> 64 & 2**64 - 1)
            for x, y, (s, t) in zip(base.tolist(), power.tolist(), signed, strict=True)]
    powers = [pow(int(x), int(y), int(m)) for x, y, m in zip(base, power, modulus, strict=True)]
    yield Case("hashing", "wide_products", grid(1, 16),
               (given(base), given(power), given(modulus), output(16, "u8"), output(16, "u8")),
               {3: exact(np.array(powers, "u8")), 4: exact(np.array(high, "u8"))})
    letters = rng.integers(97, 99, 300, dtype="u1")
    word = np.frombuffer(b"abba", "u1")
    places = [i for i in range(297) if letters[i : i + 4].tobytes() == b"abba"]
    full = np.full(300, 9999, "i4")
    yield Case("hashing", "search", grid(3, 128),
               (given(letters), Scalar("s32", 300), given(word), Scalar("s32", 4), Buffer(full), zeros(1, "i4")),
               {4: exact(places + [9999] * (300 - len(places)), np.sort), 5: exact([len(places)])})
    packed = bytes([4, *b"abcde", 128 + 40, 5, 0, 0, 65, 255, 1, 0, 30, *range(31), 130, 200, 0])
    plain = np.frombuffer(_unpacked(packed), "u1")
    yield Case("hashing", "unpack", grid(1, 32),
               (given(np.frombuffer(packed, "u1")), Scalar("s32", len(packed)), output(plain.size, "u1")),
               {2: exact(plain)})


def _edits(a: bytes, b: bytes) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]


def _knapsack(weights: npt.NDArray[np.int32], values: npt.NDArray[np.int32], capacity: int) -> int:
    best = [0] * (capacity + 1)
    for w, v in zip(weights.tolist(), values.tolist(), strict=True):
        for c in range(capacity, w - 1, -1):
            best[c] = max(best[c], best[c - w] + v)
    return best[capacity]


def _tables() -> Iterator[Case]:
    rng = generator("tables")
    weights, values = rng.integers(5, 60, (2, 15), dtype="i4")
    yield Case("tables", "knapsack", grid(1, 256),
               (given(weights), given(values), Scalar("s32", 15), Scalar("s32", 200), output(1, "i4")),
               {4: exact([_knapsack(weights, values, 200)])})
    a, b = rng.integers(97, 101, 40, dtype="u1"), rng.integers(97, 101, 53, dtype="u1")
    yield Case("tables", "edit_distance", grid(1, 64),
               (given(a), Scalar("s32", 40), given(b), Scalar("s32", 53), output(1, "i4")),
               {4: exact([_edits(a.tobytes(), b.tobytes())])})
    m = rng.standard_normal((2, 12, 12))
    yield Case("tables", "invert", grid(2, 32, 12 * 24 * 8), (given(m), output(m.shape, "f8"), Scalar("s32", 12)),
               {1: within(np.linalg.inv(m), 1e-10)})
    square = m[0] @ m[0].T + np.eye(12)
    yield Case("tables", "cholesky", grid(1, 32), (Buffer(square), Scalar("s32", 12)),
               {0: within(np.linalg.cholesky(square), 1e-11, view=lambda found: np.tril(found))})
    systems, sides = rng.standard_normal((32, 4, 4)), rng.standard_normal((32, 4))
    solved = np.linalg.solve(systems, sides[..., None])[..., 0]
    yield Case("tables", "lu_solve", grid(1, 32), (given(systems), given(sides), output(sides.shape, "f8")),
               {2: within(solved, 1e-13 * np.linalg.cond(systems)[:, None] * np.abs(solved).max(1, keepdims=True))})


def _graphs() -> Iterator[Case]:
    rng = generator("graphs")
    n = 60
    counts = rng.integers(0, 20, n)
    rows = np.concatenate([[0], np.cumsum(counts)]).astype("i4")
    columns, values = rng.integers(0, n, rows[-1], dtype="i4"), rng.standard_normal(rows[-1]).astype("f4")
    x = rng.standard_normal(n).astype("f4")
    matrix, sizes = np.zeros((2, n, n))
    for r in range(n):
        for e in range(rows[r], rows[r + 1]):
            matrix[r, columns[e]] += values[e]
            sizes[r, columns[e]] += abs(values[e])
    yield Case("tables", "sparse", grid(4, 128),
               (given(rows), given(columns), given(values), given(x), output(n, "f4"), Scalar("s32", n)),
               {4: within(matrix @ x, 20 * 2.0**-24 * (sizes @ np.abs(x)) + 1e-30)})
    few = np.concatenate([[0], np.cumsum(rng.integers(0, 4, n))]).astype("i4")
    edges = rng.integers(0, n, few[-1], dtype="i4")
    level, front = np.full(n, -1, "i4"), [3]
    level[3] = 0
    while front:
        front = [int(v) for u in front for v in edges[few[u] : few[u + 1]] if level[v] < 0
                 and not level.__setitem__(v, level[u] + 1)]
    start = np.full(n, -1, "i4")
    yield Case("tables", "breadth_first", grid(1, 32), (given(few), given(edges), Buffer(start), Scalar("s32", 3)),
               {2: exact(level)})
    pairs = rng.integers(0, n, (40, 2), dtype="i4")
    label = np.arange(n)
    for u, v in [*pairs] * n:
        label[label == max(label[u], label[v])] = min(label[u], label[v])
    yield Case("tables", "components", grid(2, 32),
               (Buffer(np.arange(n, dtype="i4")), given(pairs), Scalar("s32", 40), output(n, "i4"), Scalar("s32", n),
                zeros(1, "u4")), {3: exact(label)})
