"""Matrix products: by pointers, by tensor descriptors, attention; every type of tensor core."""

import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ACC: tl.constexpr):
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    s = tl.program_id(1) * BN + tl.arange(0, BN)
    t = tl.arange(0, BK)
    pa = a + r[:, None] * k + t[None, :]
    pb = b + t[:, None] * n + s[None, :]
    acc = tl.zeros((BM, BN), dtype=ACC)
    for i in range(tl.cdiv(k, BK)):
        x = tl.load(pa, mask=t[None, :] < k - i * BK, other=0)
        y = tl.load(pb, mask=t[:, None] < k - i * BK, other=0)
        acc = tl.dot(x, y, acc, out_dtype=ACC)
        pa += BK
        pb += BK * n
    tl.store(c + r[:, None] * n + s[None, :], acc.to(c.dtype.element_ty), (r[:, None] < m) & (s[None, :] < n))


@triton.jit
def described(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    da = tl.make_tensor_descriptor(a, [m, k], [k, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [n, k], [k, 1], [BN, BK])
    dc = tl.make_tensor_descriptor(c, [m, n], [n, 1], [BM, BN])
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for i in range(tl.cdiv(k, BK)):
        acc = tl.dot(da.load([tl.program_id(0) * BM, i * BK]), db.load([tl.program_id(1) * BN, i * BK]).T, acc)
    dc.store([tl.program_id(0) * BM, tl.program_id(1) * BN], acc.to(c.dtype.element_ty))


@triton.jit
def attention(q, k, v, out, n, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    x = tl.load(q + r[:, None] * D + d[None, :])
    most = tl.full([BM], -float("inf"), tl.float32)
    norm = tl.full([BM], 1.0, tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    for start in range(0, n, BN):
        s = start + tl.arange(0, BN)
        y = tl.load(k + s[None, :] * D + d[:, None])
        p = tl.dot(x, y) * scale
        now = tl.maximum(most, tl.max(p, 1))
        p = tl.exp2(p - now[:, None])
        fix = tl.exp2(most - now)
        norm = norm * fix + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), tl.load(v + s[:, None] * D + d[None, :]), acc * fix[:, None])
        most = now
    tl.store(out + r[:, None] * D + d[None, :], acc / norm[:, None])


def _types(a, c):
    return {"a": f"*{a}", "b": f"*{a}", "c": f"*{c}", "m": "i32", "n": "i32", "k": "i32"}


_TILE = {"BM": 64, "BN": 64, "BK": 32}
KERNELS = [
    (matmul, _types("fp16", "fp32"), {**_TILE, "BM": 128, "BN": 128, "BK": 64, "ACC": tl.float32}),
    (matmul, _types("bf16", "bf16"), {**_TILE, "ACC": tl.float32}),
    (matmul, _types("fp32", "fp32"), {**_TILE, "ACC": tl.float32}),
    (matmul, _types("i8", "i32"), {**_TILE, "BK": 64, "ACC": tl.int32}),
    (matmul, _types("fp8e5", "fp16"), {**_TILE, "BK": 64, "ACC": tl.float32}),
    (matmul, _types("fp64", "fp64"), {"BM": 16, "BN": 16, "BK": 16, "ACC": tl.float64}),
    (described, _types("fp16", "fp16"), {**_TILE, "BM": 128, "BK": 64}),
    (
        attention,
        {"q": "*fp16", "k": "*fp16", "v": "*fp16", "out": "*fp32", "n": "i32", "scale": "fp32"},
        {"BM": 64, "BN": 64, "D": 64},
    ),
]
