"""Which element of a matrix each lane of a warp holds in which register, for mma and wmma.

A layout is a pair of index arrays (row, column), each of shape (32, registers, elements a register), elements of a
register lowest bits first. Source: PTX ISA, matrix fragments for mma; the layouts of wmma are left open there and
ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, TypeAlias

import numpy as np

from ptxgen.executing.emulator.values import Array

Index: TypeAlias = Any
_LANE = np.arange(32)[:, None, None]
_GROUP, _THREAD = _LANE >> 2, _LANE & 3


@dataclass(frozen=True)
class Layout:
    """Rows and columns of the matrix, and where each element of a fragment belongs."""

    rows: int
    columns: int
    row: Index
    column: Index

    @property
    def registers(self) -> int:
        return int(self.row.shape[1])

    @cached_property
    def places(self) -> Index:
        """Where in the matrix, row after row, each element of a fragment lies."""
        return np.ascontiguousarray(self.row * self.columns + self.column)

    @cached_property
    def sources(self) -> Index:
        """Which element of a fragment, flat, each place of the matrix comes from."""
        found = np.zeros(self.rows * self.columns, np.intp)
        found[self.places.reshape(-1)] = np.arange(self.places.size)
        return found


def _places(registers: int, elements: int) -> tuple[Index, Index]:
    return np.arange(registers)[None, :, None], np.arange(elements)[None, None, :]


def _layout(rows: int, columns: int, row: Index, column: Index, registers: int, elements: int) -> Layout:
    shape = (32, registers, elements)
    return Layout(rows, columns, np.broadcast_to(row, shape), np.broadcast_to(column, shape))


@cache
def left(rows: int, columns: int, elements: int) -> Layout:
    """A of mma: rows are 8 or 16, `elements` a register. Registers alternate between the halves of 16 rows."""
    registers = rows * columns // (32 * elements)
    r, e = _places(registers, elements)
    halves = rows // 8
    column = r // halves * 4 * elements + _THREAD * elements + e
    return _layout(rows, columns, _GROUP + 8 * (r % halves), column, registers, elements)


@cache
def right(rows: int, elements: int) -> Layout:
    """B of mma, eight columns wide."""
    registers = rows * 8 // (32 * elements)
    r, e = _places(registers, elements)
    return _layout(rows, 8, r * 4 * elements + _THREAD * elements + e, _GROUP, registers, elements)


@cache
def accumulator(rows: int, elements: int) -> Layout:
    """C and D of mma, eight columns wide: pairs of neighbours, then the pair eight rows below."""
    registers = rows * 8 // (32 * elements)
    r, e = _places(registers, elements)
    number = r * elements + e
    return _layout(rows, 8, _GROUP + 8 * (number >> 1), 2 * _THREAD + (number & 1), registers, elements)


@cache
def quarter_left(order: str) -> Layout:
    """A of mma.m8n8k4 over f16: four products at once, each by two groups of four lanes."""
    r, e = _places(2, 2)
    number, high = r * 2 + e, np.where(_LANE < 16, 0, 4)
    row, column = (_LANE % 4 + high, number) if order == "row" else (number + high, _LANE % 4)
    return _layout(8, 4, row, column, 2, 2)


@cache
def quarter_right(order: str) -> Layout:
    """B of mma.m8n8k4 over f16."""
    r, e = _places(2, 2)
    number, high = r * 2 + e, np.where(_LANE < 16, 0, 4)
    row, column = (_LANE % 4, number + high) if order == "row" else (number, _LANE % 4 + high)
    return _layout(4, 8, row, column, 2, 2)


@cache
def quarter_accumulator(elements: int) -> Layout:
    """C and D of mma.m8n8k4 over f16: f16 in pairs, or f32."""
    r, e = _places(8 // elements, elements)
    number, high = r * elements + e, np.where(_LANE < 16, 0, 4)
    if elements == 2:
        return _layout(8, 8, _LANE % 4 + high, number, 4, 2)
    row = (_LANE & 1) + (number & 2) + high
    return _layout(8, 8, row, (number & 4) + (_LANE & 2) + (number & 1), 8, 1)


@cache
def whole(matrix: str, rows: int, columns: int, registers: int, elements: int) -> Layout:
    """A fragment of wmma, made of those of mma: "a", "b", or "c" and "d"; repeated where there is room for copies.

    PTX leaves these layouts open; kernels may only treat all elements alike.
    """
    tall = min(rows, 16)
    if matrix == "a":
        tiles = [_moved(left(tall, columns, elements), down, 0) for down in range(0, rows, tall)]
    elif matrix == "b":
        tiles = [_moved(right(rows, elements), 0, over) for over in range(0, columns, 8)]
    else:
        tiles = [
            _moved(accumulator(tall, elements), down, over)
            for down in range(0, rows, tall) for over in range(0, columns, 8)
        ]
    row, column = (np.concatenate([getattr(t, side) for t in tiles], axis=1) for side in ("row", "column"))
    copies = registers // row.shape[1]
    return Layout(rows, columns, np.tile(row, (1, copies, 1)), np.tile(column, (1, copies, 1)))


def _moved(tile: Layout, down: int, over: int) -> Layout:
    return Layout(tile.rows, tile.columns, tile.row + down, tile.column + over)


def unpack(words: Array, bits: int, elements: int) -> Array:
    """(…, registers, elements) unsigned elements of (…, registers) words."""
    if elements == 1:
        return words[..., None]
    if bits >= 8:
        return np.ascontiguousarray(words).view(f"u{bits // 8}").reshape(*words.shape, elements)
    shifts = (np.arange(elements) * bits).astype(words.dtype)
    return words[..., None] >> shifts & words.dtype.type((1 << bits) - 1)


def pack(elements: Array, bits: int, dtype: Any) -> Array:
    """(…, registers) words of (…, registers, elements) unsigned elements."""
    if elements.shape[-1] == 1:
        return elements[..., 0].astype(dtype)
    if elements.itemsize * 8 == bits:
        words: Array = np.ascontiguousarray(elements).view(dtype)[..., 0]
        return words
    words = np.zeros(elements.shape[:-1], dtype)
    for number in range(elements.shape[-1]):
        words |= elements[..., number].astype(dtype) << dtype.type(number * bits)
    return words


def gather(elements: Array, layout: Layout) -> Array:
    """(warps, rows, columns) matrices of (warps, 32, registers, elements) fragments."""
    warps = elements.shape[0]
    flat = elements.reshape(warps, -1).take(layout.sources, axis=1)
    return flat.reshape(warps, layout.rows, layout.columns)


def scatter(matrix: Array, layout: Layout) -> Array:
    """(warps, 32, registers, elements) fragments of (warps, rows, columns) matrices."""
    return matrix.reshape(matrix.shape[0], -1).take(layout.places, axis=1)
