"""Decoding of what moves matrices: ldmatrix, stmatrix, movmatrix, and the whole matrices of wmma."""

from __future__ import annotations

from collections.abc import Callable

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


def _whole(site: Site, matrix: str, type_name: str, registers: int) -> tuple[Layout, int, int]:
    """(layout in memory units, bytes of a unit, elements of a unit). Units are elements, or words of small ones."""
    rows, columns, depth = shape_of(site)
    rows, columns = {"a": (rows, depth), "b": (depth, columns)}.get(matrix, (rows, columns))
    bits, elements, _ = per_register(type_name)
    if bits >= 8:
        return fragments.whole(matrix, rows, columns, registers, elements), bits // 8, 1
    if matrix == "b":
        return fragments.right(rows // elements, 1), 4, elements
    return fragments.left(rows, columns // elements, 1), 4, elements


def _offsets(site: Site, layout: Layout, size: int, unit: int) -> tuple[Array, Array, int]:
    """(lines, bytes into a line, usual stride in elements) of every unit of a fragment."""
    by_row = "row" in site.words
    line, place = (layout.row, layout.column) if by_row else (layout.column, layout.row)
    usual = (layout.columns if by_row else layout.rows) * unit
    return line, place * size, usual


def _matrix_memory(
    site: Site, place: int, layout: Layout, size: int, unit: int
) -> tuple[Callable[[Machine, Lanes], Array], str]:
    """(addresses of units, (warps, 32, registers, elements); state space)."""
    line, inner, usual = _offsets(site, layout, size, unit)
    address, space = site.address(site.operands[place], space_of(site))
    stride: Getter | None = site.bits(site.operands[2], "u32") if len(site.operands) > 2 else None

    def addresses(m: Machine, lanes: Lanes) -> Array:
        base = by_warp(m, lanes, address(m, lanes))[:, :, None, None]
        steps = by_warp(m, lanes, stride(m, lanes))[:, :, None, None] if stride else np.uint32(usual)
        return base + line * steps.astype(np.int64) * size // unit + inner

    return addresses, space


def load_whole(site: Site) -> Step:
    """wmma.load."""
    matrix, type_name = site.one_of("a", "b", "c"), site.type
    registers = len(site.elements(site.operands[0]))
    layout, size, unit = _whole(site, matrix, type_name, registers)
    addresses, space = _matrix_memory(site, 1, layout, size, unit)
    bits, _, width = per_register(type_name)
    write = writer(site, site.operands[0], width)
    site.accesses.append((space, size, "read"))
    whole = storage(f"b{width}")

    def run(m: Machine, lanes: Lanes) -> None:
        where = addresses(m, lanes)
        found = np.zeros(where.shape, storage(f"b{size * 8}"))
        flat, flat_where = found.reshape(-1, *found.shape[2:]), where.reshape(-1, *where.shape[2:])
        for register, element in np.ndindex(*found.shape[2:]):
            here = np.ascontiguousarray(flat_where[:, register, element])
            for region, some_where, some, chosen in by_space(m, here, lanes, space):
                (values,) = access.load(m, region, some_where, some, size, 1)
                flat[slice(None) if chosen is None else chosen, register, element] = values
        write(m, lanes, fragments.pack(found, bits, whole))

    return whole_warps(site, run)


def store_whole(site: Site) -> Step:
    """wmma.store."""
    type_name = site.type
    registers = len(site.elements(site.operands[1]))
    layout, size, unit = _whole(site, "d", type_name, registers)
    addresses, space = _matrix_memory(site, 0, layout, size, unit)
    bits, elements, width = per_register(type_name)
    read = reader(site, site.operands[1], width)
    site.accesses.append((space, size, "write"))
    dtype = storage(f"b{size * 8}")

    def run(m: Machine, lanes: Lanes) -> None:
        where = addresses(m, lanes)
        values = fragments.unpack(read(m, lanes), bits, elements).astype(dtype)
        for register, element in np.ndindex(*values.shape[2:]):
            here = np.ascontiguousarray(where[:, :, register, element]).reshape(-1)
            flat = np.ascontiguousarray(values[:, :, register, element]).reshape(-1)
            for region, some_where, some, chosen in by_space(m, here, lanes, space):
                access.store(m, region, some_where, some, size, [flat if chosen is None else flat[chosen]])

    return whole_warps(site, run)


def _held(site: Site, matrix: str, type_name: str, registers: int) -> Layout:
    """The layout of a fragment in registers, by elements."""
    rows, columns, depth = shape_of(site)
    rows, columns = {"a": (rows, depth), "b": (depth, columns)}.get(matrix, (rows, columns))
    elements = per_register(type_name)[1]
    return fragments.whole(matrix, rows, columns, registers, elements)


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
    combine = product(site, a_type, d_type)
    return whole_warps(
        site, lambda m, lanes: put(m, lanes, combine(*[read(m, lanes) for read in readers]))
    )


def whole(site: Site) -> Step:
    """wmma."""
    if site.has("load"):
        return load_whole(site)
    return store_whole(site) if site.has("store") else multiply_whole(site)
