"""Decoding of mma and mma.sp: fragments gathered from the lanes of each warp, multiplied, and given back."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from ptxgen.executing.emulator import fragments, matrices, smallfloats, tensor_sums
from ptxgen.executing.emulator.fragments import Layout
from ptxgen.executing.emulator.lanes import Lanes, count
from ptxgen.executing.emulator.machine import Machine
from ptxgen.executing.emulator.program import Run, Step
from ptxgen.executing.emulator.site import Getter, Putter, Site
from ptxgen.executing.emulator.tensor_sums import Product
from ptxgen.executing.emulator.values import BITS, Array, storage
from ptxgen.ptx.tree import Immediate, Operand, Vector

_EVERYONE = np.array([0xFFFFFFFF], np.uint32)


def whole_warps(site: Site, run: Run) -> Step:
    """A step that runs when all lanes of a warp are there, and faults where some are not."""

    def checked(m: Machine, lanes: Lanes) -> None:
        warps, here = np.unique(m.slots[lanes] // 32, return_counts=True)
        if (here != 32).any():
            short = np.isin(m.slots[lanes] // 32, warps[here != 32])
            m.fault_among("member-mask", f"{site.name} needs all 32 threads of a warp", lanes, short)
        run(m, lanes)

    return Step("warp", site.line, site.instruction.opcode, checked, member_mask=lambda m, lanes: _EVERYONE)


def by_warp(m: Machine, lanes: Lanes, value: Array) -> Array:
    """(warps, 32) of one value a lane."""
    return np.broadcast_to(value, (count(lanes),)).reshape(-1, 32)


def shape_of(site: Site) -> tuple[int, int, int]:
    """m, n and k of the opcode's shape. Raises Unsupported."""
    for word in site.words:
        found = re.fullmatch(r"m(\d+)n(\d+)k(\d+)", word)
        if found:
            return int(found[1]), int(found[2]), int(found[3])
    raise site.unsupported("a shape is needed")


