"""Triton kernels of the usual sort: name to function, signature, constants, options and, where not all are meant, the
targets."""

import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n) + tl.load(y + i, i < n), i < n)


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + i, i < columns, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row * columns + i, e / tl.sum(e, 0), i < columns)


@triton.jit
def layer_norm(x, w, b, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + i, i < columns, other=0.0).to(tl.float32)
    mean = tl.sum(v, 0) / columns
    away = tl.where(i < columns, v - mean, 0.0)
    factor = tl.rsqrt(tl.sum(away * away, 0) / columns + 1e-5)
    scaled = away * factor * tl.load(w + i, i < columns) + tl.load(b + i, i < columns)
    tl.store(out + row * columns + i, scaled.to(tl.float16), i < columns)


@triton.jit
def matmul(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ACC: tl.constexpr):
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    s = tl.program_id(1) * BN + tl.arange(0, BN)
    t = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=ACC)
    for i in range(0, k, BK):
        x = tl.load(a + r[:, None] * k + (i + t)[None, :], (r[:, None] < m) & ((i + t)[None, :] < k), other=0.0)
        y = tl.load(b + (i + t)[:, None] * n + s[None, :], ((i + t)[:, None] < k) & (s[None, :] < n), other=0.0)
        acc = tl.dot(x, y, acc, out_dtype=ACC)
    tl.store(c + r[:, None] * n + s[None, :], acc.to(c.dtype.element_ty), (r[:, None] < m) & (s[None, :] < n))


@triton.jit
def attention(q, k, v, out, n, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    s = tl.arange(0, BN)
    x = tl.load(q + r[:, None] * D + d[None, :])
    most = tl.full((BM,), -float("inf"), tl.float32)
    norm = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for i in range(0, n, BN):
        y = tl.load(k + (i + s)[None, :] * D + d[:, None])
        p = tl.dot(x, y) * scale
        p = tl.where(r[:, None] >= (i + s)[None, :], p, -float("inf"))
        now = tl.maximum(most, tl.max(p, 1))
        p = tl.exp2(p - now[:, None])
        fix = tl.exp2(most - now)
        norm = norm * fix + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), tl.load(v + (i + s)[:, None] * D + d[None, :]), acc * fix[:, None])
        most = now
    tl.store(out + r[:, None] * D + d[None, :], acc / norm[:, None])


@triton.jit
def sums(x, out, columns, BM: tl.constexpr, BN: tl.constexpr):
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    i = tl.arange(0, BN)
    v = tl.load(x + r[:, None] * columns + i[None, :], i[None, :] < columns, other=0)
    tl.store(out + r, tl.sum(v, 1))
    tl.atomic_add(out + 1000 + i, tl.sum(v, 0), i < columns)
    tl.atomic_max(out + 2000, tl.max(tl.max(v, 1), 0))


