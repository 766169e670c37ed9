"""mma, mma.sp, wmma and the moves of matrices: every form that an sm_90 has, against integer products."""

from __future__ import annotations

import re

import matrix_cases
import numpy as np
import pytest

from bench.vectors.kernels import NEWEST, every_form
from bench.vectors.matrix_floats import float_vectors
from bench.vectors.matrix_integers import integer_vectors
from bench.vectors.matrix_moves import move_vectors
from bench.vectors.matrix_products import THREADS, Product, mma_product, wmma_product
from bench.vectors.matrix_whole import whole_vectors
from ptxgen.executing import Buffer, Executor, Launch
from ptxgen.executing.emulator import Emulator
from ptxgen.isa import load_table
from ptxgen.isa.conformance import covering
from ptxgen.isa.model import Expansion

EMULATOR = Emulator()
_QUARTER = re.compile(r"m8n8k4\..*f16\.f16")


def forms(name: str) -> list[Expansion]:
    """One expansion an opcode, of those that any sm_90 runs."""
    found = {e.opcode: e for e in covering(load_table(), [name]) if not e.availability.targets}
    return list(found.values())


MMA = forms("mma")
DENSE = [e for e in MMA if ".sp" not in e.opcode and not _QUARTER.search(e.opcode)]
SPARSE = [e for e in MMA if ".sp" in e.opcode]
QUARTERS = [e for e in load_table().expansions("mma") if _QUARTER.search(e.opcode)]
WHOLE = [e for e in forms("wmma") if ".mma." in e.opcode]


def test_all_kinds_are_there() -> None:
    assert [len(DENSE) > 30, len(SPARSE) > 25, len(QUARTERS) == 12, len(WHOLE) > 25] == [True] * 4


def test_every_opcode_that_an_sm_90_has_stands_in_a_vector() -> None:
    table, arch = load_table(), "sm_90a"
    names = ("mma", "wmma", "ldmatrix", "stmatrix", "movmatrix")
    shown = {expansion.opcode for expansion in every_form(table, arch) if expansion.name in ("mma", "movmatrix")}
    for vector in (*float_vectors(table, arch, rows=128), *integer_vectors(table, arch), *move_vectors(table, arch),
                   *whole_vectors(table, arch)):  # fmt: skip
        shown |= {expansion.opcode for expansion in (vector.expansion, *vector.others)}
    every = {e.opcode for name in names for e in table.expansions(name)
             if table.unavailable(e, arch, NEWEST) is None}  # fmt: skip
    assert len(every) > 800
    assert every <= shown, sorted(every - shown)[:5]


@pytest.mark.parametrize("expansion", DENSE, ids=lambda e: e.opcode)
def test_dense(expansion: Expansion) -> None:
    matrix_cases.mma_case(expansion).check(EMULATOR)


@pytest.mark.parametrize("expansion", SPARSE, ids=lambda e: e.opcode)
def test_sparse(expansion: Expansion) -> None:
    matrix_cases.sparse_case(expansion).check(EMULATOR)


@pytest.mark.parametrize("expansion", QUARTERS, ids=lambda e: e.opcode)
def test_four_products_at_once(expansion: Expansion) -> None:
    matrix_cases.quarter_case(expansion).check(EMULATOR)


@pytest.mark.parametrize("expansion", WHOLE, ids=lambda e: e.opcode)
def test_whole_matrices(expansion: Expansion) -> None:
    matrix_cases.wmma_case(expansion).check(EMULATOR)
    matrix_cases.wmma_case(expansion, out="col", wide=True).check(EMULATOR)


@pytest.mark.gpu
@pytest.mark.parametrize("expansion", [*DENSE, *SPARSE, *QUARTERS, *WHOLE], ids=lambda e: e.opcode)
def test_products_on_a_gpu(gpu: Executor, expansion: Expansion) -> None:
    make = matrix_cases.mma_case
    if expansion.name == "wmma":
        make = matrix_cases.wmma_case
    elif ".sp" in expansion.opcode:
        make = matrix_cases.sparse_case
    elif _QUARTER.search(expansion.opcode):
        make = matrix_cases.quarter_case
    make(expansion).check(gpu)