def reader(site: Site, operand: Operand, width: int) -> Callable[[Machine, Lanes], Array]:
    """(warps, 32, registers) words of a fragment."""
    getters: list[Getter] = [site.bits(element, f"b{width}") for element in site.elements(operand)]
    dtype = storage(f"b{width}")

    def read(m: Machine, lanes: Lanes) -> Array:
        words = np.empty((count(lanes) // 32, 32, len(getters)), dtype)
        for number, get in enumerate(getters):
            words[..., number] = by_warp(m, lanes, get(m, lanes))
        return words

    return read


def writer(site: Site, operand: Operand, width: int) -> Callable[[Machine, Lanes, Array], None]:
    """Takes (warps, 32, registers) words of a fragment."""
    putters: list[Putter] = [site.put(element, f"b{width}") for element in site.elements(operand)]

    def write(m: Machine, lanes: Lanes, words: Array) -> None:
        for number, put in enumerate(putters):
            put(m, lanes, np.ascontiguousarray(words[..., number]).reshape(-1))

    return write


def per_register(type_name: str, *, container: bool = False) -> tuple[int, int, int]:
    """(bits of an element, elements of a register, bits of the register)"""
    bits = matrices.element_bits(type_name, container=container)
    return bits, max(1, 32 // bits), max(32, bits)


def matrix_reader(
    site: Site, operand: Operand, layout: Layout, type_name: str, *, container: bool = False
) -> Callable[[Machine, Lanes], Array]:
    """(warps, rows, columns) numbers (words, of f64) of a fragment."""
    bits, elements, width = per_register(type_name, container=container)
    read = reader(site, operand, width)

    def numbers(m: Machine, lanes: Lanes) -> Array:
        found = fragments.gather(fragments.unpack(read(m, lanes), bits, elements), layout)
        return found if type_name == "f64" else matrices.numbers(found, type_name, central=container)

    return numbers


def matrix_writer(
    site: Site, operand: Operand, layout: Layout, type_name: str
) -> Callable[[Machine, Lanes, Array], None]:
    """Takes (warps, rows, columns) words."""
    bits, _, width = per_register(type_name)
    write = writer(site, operand, width)
    dtype = storage(f"b{width}")

    def put(m: Machine, lanes: Lanes, matrix: Array) -> None:
        write(m, lanes, fragments.pack(fragments.scatter(matrix, layout), bits, dtype))

    return put


def product(site: Site, types: Sequence[str]) -> Product:
    """What the opcode makes of three matrices of numbers. `types`: of d, a, b and c."""
    d_type, a_type, _, _ = types
    saturate = site.has("satfinite")
    if d_type == "f64":
        mode = site.one_of("rn", "rz", "rm", "rp", default="rn")
        return lambda a, b, c, places=None: matrices.multiply_doubles(a, b, c, mode)
    if a_type == "b1":
        operation = site.one_of("xor", "and")
        return lambda a, b, c, places=None: matrices.words(matrices.multiply_bits(a, b, c, operation), d_type)
    if d_type == "s32" or any(word.startswith("kind::") for word in site.words):
        return lambda a, b, c, places=None: matrices.words(
            matrices.multiply(a, b, c, places), d_type, saturate=saturate
        )
    return tensor_sums.product(types, whole=site.name == "wmma")


def multiply(site: Site) -> Step:
    """mma and mma.sp of every shape and type."""
    rows, _, depth = shape_of(site)
    d_type, a_type, b_type, c_type = site.types[:4]
    if (rows, depth, a_type) == (8, 4, "f16"):
        return _multiply_in_quarters(site)
    sparse = site.has("sp", "sp::ordered_metadata")
    container = any(word in {"kind::f8f6f4", "kind::mxf8f6f4"} for word in site.words)
    elements = [per_register(t, container=container)[1] for t in (a_type, b_type)]
    a_layout = fragments.left(rows, depth // 2 if sparse else depth, elements[0])
    read_a = matrix_reader(site, site.operands[1], a_layout, a_type, container=container)
    read_b = matrix_reader(
        site, site.operands[2], fragments.right(depth, elements[1]), b_type, container=container
    )
    c_elements, d_elements = (per_register(t)[1] for t in (c_type, d_type))
    read_c = matrix_reader(site, site.operands[3], fragments.accumulator(rows, c_elements), c_type)
    put = matrix_writer(site, site.operands[0], fragments.accumulator(rows, d_elements), d_type)
    combine = product(site, (d_type, a_type, b_type, c_type))
    metadata = reader(site, site.operands[4], 32) if sparse else None
    selector = _constant(site.operands[5]) if sparse else 0
    scales = _scales(site, depth) if site.has("block_scale") else None

    def run(m: Machine, lanes: Lanes) -> None:
        a, b, c = read_a(m, lanes), read_b(m, lanes), read_c(m, lanes)
        places = None
        if metadata is not None:
            places = matrices.places(metadata(m, lanes)[..., 0], a_type, depth // 2, selector, container=container)
        if scales is not None:
            if places is not None:
                a, places = matrices.expand(a, places), None
            by_row, by_column = scales(m, lanes)
            a, b = a * by_row, b * by_column
        put(m, lanes, combine(a, b, c, places))

    return whole_warps(site, run)


def _constant(operand: Operand) -> int:
    return int(operand.value) if isinstance(operand, Immediate) else 0


def _scales(site: Site, depth: int) -> Callable[[Machine, Lanes], tuple[Array, Array]]:
    """Factors of every element: (warps, 16, k) of A and (warps, k, 8) of B.

    A row's scales lie in the two lanes of its four that the selector names, the lower for the first eight rows; a
    column's in one lane. Their bytes, from the chosen one on, belong to equal parts of k.
    """
    kind = site.types[4]
    parts = next((int(w[-2]) for w in site.words if w.startswith("scale_vec::")), 2 if site.has("kind::mxf4") else 1)
    first = len(site.operands) - 4
    read_a, read_b = (reader(site, site.operands[first + i], 32) for i in (0, 2))
    chosen_a, chosen_b = (
        [site.bits(e, "b16") for e in _pair(site, site.operands[first + i])] for i in (1, 3)
    )
    rows, columns = np.arange(16), np.arange(8)

    def factors(words: Array, byte: Array) -> Array:
        shifts = (8 * (byte[:, None, None].astype(np.uint32) + np.arange(parts, dtype=np.uint32))).astype(np.uint32)
        scales = smallfloats.decode(words[:, :, None] >> shifts & np.uint32(0xFF), kind)
        return np.repeat(scales, depth // parts, axis=2)

    def read(m: Machine, lanes: Lanes) -> tuple[Array, Array]:
        byte_a, thread_a = (by_warp(m, lanes, get(m, lanes))[:, 0].astype(np.intp) for get in chosen_a)
        byte_b, thread_b = (by_warp(m, lanes, get(m, lanes))[:, 0].astype(np.intp) for get in chosen_b)
        warps = np.arange(byte_a.size)[:, None]
        words_a = read_a(m, lanes)[..., 0][warps, rows % 8 * 4 + 2 * thread_a[:, None] + rows // 8]
        words_b = read_b(m, lanes)[..., 0][warps, columns * 4 + thread_b[:, None]]
        return factors(words_a, byte_a), factors(words_b, byte_b).swapaxes(1, 2)

    return read


def _pair(site: Site, operand: Operand) -> tuple[Operand, ...]:
    if not isinstance(operand, Vector) or len(operand.elements) != 2:
        raise site.unsupported("{byte-id, thread-id} is needed")
    return operand.elements


def _multiply_in_quarters(site: Site) -> Step:
    """mma.m8n8k4 over f16: lanes 4i to 4i+3 and 16 above them form product number i."""
    d_type, _, _, c_type = site.types
    orders = [word for word in site.words if word in {"row", "col"}]
    layouts = [fragments.quarter_left(orders[0]), fragments.quarter_right(orders[1])]
    c_layout, d_layout = (fragments.quarter_accumulator(2 if BITS[t] == 16 else 1) for t in (c_type, d_type))
    readers = [reader(site, operand, 32) for operand in site.operands[1:4]]
    write = writer(site, site.operands[0], 32)
    combine = tensor_sums.quarter(d_type)
    quarters = [np.concatenate([np.arange(4) + 4 * i, np.arange(4) + 4 * i + 16]) for i in range(4)]

    def run(m: Machine, lanes: Lanes) -> None:
        words = [read(m, lanes) for read in readers]
        result = np.zeros((words[0].shape[0], 32, d_layout.registers), np.uint32)
        for mine in quarters:
            parts = []
            for fragment, layout, type_name in zip(
                words, (*layouts, c_layout), ("f16", "f16", c_type), strict=True
            ):
                bits, elements, _ = per_register(type_name)
                found = matrices.numbers(fragments.unpack(fragment[:, mine], bits, elements), type_name)
                parts.append(fragments.gather(found, _some(layout, mine)))
            bits = BITS[d_type]
            scattered = fragments.scatter(combine(*parts), _some(d_layout, mine))
            result[:, mine] = fragments.pack(scattered, bits, np.dtype(np.uint32))
        write(m, lanes, result)

    return whole_warps(site, run)


def _some(layout: Layout, lanes: Array) -> Layout:
    return Layout(layout.rows, layout.columns, layout.row[lanes], layout.column[lanes])
