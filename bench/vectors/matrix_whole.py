"""Whole matrices of wmma: loads, a product and a store, so that every form stands in a kernel.

A warp has 6 KiB of input: the matrices a, b and c at 2 KiB each; and 2 KiB of output for d. Fragments have no layout
that a kernel may know, so loads are seen through the product that follows and the store of its result.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from bench.vectors.inputs import FORMATS, Words, column, random_words, word_bits
from bench.vectors.kernels import NEWEST, Vector
from bench.vectors.matrix_floats import KINDS, floats
from ptxgen.isa import Expansion, Table

ROWS = 128
_WARP = 32
#: Bytes of a matrix, with room for strides; 64-bit words of a thread's share of a, b and c, and of d.
_REGION = 2048
_INPUT, _OUTPUT = 3 * _REGION // (8 * _WARP), _REGION // (8 * _WARP)
_SPACES = ("", "global", "shared", "shared::cta")
#: Bytes that a warp copies at once.
_COPIED = 16 * _WARP
_PREFIX = re.compile(r"wmma\.(load\.[abc]|store\.d)\.")


@dataclass(frozen=True)
class _Move:
    """One load or store of a kernel."""

    opcode: str
    registers: str
    region: int                                       # number of its matrix: a, b, c, d
    stride: int                                       # elements from line to line; 0: as the shape has it
    size: int                                         # bytes from the first to the last, rounded up


def whole_vectors(table: Table, arch: str) -> Iterator[Vector]:
    """Kernels that have every product at least once, and every load and store with and without a stride."""
    every = [e for e in table.expansions("wmma") if table.unavailable(e, arch, NEWEST) is None]
    expansions = {e.opcode: e for e in every}
    with_stride = {(e.opcode, e.operands[-1].name == "stride"): e for e in every}
    products = [e for e in expansions.values() if ".mma." in e.opcode]
    wanted = {(opcode, wide) for opcode in expansions if _PREFIX.match(opcode) for wide in (False, True)}
    turn = 0
    while turn < len(products) or wanted:
        left = len(wanted)
        for expansion in products:
            moves = _moves(expansion, wanted, turn)
            new = {(move.opcode, move.stride > 0) for move in moves} & wanted
            if turn < len(products) or new:
                wanted -= new
                others = tuple(with_stride[move.opcode, move.stride > 0] for move in moves)
                yield replace(_vector(expansion, moves, arch, turn // len(products)), others=others)
            turn += 1
        if turn > len(products) and len(wanted) == left:
            raise ValueError(f"no product uses {sorted(wanted)[0]}")


def _types(expansion: Expansion) -> tuple[str, str, str, str]:
    """Of d, a, b and c."""
    known = {*FORMATS, "s32", "u8", "s8", "u4", "s4", "b1"}
    types = [word for word in expansion.opcode.split(".") if word in known]
    return (types[0], types[1], types[2], types[3]) if len(types) == 4 else (types[0], "f16", "f16", types[1])


def _moves(expansion: Expansion, wanted: set[tuple[str, bool]], turn: int) -> list[_Move]:
    """Loads of a, b and c and the store of d, of forms that no kernel has yet where there are some."""
    words = expansion.opcode.split(".")
    shape = next(word for word in words if re.fullmatch(r"m\d+n\d+k\d+", word))
    m, n, k = (int(number) for number in re.findall(r"\d+", shape))
    d, a, b, c = _types(expansion)
    orders = [word for word in words if word in ("row", "col")]
    sizes = {"load.a": (m, k), "load.b": (k, n), "load.c": (m, n), "store.d": (m, n)}
    moves = []
    for region, (name, kind) in enumerate(zip(sizes, (a, b, c, d), strict=True)):
        fixed = orders[region : region + 1] if region < 2 else []
        choices = [
            (f"wmma.{name}.sync.aligned.{order}.{shape}{'.' if space else ''}{space}.{kind}", order, wide)
            for space in _SPACES for order in fixed or ("row", "col") for wide in (False, True)
        ]  # fmt: skip
        unseen = [choice for choice in choices if (choice[0], choice[2]) in wanted]
        opcode, order, wide = unseen[0] if unseen else choices[(turn * 5 + region * 3) % len(choices)]
        rows, columns = sizes[name]
        usual, lines = (columns, rows) if order == "row" else (rows, columns)
        # Lines must lie at multiples of 16 bytes.
        stride = usual + 128 // _bits(kind) if wide else 0
        size = -(-lines * (stride or usual) * _bits(kind) // (8 * _COPIED)) * _COPIED
        moves.append(_Move(opcode, "dabc"[(region + 1) % 4], region, stride, size))
    return moves


def _bits(kind: str) -> int:
    return 32 if kind == "tf32" else word_bits(kind)


def _registers(name: str, expansion: Expansion) -> list[str]:
    operand = next(o for o in expansion.operands if o.name == name)
    return [f"%{name}{index}" for index in range(max(operand.vector, 1))]


def _vector(expansion: Expansion, moves: list[_Move], arch: str, number: int) -> Vector:
    name = f"{expansion.opcode} {number}" if number else expansion.opcode
    lines, declarations = [], []
    kinds = dict(zip("dabc", _types(expansion), strict=True))
    fragments = {}
    for operand in "dabc":
        names = _registers(operand, expansion)
        width = "f64" if kinds[operand] == "f64" else "b32"
        declarations.append(f".reg .{width} {', '.join(names)};")
        fragments[operand] = "{" + ", ".join(names) + "}"
    for move in moves:
        base = "%shared" if "shared" in move.opcode else "%here" if move.region < 3 else "%there"
        offset = move.region * _REGION if "shared" in move.opcode or move.region < 3 else 0
        tail = f", {move.stride}" if move.stride else ""
        address, fragment = f"[{base}+{offset}]", fragments[move.registers]
        if move.region < 3:
            lines.append(f"{move.opcode} {fragment}, {address}{tail};")
        else:
            lines.append(f"{expansion.opcode} {', '.join(fragments[x] for x in 'dabc')};")
            lines.append(f"{move.opcode} {address}, {fragment}{tail};")
    ptx = _text(arch, declarations, lines, moves)
    columns = _columns(name, [kinds[x] for x in "abc"])
    return Vector(name, expansion, ptx, columns, (), ROWS, (64,) * _OUTPUT)


def _columns(name: str, types: list[str]) -> tuple[Words, ...]:
    """The memory of a, b and c, warp after warp, as the words that its threads would read."""
    warps, each = ROWS // _WARP, _REGION // 8
    memory = np.zeros((warps, len(types), each), np.uint64)
    first = zlib.crc32(name.encode()) % len(KINDS)
    for region, kind in enumerate(types):
        here = f"{name}:{region}"
        if kind in FORMATS:
            words = floats(here, f"{kind}x{64 // _bits(kind)}", warps * each, each=each, first=first)
        elif kind == "s32":
            low, high = (column(f"{here}/{half}", kind, warps * each) for half in range(2))
            words = low | high << np.uint64(32)
        else:
            words = random_words(here, warps * each)
        memory[:, region] = words.reshape(warps, each)
    return tuple(np.ascontiguousarray(memory.reshape(ROWS, _INPUT).T))


def _text(arch: str, declarations: list[str], lines: list[str], moves: list[_Move]) -> str:
    shared = [move for move in moves if "shared" in move.opcode]
    before, after = [], []
    if shared:
        before = [
            f".shared .align 128 .b8 tiles[{4 * 4 * _REGION}];",
            f"mov.u64 %shared, tiles; mad.wide.u32 %shared, %warp, {4 * _REGION}, %shared;",
            "mad.wide.u32 %inside, %lane, 16, %shared; mad.wide.u32 %mine, %lane, 16, %here;",
        ]
    for move in shared:
        for step in range(move.region * _REGION, move.region * _REGION + move.size, _COPIED):
            load = f"ld.global.v2.b64 {{%low, %high}}, [%mine+{step}];"
            before.append(load if move.region < 3 else "mov.b64 %low, 0; mov.b64 %high, 0;")
            before.append(f"st.shared.v2.b64 [%inside+{step}], {{%low, %high}};")
            if move.region == 3:
                after.append(f"ld.shared.v2.b64 {{%low, %high}}, [%inside+{step}];")
                after.append(f"st.global.v2.b64 [%mine+{step - 3 * _REGION}], {{%low, %high}};")
    if shared:
        before.append("bar.warp.sync 0xffffffff;")
    if after:
        after = ["bar.warp.sync 0xffffffff;", "mad.wide.u32 %mine, %lane, 16, %there;", *after]
    newline = "\n"
    return f""".version {NEWEST}
.target {arch}
.address_size 64
.visible .entry k(.param .u64 in_at, .param .u64 out_at, .param .u64 cells_at)
{{
.reg .b32 %warp, %lane, %block, %one; .reg .b64 %here, %there, %shared, %inside, %mine, %low, %high;
{newline.join(declarations)}
mov.u32 %lane, %tid.x; shr.u32 %warp, %lane, 5; and.b32 %lane, %lane, 31;
mov.u32 %block, %ctaid.x; mad.lo.u32 %one, %block, 4, %warp;
ld.param.u64 %here, [in_at]; mad.wide.u32 %here, %one, {3 * _REGION}, %here;
ld.param.u64 %there, [out_at]; mad.wide.u32 %there, %one, {_REGION}, %there;
{newline.join(before)}
{newline.join(lines)}
{newline.join(after)}
ret;
}}
"""
