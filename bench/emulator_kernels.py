"""The kernels of `bench.emulator`: PTX, launch and arguments for a number of threads, and NumPy doing the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench.emulator_usual import USUAL
from bench.emulator_work import Work
from bench.vectors import matrix_products
from ptxgen.executing import Argument, Buffer, Launch, Scalar

KERNELS_FOLDER = Path(__file__).resolve().parents[1] / "tests" / "kernels"
_TILE = 16
#: Columns of the left matrix; each thread of the product sums up so many terms.
_DEPTH = 32

HEAD = """.version 7.0
.target sm_80
.address_size 64
.visible .entry grown()
{
.reg .b32 %r<16>;
.reg .f32 %f<16>;
"""

_TERM = """ld.shared.f32 %f1, [%r8+{left}];
ld.shared.f32 %f2, [%r9+{right}];
fma.rn.f32 %f3, %f1, %f2, %f3;
"""

#: One tile of 16 x 16 of the product a block: rows of `a` (rows x 32) by columns of `b` (32 x columns).
MATRIX_PRODUCT = """.version 7.0
.target sm_80
.address_size 64
.visible .entry product(.param .u64 a, .param .u64 b, .param .u64 out, .param .u32 columns)
{
.reg .pred %p<2>;
.reg .b32 %r<20>;
.reg .b64 %rd<16>;
.reg .f32 %f<8>;
.shared .align 4 .f32 left[256];
.shared .align 4 .f32 right[256];
mov.u32 %r1, %tid.x;
mov.u32 %r2, %tid.y;
mov.u32 %r3, %ctaid.x;
mov.u32 %r4, %ctaid.y;
mad.lo.u32 %r5, %r3, 16, %r1;
mad.lo.u32 %r6, %r4, 16, %r2;
ld.param.u32 %r7, [columns];
ld.param.u64 %rd1, [a];
ld.param.u64 %rd2, [b];
ld.param.u64 %rd3, [out];
mov.u32 %r10, left;
mad.lo.u32 %r8, %r2, 64, %r10;
mad.lo.u32 %r12, %r1, 4, %r8;
mov.u32 %r11, right;
mad.lo.u32 %r9, %r1, 4, %r11;
mad.lo.u32 %r13, %r2, 64, %r9;
mad.lo.u32 %r14, %r6, DEPTH, %r1;
mul.wide.u32 %rd4, %r14, 4;
add.s64 %rd4, %rd1, %rd4;
mad.lo.u32 %r15, %r2, %r7, %r5;
mul.wide.u32 %rd5, %r15, 4;
add.s64 %rd5, %rd2, %rd5;
mul.wide.u32 %rd6, %r7, 64;
mov.f32 %f3, 0f00000000;
mov.u32 %r16, 0;
$L_1:
ld.global.f32 %f4, [%rd4];
st.shared.f32 [%r12], %f4;
ld.global.f32 %f5, [%rd5];
st.shared.f32 [%r13], %f5;
bar.sync 0;
TERMS
bar.sync 0;
add.s64 %rd4, %rd4, 64;
add.s64 %rd5, %rd5, %rd6;
add.u32 %r16, %r16, 16;
setp.lt.u32 %p1, %r16, DEPTH;
@%p1 bra $L_1;
mad.lo.u32 %r17, %r6, %r7, %r5;
mul.wide.u32 %rd7, %r17, 4;
add.s64 %rd7, %rd3, %rd7;
st.global.f32 [%rd7], %f3;
ret;
}
""".replace("DEPTH", str(_DEPTH)).replace(
    "TERMS\n", "".join(_TERM.format(left=4 * k, right=64 * k) for k in range(_TILE))
)


def _random(*shape: int) -> npt.NDArray[np.float32]:
    return np.random.default_rng(1).uniform(-1, 1, shape).astype(np.float32)


def saxpy(threads: int) -> Work:
    """One element a thread, blocks of 256."""
    x, y = _random(threads), _random(threads)[::-1].copy()
    arguments: list[Argument] = [
        Buffer(x), Buffer(y), Buffer(np.zeros_like(x), initialised=False), Scalar("f32", 2.5), Scalar("u32", threads)
    ]
    ptx = (KERNELS_FOLDER / "saxpy.ptx").read_text()
    return Work(ptx, Launch((threads // 256, 1, 1), (256, 1, 1)), arguments, 2, lambda: np.float32(2.5) * x + y)


def block_sum(threads: int) -> Work:
    """A sum a block of 256 threads, as a tree in shared memory."""
    x, blocks = _random(threads), threads // 256
    arguments: list[Argument] = [
        Buffer(x), Buffer(np.zeros(blocks, np.float32), initialised=False), Scalar("u32", threads)
    ]
    ptx = (KERNELS_FOLDER / "block_sum.ptx").read_text()
    launch = Launch((blocks, 1, 1), (256, 1, 1), 1024)
    return Work(ptx, launch, arguments, 1, lambda: x.reshape(blocks, 256).sum(axis=1))


def matrix_product(threads: int) -> Work:
    """One element of the product a thread, tiles of 16 x 16 in shared memory. `threads` is a power of four."""
    side = int(threads**0.5)
    a, b = _random(side, _DEPTH), _random(_DEPTH, side)
    arguments: list[Argument] = [
        Buffer(a), Buffer(b), Buffer(np.zeros((side, side), np.float32), initialised=False), Scalar("u32", side)
    ]
    launch = Launch((side // _TILE, side // _TILE, 1), (_TILE, _TILE, 1))
    return Work(MATRIX_PRODUCT, launch, arguments, 2, lambda: a @ b)


def mma_product(threads: int) -> Work:
    """64 rows by 32 columns of a product in f16 a block of 128 threads, with ldmatrix, mma and cp.async."""
    product = matrix_products.mma_product(64, threads // 4, _DEPTH, "sm_80")
    a, b = _random(64, _DEPTH).astype(np.float16), _random(_DEPTH, product.columns).astype(np.float16)
    words = np.concatenate([a.reshape(-1), b.reshape(-1)])
    arguments: list[Argument] = [
        Buffer(words), Buffer(np.zeros((64, product.columns), np.float32), initialised=False), Buffer(np.zeros(1))
    ]
    launch = Launch((product.blocks, 1, 1), (matrix_products.THREADS, 1, 1))
    left, right = a.astype(np.float32), b.astype(np.float32)
    return Work(product.ptx, launch, arguments, 1, lambda: left @ right)


KERNELS: dict[str, Callable[[int], Work]] = {
    "saxpy": saxpy, "block sum": block_sum, "matrix product": matrix_product, "mma product": mma_product,
    **USUAL,
}
