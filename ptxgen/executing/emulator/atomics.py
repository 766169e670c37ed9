"""atom and red: read-modify-write in lane order, so that every launch has one defined result.

Addresses that only one lane names are done at once; where lanes meet at an address they take turns in lane order,
block after block.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptxgen.executing.emulator import access, rounding
from ptxgen.executing.emulator.arithmetic import by_halves
from ptxgen.executing.emulator.data import by_space, space_of
from ptxgen.executing.emulator.lanes import Lanes
from ptxgen.executing.emulator.machine import Machine
from ptxgen.executing.emulator.memory import INITIALISED, MAPPED, WRITABLE, Region
from ptxgen.executing.emulator.program import Run
from ptxgen.executing.emulator.rounding import FORMATS
from ptxgen.executing.emulator.site import Site
from ptxgen.executing.emulator.values import BITS, Array, is_float, number_dtype

#: (old words, operand words[, second operand words]) to new words.
Update = Callable[..., Array]

OPERATIONS = ("add", "and", "or", "xor", "min", "max", "inc", "dec", "exch", "cas")
_BITWISE: dict[str, Callable[..., Any]] = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}


def _update(site: Site, operation: str, type_name: str) -> Update:
    if operation == "exch":
        return lambda old, b: b
    if operation == "cas":
        return lambda old, b, c: np.where(old == b, c, old)
    if operation in _BITWISE:
        return _BITWISE[operation]
    if operation == "inc":
        return lambda old, b: np.where(old >= b, old.dtype.type(0), old + old.dtype.type(1))
    if operation == "dec":
        return lambda old, b: np.where((old == 0) | (old > b), b, old - old.dtype.type(1))
    if is_float(type_name):
        return _float_update(operation, type_name)
    dtype = number_dtype(type_name)
    function: Callable[..., Any] = {"add": np.add, "min": np.minimum, "max": np.maximum}[operation]

    def typed(old: Array, b: Array) -> Array:
        return np.asarray(function(old.view(dtype), b.view(dtype))).view(old.dtype)

    return typed


def _float_update(operation: str, type_name: str) -> Update:
    from ptxgen.executing.emulator.floats import extreme

    fmt = FORMATS[type_name]
    if operation == "add":
        def single(old: Array, b: Array) -> Array:
            return rounding.add(old, b, fmt, "rn")
    else:
        def single(old: Array, b: Array) -> Array:
            return extreme(old, b, fmt, largest=operation == "max")
    return by_halves(single) if type_name.endswith("x2") else single


def atomic(site: Site) -> Run:
    """atom gives the old value; red gives nothing."""
    gives = site.name == "atom"
    operands = site.operands[1:] if gives else site.operands
    operation = site.one_of(*OPERATIONS)
    type_name = site.type
    if not operation:
        raise site.unsupported("an operation that the emulator does not know")
    width = BITS[type_name] // 8
    update = _update(site, operation, type_name)
    address, space = site.address(operands[0], space_of(site))
    wanted = 2 if operation == "cas" else 1
    columns = [site.elements(operand) for operand in operands[1 : 1 + wanted]]
    length = len(columns[0])
    sources = [[site.bits(column[e], type_name) for column in columns] for e in range(length)]
    puts = [site.put(t, type_name) for t in site.elements(site.operands[0])] if gives else []
    site.accesses.append((space, width, "atomic"))
    site.atomic = True

    def run(m: Machine, lanes: Lanes) -> None:
        values = [[source(m, lanes) for source in row] for row in sources]
        for region, where, some, chosen in by_space(m, address(m, lanes), lanes, space):
            olds = []
            offset = access.offsets(m, region, where, some)
            need = MAPPED | INITIALISED | WRITABLE
            access.check(m, region, where, offset, some, width * length, need, "an atomic access")
            for element, row in enumerate(values):
                here = offset + element * width if element else offset
                mine = [np.broadcast_to(v if chosen is None or v.size == 1 else v[chosen], here.shape) for v in row]
                access.note_atomic(m, region, here, where, some, width)
                olds.append(_apply(region, here, width, update, mine))
            for put, old in zip(puts, olds, strict=False):
                put(m, some, old)
        m.note_strong(lanes)

    return run


def _apply(region: Region, offset: Array, width: int, update: Update, values: list[Array]) -> Array:
    """Carry out the updates in lane order; gives each lane the value before its own."""
    words = region.view(width)
    place = (offset >> (width.bit_length() - 1)).astype(np.intp)
    order = np.argsort(place, kind="stable")
    sorted_place = place[order]
    first = np.ones(place.size, np.bool_)
    first[1:] = sorted_place[1:] != sorted_place[:-1]
    if first.all():
        old = words[place]
        words[place] = update(old, *values)
        return old
    starts = np.flatnonzero(first)
    turn = np.arange(place.size) - np.repeat(starts, np.diff(np.append(starts, place.size)))
    olds = np.empty(place.size, words.dtype)
    # Lanes sorted by turn: each turn names every address at most once.
    by_turn = order[np.argsort(turn, kind="stable")]
    bounds = np.cumsum(np.bincount(turn))
    begin = 0
    for end in bounds:
        lanes = by_turn[begin:end]
        here = place[lanes]
        old = words[here]
        olds[lanes] = old
        words[here] = update(old, *[v[lanes] for v in values])
        begin = int(end)
    return olds
