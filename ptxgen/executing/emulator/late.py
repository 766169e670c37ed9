"""Memory operations that were issued and not yet carried out: asynchronous copies, stores and reductions.

They happen as late as the kernel can tell: a copy when its thread waits for its group, one that reports to an
mbarrier when somebody looks at that mbarrier for the second time. So a kernel that reads too early reads what was
there before, which is reported. What lies behind them is what lay behind when they were issued.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from ptxgen.executing.emulator.lanes import LaneArray, Lanes, as_array
from ptxgen.executing.emulator.memory import INITIALISED, Region
from ptxgen.executing.emulator.values import Array, Bools

if TYPE_CHECKING:
    from ptxgen.executing.emulator.machine import Machine

Kind = Literal["group", "bulk", "barrier"]


@dataclass(frozen=True, slots=True)
class Spot:
    """By entry, `size` bytes from `start` of a space's data that will be written, or read."""

    space: str
    start: Array
    size: Array
    writes: bool

    def granules(self, region: Region, entries: Array) -> Array:
        """Granules of these entries, one after the other."""
        start, size = self.start[entries], self.size[entries]
        first = start >> region.shift
        counts = (start + size - 1 >> region.shift) + 1 - first
        begun = np.cumsum(counts) - counts
        return np.repeat(first - begun, counts) + np.arange(int(counts.sum()))


@dataclass(frozen=True, slots=True)
class Late:
    """Operations of one instruction, an entry a lane (or several). `key` is an entry's group, or its mbarrier's place
    in shared memory; `perform` carries out the entries of the given numbers."""

    kind: Kind
    lanes: LaneArray
    key: Array
    line: int
    perform: Callable[[Machine, Array], None]
    entries: Array
    spots: tuple[Spot, ...]
    block_sync: Array                          # by lane of the batch, when it was issued
    warp_sync: Array
    oldest: int
    known: Array | None                        # by entry: clock (`causality`)

    def part(self, chosen: Bools) -> Late:
        """Some of the entries."""
        known = None if self.known is None else self.known[chosen]
        return replace(
            self, lanes=self.lanes[chosen], key=self.key[chosen], entries=self.entries[chosen], known=known
        )


def postpone(
    m: Machine, kind: Kind, lanes: LaneArray, perform: Callable[[Machine, Array], None], key: Array | None = None, *,
    spots: tuple[Spot, ...] = (),
) -> None:
    """Note operations of the current line; without keys they belong to the group that each lane has open. `spots`:
    what they will touch."""
    keys = groups(m, kind)[lanes].copy() if key is None else key
    entries = np.arange(lanes.size)
    for spot in spots:
        region = m.regions[spot.space]
        if region.pending is None:
            region.pending = np.zeros(region.flags.size, np.int32)
        region.pending[spot.granules(region, entries)] = m.line if spot.writes else -m.line
    order = m.order
    known = None if order.causality is None else order.causality.known[lanes]
    m.looked_at.difference_update(keys.tolist() if kind == "barrier" else ())
    m.late.append(Late(
        kind, lanes, keys, m.line, perform, entries, spots, order.block_sync, order.warp_sync, order.oldest, known
    ))


def check_pending(
    m: Machine, region: Region, offset: Array | range, address: Array, lanes: Lanes, size: int, *, writes: bool
) -> None:
    """Report who reads what has yet to be written, or writes what has yet to be read or written."""
    granules = region.granules(np.asarray(offset), size)
    assert region.pending is not None
    lines = region.pending.take(granules, mode="clip")
    # Bytes that nothing has written at all are reported as such.
    bad = lines != 0 if writes else (lines > 0) & (region.flags.take(granules, mode="clip") & INITIALISED != 0)
    if bad.any():
        line = int(lines[bad][0])
        now, later = "writes" if writes else "reads", "write" if line > 0 else "read"
        message = f"{now} {region.space} memory that what was issued at line {abs(line)} has yet to {later}"
        bad = bad.reshape(address.size, -1).any(axis=1)
        m.fault_among("race", message, lanes, bad, address=address, fatal=False)


def check_proxy(m: Machine, region: Region, address: Array, offset: Array, lanes: Lanes, size: int) -> None:
    """What the asynchronous proxy reads or writes was last written by it too, or a proxy fence has come between."""
    if region.generic is None:
        return
    bad = region.generic.take(region.granules(offset, size), mode="clip") > m.order.proxy_fence
    if bad.any():
        bad = bad.reshape(address.size, -1).any(axis=1)
        message = f"an asynchronous access to {region.space} memory that was written with no proxy fence after it"
        m.fault_among("race", message, lanes, bad, address=address, fatal=False)


def groups(m: Machine, kind: Kind) -> Array:
    """By lane: how many groups it has committed, which is the number of its open one."""
    found = m.committed.get(kind)
    if found is None:
        found = m.committed[kind] = np.zeros(m.lanes, np.int64)
    return found


def commit(m: Machine, kind: Kind, lanes: Lanes) -> None:
    """The lanes' open groups are closed, and others begin."""
    groups(m, kind)[lanes] += 1


def finish(m: Machine, kind: Kind, lanes: Lanes, *, leave: int | None) -> None:
    """Carry out what these lanes have committed, but for their last `leave` groups; None: what is open, too."""
    if not m.late:
        return
    limit = np.full(m.lanes, -1, np.int64)
    limit[lanes] = 1 << 60 if leave is None else groups(m, kind)[lanes] - leave
    _finish(m, kind, lambda late: late.key < limit[late.lanes])


def finish_at(m: Machine, places: Array) -> None:
    """Carry out what reports to the mbarriers at these places of shared memory."""
    if m.late:
        ready = [place for place in np.unique(places).tolist() if place in m.looked_at]
        m.looked_at.update(places.tolist())
        _finish(m, "barrier", lambda late: np.isin(late.key, ready))


def finish_exiting(m: Machine, lanes: Lanes) -> None:
    """Bulk copies out of shared memory happen although nobody waits for them."""
    finish(m, "bulk", lanes, leave=None)


def _finish(m: Machine, kind: Kind, which: Callable[[Late], Bools]) -> None:
    waiting, m.late = m.late, []
    line = m.line
    for late in waiting:
        chosen = which(late) if late.kind == kind else np.zeros(1, np.bool_)
        if not chosen.any():
            m.late.append(late)
            continue
        m.line = late.line
        _perform(m, late.part(chosen))
        if not chosen.all():
            m.late.append(late.part(~chosen))
    m.line = line


def _perform(m: Machine, late: Late) -> None:
    """Carry it out, with nothing behind it but what lay behind when it was issued."""
    for spot in late.spots:
        region = m.regions[spot.space]
        assert region.pending is not None
        region.pending[spot.granules(region, late.entries)] = 0
    order, causality = m.order, m.order.causality
    now = order.block_sync, order.warp_sync, order.oldest
    known = None if causality is None else causality.known[late.lanes]
    order.block_sync, order.warp_sync, order.oldest = late.block_sync, late.warp_sync, late.oldest
    if causality is not None and late.known is not None:
        causality.known[late.lanes] = late.known
    try:
        late.perform(m, late.entries)
    finally:
        order.block_sync, order.warp_sync, order.oldest = now
        if causality is not None and known is not None:
            causality.known[late.lanes] = known


def lane_array(lanes: Lanes) -> LaneArray:
    """The lanes as an array of their own."""
    return np.array(as_array(lanes))
