"""Triton's kernels. Two pointers to memory of its own that nothing here needs follow the arguments."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from bench.applications.case import Case, Expected, exact, generator, given, grid, output, within, zeros
from bench.applications.cases.numeric import bfloat, widened
from ptxgen.executing import Argument, Buffer, Scalar

_OWN = (Scalar("u64", 0), Scalar("u64", 0))


def _case(name: str, programs: int | tuple[int, int], arguments: tuple[Argument, ...],
          expected: dict[int, Expected]) -> Case:
    return Case(f"triton_{name}", None, grid(programs, 1), (*arguments, *_OWN), expected, name=name)


def _sizes(*numbers: int) -> tuple[Scalar, ...]:
    return tuple(Scalar("s32", number) for number in numbers)


def cases() -> Iterator[Case]:
    rng = generator("triton")
    x, y = rng.standard_normal((2, 600)).astype("f4")
    yield _case("add", 3, (given(x), given(y), output(600, "f4"), *_sizes(600)), {2: exact(x + y)})
    rows = (rng.standard_normal((3, 200)) * 3).astype("f4")
    e = np.exp(rows.astype("f8") - rows.max(1, keepdims=True))
    yield _case("softmax", 3, (given(rows), output(rows.shape, "f4"), *_sizes(200)),
                {1: within(e / e.sum(1, keepdims=True), 1e-8, 4e-6)})
    h, w, b = rng.standard_normal((3, 100)).astype("f2"), *rng.standard_normal((2, 100)).astype("f4")
    wide = h.astype("f8")
    normal = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5) * w + b
    yield _case("layer_norm", 3, (given(h), given(w), given(b), output(h.shape, "f2"), *_sizes(100)),
                {3: within(normal, 1e-5, 2.0**-10)})
    yield from _products()
    yield _attention()
    yield from _integers()
    yield from _random()


def _products() -> Iterator[Case]:
    rng = generator("dots")
    m, n, k = 40, 48, 80
    a, b = rng.standard_normal((m, k)), rng.standard_normal((k, n))
    # the unit roundoff of factors and sums together
    for name, dtype, out, unit in (
        ("fp16", "f2", "f4", 2.0**-22), ("tf32", "f4", "f4", 2.0**-10), ("fp64", "f8", "f8", 2.0**-52),
    ):
        x, y = a.astype(dtype), b.astype(dtype)
        size = np.abs(x.astype("f8")) @ np.abs(y.astype("f8"))
        tile = 16 if name == "fp64" else 32
        yield _case(f"matmul_{name}", (-(-m // tile), -(-n // tile)),
                    (given(x), given(y), output((m, n), out), *_sizes(m, n, k)),
                    {2: within(x.astype("f8") @ y.astype("f8"), 4 * unit * size)})
    p, q = bfloat(a), bfloat(b)
    u, v = widened(p).astype("f8"), widened(q).astype("f8")
    yield _case("matmul_bf16", (2, 2), (given(p), given(q), output((m, n), "f4"), *_sizes(m, n, k)),
                {2: within(u @ v, 2.0**-20 * (np.abs(u) @ np.abs(v)))})
    # e5m2 is the upper byte of f16
    high, low = ((x.astype("f2").view("u2") >> 8).astype("u1") for x in (a, b))
    u, v = ((x.astype("u2") << 8).view("f2").astype("f8") for x in (high, low))
    yield _case("matmul_fp8", (2, 2), (given(high), given(low), output((m, n), "f4"), *_sizes(m, n, k)),
                {2: within(u @ v, 2.0**-20 * (np.abs(u) @ np.abs(v)))})
    s, t = rng.integers(-128, 128, (m, k), dtype="i1"), rng.integers(-128, 128, (k, n), dtype="i1")
    yield _case("matmul_i8", (2, 2), (given(s), given(t), output((m, n), "i4"), *_sizes(m, n, k)),
                {2: exact(s.astype("i4") @ t.astype("i4"))})


def _attention() -> Case:
    rng = generator("attention")
    q, k, v = rng.standard_normal((3, 64, 32)).astype("f2")
    scores = q.astype("f8") @ k.astype("f8").T * 0.25
    scores[np.triu_indices(64, 1)] = -np.inf
    p = np.exp2(scores - scores.max(1, keepdims=True))
    wanted = p / p.sum(1, keepdims=True) @ v.astype("f8")
    return _case("attention", 2, (given(q), given(k), given(v), output((64, 32), "f4"), *_sizes(64),
                                  Scalar("f32", 0.25)), {3: within(wanted, 4e-3)})


def _integers() -> Iterator[Case]:
    rng = generator("integers")
    x = rng.integers(-999, 999, (32, 50), dtype="i4")
    start = np.zeros(2001, "i4")
    start[2000] = -(10**6)
    wanted = start.copy()
    wanted[:32], wanted[1000:1050], wanted[2000] = x.sum(1), x.sum(0), x.max()
    yield _case("sums", 2, (given(x), Buffer(start), *_sizes(50)), {1: exact(wanted)})
    v = rng.permutation(1000)[:128].astype("i4") - 500
    yield _case("scans", 1, (given(v), output((3, 128), "i4"), output(3, "i4")),
                {1: exact([np.cumsum(v), np.sort(v), v[::-1]]),
                 2: exact([v.argmax(), v.argmin(), np.bitwise_xor.reduce(v)])})
    few = rng.integers(0, 32, 700, dtype="i4")
    yield _case("histogram", 3, (given(few), zeros(32, "i4"), *_sizes(700)),
                {1: exact(np.bincount(few, minlength=32))})
    h = rng.standard_normal((50, 70)).astype("f2")
    yield _case("transpose", (2, 2), (given(h), output((70, 50), "f2"), *_sizes(50, 70)), {1: exact(h.T)})
    base, more = rng.integers(-9, 9, (2, 128), dtype="i4")
    yield _case("locked", 3, (zeros(1, "i4"), Buffer(base), given(more)),
                {1: exact(base * 8 + more * 7), 0: exact([0])})
    y, where = rng.integers(-99, 99, 64, dtype="i4"), rng.integers(0, 64, 64, dtype="i4")
    yield _case("gathered", 1, (given(y), given(where), output(128, "i4")),
                {2: exact(np.concatenate([y[where], y.reshape(-1, 2)[:, ::-1].reshape(-1)]))})


def _philox(i: int, seed: int) -> int:
    """Triton's first word: a counter of 32 bits, the key its seed, ten rounds."""
    c, k0, k1 = [i, 0, 0, 0], seed, 0
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [p1 >> 32 ^ c[1] ^ k0, p1 & 0xFFFFFFFF, p0 >> 32 ^ c[3] ^ k1, p0 & 0xFFFFFFFF]
        k0, k1 = k0 + 0x9E3779B9 & 0xFFFFFFFF, k1 + 0xBB67AE85 & 0xFFFFFFFF
    return c[0]


def _random() -> Iterator[Case]:
    x = generator("random").standard_normal(200).astype("f4")
    words: npt.NDArray[np.int32] = np.array([_philox(i, 77) for i in range(200)], "u4").view("i4")
    yield _case("dropout", 2, (given(x), output(200, "f4"), *_sizes(200, 77)), {1: exact(np.where(words > 0, x, 0))})
