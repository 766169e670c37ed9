"""Matrix products."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.applications.case import AnyArray, Case, Expected, exact, generator, given, grid, output, within
from ptxgen.executing import Buffer, Launch, Scalar


def product(a: AnyArray, b: AnyArray, unit: float = 2.0**-24) -> Expected:
    """a @ b, each term of which may be rounded as it is multiplied and added."""
    wide, other = a.astype("f8"), b.astype("f8")
    return within(wide @ other, (a.shape[1] + 2) * unit * (np.abs(wide) @ np.abs(other)))


def cases() -> Iterator[Case]:
    rng = generator("products")
    m, n, k = 37, 45, 29
    a, b = rng.standard_normal((m, k)).astype("f4"), rng.standard_normal((k, n)).astype("f4")
    extents = (Scalar("s32", m), Scalar("s32", n), Scalar("s32", k))
    for name in ("naive", "tiled"):
        yield Case("products", name, grid((3, 3), (16, 16)), (given(a), given(b), output((m, n), "f4"), *extents),
                   {2: product(a, b)})
    yield from _in_tiles()
    yield from _halves()
    yield from _bytes()


def _in_tiles() -> Iterator[Case]:
    rng = generator("tiles")
    for name, launch, m, n, k in (
        ("in_registers", grid((1, 2), 256), 128, 64, 16), ("double_buffered", grid((2, 2), 256), 32, 32, 48),
    ):
        a, b = rng.standard_normal((m, k)).astype("f4"), rng.standard_normal((k, n)).astype("f4")
        yield Case("products", name, launch,
                   (given(a), given(b), output((m, n), "f4"), Scalar("s32", n), Scalar("s32", k)), {2: product(a, b)})


def _halves() -> Iterator[Case]:
    rng = generator("halves")
    launches: dict[str, Launch] = {"by_wmma": grid((2, 2), 64), "by_mma": grid((8, 2), 32)}
    for name, launch in launches.items():
        a, b = rng.standard_normal((32, 48)).astype("f2"), rng.standard_normal((64, 48)).astype("f2")
        wanted = product(a, b.T, 2.0**-22)
        if name == "by_wmma":
            wanted = within(wanted.value * 0.5, wanted.bound)
        yield Case("products", name, launch,
                   (given(a), given(b), output((32, 64), "f4"), Scalar("s32", 64), Scalar("s32", 48)), {2: wanted})
    a, b = rng.standard_normal((8, 16)), rng.standard_normal((16, 8))
    yield Case("products", "doubles_by_tensor", grid(1, 32), (given(a), given(b), output((8, 8), "f8")),
               {2: within((a @ b).T, 1e-13)})


def _bytes() -> Iterator[Case]:
    rng = generator("bytes")
    a, b = rng.integers(-128, 128, (32, 16), dtype="i1"), rng.integers(-128, 128, (8, 16), dtype="i1")
    c = rng.integers(-(2**31), 2**31, (32, 8), dtype="i4")
    yield Case("products", "by_wmma_bytes", grid(1, 32), (given(a), given(b), Buffer(c)),
               {2: exact(c + a.astype("i4") @ b.T.astype("i4"))})
    rows, columns = rng.integers(-128, 128, (3, 24), dtype="i1"), rng.integers(-128, 128, (20, 24), dtype="i1")
    # dp2a multiplies the halves of one word with the two low, or the two high, bytes of the other
    signed = rows.astype("i8") @ columns.astype("i8").T
    signed += rows.view("i2").astype("i8") @ columns.reshape(20, 6, 4)[:, :, 2:].reshape(20, 12).astype("i8").T
    u_rows, u_columns = rows.view("u1"), columns.view("u1")
    unsigned = u_rows.astype("i8") @ u_columns.astype("i8").T
    unsigned += u_rows.view("u2").astype("i8") @ u_columns.reshape(20, 6, 4)[:, :, :2].reshape(20, 12).astype("i8").T
    yield Case("products", "bytes_by_dp4a", grid((1, 3), 32),
               (given(rows), given(columns), output((3, 20), "i4"), output((3, 20), "u4"), Scalar("s32", 20),
                Scalar("s32", 6)), {2: exact(signed), 3: exact(unsigned)})
