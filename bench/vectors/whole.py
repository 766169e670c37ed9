"""The shell of whole kernels: what stands before and after a template, and a form's statement by its operands' names.

A template may use `%thread` (number in the block), `%lane`, `%warp`, `%block`, `%index` (number in the grid); `%in`,
`%out` and `%cell`, where the thread's words, results and 64 bytes lie, and `%cells`, where all the cells do; `%tile`,
8 KiB of shared memory, `%bars`, eight words for mbarriers, both as 32-bit addresses; and registers `%p1`
(predicates), `%h1` (16 bits), `%r1` (32), `%d1` (64) and `%q1` (128) from 0 on.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from bench.vectors.inputs import Words
from bench.vectors.kernels import BLOCK, NEWEST, Seen, Vector, every_form
from ptxgen.executing import Launch
from ptxgen.isa import Expansion, Operand, Table

CLUSTER = ".reqnctapercluster 2, 1, 1"
#: Both blocks of a cluster have come here, and see what each other did before.
MEET = "barrier.cluster.arrive; barrier.cluster.wait;\n"
POLICY = "createpolicy.fractional.L2::evict_first.b64 %policy, 1.0;\n"
#: The thread's numbers, in one dimension and in three.
_ONE_DIMENSION = "mov.u32 %thread, %tid.x; mov.u32 %block, %ctaid.x; mad.lo.u32 %index, %block, {block}, %thread;"
_THREE_DIMENSIONS = """.reg .b32 %size, %step;
mov.u32 %thread, %tid.z; mov.u32 %size, %ntid.y; mov.u32 %step, %tid.y; mad.lo.u32 %thread, %thread, %size, %step;
mov.u32 %size, %ntid.x; mov.u32 %step, %tid.x; mad.lo.u32 %thread, %thread, %size, %step;
mov.u32 %block, %ctaid.z; mov.u32 %size, %nctaid.y; mov.u32 %step, %ctaid.y; mad.lo.u32 %block, %block, %size, %step;
mov.u32 %size, %nctaid.x; mov.u32 %step, %ctaid.x; mad.lo.u32 %block, %block, %size, %step;
mov.u32 %size, %ntid.x; mov.u32 %step, %ntid.y; mul.lo.u32 %size, %size, %step; mov.u32 %step, %ntid.z;
mul.lo.u32 %size, %size, %step; mad.lo.u32 %index, %block, %size, %thread;"""
_BITS = {"h": 16, "r": 32, "d": 64, "p": 32}


def forms_of(table: Table, arch: str, *names: str) -> Iterator[Expansion]:
    """Every form of these instructions that a whole kernel is to show."""
    return (expansion for expansion in every_form(table, arch) if expansion.name in names)


def operands(expansion: Expansion) -> tuple[str, ...]:
    """Names of the operands as Python's names have them."""
    return tuple(operand.name.replace("-", "_") for operand in expansion.operands)


def statement(expansion: Expansion, **given: str) -> str:
    """The form with these operands, an address without its brackets. Raises KeyError for an operand not given."""
    words = [_written(operand, given) for operand in expansion.operands]
    return f"{expansion.opcode} {', '.join(words)};" if words else f"{expansion.opcode};"


def _written(operand: Operand, given: dict[str, str]) -> str:
    if "pair" in operand.kinds:
        return "|".join(_written(part, given) for part in operand.parts)
    if operand.kinds == {"sink"}:
        return "_"
    name = operand.name.replace("-", "_")
    text = "%policy" if name == "cache_policy" else given[name]
    return f"[{text}]" if "address" in operand.kinds else text


def stores(*registers: str) -> tuple[str, tuple[int, ...]]:
    """The statements that store registers as a thread's results, and how many bits each has; predicates as 0 or 1."""
    lines, bits = [], []
    for index, register in enumerate(registers):
        kind = register[1]
        source = register
        if kind == "p":
            lines.append(f"selp.b32 %word, 1, 0, {register};")
            source = "%word"
        lines.append(f"st.global.b{_BITS[kind]} [%out+{8 * index}], {source};")
        bits.append(_BITS[kind])
    return "\n".join(lines), tuple(bits)


def whole(
    expansion: Expansion, arch: str, body: str, results: Sequence[str], *, name: str = "",
    columns: Sequence[Words] = (), cells: Sequence[Words] = (), rows: int = 2 * BLOCK, block: int = BLOCK,
    module: str = "", attributes: str = "", others: Sequence[Expansion] = (), seen: Seen = "out",
    unordered: bool = False, launch: Launch | None = None,
) -> Vector:
    """A vector of a template. `results`: the registers that are stored at its end; `module`: what stands before the
    entry, `attributes`: what stands behind its parameters; `launch`: one of several dimensions."""
    after, bits = stores(*results)
    number = _ONE_DIMENSION.format(block=block)
    if launch is not None:
        rows, block, number = math.prod(launch.grid + launch.block), math.prod(launch.block), _THREE_DIMENSIONS
    ptx = f""".version {NEWEST}
.target {arch}
.address_size 64
{module}
.visible .entry k(.param .u64 in_at, .param .u64 out_at, .param .u64 cells_at) {attributes}
{{
.shared .align 128 .b8 tile[8192]; .shared .align 8 .b64 bars[8];
.reg .pred %p<32>; .reg .b16 %h<32>; .reg .b32 %r<32>; .reg .b64 %d<32>; .reg .b128 %q<8>;
.reg .b32 %thread, %lane, %warp, %block, %index, %tile, %bars, %word;
.reg .b64 %in, %out, %cell, %cells, %policy;
{number}
and.b32 %lane, %thread, 31; shr.u32 %warp, %thread, 5; mov.u32 %tile, tile; mov.u32 %bars, bars;
ld.param.u64 %in, [in_at]; mad.wide.u32 %in, %index, {8 * max(len(columns), 1)}, %in;
ld.param.u64 %out, [out_at]; mad.wide.u32 %out, %index, {8 * max(len(bits), 1)}, %out;
ld.param.u64 %cells, [cells_at]; mad.wide.u32 %cell, %index, 64, %cells;
{POLICY if "%policy" in body and "createpolicy" not in body else ""}{body}
{after}
ret;
}}
"""
    called = name or f"{expansion.opcode} {', '.join(operands(expansion))}".strip()
    return Vector(
        called, expansion, ptx, tuple(columns), tuple(cells), rows, bits, block, tuple(others), seen, unordered,
        launch,
    )


def apart(text: str, label: str, *, by: str = "%p0") -> str:
    """The same statements in two branches, for the threads that have the predicate and for the others."""
    first, second = (re.sub(r"\$(\w+)", rf"$\1{turn}", text) for turn in "ab")
    return f"@{by} bra ${label}_1;\n{first}\nbra ${label}_2;\n${label}_1:\n{second}\n${label}_2:\n"
