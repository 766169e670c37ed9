"""A profile of a launch: instructions, divergence, bank conflicts, sectors of global memory, barriers.

Counted as a GPU issues them: an instruction of a group of lanes is one warp instruction for every warp that has a
lane in the group.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ptxgen.executing.emulator.lanes import Lanes, count
from ptxgen.executing.emulator.memory import Region
from ptxgen.executing.emulator.values import Array

if TYPE_CHECKING:
    from ptxgen.executing.emulator.machine import Machine
    from ptxgen.executing.emulator.program import Program, Step

#: Bytes of a sector, the piece in which global memory is fetched.
SECTOR = 32
#: Banks of shared memory, each four bytes wide.
BANKS = 32
#: Steps in which a guard says who goes where, and not who takes part.
_DECIDING = frozenset({"jump", "exit", "table", "call", "return"})


@dataclass(slots=True)
class Instructions:
    """One opcode, or one line. `divergent`: warp instructions in which some threads of the warp took part and others
    did not. `active` sums up the threads that took part."""

    warps: int = 0
    threads: int = 0
    active: int = 0
    divergent: int = 0

    def add(self, other: Instructions) -> None:
        self.warps += other.warps
        self.threads += other.threads
        self.active += other.active
        self.divergent += other.divergent


@dataclass(slots=True)
class GlobalAccess:
    """One line's accesses of global memory. A request is one access of one warp; `sectors` are the 32-byte pieces
    that all requests touch, each once a request, `used` the distinct bytes in them that were asked for."""

    requests: int = 0
    sectors: int = 0
    used: int = 0


@dataclass(slots=True)
class SharedAccess:
    """One line's accesses of shared memory. `passes` are the turns that the banks take, `least` those of a request
    without conflicts, `worst` the most turns of one part of a request (1: no conflict)."""

    requests: int = 0
    passes: int = 0
    least: int = 0
    worst: int = 0


class Profile:
    """Watches a whole launch. Lines are those of the PTX text.

    `opcodes` and `lines` count instructions, `global_lines` and `shared_lines` accesses, `barriers` the warps that
    came to a barrier, each by line or opcode.
    """

    def __init__(self) -> None:
        self.opcodes: dict[str, Instructions] = {}
        self.lines: dict[int, Instructions] = {}
        self.opcode_of: dict[int, str] = {}
        self.global_lines: dict[int, GlobalAccess] = {}
        self.shared_lines: dict[int, SharedAccess] = {}
        self.barriers: Counter[int] = Counter()

    @property
    def total(self) -> Instructions:
        """All instructions of the launch."""
        whole = Instructions()
        for one in self.opcodes.values():
            whole.add(one)
        return whole

    def begin(self, m: Machine, program: Program) -> None:
        """Nothing to prepare."""

    def end(self, m: Machine) -> None:
        """Nothing to finish."""

    def issued(self, m: Machine, counter: int, step: Step, lanes: Lanes, some: Lanes | None) -> None:
        """Count the instruction for every warp that the group has lanes of."""
        deciding = step.action in _DECIDING
        taking = lanes if deciding else some
        warps = _warps(m, lanes)
        one = Instructions(int(np.count_nonzero(warps)), count(lanes))
        if taking is not None:
            active = warps if taking is lanes else _warps(m, taking)
            one.active = count(taking)
            one.divergent = int(np.count_nonzero((active > 0) & (active < _sizes(m))))
        self.opcodes.setdefault(step.opcode, Instructions()).add(one)
        self.lines.setdefault(step.line, Instructions()).add(one)
        self.opcode_of.setdefault(step.line, step.opcode)
        if step.barrier is not None:
            self.barriers[step.line] += one.warps

    def accessed(self, m: Machine, region: Region, address: Array, lanes: Lanes, size: int, verb: str) -> None:
        if region.space not in {"global", "shared"}:
            return
        warps = m.slots[lanes] // 32
        where = np.broadcast_to(address, warps.shape).astype(np.int64)
        if region.space == "global":
            _count_sectors(self.global_lines.setdefault(m.line, GlobalAccess()), warps, where, size)
        else:
            found = self.shared_lines.setdefault(m.line, SharedAccess())
            _count_passes(found, warps, m.slots[lanes] % 32, where, size, serial="atomic" in verb)


def _warps(m: Machine, lanes: Lanes) -> Array:
    """By warp of the batch: lanes of the set."""
    return np.bincount(m.slots[lanes] // 32, minlength=m.warps)


def _sizes(m: Machine) -> Array:
    """By warp of the batch: the threads it has. The last warp of a block may have fewer than 32."""
    a_block = np.full(m.order.shape.warps, 32)
    if m.threads % 32:
        a_block[-1] = m.threads % 32
    return np.tile(a_block, m.blocks)


def _count_sectors(found: GlobalAccess, warps: Array, where: Array, size: int) -> None:
    low = where // SECTOR
    base = int(low.min())
    span = int(low.max()) - base + 2 + size // SECTOR
    keys = [warps * span + (low - base) + more for more in range((size - 1) // SECTOR + 1)]
    crossing = (where + size - 1) // SECTOR > low + (size - 1) // SECTOR
    if crossing.any():
        keys.append((warps * span + (low - base) + (size - 1) // SECTOR + 1)[crossing])
    found.requests += np.unique(warps).size
    found.sectors += np.unique(np.concatenate(keys)).size
    # Accesses of one instruction have one size and are aligned to it, so they are the same bytes or others.
    places, which = np.unique(where, return_inverse=True)
    found.used += np.unique(warps * places.size + which).size * size


def _count_passes(
    found: SharedAccess, warps: Array, places: Array, where: Array, size: int, *, serial: bool
) -> None:
    """A request of 8 bytes a lane is served in halves of a warp, one of 16 in quarters. In each part lanes that name
    the same word share it (atomics of one word take turns), and different words of one bank take turns."""
    pieces = max(size // 4, 1)
    part = warps * pieces + places // (32 // min(pieces, 32))
    words = np.concatenate([(where >> 2) + piece for piece in range(pieces)])
    parts = np.tile(part, pieces)
    base = int(words.min())
    span = int(words.max()) - base + 1
    keys = parts * span + (words - base)
    if not serial:
        keys = np.unique(keys)
    banks = (keys // span) * BANKS + (keys % span + base) % BANKS
    which, turns = np.unique(banks, return_counts=True)
    owners = which // BANKS
    starts = np.flatnonzero(np.append(True, owners[1:] != owners[:-1]))
    most = np.maximum.reduceat(turns, starts)
    found.requests += np.unique(warps).size
    found.passes += int(most.sum())
    found.least += most.size
    found.worst = max(found.worst, int(most.max()))
