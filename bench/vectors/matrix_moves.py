"""ldmatrix and stmatrix: a warp's 32 rows of 16 bytes in shared memory, addressed in any order.

Rows are loaded more than once and out of order, and stored in any order over what was there. Lanes whose address the
form does not take give one that nobody could use.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.vectors.inputs import Words, random_words
from bench.vectors.kernels import NEWEST, Vector
from ptxgen.isa import Expansion, Table

ROWS = 512
_WARP = 32
_ROW = 16                                            # bytes; a matrix has eight rows


def move_vectors(table: Table, arch: str) -> Iterator[Vector]:
    """A vector for every opcode that a target has."""
    made = set()
    for expansion in (*table.expansions("ldmatrix"), *table.expansions("stmatrix")):
        if table.unavailable(expansion, arch, NEWEST) is None and expansion.opcode not in made:
            made.add(expansion.opcode)
            yield _vector(expansion, arch)


def _vector(expansion: Expansion, arch: str) -> Vector:
    name = expansion.opcode
    loads = expansion.name == "ldmatrix"
    count = max(operand.vector for operand in expansion.operands)
    registers = [f"%x{index}" for index in range(count)]
    columns = [random_words(f"{name}:{index}", ROWS) for index in range(2)]
    columns.append(_addressed(name, 8 * count, again=loads))
    fragment = "{" + ", ".join(registers) + "}"
    if loads:
        lines = [f"{name} {fragment}, [%at];"]
        lines += [f"st.global.b32 [%out+{8 * index}], {r};" for index, r in enumerate(registers)]
        results = (32,) * count
    else:
        lines = [f"ld.global.b32 {r}, [%in+{8 * (3 + index)}];" for index, r in enumerate(registers)]
        lines += [
            f"{name} [%at], {fragment};", "bar.warp.sync 0xffffffff;", "ld.shared.v2.b64 {%low, %high}, [%mine];",
            "st.global.b64 [%out], %low; st.global.b64 [%out+8], %high;",
        ]
        columns += [random_words(f"{name}:register/{index}", ROWS) & np.uint64(0xFFFFFFFF) for index in range(count)]
        results = (64, 64)
    generic = "shared" not in name
    return Vector(name, expansion, _text(arch, registers, lines, len(columns), len(results), generic),
                  tuple(columns), (), ROWS, results)  # fmt: skip


def _addressed(name: str, used: int, *, again: bool) -> Words:
    """Where each lane's row lies in the part of its warp, in bytes; 1 for lanes that are not asked."""
    random = random_words(f"{name}:rows", ROWS).reshape(-1, _WARP)
    rows = random % np.uint64(_WARP) if again else np.argsort(random, axis=1).astype(np.uint64)
    offsets = rows * np.uint64(_ROW)
    offsets[:, used:] = 1
    return np.ascontiguousarray(offsets).reshape(-1)


def _text(arch: str, registers: list[str], lines: list[str], columns: int, results: int, generic: bool) -> str:
    newline = "\n"
    return f""".version {NEWEST}
.target {arch}
.address_size 64
.visible .entry k(.param .u64 in_at, .param .u64 out_at, .param .u64 cells_at)
{{
.shared .align 128 .b8 tiles[{128 * _ROW}];
.reg .b32 %index, %lane, %block, {', '.join(registers)}; .reg .b64 %in, %out, %mine, %part, %at, %low, %high;
mov.u32 %lane, %tid.x; mov.u32 %block, %ctaid.x; mad.lo.u32 %index, %block, 128, %lane;
ld.param.u64 %in, [in_at]; mad.wide.u32 %in, %index, {8 * columns}, %in;
ld.param.u64 %out, [out_at]; mad.wide.u32 %out, %index, {8 * results}, %out;
mov.u64 %part, tiles; mad.wide.u32 %mine, %lane, {_ROW}, %part;
and.b32 %lane, %lane, 96; mad.wide.u32 %part, %lane, {_ROW}, %part;
ld.global.b64 %low, [%in]; ld.global.b64 %high, [%in+8]; ld.global.b64 %at, [%in+16];
st.shared.v2.b64 [%mine], {{%low, %high}};
bar.warp.sync 0xffffffff;
add.u64 %at, %at, %part;
{'cvta.shared.u64 %at, %at;' if generic else ''}
{newline.join(lines)}
ret;
}}
"""
