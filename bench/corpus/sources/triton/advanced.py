"""Descriptors, scaled products, scans, joins, calls, asserts, warp specialisation.

The fourth part of a kernel says for which targets, where not all are meant.
"""

import triton
import triton.language as tl


@triton.jit
def combined(a, b):
    return a * 3 + b


@triton.jit(noinline=True)
def apart(x, y):
    return x * x + y


@triton.jit
def scanned(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n, other=0.0)
    tl.store(out + i, tl.associative_scan(v, 0, combined))
    tl.store(out + BLOCK + i, tl.flip(v))
    pairs = tl.join(v, v + 1)
    left, right = tl.split(pairs)
    tl.store(out + 2 * BLOCK + tl.arange(0, 2 * BLOCK), tl.interleave(left, right))
    tl.device_assert(v < 100.0, "too large")
    tl.device_print("v is", v, i)


@triton.jit
def called(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n) * apart(tl.program_id(1), n), i < n)


@triton.jit
def gathered(x, where, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.gather(tl.load(x + i), tl.load(where + i), 0))


@triton.jit
def scaled_product(a, sa, b, sb, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    r, s, k, g = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K), tl.arange(0, K // 32)
    x = tl.load(a + r[:, None] * K + k[None, :])
    y = tl.load(b + k[:, None] * N + s[None, :])
    x_scale = tl.load(sa + r[:, None] * (K // 32) + g[None, :])
    y_scale = tl.load(sb + s[:, None] * (K // 32) + g[None, :])
    tl.store(c + r[:, None] * N + s[None, :], tl.dot_scaled(x, x_scale, "e5m2", y, y_scale, "e5m2"))


@triton.jit
def persistent(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PROGRAMS: tl.constexpr):
    da = tl.make_tensor_descriptor(a, [m, k], [k, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [n, k], [k, 1], [BN, BK])
    dc = tl.make_tensor_descriptor(c, [m, n], [n, 1], [BM, BN])
    tiles = tl.cdiv(m, BM) * tl.cdiv(n, BN)
    for tile in tl.range(tl.program_id(0), tiles, PROGRAMS, flatten=True, warp_specialize=True):
        row, column = tile % tl.cdiv(m, BM) * BM, tile // tl.cdiv(m, BM) * BN
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for i in range(tl.cdiv(k, BK)):
            acc = tl.dot(da.load([row, i * BK]), db.load([column, i * BK]).T, acc)
        dc.store([row, column], acc.to(c.dtype.element_ty))


@triton.jit
def reduced_by_descriptor(x, out, m, n, BM: tl.constexpr, BN: tl.constexpr):
    dx = tl.make_tensor_descriptor(x, [m, n], [n, 1], [BM, BN])
    do = tl.make_tensor_descriptor(out, [m, n], [n, 1], [BM, BN])
    do.atomic_add([0, 0], dx.load([tl.program_id(0) * BM, 0]))


@triton.jit
def collected(x, out, where, m, n, BM: tl.constexpr, BN: tl.constexpr):
    dx = tl.make_tensor_descriptor(x, [m, n], [n, 1], [1, BN])
    do = tl.make_tensor_descriptor(out, [m, n], [n, 1], [1, BN])
    rows = tl.load(where + tl.arange(0, BM))
    do.scatter(dx.gather(rows, 0), rows, 0)


_SIZES = {"m": "i32", "n": "i32"}
_GEMM = {"a": "*fp16", "b": "*fp16", "c": "*fp16", "m": "i32", "n": "i32", "k": "i32"}
KERNELS = [
    (scanned, {"x": "*fp32", "out": "*fp32", "n": "i32"}, {"BLOCK": 128}),
    (called, {"x": "*fp32", "out": "*fp32", "n": "i32"}, {"BLOCK": 128}),
    (gathered, {"x": "*fp32", "where": "*i32", "out": "*fp32"}, {"BLOCK": 128}, (75, 100)),
    (
        scaled_product,
        {"a": "*u8", "sa": "*u8", "b": "*u8", "sb": "*u8", "c": "*fp32"},
        {"M": 128, "N": 64, "K": 128},
        (90, 100, 120),
    ),
    (persistent, _GEMM, {"BM": 128, "BN": 64, "BK": 64, "PROGRAMS": 132}, (90, 100, 120)),
    (reduced_by_descriptor, {"x": "*fp32", "out": "*fp32", **_SIZES}, {"BM": 16, "BN": 32}, (80, 90, 100)),
    (collected, {"x": "*fp16", "out": "*fp16", "where": "*i32", **_SIZES}, {"BM": 32, "BN": 64}, (75, 100)),
]
