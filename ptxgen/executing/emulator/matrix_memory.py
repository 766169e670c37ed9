"""Decoding of what moves matrices: ldmatrix, stmatrix, movmatrix, and the whole matrices of wmma."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ptxgen.executing.emulator import access, fragments
from ptxgen.executing.emulator.data import by_space, space_of
from ptxgen.executing.emulator.fragments import Layout
from ptxgen.executing.emulator.lanes import Lanes, count, select
from ptxgen.executing.emulator.machine import Machine
from ptxgen.executing.emulator.matrix_steps import (
    by_warp,
    matrix_reader,
    matrix_writer,
    per_register,
    product,
    reader,
    shape_of,
    whole_warps,
    writer,
)
from ptxgen.executing.emulator.memory import INITIALISED, MAPPED, WRITABLE
from ptxgen.executing.emulator.program import Step
from ptxgen.executing.emulator.site import Getter, Site
from ptxgen.executing.emulator.values import Array, storage

_LANE = np.arange(32)
#: Bytes of a row of an 8x8 matrix of 16-bit elements, and of every other kind of row.
_ROW = 16


def transpose(words: Array) -> Array:
    """(warps, 32) fragments of 8x8 matrices of 16-bit elements, turned over."""
    matrix = np.ascontiguousarray(words).view(np.uint16).reshape(-1, 8, 8)
    return np.ascontiguousarray(matrix.swapaxes(1, 2)).reshape(-1, 64).view(np.uint32)


def move(site: Site) -> Step:
    """movmatrix: transpose a matrix that the warp holds."""
    read, write = reader(site, site.operands[1], 32), writer(site, site.operands[0], 32)

    def run(m: Machine, lanes: Lanes) -> None:
        write(m, lanes, transpose(read(m, lanes)[..., 0])[..., None])

    return whole_warps(site, run)


def _row_addresses(site: Site, place: int, kind: str) -> tuple[Callable[[Machine, Lanes], Array], str]:
    """(addresses of rows, (warps, 32); state space)."""
    address, space = site.address(site.operands[place], space_of(site))
    site.accesses.append((space, 4, kind))

    def read(m: Machine, lanes: Lanes) -> Array:
        return by_warp(m, lanes, address(m, lanes))

    return read, space


def _check_rows(m: Machine, lanes: Lanes, space: str, addresses: Array, used: int, need: int, verb: str) -> None:
    """Whole rows, of the lanes that give their addresses: those are to blame, not the lanes that get the words."""
    giving = np.broadcast_to(used > _LANE, addresses.shape).reshape(-1)
    some = select(lanes, giving)
    assert some is not None
    for region, where, those, _ in by_space(m, addresses.reshape(-1)[giving], some, space):
        offset = access.offsets(m, region, where, those)
        access.examine(m, region, where, offset, those, _ROW, MAPPED | need, verb)


def _load_words(m: Machine, lanes: Lanes, space: str, addresses: Array) -> Array:
    """(warps, 32) words of 32 bits from as many addresses."""
    values = np.zeros(count(lanes), np.uint32)
    for region, where, some, chosen in by_space(m, addresses.reshape(-1), lanes, space):
        (found,) = access.load(m, region, where, some, 4, 1)
        values[slice(None) if chosen is None else chosen] = found
    return values.reshape(-1, 32)


def load(site: Site) -> Step:
    """ldmatrix."""
    rows, space = _row_addresses(site, 1, "read")
    wide = site.has("m16n16", "m8n16")
    number = int(site.one_of("x1", "x2", "x4")[1:])
    write = writer(site, site.operands[0], 32)
    if wide:
        return _load_bytes(site, rows, space, number)
    turned = site.has("trans")

    def run(m: Machine, lanes: Lanes) -> None:
        addresses = rows(m, lanes)
        _check_rows(m, lanes, space, addresses, 8 * number, INITIALISED, "a read of a matrix row")
        found = []
        for matrix in range(number):
            words = _load_words(m, lanes, space, addresses[:, 8 * matrix + (_LANE >> 2)] + 4 * (_LANE & 3))
            found.append(transpose(words) if turned else words)
        write(m, lanes, np.stack(found, axis=-1))

    return whole_warps(site, run)


def _widen(rows: Array, source: str) -> Array:
    """Rows of 16 bytes, (…, 16) uint8, whose elements are 8, 6 or 4 bits wide, as 16 elements in bytes.

    Six bits lie at the bottom of their byte, four bits in its middle.
    """
    if not source:
        return rows
    bits = np.unpackbits(rows, axis=-1, bitorder="little")
    width = 6 if source.startswith("b6") else 4
    fields = bits[..., : 16 * width].reshape(*rows.shape[:-1], 16, width)
    values = (fields << np.arange(width, dtype=np.uint8)).sum(axis=-1).astype(np.uint8)
    return values if width == 6 else values << np.uint8(2)


def _load_bytes(site: Site, rows: Callable[[Machine, Lanes], Array], space: str, number: int) -> Step:
    """Matrices of bytes: 8x16 as they lie, 16x16 turned over; four elements of a row in a register."""
    square, source = site.has("m16n16"), site.one_of("b6x16_p32", "b4x16_p64")
    height = 16 if square else 8
    write = writer(site, site.operands[0], 32)

    def run(m: Machine, lanes: Lanes) -> None:
        addresses = rows(m, lanes)
        _check_rows(m, lanes, space, addresses, height * number, INITIALISED, "a read of a matrix row")
        registers: list[Array] = []
        for matrix in range(number):
            parts = []
            for half in range(height // 8):
                line = height * matrix + half * 8 + (_LANE >> 2)
                parts.append(_load_words(m, lanes, space, addresses[:, line] + 4 * (_LANE & 3)))
            lines = np.concatenate([p.view(np.uint8).reshape(-1, 8, 16) for p in parts], axis=1)
            lines = _widen(lines, source)
            if square:
                lines = lines.swapaxes(1, 2)
            words = np.ascontiguousarray(lines).view(np.uint32).reshape(lines.shape[0], height // 8, 32)
            registers.extend(words[:, half] for half in range(height // 8))
        write(m, lanes, np.stack(registers, axis=-1))

    return whole_warps(site, run)


def store(site: Site) -> Step:
    """stmatrix: a row of 16 bytes for each of the addresses that the first lanes give.

    A 16x8 matrix of bytes is held like an accumulator of mma, and stored column by column.
    """
    rows, space = _row_addresses(site, 0, "write")
    number = int(site.one_of("x1", "x2", "x4")[1:])
    read = reader(site, site.operands[1], 32)
    turned, narrow = site.has("trans"), site.has("m16n8")
    layout = fragments.accumulator(16, 4)

    def run(m: Machine, lanes: Lanes) -> None:
        addresses, words = rows(m, lanes), read(m, lanes)
        _check_rows(m, lanes, space, addresses, 8 * number, WRITABLE, "a write of a matrix row")
        for matrix in range(number):
            fragment = words[..., matrix]
            if narrow:
                elements = fragments.unpack(fragment[..., None], 8, 4).astype(np.uint8)
                lines = fragments.gather(elements, layout).swapaxes(1, 2)
                fragment = np.ascontiguousarray(lines).view(np.uint32).reshape(-1, 32)
            elif turned:
                fragment = transpose(fragment)
            target = (addresses[:, 8 * matrix + (_LANE >> 2)] + 4 * (_LANE & 3)).reshape(-1)
            flat = np.ascontiguousarray(fragment).reshape(-1)
            for region, where, some, chosen in by_space(m, target, lanes, space):
                access.store(m, region, where, some, 4, [flat if chosen is None else flat[chosen]])

    return whole_warps(site, run)


# ---------------------------------------------------------------- wmma


@dataclass(frozen=True)
class _Pieces:
    """How a warp moves a matrix in memory: piece number n by lane (n + 16) % 32, all of a line after one another.

    PTX leaves open which lane does, so it is none that would have written the piece itself in a plain loop. Each is
    what an sm_90 takes at once, and must lie at a multiple of its size, where the manual asks for more: 4 bytes, 8 of
    f64, and two elements of 32 or 64 bits that neighbour in an accumulator. Single bytes, which an sm_90 takes of
    8-bit matrices that lie across, come four at a time here.
    """

    line: Array                                       # (32, steps)
    inner: Array                                      # bytes into the line
    size: int                                         # bytes of a word
    count: int                                        # words of a piece
    lines: int
    usual: int                                        # elements from line to line where no stride is given
    by_row: bool


def _shape(site: Site, matrix: str) -> tuple[int, int]:
    rows, columns, depth = shape_of(site)
    return {"a": (rows, depth), "b": (depth, columns)}.get(matrix, (rows, columns))


def _pieces(site: Site, matrix: str, bits: int) -> _Pieces:
    rows, columns = _shape(site, matrix)
    by_row = "row" in site.words
    lines, length = (rows, columns) if by_row else (columns, rows)
    size = max(4, bits // 8)
    # A flat matrix is the transpose of a tall one.
    paired = matrix in {"c", "d"} and bits >= 32 and by_row == (rows >= columns)
    count = 2 if paired else 1
    each = length * bits // 8 // (size * count)
    number = _turned(np.arange(lines * each).reshape(-1, 32).T, 0)
    return _Pieces(number // each, number % each * size * count, size, count, lines, length, by_row)


def _turned(pieces: Array, lanes: int) -> Array:
    """From the order of lanes to that of numbers or back, on the axis `lanes`."""
    return np.roll(pieces, 16, axis=lanes)


def _matrix_memory(
    site: Site, place: int, pieces: _Pieces, bits: int
) -> tuple[Callable[[Machine, Lanes], Array], str]:
    """(addresses of pieces, (steps, lanes); state space)."""
    address, space = site.address(site.operands[place], space_of(site))
    stride: Getter | None = site.bits(site.operands[2], "u32") if len(site.operands) > 2 else None

    def addresses(m: Machine, lanes: Lanes) -> Array:
        base = by_warp(m, lanes, address(m, lanes))
        apart = by_warp(m, lanes, stride(m, lanes)) if stride else np.uint32(pieces.usual)
        apart = apart.astype(np.int64) * bits // 8
        line, inner = (x.T[:, None] for x in (pieces.line, pieces.inner))
        return np.asarray(base + line * apart + inner).reshape(line.shape[0], -1)

    return addresses, space


def load_whole(site: Site) -> Step:
    """wmma.load."""
    matrix, type_name = site.one_of("a", "b", "c"), site.type
    layout = _held(site, matrix, type_name, len(site.elements(site.operands[0])))
    bits, elements, width = per_register(type_name)
    pieces = _pieces(site, matrix, bits)
    addresses, space = _matrix_memory(site, 1, pieces, bits)
    write = writer(site, site.operands[0], width)
    site.accesses.append((space, pieces.size, "read"))
    whole = storage(f"b{width}")

    def run(m: Machine, lanes: Lanes) -> None:
        where = addresses(m, lanes)
        found = np.zeros((where.shape[1], where.shape[0], pieces.count), whole)
        for step, here in enumerate(where):
            for region, some_where, some, chosen in by_space(m, here, lanes, space):
                words = access.load(m, region, some_where, some, pieces.size, pieces.count)
                found[slice(None) if chosen is None else chosen, step] = np.stack(words, axis=-1)
        # Words step by step, and lane by lane within a step.
        found = _turned(found.reshape(-1, 32, *found.shape[1:]), 1).swapaxes(1, 2)
        lines = fragments.unpack(found, bits, elements).reshape(found.shape[0], pieces.lines, -1)
        held = fragments.scatter(lines if pieces.by_row else lines.swapaxes(1, 2), layout)
        write(m, lanes, fragments.pack(held, bits, whole))

    return whole_warps(site, run)


def store_whole(site: Site) -> Step:
    """wmma.store."""
    type_name = site.type
    layout = _held(site, "d", type_name, len(site.elements(site.operands[1])))
    bits, elements, width = per_register(type_name)
    pieces = _pieces(site, "d", bits)
    addresses, space = _matrix_memory(site, 0, pieces, bits)
    read = reader(site, site.operands[1], width)
    site.accesses.append((space, pieces.size, "write"))
    whole = storage(f"b{width}")

    def run(m: Machine, lanes: Lanes) -> None:
        where = addresses(m, lanes)
        matrix = fragments.gather(fragments.unpack(read(m, lanes), bits, elements), layout)
        lines = np.ascontiguousarray(matrix if pieces.by_row else matrix.swapaxes(1, 2))
        words = fragments.pack(lines.reshape(-1, where.shape[0], 32, pieces.count, elements), bits, whole)
        words = _turned(words, 2)
        for step, here in enumerate(where):
            values = np.ascontiguousarray(words[:, step].reshape(-1, pieces.count).T)
            for region, some_where, some, chosen in by_space(m, here, lanes, space):
                access.store(
                    m, region, some_where, some, pieces.size, list(values if chosen is None else values[:, chosen])
                )

    return whole_warps(site, run)


def _held(site: Site, matrix: str, type_name: str, registers: int) -> Layout:
    """The layout of a fragment in registers, by elements."""
    rows, columns = _shape(site, matrix)
    return fragments.whole(matrix, rows, columns, registers, per_register(type_name)[1])


def multiply_whole(site: Site) -> Step:
    """wmma.mma."""
    types = site.types if len(site.types) == 4 else (site.types[0], "f16", "f16", site.types[1])
    d_type, a_type, b_type, c_type = types
    kinds = zip("abc", (a_type, b_type, c_type), site.operands[1:4], strict=True)
    readers = [
        matrix_reader(site, operand, _held(site, matrix, kind, len(site.elements(operand))), kind)
        for matrix, kind, operand in kinds
    ]
    target = site.operands[0]
    put = matrix_writer(site, target, _held(site, "d", d_type, len(site.elements(target))), d_type)
    combine = product(site, types)
    return whole_warps(
        site, lambda m, lanes: put(m, lanes, combine(*[read(m, lanes) for read in readers]))
    )


def whole(site: Site) -> Step:
    """wmma."""
    if site.has("load"):
        return load_whole(site)
    return store_whole(site) if site.has("store") else multiply_whole(site)
