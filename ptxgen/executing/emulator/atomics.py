"""atom and red: read-modify-write in lane order, so that every launch has one defined result.

Where lanes meet at an address they take turns in lane order, block after block. Sums whose old values are wanted
and operations whose old values are not have shortcuts with the same result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ptxgen.executing.emulator import access, floats, rounding
from ptxgen.executing.emulator.arithmetic import by_parts
from ptxgen.executing.emulator.data import by_space, space_of
from ptxgen.executing.emulator.lanes import Lanes, count
from ptxgen.executing.emulator.machine import Machine
from ptxgen.executing.emulator.memory import INITIALISED, MAPPED, WRITABLE, Region
from ptxgen.executing.emulator.program import Run
from ptxgen.executing.emulator.rounding import FORMATS
from ptxgen.executing.emulator.scopes import BLOCK, Role
from ptxgen.executing.emulator.site import Site
from ptxgen.executing.emulator.values import BITS, Array, is_float, is_packed, number_dtype

OPERATIONS = ("add", "and", "or", "xor", "min", "max", "inc", "dec", "exch", "cas")
_UFUNCS: dict[str, Any] = {
    "add": np.add, "min": np.minimum, "max": np.maximum,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
}


@dataclass(frozen=True, slots=True)
class Operation:
    """`update`: (old words, operand words…) to new words.

    `ufunc` over `dtype` means the same, for floats only where `plain` holds of the old words and the operand's.
    """

    name: str
    update: Callable[..., Array]
    ufunc: Any = None
    dtype: Any = None
    plain: Callable[[Array, Array], bool] | None = None


def make_operation(name: str, type_name: str, space: str = "shared") -> Operation:
    """What an operation does to words of a type that lie in a state space: global memory has an adder of its own."""
    if name == "exch":
        return Operation(name, lambda old, b: b)
    if name == "cas":
        return Operation(name, lambda old, b, c: np.where(old == b, c, old))
    if name == "inc":
        return Operation(name, lambda old, b: np.where(old >= b, old.dtype.type(0), old + old.dtype.type(1)))
    if name == "dec":
        return Operation(name, lambda old, b: np.where((old == 0) | (old > b), b, old - old.dtype.type(1)))
    if type_name in {"f32", "f64"} and name == "add":
        dtype = np.dtype(f"f{BITS[type_name] // 8}")
        if type_name == "f32":
            return Operation(name, _add_singles(space), np.add, dtype, _no_tiny_singles)
        return Operation(name, _add_doubles(space), np.add, dtype, _no_nans)
    if is_float(type_name):
        return Operation(name, _float_update(name, type_name))
    ufunc, dtype = _UFUNCS[name], number_dtype(type_name)

    def typed(old: Array, b: Array) -> Array:
        return ufunc(old.view(dtype), b.view(dtype)).view(old.dtype)

    return Operation(name, typed, ufunc, dtype)


def _float_update(name: str, type_name: str) -> Callable[..., Array]:
    fmt = FORMATS[type_name]

    def single(old: Array, b: Array) -> Array:
        if name == "add":
            return rounding.add(old, b, fmt, "rn")
        return floats.extreme(old, b, fmt, largest=name == "max")

    return by_parts(single, type_name) if is_packed(type_name) else single


def _add_singles(space: str) -> Callable[..., Array]:
    """f32 sums; in global memory subnormals are flushed, going in and coming out (PTX ISA, atom)."""
    add = floats.finish(lambda old, b: rounding.add(old, b, rounding.F32, "rn"), rounding.F32, ftz=space == "global")
    return lambda old, b: np.asarray(add(old, b))


def _add_doubles(space: str) -> Callable[..., Array]:
    """f64 sums; of NaN operands global memory keeps the new one before the old one, bit for bit (seen on sm_90)."""

    def add(old: Array, b: Array) -> Array:
        return rounding.add(old, b, rounding.F64, "rn")

    if space != "global":
        return lambda old, b: np.asarray(floats.chosen_nan(add)(b, old))

    def whole(old: Array, b: Array) -> Array:
        kept = np.where(floats.is_nan(old, rounding.F64), old, floats.default_nan(add)(old, b))
        return np.where(floats.is_nan(b, rounding.F64), b, kept)

    return whole


def _no_tiny_singles(old: Array, b: Array) -> bool:
    """No value below 2**-100 but zeros, and no NaN: sums of such are never subnormal."""
    sizes = [np.abs(words.view(np.float32)) for words in (old, b)]
    return all(bool(((size == 0) | (size > 2.0**-100)).all()) for size in sizes)


def _no_nans(old: Array, b: Array) -> bool:
    return not any(bool(floats.is_nan(words, rounding.F64).any()) for words in (old, b))


def atomic(site: Site) -> Run:
    """atom gives the old value; red gives nothing."""
    gives = site.name == "atom"
    operands = site.operands[1:] if gives else site.operands
    name, type_name = site.one_of(*OPERATIONS), site.type
    if not name:
        raise site.unsupported("an operation that the emulator does not know")
    width = BITS[type_name] // 8
    operations = {space: make_operation(name, type_name, space) for space in ("global", "shared")}
    address, space = site.address(operands[0], space_of(site))
    place = site.place(operands[0])
    if name == "cas" and place is not None:
        site.scope.registers.compared.add((*place, width))
    wanted = 2 if name == "cas" else 1
    columns = [site.elements(operand) for operand in operands[1 : 1 + wanted]]
    length = len(columns[0])
    sources = [[site.bits(column[e], type_name) for column in columns] for e in range(length)]
    puts = [site.put(t, type_name) for t in site.elements(site.operands[0])] if gives else []
    site.accesses.append((space, width, "atomic"))
    site.atomic = True
    need = MAPPED | INITIALISED | WRITABLE
    # A GPU changes vectors in global memory alone: of a generic address elsewhere it makes something else.
    held = ("global", "shared") if length == 1 else ("global",)
    role = Role.of(site.words, reads=gives, writes=True)
    narrow = role.level == BLOCK
    site.fences = role.orders

    def run(m: Machine, lanes: Lanes) -> None:
        values = [[source(m, lanes) for source in row] for row in sources]
        for region, where, some, chosen in by_space(m, address(m, lanes), lanes, space):
            if region.space not in held:
                vector = "" if length == 1 else " to a vector"
                message = f"an atomic access{vector} with an address of {region.space} memory"
                m.fault_among("wrong-space", message, some, np.ones(count(some), bool), address=where)
            offset = access.offsets(m, region, where, some)
            access.check(m, region, where, offset, some, width * length, need, "an atomic access")
            olds = []
            for element, row in enumerate(values):
                here = offset + element * width if element else offset
                mine = [np.broadcast_to(v if chosen is None or v.size == 1 else v[chosen], here.shape) for v in row]
                access.note_atomic(m, region, here, where, some, width, narrow=narrow)
                operation = operations["global" if region.space == "global" else "shared"]
                before = None if m.order.causality is None else region.view(width)[here >> width.bit_length() - 1]
                olds.append(apply(region, here, width, operation, mine, wanted=gives))
                wrote = olds[-1] == mine[0] if name == "cas" and gives else None
                m.touch(region, here, some, role, wrote=wrote, old=before)
                access.note_written(region, here, width)
            for put, old in zip(puts, olds, strict=False):
                put(m, some, old)
        m.changes += 1

    return run


def apply(
    region: Region, offset: Array, width: int, operation: Operation, values: list[Array], *, wanted: bool
) -> Array:
    """Carry out the updates in lane order; gives each lane the value before its own (anything if not `wanted`)."""
    words = region.view(width)
    place = (offset >> (width.bit_length() - 1)).astype(np.intp)
    at_once = operation.ufunc is not None and not wanted
    if at_once and (operation.plain is None or operation.plain(words[place], values[0])):
        numbers = words.view(operation.dtype)
        # One after the other in the order of the index, so float sums round as often as they should.
        operation.ufunc.at(numbers, place, values[0].view(operation.dtype))
        if operation.dtype.kind == "f":
            made = rounding.F32.nan if width == 4 else rounding.F64.nan
            words[place[np.isnan(numbers[place])]] = made
        return words[:0]
    order = np.argsort(place, kind="stable")
    sorted_place = place[order]
    first = np.ones(place.size, np.bool_)
    first[1:] = sorted_place[1:] != sorted_place[:-1]
    if first.all():
        old = words[place]
        words[place] = operation.update(old, *values)
        return old
    starts = np.flatnonzero(first)
    sizes = np.diff(np.append(starts, place.size))
    if operation.ufunc is np.add and operation.dtype.kind != "f":
        return _running_sums(words, place, order, starts, sizes, values[0])
    return _by_turns(words, place, order, np.arange(place.size) - np.repeat(starts, sizes), operation, values)


def _running_sums(words: Array, place: Array, order: Array, starts: Array, sizes: Array, values: Array) -> Array:
    """Integer sums: a lane's old value is the memory's plus what the lanes before it at the address add."""
    added = values[order]
    through = np.cumsum(added, dtype=words.dtype)
    before = through - added
    before -= np.repeat(before[starts], sizes)
    olds = np.empty(place.size, words.dtype)
    olds[order] = words[place[order]] + before
    last = order[starts + sizes - 1]
    words[place[last]] = olds[last] + values[last]
    return olds


def _by_turns(
    words: Array, place: Array, order: Array, turn: Array, operation: Operation, values: list[Array]
) -> Array:
    """Anything else: in each turn every address has at most one lane."""
    olds = np.empty(place.size, words.dtype)
    by_turn = order[np.argsort(turn, kind="stable")]
    begin = 0
    for end in np.cumsum(np.bincount(turn)):
        lanes = by_turn[begin:end]
        here = place[lanes]
        old = words[here]
        olds[lanes] = old
        words[here] = operation.update(old, *[v[lanes] for v in values])
        begin = int(end)
    return olds
