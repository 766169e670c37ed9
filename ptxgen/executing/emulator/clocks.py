"""Clocks: what somebody knows of others, as times by unit, made once and shared by number."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from ptxgen.executing.emulator.races import SEVERAL_BLOCKS, Shape
from ptxgen.executing.emulator.values import Array

#: By unit, which is a tag as in `races` (a thread, a warp, a block) or a place: all it did before that time is known.
Clock: TypeAlias = dict[int, int]

#: The unit of a place of memory is this number less the place.
PLACES = -(1 << 40)
#: Clocks with more entries than this speak of whole blocks, so that they stay cheap.
_MOST_ENTRIES = 1024
_MOST_CLOCKS = 200_000


#: Units lie between this and its negative.
_FARTHEST = 1 << 44


def _pairs(ids: Array, units: Array) -> tuple[list[tuple[int, int]], Array]:
    """The different pairs of a clock and a unit, and which of them each element has."""
    keys, back = np.unique(ids * (2 * _FARTHEST) + (units + _FARTHEST), return_inverse=True)
    numbers, rest = np.divmod(keys, 2 * _FARTHEST)
    return list(zip(numbers.tolist(), (rest - _FARTHEST).tolist(), strict=True)), back


@dataclass(slots=True)
class Clocks:
    """All clocks, by number; number 0 knows nothing. None is ever changed."""

    shape: Shape
    made: list[Clock] = field(default_factory=lambda: [{}])
    joins: dict[tuple[int, int], int] = field(default_factory=dict)
    answers: dict[tuple[int, int], int] = field(default_factory=dict)

    def new(self, clock: Clock) -> int:
        """The number of a clock; one of very many entries is made coarser."""
        if not clock:
            return 0
        if len(clock) > _MOST_ENTRIES:
            clock = self._coarser(clock)
        self.made.append(clock)
        return len(self.made) - 1

    def _coarser(self, clock: Clock) -> Clock:
        result: Clock = {}
        for unit, time in clock.items():
            block = self._block(unit)
            key = unit if block < 0 else -2 - 2 * block
            result[key] = max(time, result.get(key, 0))
        return result

    def join(self, first: int, second: int) -> int:
        """The number of a clock that knows what either knows."""
        if first == second or not second:
            return first
        if not first:
            return second
        key = (first, second) if first < second else (second, first)
        found = self.joins.get(key)
        if found is None:
            one, other = self.made[first], self.made[second]
            if len(one) < len(other):
                first, one, other = second, other, one
            news = {unit: time for unit, time in other.items() if time > one.get(unit, 0)}
            found = self.joins[key] = self.new({**one, **news}) if news else first
        return found

    def join_all(self, numbers: Iterable[int]) -> int:
        """The same of any number of clocks; 0 of none."""
        result = 0
        for number in numbers:
            result = self.join(result, int(number))
        return result

    def until(self, ids: Array, units: Array) -> Array:
        """The time up to which each clock knows a unit itself."""
        pairs, back = _pairs(ids, units)
        return np.array([self.made[number].get(unit, 0) for number, unit in pairs], np.int64)[back]

    def until_tag(self, ids: Array, tags: Array) -> Array:
        """The time up to which each clock knows who a tag stands for."""
        pairs, back = _pairs(ids, tags)
        for number, tag in pairs:
            if (number, tag) not in self.answers:
                self.answers[number, tag] = self._search(self.made[number], tag)
        return np.array([self.answers[pair] for pair in pairs], np.int64)[back]

    def _search(self, clock: Clock, tag: int) -> int:
        """Of accesses by several threads only the last one's time is kept, so that where several of them are known it
        is taken that all are."""
        if tag == SEVERAL_BLOCKS:
            return max((time for known, time in clock.items() if known > PLACES), default=0)
        if tag > 0:
            return max(clock.get(tag, 0), clock.get(-3 - 2 * self.warp(tag), 0))
        if tag % 2:
            warp = (-tag - 3) // 2
            inside = {unit: time for unit, time in clock.items() if unit > 0 and self.warp(unit) == warp}
        else:
            block = (-tag - 2) // 2
            inside = {unit: time for unit, time in clock.items() if self._block(unit) == block and unit != tag}
            for thread in [unit for unit in inside if unit > 0]:
                inside.pop(-3 - 2 * self.warp(thread), None)
        found = clock.get(tag, 0)
        return max(found, *inside.values()) if len(inside) > 1 else found

    def warp(self, tag: int) -> int:
        """The warp of a single thread's tag, counted through the grid."""
        thread = tag - 1
        return thread // self.shape.threads * self.shape.warps + thread % self.shape.threads // 32

    def _block(self, unit: int) -> int:
        """The block of a thread, warp or block; -1 for a place."""
        if unit > 0:
            return (unit - 1) // self.shape.threads
        if unit <= PLACES:
            return -1
        return (-unit - 3) // 2 // self.shape.warps if unit % 2 else (-unit - 2) // 2

    @property
    def many(self) -> bool:
        """Whether it is time to forget some."""
        return len(self.made) >= _MOST_CLOCKS

    def keep(self, held: Collection[int]) -> Array:
        """Forget all but these; gives the new number of each old one."""
        kept = sorted({0, *held})
        numbers = np.zeros(len(self.made), np.int32)
        numbers[kept] = np.arange(len(kept))
        self.made = [self.made[number] for number in kept]
        self.joins.clear()
        self.answers.clear()
        return numbers


@dataclass(slots=True)
class Earlier:
    """What a place held, and said, before its last change that says something, and the blocks that have seen that."""

    value: int
    width: int                                 # bytes
    told: dict[tuple[int, int], int]
    time: int
    tags: Array                                # of who changed it
    looked: set[int]
