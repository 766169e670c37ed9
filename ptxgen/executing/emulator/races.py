"""Who touched each granule last: the memory of the race checks.

Four traces a region: plain reads, plain writes, atomic (or otherwise strong) accesses, strong loads. Each keeps for
every granule a tag (who) and the time (a count of memory instructions). Two accesses of different threads conflict
when one is a plain write, or one is plain and the other changes something atomically, and nothing orders them: no
barrier of their block, no warp barrier of their warp, and nothing that one was told of the other (`causality`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ptxgen.executing.emulator.values import Bools

if TYPE_CHECKING:
    from ptxgen.executing.emulator.causality import Causality

Tags: TypeAlias = Any
Index: TypeAlias = Any

#: Tags: 0 nobody; thread + 1; -1 threads of several blocks; -2 - 2*block several threads of one block;
#: -3 - 2*warp several of one warp.
SEVERAL_BLOCKS = -1


@dataclass(frozen=True, slots=True)
class Shape:
    """How thread numbers of the grid fall into warps and blocks."""

    threads: int
    warps: int

    @classmethod
    def of(cls, threads: int) -> Shape:
        return cls(threads, -(-threads // 32))

    def block(self, tags: Tags) -> Tags:
        """Block of each tag, -1 where it belongs to several."""
        single = (tags - 1) // self.threads
        return np.where(
            tags > 0, single, np.where(tags == SEVERAL_BLOCKS, -1, np.where(tags % 2 == 0, (-tags - 2) // 2,
                                                                           (-tags - 3) // 2 // self.warps))
        )

    def warp(self, tags: Tags) -> Tags:
        """Warp of each tag, counted through the grid, -1 where it belongs to several."""
        thread = tags - 1
        if self.threads % 32:
            single = thread // self.threads * self.warps + thread % self.threads // 32
        else:
            single = thread >> 5
        return np.where(tags > 0, single, np.where((tags < -1) & (tags % 2 != 0), (-tags - 3) // 2, -1))

    def merge(self, first: Tags, second: Tags) -> Tags:
        """The tag for "both of these"; the tags differ and neither is 0."""
        warp = self.warp(first)
        together = (warp >= 0) & (warp == self.warp(second))
        if together.all():
            return -3 - 2 * warp
        block = self.block(first)
        return np.where(
            together, -3 - 2 * warp,
            np.where((block >= 0) & (block == self.block(second)), -2 - 2 * block, SEVERAL_BLOCKS),
        )


@dataclass(slots=True)
class Trace:
    """The last accesses of one kind."""

    tag: npt.NDArray[np.int32]
    time: npt.NDArray[np.int32]

    @classmethod
    def over(cls, granules: int) -> Trace:
        return cls(np.zeros(granules, np.int32), np.zeros(granules, np.int32))

    def copy(self) -> Trace:
        return Trace(self.tag.copy(), self.time.copy())


@dataclass(slots=True)
class Order:
    """What orders threads: times of barriers by lane, and what each was told through strong accesses."""

    shape: Shape
    block_sync: npt.NDArray[np.int32]      # by lane: time of the last barrier its block completed
    warp_sync: npt.NDArray[np.int32]       # by lane: time of the last warp barrier
    causality: Causality | None = None     # of kernels with fences, releases or acquires
    #: (lanes, warps of a block), once a barrier was for a part of its block or somebody only arrived there: what a
    #: warp did before that time is ordered before what the lane does.
    heard: npt.NDArray[np.int32] | None = None
    #: (warps, 32, 32), once a warp's barrier was for a part of it: the same for each lane and lane of its warp.
    heard_in_warp: npt.NDArray[np.int32] | None = None
    first_tag: int = 1                     # tag of lane 0


def conflicts(
    trace: Trace, where: Index, me: Tags, block_sync: Tags, warp_sync: Tags, order: Order, *, private: bool
) -> Bools | None:
    """Which of the accesses at granules `where` by threads `me` are unordered against the trace; None if none is.

    `private`: only threads of one block come to these granules, as in shared memory.
    """
    tags = trace.tag[where]
    suspects = (tags != 0) & (tags != me)
    if private:
        suspects &= trace.time[where] >= block_sync
    if not suspects.any():
        return None
    places = np.flatnonzero(suspects)
    tags, mine, times = tags[places], me[places], trace.time[where[places]]
    ordered = _ordered(tags, times, mine, block_sync[places], warp_sync[places], order)
    if ordered.all():
        return None
    result = np.zeros(me.shape, np.bool_)
    result[places[~ordered]] = True
    return result


def _ordered(tags: Tags, times: Tags, mine: Tags, block_sync: Tags, warp_sync: Tags, order: Order) -> Bools:
    shape = order.shape
    their_block, my_block = shape.block(tags), shape.block(mine)
    ordered: Bools = (their_block == my_block) & (times < block_sync)
    same_warp = (shape.warp(tags) == shape.warp(mine)) & (times < warp_sync)
    ordered |= same_warp
    if order.heard is not None:
        rows = order.heard[mine - order.first_tag]
        warp = shape.warp(tags)
        # Of several warps' accesses the latest may be anyone's; a race may be missed then, none is made up.
        until = np.where(warp >= 0, rows[np.arange(warp.size), warp % shape.warps], rows.max(axis=1))
        ordered |= (their_block == my_block) & (times < until)
    if order.heard_in_warp is not None:
        ordered |= _ordered_in_warp(tags, times, mine, order)
    if order.causality is not None and not ordered.all():
        left = np.flatnonzero(~ordered)
        ordered[left] = order.causality.knows(mine[left] - order.first_tag, tags[left], times[left])
    return ordered


def _ordered_in_warp(tags: Tags, times: Tags, mine: Tags, order: Order) -> Bools:
    assert order.heard_in_warp is not None
    shape = order.shape
    first = (order.first_tag - 1) // shape.threads * shape.warps
    rows = order.heard_in_warp[shape.warp(mine) - first, (mine - 1) % shape.threads % 32]
    theirs = (tags - 1) % shape.threads % 32
    until = np.where(tags > 0, rows[np.arange(theirs.size), theirs], rows.max(axis=1))
    return np.asarray((shape.warp(tags) == shape.warp(mine)) & (times < until))


def remember(
    trace: Trace, where: Index, me: Tags, block_sync: Tags, warp_sync: Tags, order: Order, time: int, *, private: bool
) -> None:
    """Note accesses, keeping earlier ones that nothing has ordered before these."""
    tags = trace.tag[where]
    new = me
    others = (tags != 0) & (tags != me)
    if private:
        others &= trace.time[where] >= block_sync
    if others.any():
        places = np.flatnonzero(others)
        old, mine = tags[places], me[places]
        past = _ordered(old, trace.time[where[places]], mine, block_sync[places], warp_sync[places], order)
        new = me.copy()
        new[places] = np.where(past, mine, order.shape.merge(old, mine))
    trace.tag[where] = new
    trace.time[where] = time
    left = trace.tag[where]
    lost = np.flatnonzero(left != new)
    if lost.size:
        # Several lanes read one granule at once: the widest of the merged tags must win.
        merged = order.shape.merge(left[lost], new[lost])
        for kind in (merged % 2 != 0, merged % 2 == 0, merged == SEVERAL_BLOCKS):
            trace.tag[where[lost[kind]]] = merged[kind]
