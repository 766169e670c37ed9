"""Two products of large matrices as people write them: ldmatrix, mma and cp.async in two stages; and wmma.

Matrices are f16, row after row, a and then b; sums are f32. `expected` is what NumPy gives for the same input.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bench.vectors.inputs import Words
from bench.vectors.kernels import NEWEST, Vector
from bench.vectors.matrix_floats import floats
from ptxgen.isa import Table

THREADS = 128
Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Product:
    """A kernel `k` over (in, out, unused); its grid has `blocks` blocks of `THREADS` threads."""

    ptx: str
    rows: int                                        # of a and c
    columns: int                                     # of b and c
    depth: int
    blocks: int
    rectified: bool                                  # c is max(a @ b, 0) in f16, else a @ b in f32

    @property
    def words(self) -> tuple[int, int]:
        """64-bit words of the input and of the output."""
        size = self.rows * self.columns * (2 if self.rectified else 4)
        return (self.rows + self.columns) * self.depth // 4, size // 8

    def input(self, name: str) -> Words:
        """Numbers near 1 of both signs."""
        count = self.words[0]
        return floats(name, "f16x4", count, each=count)

    def expected(self, words: Words) -> tuple[Doubles, Doubles]:
        """The exact product and the sum of the sizes of its terms, (rows, columns) each."""
        elements = words.view(np.float16).astype(np.float64)
        a = elements[: self.rows * self.depth].reshape(self.rows, self.depth)
        b = elements[self.rows * self.depth :].reshape(self.depth, self.columns)
        product = a @ b
        return (np.maximum(product, 0) if self.rectified else product), np.abs(a) @ np.abs(b)

    def result(self, words: Words) -> Doubles:
        """The output as a matrix."""
        elements = words.view(np.float16 if self.rectified else np.float32).astype(np.float64)
        return elements.reshape(self.rows, self.columns)


def product_vectors(table: Table, arch: str) -> Iterator[Vector]:
    """Both, over small matrices, as vectors of the instruction that they are made around."""
    expansions = {e.opcode: e for name in ("mma", "wmma") for e in table.expansions(name)}
    for opcode, name, product in (
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "gemm_mma", mma_product(64, 64, 96, arch)),
        ("wmma.mma.sync.aligned.row.row.m16n16k16.f32.f32", "gemm_wmma", wmma_product(64, 64, 64, arch)),
    ):
        count, (read, stored) = product.blocks * THREADS, product.words
        columns = product.input(name).reshape(count, read // count).T
        yield Vector(
            name, expansions[opcode], product.ptx, tuple(np.ascontiguousarray(words) for words in columns), (),
            count, (64,) * (stored // count),
        )  # fmt: skip


def mma_product(rows: int, columns: int, depth: int, arch: str) -> Product:
    """Blocks of 64 x 32 results: rows, columns and depth are multiples of 64, 32 and 32."""
    steps = range(0, 32, 16)
    products = []
    for k in steps:
        products.append(f"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%a0, %a1, %a2, %a3}}, [%left+{2 * k}];")
        for half in range(2):
            products.append(
                "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%b0, %b1, %b2, %b3}, "
                f"[%right+{k * _LINE + 32 * half}];"
            )
            for tile in range(2):
                c = ", ".join(f"%c{(2 * half + tile) * 4 + i}" for i in range(4))
                products.append(
                    f"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{{c}}}, {{%a0, %a1, %a2, %a3}}, "
                    f"{{%b{2 * tile}, %b{2 * tile + 1}}}, {{{c}}};"
                )
    zeros = " ".join(f"mov.f32 %c{i}, 0f00000000;" for i in range(16))
    stores = [
        f"st.global.v2.f32 [%out+{4 * (8 * tile + 8 * half * columns)}], "
        f"{{%c{4 * tile + 2 * half}, %c{4 * tile + 2 * half + 1}}};"
        for tile in range(4) for half in range(2)
    ]  # fmt: skip
    ptx = _MMA.format(
        version=NEWEST, arch=arch, line=_LINE, stage=_STAGE, stages=2 * _STAGE, below=32 * _LINE, tall=64 * _LINE,
        across=columns // 32, depth=depth, depth_bytes=2 * depth, row_bytes=2 * columns, tiles=depth // 32,
        lower=64 * depth, next_left=64, next_right=64 * columns, b=2 * rows * depth, columns=columns,
        zeros=zeros, products="\n".join(products), stores="\n".join(stores),
    )  # fmt: skip
    return Product(ptx, rows, columns, depth, rows // 64 * (columns // 32), rectified=False)


def wmma_product(rows: int, columns: int, depth: int, arch: str) -> Product:
    """Blocks of 32 x 32 results, 16 x 16 a warp: rows and columns are multiples of 32, the depth of 16."""
    a, b, c = (", ".join(f"%{x}{i}" for i in range(8)) for x in "abc")
    ptx = _WMMA.format(
        version=NEWEST, arch=arch, across=columns // 32, depth=depth, columns=columns, b=2 * rows * depth,
        steps=depth // 16, next_right=32 * columns, zeros=" ".join(f"mov.f32 %c{i}, 0f00000000;" for i in range(8)),
        a_list=a, b_list=b, c_list=c, eight_rows=16 * columns,
    )  # fmt: skip
    return Product(ptx, rows, columns, depth, rows // 32 * (columns // 32), rectified=True)


#: Bytes from line to line of a tile in shared memory: 32 elements and 16 bytes, so that no bank is met twice.
_LINE = 80
_STAGE = (64 + 32) * _LINE

_MMA = """.version {version}
.target {arch}
.address_size 64
.visible .entry k(.param .u64 in_at, .param .u64 out_at, .param .u64 cells_at)
{{
.shared .align 128 .b8 tiles[{stages}];
.reg .b32 %thread, %lane, %warp, %block, %down, %over, %row, %chunk, %x, %y, %step, %stage, %next;
.reg .b32 %to_left, %to_right, %left, %right, %left0, %right0, %a<4>, %b<4>;
.reg .f32 %c<16>; .reg .b64 %in, %out, %from_left, %from_right, %w; .reg .pred %more, %last;
mov.u32 %thread, %tid.x; and.b32 %lane, %thread, 31; shr.u32 %warp, %thread, 5;
mov.u32 %block, %ctaid.x; div.u32 %down, %block, {across}; rem.u32 %over, %block, {across};
ld.param.u64 %in, [in_at]; cvta.to.global.u64 %in, %in;
ld.param.u64 %out, [out_at]; cvta.to.global.u64 %out, %out;
// A thread copies 16 bytes of two lines of a and of one line of b.
shr.u32 %row, %thread, 2; and.b32 %chunk, %thread, 3; shl.b32 %chunk, %chunk, 4;
shl.b32 %x, %down, 6; add.u32 %x, %x, %row;
mad.wide.u32 %from_left, %x, {depth_bytes}, %in; cvt.u64.u32 %w, %chunk; add.u64 %from_left, %from_left, %w;
mad.wide.u32 %from_right, %row, {row_bytes}, %in; shl.b32 %x, %over, 6; add.u32 %x, %x, %chunk;
cvt.u64.u32 %w, %x; add.u64 %from_right, %from_right, %w; add.u64 %from_right, %from_right, {b};
mov.u32 %x, tiles; mad.lo.u32 %to_left, %row, {line}, %x; add.u32 %to_left, %to_left, %chunk;
add.u32 %to_right, %to_left, {tall};
// Rows of matrices for ldmatrix: 16 lines from the warp's on, 16 lines of b; the upper lanes eight elements on.
and.b32 %y, %lane, 15; mad.lo.u32 %right0, %y, {line}, %x; shr.u32 %y, %lane, 4; shl.b32 %y, %y, 4;
add.u32 %right0, %right0, %y; shl.b32 %y, %warp, 4; mad.lo.u32 %left0, %y, {line}, %right0;
add.u32 %right0, %right0, {tall};
{zeros}
mov.u32 %stage, 0; mov.u32 %step, 0;
cp.async.cg.shared.global [%to_left], [%from_left], 16;
cp.async.cg.shared.global [%to_left+{below}], [%from_left+{lower}], 16;
cp.async.cg.shared.global [%to_right], [%from_right], 16;
cp.async.commit_group;
$L_1:
add.u32 %step, %step, 1; setp.ge.u32 %last, %step, {tiles}; sub.u32 %next, {stage}, %stage;
@%last bra $L_2;
add.u64 %from_left, %from_left, {next_left}; add.u64 %from_right, %from_right, {next_right};
add.u32 %x, %to_left, %next; add.u32 %y, %to_right, %next;
cp.async.cg.shared.global [%x], [%from_left], 16;
cp.async.cg.shared.global [%x+{below}], [%from_left+{lower}], 16;
cp.async.cg.shared.global [%y], [%from_right], 16;
cp.async.commit_group;
cp.async.wait_group 1;
bra $L_3;
$L_2:
cp.async.wait_group 0;
$L_3:
bar.sync 0;
add.u32 %left, %left0, %stage; add.u32 %right, %right0, %stage;
{products}
bar.sync 0;
mov.u32 %stage, %next;
@!%last bra $L_1;
// Two neighbours of a row and two eight rows below, for each of four tiles.
shl.b32 %x, %down, 6; shl.b32 %y, %warp, 4; add.u32 %x, %x, %y; shr.u32 %y, %lane, 2; add.u32 %x, %x, %y;
shl.b32 %y, %over, 5; and.b32 %row, %lane, 3; shl.b32 %row, %row, 1; add.u32 %y, %y, %row;
mad.lo.u32 %x, %x, {columns}, %y; mad.wide.u32 %out, %x, 4, %out;
{stores}
ret;
}}
"""

_WMMA = """.version {version}
.target {arch}
.address_size 64
.visible .entry k(.param .u64 in_at, .param .u64 out_at, .param .u64 cells_at)
{{
.shared .align 128 .b8 tile[4096];
.reg .b32 %thread, %warp, %block, %down, %over, %x, %y, %step, %at, %a<8>, %b<8>, %h;
.reg .f32 %c<8>, %f, %g; .reg .b16 %low, %high; .reg .b64 %in, %out, %left, %right; .reg .pred %more;
mov.u32 %thread, %tid.x; shr.u32 %warp, %thread, 5;
mov.u32 %block, %ctaid.x; div.u32 %down, %block, {across}; rem.u32 %over, %block, {across};
shl.b32 %down, %down, 5; shl.b32 %over, %over, 5;
ld.param.u64 %in, [in_at]; cvta.to.global.u64 %in, %in;
ld.param.u64 %out, [out_at]; cvta.to.global.u64 %out, %out;
shr.u32 %x, %warp, 1; shl.b32 %x, %x, 4; add.u32 %y, %x, %down; mul.lo.u32 %y, %y, {depth};
mad.wide.u32 %left, %y, 2, %in;
and.b32 %y, %warp, 1; shl.b32 %y, %y, 4; add.u32 %step, %y, %over; mad.wide.u32 %right, %step, 2, %in;
add.u64 %right, %right, {b};
// The warp's quarter of the block's tile.
mov.u32 %at, tile; mad.lo.u32 %at, %x, 128, %at; mad.lo.u32 %at, %y, 4, %at;
{zeros}
mov.u32 %step, 0;
$L_1:
wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {{{a_list}}}, [%left], {depth};
wmma.load.b.sync.aligned.row.m16n16k16.global.f16 {{{b_list}}}, [%right], {columns};
wmma.mma.sync.aligned.row.row.m16n16k16.f32.f32 {{{c_list}}}, {{{a_list}}}, {{{b_list}}}, {{{c_list}}};
add.u64 %left, %left, 32; add.u64 %right, %right, {next_right};
add.u32 %step, %step, 1; setp.lt.u32 %more, %step, {steps};
@%more bra $L_1;
wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%at], {{{c_list}}}, 32;
bar.sync 0;
// Each thread rectifies pairs of neighbours, a line of 32 in 16 threads.
shr.u32 %x, %thread, 4; and.b32 %y, %thread, 15; shl.b32 %y, %y, 1;
mov.u32 %at, tile; mad.lo.u32 %at, %x, 128, %at; mad.lo.u32 %at, %y, 4, %at;
add.u32 %x, %x, %down; add.u32 %y, %y, %over; mad.lo.u32 %x, %x, {columns}, %y; mad.wide.u32 %out, %x, 2, %out;
mov.u32 %step, 0;
$L_2:
ld.shared.v2.f32 {{%f, %g}}, [%at];
max.f32 %f, %f, 0f00000000; max.f32 %g, %g, 0f00000000;
cvt.rn.f16x2.f32 %h, %g, %f;
st.global.b32 [%out], %h;
add.u32 %at, %at, 1024; add.u64 %out, %out, {eight_rows};
add.u32 %step, %step, 1; setp.lt.u32 %more, %step, 4;
@%more bra $L_2;
ret;
}}
"""