ROWS = """.version 8.0
.target sm_90
.address_size 64
.shared .align 128 .b8 tile[1024];
.visible .entry k(.param .u64 in, .param .u64 out)
{
.reg .b64 %rd<8>; .reg .b32 %r<16>;
ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];
mov.u32 %r1, %tid.x;
mad.wide.u32 %rd3, %r1, 16, %rd1;
ld.global.v4.b32 {%r2, %r3, %r4, %r5}, [%rd3];
mov.u32 %r6, tile;
shl.b32 %r7, %r1, 4;
add.u32 %r6, %r6, %r7;
mad.wide.u32 %rd4, %r1, 16, %rd2;
"""


def _run(body: str, source: np.ndarray, out: np.ndarray) -> np.ndarray:
    outcome = EMULATOR.run(
        ROWS + body + "\nret;\n}\n", "k", Launch((1, 1, 1), (32, 1, 1)), [Buffer(source), Buffer(out)]
    )
    assert outcome.ok, outcome.faults
    found = outcome.buffers[1]
    assert found is not None
    return found


@pytest.mark.parametrize("trans", ["", ".trans"])
@pytest.mark.parametrize("number", [1, 2, 4])
def test_ldmatrix_spreads_rows_over_the_warp(number: int, trans: str) -> None:
    tiles = np.arange(256, dtype=np.uint16).reshape(4, 8, 8)
    registers = ", ".join(f"%r{10 + i}" for i in range(number))
    body = f"""st.shared.v4.b32 [%r6], {{%r2, %r3, %r4, %r5}};
bar.sync 0;
mov.b32 %r10, 0; mov.b32 %r11, 0; mov.b32 %r12, 0; mov.b32 %r13, 0;
ldmatrix.sync.aligned.m8n8.x{number}{trans}.shared.b16 {{{registers}}}, [%r6];
st.global.v4.b32 [%rd4], {{%r10, %r11, %r12, %r13}};"""
    found = _run(body, tiles, np.zeros((32, 4), np.uint32))
    for lane in range(32):
        for tile in range(number):
            row, column = lane // 4, lane % 4 * 2
            pair = [tiles[tile, row, column + e] if not trans else tiles[tile, column + e, row] for e in (0, 1)]
            assert found[lane, tile] == int(pair[0]) | int(pair[1]) << 16


@pytest.mark.parametrize("trans", ["", ".trans"])
def test_stmatrix_is_the_inverse_of_ldmatrix(trans: str) -> None:
    tiles = np.random.default_rng(3).integers(0, 1 << 16, (4, 8, 8)).astype(np.uint16)
    body = f"""st.shared.v4.b32 [%r6], {{%r2, %r3, %r4, %r5}};
bar.sync 0;
ldmatrix.sync.aligned.m8n8.x4{trans}.shared.b16 {{%r10, %r11, %r12, %r13}}, [%r6];
stmatrix.sync.aligned.m8n8.x4{trans}.shared.b16 [%r6+512], {{%r10, %r11, %r12, %r13}};
bar.sync 0;
ld.shared.v4.b32 {{%r2, %r3, %r4, %r5}}, [%r6+512];
st.global.v4.b32 [%rd4], {{%r2, %r3, %r4, %r5}};"""
    assert np.array_equal(_run(body, tiles, np.zeros_like(tiles)), tiles)


def test_movmatrix_transposes() -> None:
    tile = np.arange(64, dtype=np.uint16).reshape(8, 8)
    source = np.zeros((32, 4), np.uint32)
    source[:, 0] = tile.reshape(-1).view(np.uint32)
    body = "movmatrix.sync.aligned.m8n8.trans.b16 %r10, %r2; st.global.v4.b32 [%rd4], {%r10, %r3, %r4, %r5};"
    found = np.ascontiguousarray(_run(body, source, np.zeros((32, 4), np.uint32))[:, 0]).view(np.uint16)
    assert np.array_equal(found.reshape(8, 8), tile.T)


