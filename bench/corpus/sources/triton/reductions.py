"""Reductions, scans, sorts, atomics, histograms, gathers."""

import triton
import triton.language as tl


@triton.jit
def softmax(x, out, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + i, i < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row * stride + i, e / tl.sum(e, 0), i < n)


@triton.jit
def layer_norm(x, w, b, out, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    mean = tl.zeros([BLOCK], tl.float32)
    for k in range(0, n, BLOCK):
        i = k + tl.arange(0, BLOCK)
        mean += tl.load(x + row * n + i, i < n, other=0.0).to(tl.float32)
    m = tl.sum(mean, 0) / n
    for k in range(0, n, BLOCK):
        i = k + tl.arange(0, BLOCK)
        v = tl.load(x + row * n + i, i < n).to(tl.float32) - m
        tl.store(out + row * n + i, v * tl.rsqrt(m * m + eps) * tl.load(w + i, i < n) + tl.load(b + i, i < n), i < n)


@triton.jit
def largest(x, out, where, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n, other=0)
    tl.store(out, tl.max(v, 0))
    tl.store(where, tl.argmax(v, 0))
    tl.store(where + 1, tl.argmin(v, 0))
    tl.store(out + 1 + i, tl.cumsum(v, 0))
    tl.store(out + 999 + i, tl.sort(v))


@triton.jit
def atomics(x, out, i32s, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n)
    tl.atomic_add(out + i % 7, v, i < n)
    tl.atomic_add(out + 8, tl.sum(v, 0), sem="release", scope="sys")
    tl.atomic_max(i32s + i, i, i < n, sem="relaxed")
    tl.atomic_min(i32s + i, i, sem="acquire", scope="cta")
    tl.atomic_and(i32s + i, 7)
    tl.atomic_xor(i32s + i, 9)
    old = tl.atomic_xchg(i32s + 3, 5)
    tl.atomic_cas(i32s + 4, old, 6)
    tl.debug_barrier()
    tl.store(i32s + 40 + tl.arange(0, 64), tl.histogram(i % 64, 64))


@triton.jit
def two_dimensions(x, out, m, n, BM: tl.constexpr, BN: tl.constexpr):
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    c = tl.program_id(1) * BN + tl.arange(0, BN)
    v = tl.load(x + r[:, None] * n + c[None, :], (r[:, None] < m) & (c[None, :] < n), other=0.0)
    tl.store(out + c[:, None] * m + r[None, :], tl.trans(v), (c[:, None] < n) & (r[None, :] < m))
    tl.store(out + r, tl.sum(v, 1), r < m)
    tl.store(out + c, tl.max(v, 0), c < n)


KERNELS = [
    (softmax, {"x": "*fp32", "out": "*fp32", "stride": "i32", "n": "i32"}, {"BLOCK": 1024}),
    (softmax, {"x": "*fp16", "out": "*fp16", "stride": "i32", "n": "i32"}, {"BLOCK": 2048}),
    (
        layer_norm,
        {"x": "*bf16", "w": "*fp32", "b": "*fp32", "out": "*bf16", "n": "i32", "eps": "fp32"},
        {"BLOCK": 512},
    ),
    (largest, {"x": "*i32", "out": "*i32", "where": "*i32", "n": "i32"}, {"BLOCK": 128}),
    (largest, {"x": "*fp32", "out": "*fp32", "where": "*i32", "n": "i32"}, {"BLOCK": 128}),
    (atomics, {"x": "*fp32", "out": "*fp32", "i32s": "*i32", "n": "i32"}, {"BLOCK": 256}),
    (atomics, {"x": "*fp16", "out": "*fp16", "i32s": "*i32", "n": "i32"}, {"BLOCK": 256}),
    (two_dimensions, {"x": "*fp32", "out": "*fp32", "m": "i32", "n": "i32"}, {"BM": 32, "BN": 64}),
    (two_dimensions, {"x": "*fp16", "out": "*fp16", "m": "i32", "n": "i32"}, {"BM": 64, "BN": 64}),
]
