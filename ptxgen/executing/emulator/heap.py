"""The device heap: malloc and free of single threads.

It is part of global memory, unmapped but for what has been allocated and not freed. Nothing freed is given again.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ptxgen.executing.emulator.lanes import Lanes, count, lane_at
from ptxgen.executing.emulator.machine import Machine
from ptxgen.executing.emulator.memory import INITIALISED, MAPPED, WRITABLE, Region
from ptxgen.executing.emulator.values import Array

NAME = "the device heap"
#: Bytes of the heap; CUDA's default is eight times as large.
SIZE = 1 << 20
_ALIGNMENT, _BETWEEN = 16, 32
_Getter = Callable[[Machine, Lanes], Array]


def _flag(region: Region, start: int, size: int, flags: int) -> None:
    place = (start - region.base) >> region.shift
    region.flags[place : place + (size >> region.shift)] = flags
    region.forget(MAPPED | INITIALISED, at=start)


def unmap(region: Region, start: int, size: int) -> None:
    """Nothing of the heap is allocated yet."""
    _flag(region, start, size, 0)


def allocate(m: Machine, lanes: Lanes, start: int, size: _Getter) -> Array:
    """malloc in the order of the lanes: uint64 addresses, 0 where the heap is too full."""
    sizes = np.broadcast_to(size(m, lanes), (count(lanes),))
    addresses = np.zeros(sizes.size, np.uint64)
    report = m.report
    for number, wanted in enumerate(sizes):
        amount = -(-int(wanted) // _ALIGNMENT) * _ALIGNMENT
        if report.heap_used + amount > SIZE:
            continue
        address = start + report.heap_used
        report.heap_used += amount + _BETWEEN
        report.allocated[address] = amount
        _flag(m.regions["global"], address, amount, MAPPED | WRITABLE)
        addresses[number] = address
    return addresses


def free(m: Machine, lanes: Lanes, address: _Getter) -> None:
    """free; of a null pointer it does nothing."""
    for number, pointer in enumerate(np.broadcast_to(address(m, lanes), (count(lanes),))):
        if not pointer:
            continue
        amount = m.report.allocated.pop(int(pointer), None)
        if amount is None:
            lane = lane_at(lanes, number)
            m.fault("out-of-bounds", "free of an address that malloc did not give", lane, address=int(pointer))
            return
        _flag(m.regions["global"], int(pointer), amount, 0)
