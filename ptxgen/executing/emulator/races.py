"""Who touched each granule last: the memory of the race checks.

Four traces a region: plain reads, plain writes, atomic (or otherwise strong) accesses, strong loads. Each keeps for
every granule a tag (who) and the time (a count of memory instructions). Two accesses of different threads conflict
when one is a plain write, or one is plain and the other changes something atomically, and nothing orders them: no
barrier of their block, no warp barrier of their warp, and nothing that one was told of the other (`causality`).

Most accesses meet nobody. So a trace takes an access as it is, a `Touch` in its log, and sets it down granule by
granule only when a later one may conflict with it; what a barrier has put behind every thread that could is forgotten
unread. What is reported is the same as if each had been set down at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ptxgen.executing.emulator.lanes import Lanes, select
from ptxgen.executing.emulator.values import Bools

if TYPE_CHECKING:
    from ptxgen.executing.emulator.causality import Causality

Tags: TypeAlias = Any
Index: TypeAlias = Any

#: Tags: 0 nobody; thread + 1; -1 threads of several blocks; -2 - 2*block several threads of one block;
#: -3 - 2*warp several of one warp.
SEVERAL_BLOCKS = -1
#: Launches of fewer threads have tags of 32 bits.
WIDE = 1 << 30
#: What a log may hold: accesses, and granules of all of them (4 bytes each). No barrier ever empties that of memory
#: which several blocks share, so it has less.
_MOST_TOUCHES, _MOST_GRANULES, _MOST_SHARED = 128, 1 << 22, 1 << 19
#: So few granules are not worth being narrowed.
_FEW = 4096


@dataclass(frozen=True, slots=True)
class Shape:
    """How thread numbers of the grid fall into warps and blocks."""

    threads: int
    warps: int

    @classmethod
    def of(cls, threads: int) -> Shape:
        """Blocks of so many threads."""
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
        if first.size and self.threads % 32 == 0 and min(np.minimum.reduce(first), np.minimum.reduce(second)) > 0:
            # Single threads, as mostly.
            one, other = first - 1, second - 1
            block = one // self.threads
            both = np.where(block == other // self.threads, -2 - 2 * block, SEVERAL_BLOCKS)
            warp = one >> 5
            return np.where(warp == other >> 5, -3 - 2 * warp, both)
        warp = self.warp(first)
        together = (warp >= 0) & (warp == self.warp(second))
        if together.all():
            return -3 - 2 * warp
        block = self.block(first)
        return np.where(
            together, -3 - 2 * warp,
            np.where((block >= 0) & (block == self.block(second)), -2 - 2 * block, SEVERAL_BLOCKS),
        )


@dataclass(frozen=True, slots=True)
class Touch:
    """One access by a set of lanes, and what lay behind them then.

    `where` are its granules, `parts` a lane, one lane after another; all lie from `low` to `high`. `tags`,
    `block_sync` and `warp_sync` are by lane of the batch and are never changed.
    """

    where: Index
    parts: int
    low: int
    high: int
    lanes: Lanes
    time: int
    tags: Tags
    block_sync: Tags
    warp_sync: Tags

    def granules(self) -> Tags:
        """`where` as an array."""
        if not isinstance(self.where, slice):
            return self.where
        return np.arange(self.where.start, self.where.stop, self.where.step)

    def by_granule(self, values: Tags) -> Tags:
        """Of an array by lane of the batch, the element for each granule."""
        mine = values[self.lanes]
        return mine if self.parts <= 1 else np.repeat(mine, self.parts)


@dataclass(slots=True)
class Trace:
    """The last accesses of one kind: those set down by granule, and a log of later ones."""

    tag: Tags
    time: npt.NDArray[np.int32]
    low: int = 1 << 62                     # granules set down
    high: int = -1
    newest: int = -1                       # time of the last access
    log: list[Touch] = field(default_factory=list)
    logged: int = 0                        # granules in the log

    @classmethod
    def over(cls, granules: int, *, wide: bool = False) -> Trace:
        """One in which nobody has touched anything. `wide`: tags of 64 bits."""
        return cls(np.zeros(granules, np.int64 if wide else np.int32), np.zeros(granules, np.int32))

    def copy(self) -> Trace:
        """One with arrays and a log of its own; what was logged is shared, as it never changes."""
        return Trace(
            self.tag.copy(), self.time.copy(), self.low, self.high, self.newest, list(self.log), self.logged
        )


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
    oldest: int = 0                        # no lane's `block_sync` is less
    #: By lane: place (granule * 4 + number of the space) and time of its last strong read. What strong accesses did
    #: there before lies behind it (PTX ISA, observation order).
    read_place: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    read_time: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    #: By lane: place and time of the last compare-and-swap of it that changed something.
    swap_place: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    swap_time: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    late: bool = False                     # whether something may happen after the barriers that follow it
    proxy_fence: int = 0                   # time of the last fence between the generic and the asynchronous proxy

    @property
    def plain(self) -> bool:
        """Whether nothing but `block_sync` and `warp_sync` orders accesses."""
        return self.causality is None and self.heard is None and self.heard_in_warp is None and not self.late

    def note_read(self, lanes: Lanes, places: Tags, time: int, turns: bool) -> None:
        """A strong read by these lanes before `time`; where they take turns at a place only the last has seen all."""
        self.read_place[lanes] = places
        self.read_time[lanes] = time
        if turns and self.read_place[lanes].size > 1:
            mine = self.read_place[lanes]
            self.read_time[lanes] = time - 1
            last = mine.size - 1 - np.unique(mine[::-1], return_index=True)[1]
            numbers = np.arange(lanes.start, lanes.stop) if isinstance(lanes, slice) else lanes
            self.read_time[numbers[last]] = time

    def pass_barrier(self, lanes: Lanes | Bools, time: int) -> None:
        """All threads of these lanes' blocks have met. The old array stays as it is, for who refers to it."""
        self.block_sync = self.block_sync.copy()
        self.block_sync[lanes] = time
        self.oldest = int(self.block_sync.min())

    def pass_warp_barrier(self, lanes: Lanes, time: int) -> None:
        """All threads of these lanes' warps have met."""
        self.warp_sync = self.warp_sync.copy()
        self.warp_sync[lanes] = time


