"""Memory operations that were issued and not yet carried out: asynchronous copies, stores and reductions.

They happen as late as the kernel can tell: a copy when its thread waits for its group, one that reports to an
mbarrier when somebody looks at that mbarrier. So a kernel that reads too early reads what was there before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from ptxgen.executing.emulator.lanes import LaneArray, Lanes, as_array
from ptxgen.executing.emulator.values import Array, Bools

if TYPE_CHECKING:
    from ptxgen.executing.emulator.machine import Machine

Kind = Literal["group", "bulk", "barrier"]


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

    def part(self, chosen: Bools) -> Late:
        return Late(self.kind, self.lanes[chosen], self.key[chosen], self.line, self.perform, self.entries[chosen])


def postpone(
    m: Machine, kind: Kind, lanes: LaneArray, perform: Callable[[Machine, Array], None], key: Array | None = None
) -> None:
    """Note operations of the current line; without keys they belong to the group that each lane has open."""
    keys = groups(m, kind)[lanes].copy() if key is None else key
    m.late.append(Late(kind, lanes, keys, m.line, perform, np.arange(lanes.size)))


def groups(m: Machine, kind: Kind) -> Array:
    """By lane: how many groups it has committed, which is the number of its open one."""
    found = m.committed.get(kind)
    if found is None:
        found = m.committed[kind] = np.zeros(m.lanes, np.int64)
    return found


def commit(m: Machine, kind: Kind, lanes: Lanes) -> None:
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
        _finish(m, "barrier", lambda late: np.isin(late.key, places))


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
        late.perform(m, late.entries[chosen])
        if not chosen.all():
            m.late.append(late.part(~chosen))
    m.line = line


def lane_array(lanes: Lanes) -> LaneArray:
    """The lanes as an array of their own."""
    return np.array(as_array(lanes))
