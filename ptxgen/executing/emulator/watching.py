"""What a launch tells those who watch it: every step of a group of lanes, every access to memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from ptxgen.executing.emulator.lanes import Lanes
from ptxgen.executing.emulator.memory import Region
from ptxgen.executing.emulator.values import Array

if TYPE_CHECKING:
    from ptxgen.executing.emulator.machine import Machine
    from ptxgen.executing.emulator.program import Program, Step


class Watcher(Protocol):
    """Watchers look and change nothing. A launch without any pays for an empty loop a step."""

    def begin(self, m: Machine, program: Program) -> None:
        """A batch of blocks is about to run."""

    def issued(self, m: Machine, counter: int, step: Step, lanes: Lanes, some: Lanes | None) -> None:
        """Step `counter` is about to be carried out by `lanes`, of which the guard lets `some` (None: nobody)."""

    def accessed(self, m: Machine, region: Region, address: Array, lanes: Lanes, size: int, verb: str) -> None:
        """`lanes` are about to access `size` bytes each at their address within the region, before any check.

        `m.line` is the line of the instruction, also of one that was issued earlier (an asynchronous copy). `verb` is
        what faults call it: "a read", "an atomic access".
        """

    def end(self, m: Machine) -> None:
        """The batch has ended, by a fault perhaps."""


def place_of(lanes: Lanes, lane: int) -> int:
    """Which of the set a lane is, -1 if it is not among them."""
    if isinstance(lanes, slice):
        return lane - int(lanes.start) if lanes.start <= lane < lanes.stop else -1
    found = np.flatnonzero(lanes == lane)
    return int(found[0]) if found.size else -1