@triton.jit
def scans(x, out, extremes, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.store(out + i, tl.cumsum(v, 0))
    tl.store(out + BLOCK + i, tl.sort(v))
    tl.store(out + 2 * BLOCK + i, tl.flip(v))
    tl.store(extremes, tl.argmax(v, 0))
    tl.store(extremes + 1, tl.argmin(v, 0))
    tl.store(extremes + 2, tl.xor_sum(v, 0))


@triton.jit
def histogram(x, out, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    counts = tl.histogram(tl.load(x + i, i < n, other=0), BINS, i < n)
    tl.atomic_add(out + tl.arange(0, BINS), counts)


@triton.jit
def dropout(x, out, n, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    word = tl.randint(seed, i).to(tl.int32, bitcast=True)
    tl.store(out + i, tl.where(word > 0, tl.load(x + i, i < n), 0), i < n)


@triton.jit
def transpose(x, out, m, n, BM: tl.constexpr, BN: tl.constexpr):
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    s = tl.program_id(1) * BN + tl.arange(0, BN)
    v = tl.load(x + r[:, None] * n + s[None, :], (r[:, None] < m) & (s[None, :] < n))
    tl.store(out + s[:, None] * m + r[None, :], tl.trans(v), (s[:, None] < n) & (r[None, :] < m))


@triton.jit
def locked(lock, out, x, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(out + i, tl.load(out + i) * 2 + tl.load(x + i))
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def gathered(x, where, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.gather(tl.load(x + i), tl.load(where + i), 0))
    left, right = tl.split(tl.reshape(tl.load(x + i), (BLOCK // 2, 2)))
    tl.store(out + BLOCK + i, tl.interleave(right, left))


def _product(a, c):
    return {"a": f"*{a}", "b": f"*{a}", "c": f"*{c}", "m": "i32", "n": "i32", "k": "i32"}


_TILE = {"BM": 32, "BN": 32, "BK": 32}
_FLOATS = {**_TILE, "ACC": tl.float32}
_WARPS = {"num_warps": 4}
#: For sm_90 products are those of warpgroups, which need a GPU.
_AMPERE = (80,)
KERNELS = {
    "triton_add": (add, {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}, {"BLOCK": 256}, _WARPS),
    "triton_softmax": (softmax, {"x": "*fp32", "out": "*fp32", "columns": "i32"}, {"BLOCK": 256}, _WARPS),
    "triton_layer_norm": (
        layer_norm, {"x": "*fp16", "w": "*fp32", "b": "*fp32", "out": "*fp16", "columns": "i32"}, {"BLOCK": 128},
        {"num_warps": 2},
    ),
    "triton_matmul_fp16": (matmul, _product("fp16", "fp32"), _FLOATS, {"num_stages": 3}, _AMPERE),
    "triton_matmul_bf16": (matmul, _product("bf16", "fp32"), _FLOATS, {"num_stages": 2}, _AMPERE),
    "triton_matmul_tf32": (matmul, _product("fp32", "fp32"), _FLOATS, {"num_stages": 4}, _AMPERE),
    "triton_matmul_fp8": (matmul, _product("fp8e5", "fp32"), _FLOATS, {"num_stages": 3}, _AMPERE),
    "triton_matmul_i8": (matmul, _product("i8", "i32"), {**_TILE, "ACC": tl.int32}, {"num_stages": 3}, _AMPERE),
    "triton_matmul_fp64": (
        matmul, _product("fp64", "fp64"), {"BM": 16, "BN": 16, "BK": 16, "ACC": tl.float64}, {}, _AMPERE,
    ),
    "triton_attention": (
        attention,
        {"q": "*fp16", "k": "*fp16", "v": "*fp16", "out": "*fp32", "n": "i32", "scale": "fp32"},
        {"BM": 32, "BN": 32, "D": 32}, {"num_stages": 2}, _AMPERE,
    ),
    "triton_sums": (sums, {"x": "*i32", "out": "*i32", "columns": "i32"}, {"BM": 16, "BN": 64}, _WARPS),
    "triton_scans": (scans, {"x": "*i32", "out": "*i32", "extremes": "*i32"}, {"BLOCK": 128}, _WARPS),
    "triton_histogram": (histogram, {"x": "*i32", "out": "*i32", "n": "i32"}, {"BLOCK": 256, "BINS": 32}, _WARPS),
    "triton_dropout": (dropout, {"x": "*fp32", "out": "*fp32", "n": "i32", "seed": "i32"}, {"BLOCK": 128}, _WARPS),
    "triton_transpose": (
        transpose, {"x": "*fp16", "out": "*fp16", "m": "i32", "n": "i32"}, {"BM": 32, "BN": 64}, _WARPS,
    ),
    "triton_locked": (locked, {"lock": "*i32", "out": "*i32", "x": "*i32"}, {"BLOCK": 128}, _WARPS),
    "triton_gathered": (gathered, {"x": "*i32", "where": "*i32", "out": "*i32"}, {"BLOCK": 64}, {"num_warps": 1}),
}