def test_a_matrix_row_must_lie_at_a_multiple_of_16() -> None:
    body = "add.u32 %r6, %r6, 8; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r10}, [%r6];"
    ptx = ROWS + body + "ret;\n}\n"
    out = EMULATOR.run(ptx, "k", Launch((1, 1, 1), (32, 1, 1)), [Buffer(np.zeros(512, np.uint8))] * 2)
    assert [fault.kind for fault in out.faults] == ["misaligned"]


@pytest.mark.parametrize("threads", [16, 48])
def test_a_warp_that_is_not_whole_multiplies_no_matrices(threads: int) -> None:
    body = "movmatrix.sync.aligned.m8n8.trans.b16 %r10, %r2;"
    ptx = ROWS + body + "ret;\n}\n"
    out = EMULATOR.run(ptx, "k", Launch((1, 1, 1), (threads, 1, 1)), [Buffer(np.zeros(1024, np.uint8))] * 2)
    assert [fault.kind for fault in out.faults] == ["member-mask"]


@pytest.mark.parametrize("synchronised", [True, False])
def test_which_lane_loads_what_of_a_whole_matrix_is_open(synchronised: bool) -> None:
    """Each lane writes every 32nd word; what it loads may be of any other."""
    writes = " ".join(f"st.shared.b32 [%r7+{128 * step}], %r1;" for step in range(4))
    barrier = "bar.warp.sync 0xffffffff;" if synchronised else ""
    body = f"""mov.u32 %r7, tile; mad.lo.u32 %r7, %r1, 4, %r7; mov.u32 %r6, tile; {writes} {barrier}
.reg .b32 %a<8>;
wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {{%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7}}, [%r6];
"""
    outcome = EMULATOR.run(
        ROWS + body + "ret;\n}\n", "k", Launch((1, 1, 1), (32, 1, 1)), [Buffer(np.zeros(512, np.uint8))] * 2
    )
    assert [fault.kind for fault in outcome.faults] == ([] if synchronised else ["race"])


ALIGNMENTS = [
    ("load.a", "row.m16n16k16", "f16", 2, 16, False), ("load.a", "row.m16n16k16", "f16", 4, 16, True),
    ("load.b", "row.m16n16k16", "bf16", 2, 16, False), ("load.a", "row.m16n16k16", "f16", 0, 17, False),
    ("load.a", "row.m16n16k16", "f16", 0, 18, True), ("load.a", "row.m32n8k16", "u8", 2, 16, False),
    ("load.c", "row.m16n16k16", "f32", 4, 16, False), ("load.c", "row.m16n16k16", "f32", 8, 16, True),
    ("load.c", "row.m16n16k16", "f32", 0, 17, False), ("load.c", "row.m16n16k16", "f32", 0, 18, True),
    ("load.c", "col.m16n16k16", "f32", 4, 17, True), ("load.c", "row.m8n32k16", "s32", 4, 33, True),
    ("load.c", "col.m8n32k16", "s32", 4, 8, False), ("load.c", "row.m8n8k4", "f64", 8, 8, False),
    ("load.c", "col.m8n8k4", "f64", 8, 9, True), ("load.c", "row.m16n16k16", "f16", 2, 16, False),
    ("load.c", "row.m16n16k16", "f16", 4, 18, True), ("load.a", "row.m16n16k8", "tf32", 4, 9, True),
    ("store.d", "row.m16n16k16", "f32", 4, 16, False), ("store.d", "row.m32n8k16", "f32", 8, 10, True),
    ("store.d", "col.m16n16k16", "f32", 4, 17, True), ("store.d", "row.m8n8k4", "f64", 8, 8, False),
    ("store.d", "row.m16n16k16", "f16", 2, 16, False), ("store.d", "col.m8n32k16", "f16", 4, 10, True),
]  # fmt: skip


