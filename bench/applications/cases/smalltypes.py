"""Small floats, packed integers, bits and casts."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from bench.applications.case import AnyArray, Case, exact, generator, given, grid, output
from bench.applications.cases.numeric import bfloat, widened
from ptxgen.executing import Scalar

_MASK = 0xFFFFFFFF


def cases() -> Iterator[Case]:
    yield from _halves()
    yield from _eighths()
    yield from _packed()
    yield from _bits()
    yield from _casts()


def _toward(x: npt.NDArray[np.float32], *, up: bool) -> npt.NDArray[np.float16]:
    """f32 to f16, rounded up or toward zero."""
    near = x.astype("f2")
    wide = near.astype("f4")
    with np.errstate(over="ignore"):
        above = np.nextafter(near, np.float16(np.inf))
    if up:
        return np.where(wide < x, above, near)
    return np.where(np.abs(wide) > np.abs(x), np.nextafter(near, np.float16(0)), near)


def _halves() -> Iterator[Case]:
    rng = generator("smalltypes")
    a, b = (rng.standard_normal((2, 32, 2)) * 4).astype("f2")
    a[0, 1], b[3, 0], b[3, 1] = np.nan, a[3, 0], a[3, 0]
    x, y = a.astype("f8"), b.astype("f8")
    with np.errstate(all="ignore"):
        saturated = np.clip(x * y, 0, 1).astype("f2")
        saturated[np.isnan(x * y)] = 0
        wanted = np.stack([
            (x + y).astype("f2"), saturated, (x * y + x).astype("f2"), a / b, np.fmax(a, b), -np.abs(a), a[:, ::-1],
            np.floor((x - y).astype("f2")),
        ], 1)
    less = (a < b).astype("u4")
    flags = (
        (a > b).all(1).astype("u4") | (a[:, 0] == b[:, 1]).astype("u4") << 1 | np.isnan(a[:, 1]).astype("u4") << 2
        | less[:, 0] << 15 | less[:, 1] << 31
    )
    yield Case("smalltypes", "halves", grid(1, 32), (given(a), given(b), output((32, 8, 2), "f2"), output(32, "u4")),
               {2: exact(wanted), 3: exact(flags)})
    f = np.concatenate([rng.standard_normal(80) * 10.0 ** rng.integers(-8, 4, 80), [0.0, -0.0, 1.5, 2.5, 65504]])
    f = f.astype("f4")
    n = f.size
    down = (f.view("u4") >> 16).astype("u2")
    narrow = f.astype("f2").view("u2")
    columns = [narrow, _toward(f, up=False).view("u2"), _toward(f, up=True).view("u2"), bfloat(f), down, narrow]
    near = f.astype("f2").astype("f8")
    ints = np.stack([np.rint(near), np.clip(np.trunc(near), 0, 65535)], 1).astype("i4")
    counted = (np.arange(n) * 997 % 65536).astype("f2").astype("f4")
    back = counted + widened(bfloat((np.arange(n) * 1001).astype("f4")))
    yield Case("smalltypes", "half_conversions", grid(1, 128),
               (given(f), output((n, 6), "u2"), output((n, 2), "i4"), output(n, "f4"), Scalar("s32", n)),
               {1: exact(np.stack(columns, 1)), 2: exact(ints), 3: exact(back)})
    p, q = bfloat((rng.standard_normal((2, 64)) * 4).astype("f4"))
    u, v = widened(p).astype("f8"), widened(q).astype("f8")
    once: Callable[[AnyArray], AnyArray] = lambda values: bfloat(values.astype("f4"))  # noqa: E731
    rows = np.stack([once(u + v), once(u * v), once(u * v + u), once(np.minimum(u, -v))], 1)
    yield Case("smalltypes", "bfloats", grid(1, 32), (given(p), given(q), output((32, 4, 2), "u2")),
               {2: exact(rows.reshape(32, 2, 4).transpose(0, 2, 1))})


def _small_float(word: int, exponents: int, fraction: int) -> float:
    """A byte as fp8: e4m3 has no infinities, e5m2 has."""
    sign, e, m = -1 if word >> 7 else 1, word >> fraction & (1 << exponents) - 1, word & (1 << fraction) - 1
    bias = (1 << exponents - 1) - 1
    if exponents == 4 and word & 127 == 127:
        return float("nan")
    if exponents == 5 and e == 31:
        return sign * float("inf") if m == 0 else float("nan")
    if e == 0:
        return sign * m * 2.0 ** (1 - bias - fraction)
    return sign * (1 + m * 2.0**-fraction) * 2.0 ** (e - bias)


def _eighths() -> Iterator[Case]:
    rng = generator("eighths")
    f = np.concatenate([rng.standard_normal(200) * 10.0 ** rng.integers(-4, 5, 200), [0, -0.0, 448, 464, 500, 57344]])
    f = np.concatenate([f, np.linspace(-3, 3, 50)]).astype("f4")
    n = 256
    f = f[:n]
    outputs = []
    for exponents, fraction in ((4, 3), (5, 2)):
        sizes = np.array([_small_float(w, exponents, fraction) for w in range(128)])
        known = np.flatnonzero(np.isfinite(sizes))
        words = []
        for value in f.astype("f8"):
            away = np.abs(sizes[known] - abs(value))
            best = known[away == away.min()]
            even = next((w for w in best if w % 2 == 0), best[0])
            words.append(int(even) | (128 if np.signbit(value) else 0))
        outputs.append(words)
    back = [np.array([_small_float(w, *shape) for w in range(n)], "f4") for shape in ((4, 3), (5, 2))]
    yield Case("smalltypes", "eighths", grid(2, 128),
               (given(f), output(n, "u1"), output(n, "u1"), output(n, "f4"), output(n, "f4"), Scalar("s32", n)),
               {1: exact(outputs[0]), 2: exact(outputs[1]), 3: exact(back[0]), 4: exact(back[1])})


def _packed() -> Iterator[Case]:
    rng = generator("video")
    a, b = rng.integers(0, 2**32, (2, 32), dtype="u4")
    a[0], b[0], a[1], b[1] = 0x80808080, 0x7F7F7F7F, 0x80008000, 0x80008000

    def lanes(words: npt.NDArray[np.uint32], dtype: str) -> npt.NDArray[np.int64]:
        return words.view(dtype).reshape(32, -1).astype("i8")

    def word(values: npt.NDArray[np.generic], bits: int) -> npt.NDArray[np.uint32]:
        return np.ascontiguousarray(values.astype(f"u{bits // 8}")).view("u4")[:, 0]

    u, v, s, t = lanes(a, "u1"), lanes(b, "u1"), lanes(a, "i1"), lanes(b, "i1")
    hu, hv, hs, ht = lanes(a, "u2"), lanes(b, "u2"), lanes(a, "i2"), lanes(b, "i2")
    low = np.array(0x07)
    whole, other = a.view("i4").astype("i8"), b.view("i4").astype("i8")
    wrapped = (whole + 9).astype("i4").astype("i8")
    rows = [
        word(u + v, 8), word(np.maximum(u - v, 0), 8), word(np.abs(s - t), 8),
        word(np.maximum(s, t), 8), word(np.minimum(hu, hv), 16), word((u + v + 1) >> 1, 8), np.abs(u - v).sum(1),
        word(np.where(s > t, 255, 0), 8), word(np.clip(hs + ht, -(2**15), 2**15 - 1), 16),
        word(((u & low) == (v & low)), 8), word(np.minimum(-s, 127), 8), word((u + v) >> 1, 8),
        np.abs(hs - ht).sum(1), word(np.minimum(np.abs(hs), 2**15 - 1), 16),
        np.maximum(np.maximum(whole, other), 5) & _MASK, np.maximum(np.minimum(wrapped, other), 0) & _MASK,
    ]
    yield Case("smalltypes", "video", grid(1, 32), (given(a), given(b), output((32, 16), "u4")),
               {2: exact(np.stack([np.asarray(r, "u4") for r in rows], 1))})


def _signed(word: int, bits: int = 32) -> int:
    return word - (word >> bits - 1 << bits)


def _quotient(a: int, b: int) -> int:
    """Toward zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _bits() -> Iterator[Case]:
    rng = generator("bits")
    a, b = rng.integers(0, 2**32, (2, 32), dtype="u4")
    a[0], a[1], b[2] = 0, _MASK, 0
    rows, wide = [], []
    for x, y in zip(a.tolist(), b.tolist(), strict=True):
        s, t = _signed(x), _signed(y)
        both = list(x.to_bytes(4, "little") + y.to_bytes(4, "little"))
        w = x << 32 | y
        shift = y & 31
        rows.append([
            x.bit_count(), 32 - x.bit_length(), (x & -x).bit_length(), int(f"{x:032b}"[::-1], 2),
            both[5] | both[1] << 8 | both[7] << 16 | both[3] << 24, (y << 32 | x) << shift >> 32 & _MASK,
            (y << 32 | x) >> min(y & 63, 32) & _MASK, abs(s - t) + 77 & _MASK, abs(x - y) + 3 & _MASK, x + y >> 1,
            (s + t + 1 >> 1) & _MASK, (s * t >> 32) & _MASK, (x & 0xFFFFFF) * (y & 0xFFFFFF) & _MASK,
            _signed(x & 0xFFFFFF, 24) * _signed(y & 0xFFFFFF, 24) & _MASK,
        ])
        big, by, over = _signed(w, 64), _signed(y | 1), _signed(x | 1)
        mixed = _quotient(big, by) + big - _quotient(big, over) * over
        found = w.bit_count() | 64 - w.bit_length() << 8 | (w & -w).bit_length() << 16
        wide.append([int(f"{w:064b}"[::-1], 2), found, mixed & 2**64 - 1, w // (x | 1) ^ w % (y | 1)])
    yield Case("smalltypes", "bits", grid(1, 32), (given(a), given(b), output((32, 14), "u4"), output((32, 4), "u8")),
               {2: exact(np.array(rows, "u4")), 3: exact(np.array(wide, "u8"))})


def _casts() -> Iterator[Case]:
    rng = generator("casts")
    f = (rng.standard_normal(32) * 10.0 ** rng.integers(-1, 9, 32)).astype("f4")
    d = rng.standard_normal(32) * 10.0 ** rng.integers(-1, 18, 32)
    f[:6] = [0.5, 1.5, -2.5, 254.5, 3e9, -1]
    d[:5] = [-0.5, 2.0**53 + 2, 1e19, 2.0**31 - 0.5, -5e9]
    wide = f.astype("f8")
    low, high = -(2**31), 2**31 - 1

    def clipped(values: npt.NDArray[np.float64], least: int, most: int) -> npt.NDArray[np.object_]:
        return np.array([min(max(int(value), least), most) for value in values], object)

    first = clipped(np.trunc(wide), low, high)
    words = f.view("u4") ^ (d.view("u8") >> np.uint64(32)).astype("u4") ^ d.view("u8").astype("u4")
    ints = [first, clipped(np.trunc(wide), 0, _MASK) & _MASK, clipped(np.rint(wide), low, high) & _MASK,
            clipped(np.ceil(d), low, high), first.astype("i8").astype("i2").astype("i8"), words.astype("i8")]
    longs = [clipped(np.trunc(d), -(2**63), 2**63 - 1), clipped(np.trunc(d), 0, 2**64 - 1),
             clipped(np.floor(wide), -(2**63), 2**63 - 1)]
    single = d.astype("f4")
    cut = np.where(np.abs(single.astype("f8")) > np.abs(d), np.nextafter(single, np.float32(0)), single)
    up = words.astype("f8").astype("f4")
    up = np.where(up.astype("f8") < words, np.nextafter(up, np.float32(np.inf)), up)
    floats = [single, cut, np.array([int(v) for v in longs[0]], "i8").astype("f4"), up]
    table = np.array([[int(v) & 2**64 - 1 for v in row] for row in zip(*longs, strict=True)], "u8")
    yield Case("smalltypes", "casts", grid(1, 32),
               (given(f), given(d), output((32, 6), "u4"), output((32, 3), "u8"), output(32, "u1"),
                output((32, 4), "f4")),
               {2: exact(np.array([[int(v) & _MASK for v in row] for row in zip(*ints, strict=True)], "u4")),
                3: exact(table), 4: exact(np.rint(np.clip(wide, 0, 255)).astype("u1")),
                5: exact(np.stack(floats, 1))})
