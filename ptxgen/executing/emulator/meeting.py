"""Accesses that meet: what each leaves in the traces of a region, which earlier ones it races with, and the words.

What orders accesses, and the traces themselves, are in `races`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from ptxgen.executing.emulator import races
from ptxgen.executing.emulator.causality import SPACES
from ptxgen.executing.emulator.lanes import Lanes, lane_at
from ptxgen.executing.emulator.machine import Machine
from ptxgen.executing.emulator.memory import Region
from ptxgen.executing.emulator.values import Array, Bools

#: int64 arrays, one element per lane of the set.
Addresses: TypeAlias = Any
Offsets: TypeAlias = Any


def private(m: Machine, region: Region) -> bool:
    """Whether only threads of one block come to a byte of the region."""
    return region.space == "shared" and m.cluster_size == 1


def spread(values: Array, region: Region, width: int) -> Array:
    """For each granule of accesses of `width` bytes the value of its lane."""
    parts = width >> region.shift
    return values if parts <= 1 else np.repeat(values, parts)


def touch_of(
    m: Machine, region: Region, offset: Offsets | range, lanes: Lanes, width: int, time: int,
    place: Offsets | slice | None = None,
) -> races.Touch:
    """An access of `width` bytes a lane. `place`: where it is among words of its width, which are the granules if
    those are as wide."""
    where = place if place is not None and width == 1 << region.shift else region.granules(offset, width)
    if isinstance(where, slice):
        low, high = where.start, where.stop - 1
    else:
        low, high = (0, region.flags.size) if private(m, region) else (int(where.min()), int(where.max()))
    order = m.order
    return races.Touch(
        where, width >> region.shift, low, high, lanes, time, m.tags, order.block_sync, order.warp_sync
    )


def report(
    m: Machine, region: Region, trace: races.Trace, touch: races.Touch, address: Addresses, bad: Bools, now: str,
    before: str,
) -> None:
    """Report the first granule of the access whose entry of `bad` is true, beside the access that left its trace."""
    parts = bad.size // address.size
    place = int(np.argmax(bad)) // parts
    granule = int(touch.granules()[int(np.argmax(bad))])
    lanes = touch.lanes
    races.settle(trace, m.order, private=private(m, region), low=granule, high=granule)
    tag = int(trace.tag[granule])
    lane = lane_at(lanes, place)
    who = "several threads"
    if tag > 0:
        block, thread = m.thread_id(tag - 1 - m.first_block * m.threads)
        mine = m.thread_id(lane)[0]
        who = f"thread {thread}" + ("" if block == mine else f" of block {block}")
    line = m.lines[int(trace.time[granule])]
    message = f"{now} {region.space} memory that {who} {before} at line {line}, and nothing orders the two"
    m.fault("race", message, lane, address=int(address[place]), fatal=False)


def check(
    m: Machine, region: Region, touch: races.Touch, address: Addresses,
    against: tuple[tuple[races.Trace | None, str], ...], now: str, harmless: Callable[[], Bools] | None = None,
) -> None:
    """Report a race with each of the traces, named by what was done. `harmless`: lanes that may meet plain writes."""
    for trace, before in against:
        if trace is None:
            continue
        bad = races.conflicts(trace, touch, m.order, private=private(m, region))
        if bad is None:
            continue
        if trace is region.atomics:
            bad &= ~_saw(m, region, trace, touch, bad)
            if not bad.any():
                continue
        if harmless is not None and before == "wrote":
            bad &= ~spread(harmless(), region, touch.parts << region.shift)
            if not bad.any():
                continue
        report(m, region, trace, touch, address, bad, now, before)


def _saw(m: Machine, region: Region, trace: races.Trace, touch: races.Touch, bad: Bools) -> Bools:
    """Which strong accesses a lane has seen the result of, by a strong read of its own or by what it was told."""
    numbers = np.flatnonzero(bad)
    order, granules = m.order, touch.granules()[numbers]
    lanes, times = touch.by_granule(m.tags)[numbers] - order.first_tag, trace.time[granules]
    places = granules.astype(np.int64) * 4 + SPACES[region.space]
    seen = (order.read_place[lanes] == places) & (order.read_time[lanes] > times)
    if order.causality is not None:
        seen |= order.causality.saw(lanes, places, times)
    result = np.zeros(bad.size, np.bool_)
    result[numbers] = seen
    return result


def check_narrow(m: Machine, region: Region, touch: races.Touch, address: Addresses, now: str) -> None:
    """Strong accesses of different blocks race where the scope of one ends with its block."""
    for trace, before in ((region.atomics, "changed"), (region.strong_reads, "read")):
        bad = None
        if trace is not None and region.space == "global" and not (before == "read" and now.startswith("reads")):
            bad = races.conflicts(trace, touch, m.order, private=False)
        if bad is None or trace is None:
            continue
        bad &= m.order.shape.block(trace.tag[touch.where]) != m.order.shape.block(touch.by_granule(m.tags))
        bad &= ~_saw(m, region, trace, touch, bad)
        if bad.any():
            report(m, region, trace, touch, address, bad, now, before)