def _aligned(executor: Executor, case: tuple[str, str, str, int, int, bool]) -> bool:
    """Whether the launch ends well; where not, for a misaligned access."""
    move, shape, kind, offset, stride, _ = case
    opcode = f"wmma.{move}.sync.aligned.{shape}.global.{kind}"
    expansion = next(e for e in load_table().expansions("wmma") if e.opcode == opcode)
    count = max(operand.vector for operand in expansion.operands)
    width = "b64" if kind == "f64" else "b32"
    names = [f"%x{i}" for i in range(count)]
    vector = "{" + ", ".join(names) + "}"
    load = move.startswith("load")
    body = f"{opcode} {vector}, [%p], {stride};" if load else f"{opcode} [%p], {vector}, {stride};"
    one = {"b32": "f32" if kind == "f32" else "b32", "b64": "f64"}[width]
    before = "" if load else " ".join(f"ld.global.{width} {x}, [%q+{8 * i}];" for i, x in enumerate(names))
    after = " ".join(f"st.global.{width} [%q+{8 * i}], {x};" for i, x in enumerate(names)) if load else ""
    ptx = f""".version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 one, .param .u64 two)
{{
.reg .b64 %p, %q; .reg .b32 %lane; .reg .{one} {', '.join(names)};
ld.param.u64 %p, [one]; ld.param.u64 %q, [two]; add.u64 %p, %p, {offset};
mov.u32 %lane, %tid.x; mad.wide.u32 %q, %lane, 64, %q;
{before} {body} {after}
ret;
}}
"""
    buffers = [Buffer(np.zeros(4096, np.uint8)), Buffer(np.zeros(2048, np.uint8))]
    outcome = executor.run(ptx, "k", Launch((1, 1, 1), (32, 1, 1)), buffers)
    assert outcome.ok or [fault.kind for fault in outcome.faults] == ["misaligned"], outcome.faults
    return outcome.ok


@pytest.mark.parametrize("case", ALIGNMENTS, ids=lambda c: ".".join(map(str, c)))
def test_lines_of_whole_matrices_must_be_aligned(case: tuple[str, str, str, int, int, bool]) -> None:
    assert _aligned(EMULATOR, case) == case[-1]


@pytest.mark.gpu
@pytest.mark.parametrize("case", ALIGNMENTS, ids=lambda c: ".".join(map(str, c)))
def test_alignment_on_a_gpu(gpu: Executor, case: tuple[str, str, str, int, int, bool]) -> None:
    """The code that ptxas makes rounds a stride down to whole pieces, so that only addresses can be misaligned."""
    assert _aligned(gpu, case) == (case[-1] or case[3] == 0)


PRODUCTS = [mma_product(64, 64, 96, "sm_80"), mma_product(128, 32, 32, "sm_80"), mma_product(64, 96, 256, "sm_80"),
            wmma_product(64, 64, 64, "sm_80"), wmma_product(32, 96, 256, "sm_80")]  # fmt: skip


@pytest.mark.parametrize("product", PRODUCTS, ids=lambda p: f"{p.rows}x{p.columns}x{p.depth}")
def test_products_of_large_matrices(product: Product) -> None:
    """Within what verification grants the sum of so many terms (ptxgen.verifying.reductions)."""
    words = product.input("some")
    arguments = [Buffer(words, read_only=True), Buffer(np.zeros(product.words[1], np.uint64)), Buffer(np.zeros(1))]
    outcome = EMULATOR.run(product.ptx, "k", Launch((product.blocks, 1, 1), (THREADS, 1, 1)), arguments)
    assert outcome.ok, outcome.faults
    assert outcome.buffers[1] is not None
    value, sizes = product.expected(words)
    granted = (product.depth + 1) * 2.0**-24 * sizes + (2.0**-11 * np.abs(value) if product.rectified else 0)
    assert (np.abs(product.result(outcome.buffers[1]) - value) <= granted).all()
