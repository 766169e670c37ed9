"""Elementwise kernels over every type Triton has."""

import triton
import triton.language as tl


@triton.jit
def scaled(x, y, out, n, a, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask) * a + tl.load(y + i, mask, other=1), mask)


@triton.jit
def functions(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n, eviction_policy="evict_first")
    r = (
        tl.exp(v)
        + tl.log(v)
        + tl.sin(v)
        + tl.cos(v)
        + tl.sqrt(v)
        + tl.rsqrt(v)
        + tl.abs(v)
        + tl.floor(v)
        + tl.ceil(v)
    )
    r += (
        tl.erf(v)
        + tl.exp2(v)
        + tl.log2(v)
        + tl.fma(v, v, v)
        + tl.sigmoid(v)
        + tl.where(v > 0, v, -v)
        + tl.sqrt_rn(tl.abs(v))
    )
    r += tl.div_rn(v, r) + tl.maximum(v, r) + tl.minimum(v, 2.0) + tl.clamp(v, -1.0, 1.0)
    tl.store(out + i, r, i < n, eviction_policy="evict_last")


@triton.jit
def converted(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n)
    tl.store(out + i, v.to(out.dtype.element_ty), i < n)


@triton.jit
def integers(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n)
    r = (
        (v // 3)
        + (v % 5)
        + (v << 2)
        + (v >> 1)
        + (v ^ 5)
        + (v & 6)
        + (v | 7)
        + ~v
        + tl.cdiv(v, 4)
        + tl.umulhi(v.to(tl.uint32), 77).to(tl.int32)
    )
    tl.store(out + i, r, i < n)
    tl.device_print("value", r)


@triton.jit
def random_numbers(out, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.rand(seed, i) + tl.randn(seed, i))


@triton.jit
def assembly(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n)
    r = tl.inline_asm_elementwise(
        "{ .reg .b32 t; shl.b32 t, $1, 3; lop3.b32 $0, t, $1, 5, 0x6a; }",
        "=r,r",
        [v],
        dtype=tl.int32,
        is_pure=True,
        pack=1,
    )
    tl.store(out + i, r, i < n)


_P = {"BLOCK": 256}
KERNELS = [
    (scaled, {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32", "a": "fp32"}, {"BLOCK": 1024}),
    (scaled, {"x": "*fp16", "y": "*fp16", "out": "*fp16", "n": "i64", "a": "fp32"}, _P),
    (scaled, {"x": "*bf16", "y": "*bf16", "out": "*bf16", "n": "i32", "a": "fp32"}, _P),
    (scaled, {"x": "*fp64", "y": "*fp64", "out": "*fp64", "n": "i32", "a": "fp64"}, _P),
    (functions, {"x": "*fp32", "out": "*fp32", "n": "i32"}, _P),
    (converted, {"x": "*fp32", "out": "*fp8e5", "n": "i32"}, _P),
    (converted, {"x": "*fp8e5", "out": "*fp16", "n": "i32"}, _P),
    (converted, {"x": "*fp32", "out": "*i8", "n": "i32"}, _P),
    (converted, {"x": "*i64", "out": "*fp16", "n": "i32"}, _P),
    (converted, {"x": "*u8", "out": "*bf16", "n": "i32"}, _P),
    (integers, {"x": "*i32", "out": "*i32", "n": "i32"}, _P),
    (random_numbers, {"out": "*fp32", "seed": "i32"}, _P),
    (assembly, {"x": "*i32", "out": "*i32", "n": "i32"}, _P),
]