def conflicts(trace: Trace, touch: Touch, order: Order, *, private: bool) -> Bools | None:
    """Which of the granules of an access are unordered against the trace; None if none is.

    `private`: only threads of one block come to these granules, as in shared memory.
    """
    if private and trace.newest < order.oldest:
        return None
    settle(trace, order, private=private, low=touch.low, high=touch.high)
    if touch.low > trace.high or touch.high < trace.low:
        return None
    tags, me = trace.tag[touch.where], touch.by_granule(touch.tags)
    suspects = (tags != 0) & (tags != me)
    if private:
        suspects &= trace.time[touch.where] >= touch.by_granule(touch.block_sync)
    if not suspects.any():
        return None
    places = np.flatnonzero(suspects)
    ordered = _behind(trace, touch, places, me[places], order)
    if ordered.all():
        return None
    result = np.zeros(me.shape, np.bool_)
    result[places[~ordered]] = True
    return result


def _behind(trace: Trace, touch: Touch, places: Index, mine: Tags, order: Order) -> Bools:
    """Which of the accesses set down lie behind those at the same granules, of which `places` are looked at."""
    tags, times = trace.tag[touch.where][places], trace.time[touch.where][places]
    block_sync, warp_sync = (touch.by_granule(sync)[places] for sync in (touch.block_sync, touch.warp_sync))
    return _ordered(tags, times, mine, block_sync, warp_sync, order)


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


def remember(trace: Trace, touch: Touch, order: Order, *, private: bool) -> None:
    """Note an access, keeping earlier ones that nothing has ordered before it."""
    trace.newest = touch.time
    if not order.plain:
        # What orders it may change before it would be set down.
        settle(trace, order, private=private)
        _set_down(trace, touch, order, private=private)
        return
    size = 1
    if not isinstance(touch.where, slice):
        size = touch.where.size
        if size > _FEW and touch.high < 1 << 31:
            touch = replace(touch, where=touch.where.astype(np.int32))
    if len(trace.log) >= _MOST_TOUCHES or trace.logged + size > (_MOST_GRANULES if private else _MOST_SHARED):
        settle(trace, order, private=private)
    trace.log.append(touch)
    trace.logged += size


def settle(trace: Trace, order: Order, *, private: bool, low: int = 0, high: int = 1 << 62) -> None:
    """Set down what the log holds, if some of it is at granules `low` to `high`."""
    if not trace.log or all(touch.low > high or touch.high < low for touch in trace.log):
        return
    log, trace.log, trace.logged = trace.log, [], 0
    for touch in log:
        if not private:
            _set_down(trace, touch, order, private=False)
        elif touch.time >= order.oldest:
            # What a barrier of its block has put behind all who could come is forgotten.
            current = order.block_sync[touch.lanes] <= touch.time
            if current.any():
                _set_down(trace, _part(touch, current), order, private=True)


def _part(touch: Touch, chosen: Bools) -> Touch:
    """The same access by some of its lanes alone."""
    lanes = select(touch.lanes, chosen)
    assert lanes is not None
    if lanes is touch.lanes:
        return touch
    where = touch.granules()[np.repeat(chosen, touch.parts) if touch.parts > 1 else chosen]
    return replace(touch, where=where, lanes=lanes)


def _set_down(trace: Trace, touch: Touch, order: Order, *, private: bool) -> None:
    where, me = touch.where, touch.by_granule(touch.tags)
    trace.low, trace.high = min(trace.low, touch.low), max(trace.high, touch.high)
    tags = trace.tag[where]
    new = me
    others = (tags != 0) & (tags != me)
    if private:
        others &= trace.time[where] >= touch.by_granule(touch.block_sync)
    if order.plain and others.any():
        # Threads of several blocks stay that: nothing plain orders them, whoever comes.
        lasting = others & (tags == SEVERAL_BLOCKS)
        if lasting.any():
            new = np.where(lasting, SEVERAL_BLOCKS, me).astype(me.dtype)
            others &= ~lasting
    if others.any():
        places = np.flatnonzero(others)
        old, mine = tags[places], me[places]
        past = _behind(trace, touch, places, mine, order)
        new = me.copy() if new is me else new
        new[places] = np.where(past, mine, order.shape.merge(old, mine))
    trace.tag[where] = new
    trace.time[where] = touch.time
    if isinstance(where, slice):
        return
    left = trace.tag[where]
    lost = np.flatnonzero(left != new)
    if lost.size:
        # Several lanes came to one granule at once: the widest of the merged tags must win.
        merged = order.shape.merge(left[lost], new[lost])
        for kind in (merged % 2 != 0, merged % 2 == 0, merged == SEVERAL_BLOCKS):
            trace.tag[where[lost[kind]]] = merged[kind]
