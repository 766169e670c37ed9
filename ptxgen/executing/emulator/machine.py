"""The state of the machine: everything that changes while a kernel runs, in one object that can be copied.

A machine runs one batch of blocks; its lanes are the threads of the batch, block after block. Memory outlives it and
is shared by the batches of a launch.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ptxgen.executing.emulator.causality import SPACES, Causality
from ptxgen.executing.emulator.clocks import Clocks
from ptxgen.executing.emulator.lanes import LaneArray, Lanes, as_array, lane_at
from ptxgen.executing.emulator.late import Late
from ptxgen.executing.emulator.memory import Region
from ptxgen.executing.emulator.races import WIDE, Order, Shape, Tags, settle
from ptxgen.executing.emulator.scopes import Role
from ptxgen.executing.emulator.values import Array, Bools, storage
from ptxgen.executing.protocol import Dim3, Fault, FaultKind, Launch

if TYPE_CHECKING:
    from ptxgen.executing.emulator.program import Program
    from ptxgen.executing.emulator.undefined import Origin
    from ptxgen.executing.emulator.undefined_bits import Shadow
    from ptxgen.executing.emulator.watching import Watcher

#: Faults after which a launch is given up even if none of them stops it.
MOST_FAULTS = 16


class Stopped(Exception):
    """The launch cannot go on: a fatal fault was reported, or too many."""


@dataclass(slots=True)
class Arrival:
    """Lanes that came to a barrier together. `waits` is False for bar.arrive."""

    barrier: int
    count: int | None
    lanes: npt.NDArray[np.intp]
    resume: int
    line: int
    waits: bool
    aligned: bool
    reduce: str = ""
    values: Bools | None = None
    target: int = -1


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a loop's jump found: if a later one finds the same, nothing will ever change."""

    target: int
    changes: int
    alive: int
    registers: list[Array]


@dataclass(slots=True)
class Depth:
    """What all lanes kept over the calls that they made at one depth, by register slot."""

    values: dict[int, Array] = field(default_factory=dict)

    def copy(self) -> Depth:
        return Depth({slot: value.copy() for slot, value in self.values.items()})


@dataclass(slots=True)
class Report:
    """Faults seen so far in a launch, the first of each kind and line."""

    faults: list[Fault] = field(default_factory=list)
    seen: set[tuple[str, int]] = field(default_factory=set)
    printed: list[str] = field(default_factory=list)       # what vprintf was given, in order, up to a limit
    printed_size: int = 0                                  # characters of it all
    allocated: dict[int, int] = field(default_factory=dict)         # by address: bytes that malloc gave
    heap_used: int = 0                                     # bytes of the device heap, freed ones too
    unlaunched: int = 0                                    # blocks at the grid's end that have not begun
    refused: set[int] = field(default_factory=set)         # blocks that saw a request to cancel others fail

    def add(self, fault: Fault) -> None:
        """Raises Stopped when there are too many."""
        if (fault.kind, fault.line) in self.seen:
            return
        self.seen.add((fault.kind, fault.line))
        self.faults.append(fault)
        if len(self.faults) >= MOST_FAULTS:
            raise Stopped


def coordinates(index: int, extent: Dim3) -> Dim3:
    """A linear index as x, y, z (x fastest)."""
    x, y, _ = extent
    return index % x, index // x % y, index // (x * y)


def block_coordinates(number: int, grid: Dim3, cluster: Dim3) -> Dim3:
    """Coordinates of block `number` of the grid; those of a cluster are numbered one after the other."""
    size = cluster[0] * cluster[1] * cluster[2]
    whole = coordinates(number // size, clusters_of(grid, cluster))
    x, y, z = (w * c + i for w, c, i in zip(whole, cluster, coordinates(number % size, cluster), strict=True))
    return x, y, z


def clusters_of(grid: Dim3, cluster: Dim3) -> Dim3:
    """The grid in clusters."""
    return grid[0] // cluster[0], grid[1] // cluster[1], grid[2] // cluster[2]


@dataclass(slots=True)
class Machine:
    """One batch: blocks `first_block` to `first_block + blocks - 1` of the grid."""

    launch: Launch
    first_block: int
    blocks: int
    threads: int                               # a block
    registers: list[Array]
    written: dict[int, Bools]                  # by register, for those whose definition was not proved
    regions: dict[str, Region]
    report: Report
    order: Order
    lines: list[int]                           # by memory time: the line that accessed
    groups: dict[int, Lanes]                   # by program counter: lanes ready to run
    parked: dict[int, Lanes]                   # by program counter: lanes waiting for lanes of their warp
    waiting: list[Arrival]
    alive: Bools                               # by lane
    alive_in_block: npt.NDArray[np.int64]
    alive_total: int
    block_of: npt.NDArray[np.intp]             # by lane: block within the batch
    thread_of: npt.NDArray[np.int64]           # by lane: linear thread within the block
    tags: Tags                                 # by lane: thread of the grid + 1
    slots: npt.NDArray[np.intp]                # by lane: warp of the batch * 32 + lane in the warp
    specials: dict[str, Array] = field(default_factory=dict)
    line: int = 0
    steps: int = 0
    instructions: int = 0
    touched_atomic: bool = False
    changes: int = 0                           # memory instructions that write
    last_jump: tuple[int, Lanes] | None = None # line and lanes of the last jump back
    jumps: int = 0                             # backward jumps while nobody else could run
    snapshot: Snapshot | None = None
    cluster: Dim3 = (1, 1, 1)                  # blocks of a cluster, which follow one another in a batch
    late: list[Late] = field(default_factory=list)             # asynchronous operations not yet carried out
    committed: dict[str, Array] = field(default_factory=dict)  # by kind, then lane: groups committed
    looked_at: set[int] = field(default_factory=set)           # mbarriers that were, since something reports there
    mbarriers: set[int] = field(default_factory=set)           # places in shared memory where one has begun
    cluster_arrived: Array = field(default_factory=lambda: np.zeros(0, np.int64))      # by lane: times
    cluster_waited: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    depth: Array = field(default_factory=lambda: np.zeros(0, np.int64))                # by lane: calls it is in
    depths: list[Depth] = field(default_factory=list)
    saved_at: dict[int, tuple[int, ...]] = field(default_factory=dict)
    cluster_waiting: list[tuple[LaneArray, int, int]] = field(default_factory=list)    # lanes, step after, line
    undefined: dict[int, Shadow] = field(default_factory=dict)      # by register, over all lanes
    origins: list[Origin] = field(default_factory=list)
    origin_numbers: dict[tuple[str, int], int] = field(default_factory=dict)
    read_later: dict[tuple[int, int], bool] = field(default_factory=dict)       # by step and register
    loaded: list[Shadow | None] | None = None   # by element of the step that runs: what it loaded undefined
    loaded_from: str = ""                      # the space it comes from
    carried: list[Shadow | None] | None = None  # the same of what it stores
    watchers: tuple[Watcher, ...] = ()         # told of every step and access; they change nothing

    @property
    def cluster_size(self) -> int:
        return self.cluster[0] * self.cluster[1] * self.cluster[2]

    @property
    def lanes(self) -> int:
        return self.blocks * self.threads

    @property
    def warps(self) -> int:
        """Warps of the batch."""
        return self.blocks * self.order.shape.warps

    def copy(self) -> Machine:
        """An independent machine in the same state, memory included."""
        twin = copy.copy(self)
        twin.registers = [r.copy() for r in self.registers]
        twin.written = {slot: w.copy() for slot, w in self.written.items()}
        twin.regions = {space: region.copy() for space, region in self.regions.items()}
        report = self.report
        twin.report = Report(
            list(report.faults), set(report.seen), list(report.printed), report.printed_size, dict(report.allocated),
            report.heap_used, report.unlaunched, set(report.refused),
        )
        twin.order = copy.deepcopy(self.order)
        twin.lines = list(self.lines)
        twin.groups, twin.parked = dict(self.groups), dict(self.parked)
        twin.waiting = list(self.waiting)
        twin.undefined = {slot: (numbers.copy(), bits.copy()) for slot, (numbers, bits) in self.undefined.items()}
        twin.origins, twin.origin_numbers = list(self.origins), dict(self.origin_numbers)
        twin.late, twin.mbarriers = list(self.late), set(self.mbarriers)
        twin.looked_at = set(self.looked_at)
        twin.committed = {kind: number.copy() for kind, number in self.committed.items()}
        twin.cluster_arrived, twin.cluster_waited = self.cluster_arrived.copy(), self.cluster_waited.copy()
        twin.depth, twin.depths = self.depth.copy(), [depth.copy() for depth in self.depths]
        twin.cluster_waiting = list(self.cluster_waiting)
        twin.alive, twin.alive_in_block = self.alive.copy(), self.alive_in_block.copy()
        return twin

    def thread_id(self, lane: int) -> tuple[Dim3, Dim3]:
        """(block, thread) of a lane."""
        block = block_coordinates(self.first_block + lane // self.threads, self.launch.grid, self.cluster)
        return block, coordinates(lane % self.threads, self.launch.block)

    def fault(
        self, kind: FaultKind, message: str, lane: int | None = None, *, address: int | None = None,
        fatal: bool = True,
    ) -> None:
        """Report at the current line. Raises Stopped if `fatal` or if there are too many faults."""
        block, thread = self.thread_id(lane) if lane is not None else (None, None)
        self.report.add(Fault(kind, message, self.line, block, thread, address))
        if fatal:
            raise Stopped

    def fault_among(
        self, kind: FaultKind, message: str, lanes: Lanes, bad: Bools, *, address: Array | None = None,
        fatal: bool = True,
    ) -> None:
        """Report the first lane of the set whose entry of `bad` is true."""
        place = int(np.argmax(bad))
        where = None if address is None else int(address[place]) & (1 << 64) - 1
        self.fault(kind, message, lane_at(lanes, place), address=where, fatal=fatal)

    def touch(
        self, region: Region, offset: Array, lanes: Lanes, role: Role, *, wrote: Bools | None = None,
        old: Array | None = None,
    ) -> list[tuple[int, int]]:
        """These lanes made a strong access at these bytes of the region; `wrote`: which changed it, None for all
        that the role lets; `old`: the words before. Gives what some lanes read instead (`Causality.touch`)."""
        order, causality = self.order, self.order.causality
        if role.reads:
            order.note_read(lanes, (offset >> region.shift) * 4 + SPACES[region.space], len(self.lines), role.writes)
        lane = as_array(lanes)
        if wrote is not None and wrote.any():
            order.swap_place[lane[wrote]] = order.read_place[lane[wrote]]
            order.swap_time[lane[wrote]] = len(self.lines) - 1
        if causality is None:
            return []
        if role.writes and wrote is None:
            wrote = np.ones(lane.size, np.bool_)
        return causality.touch(
            self.order, region.space, region.flags.size, np.broadcast_to(offset >> region.shift, lane.shape), lane,
            role, len(self.lines), wrote if role.writes else None, old,
        )

    def note_fence(self, lanes: Lanes, role: Role) -> None:
        """These lanes passed a memory fence."""
        if self.order.causality is not None:
            self.order.causality.fence(self.order, as_array(lanes), role, self.tick())

    def settle_traces(self) -> None:
        """Before what orders accesses changes in ways that a logged one does not keep."""
        for space, region in self.regions.items():
            for trace in (region.reads, region.writes, region.atomics, region.strong_reads):
                if trace is not None:
                    settle(trace, self.order, private=space == "shared" and self.cluster_size == 1)

    def goes_round(self, target: int) -> bool:
        """Called at a backward jump while nobody else can run: is the machine where it was some jumps ago?

        Every 4,096 jumps the registers are kept and compared at the sixteen jumps that follow.
        """
        self.jumps += 1
        since = self.jumps & 4095
        if since == 0:
            kept = [register.copy() for register in self.registers]
            self.snapshot = Snapshot(target, self.changes, self.alive_total, kept)
        old = self.snapshot
        if not 0 < since <= 16 or old is None:
            return False
        if (old.target, old.changes, old.alive) != (target, self.changes, self.alive_total):
            return False
        return all(np.array_equal(a, b) for a, b in zip(old.registers, self.registers, strict=True))

    def tick(self) -> int:
        """The time of a memory instruction that begins now."""
        self.lines.append(self.line)
        return len(self.lines) - 1


def threads_of(launch: Launch) -> int:
    """Threads of the whole grid."""
    return math.prod(launch.grid) * math.prod(launch.block)


def make_order(launch: Launch, *, fenced: bool, cluster: int = 1, late: bool = False) -> Order:
    """Ordering state of a launch; what threads tell each other is kept only if the kernel has a way to. `cluster`:
    blocks of one; `late`: whether the kernel has asynchronous operations."""
    bx, by, bz = launch.block
    empty = np.zeros(0, np.int32)
    shape = Shape.of(bx * by * bz)
    return Order(shape, empty, empty.copy(), Causality(Clocks(shape), cluster) if fenced else None, late=late)


def start_batch(
    launch: Launch, first_block: int, blocks: int, program: Program,
    regions: dict[str, Region], report: Report, order: Order, lines: list[int],
) -> Machine:
    """A machine with all lanes of the batch ready at program counter 0."""
    x, y, z = launch.block
    threads = x * y * z
    lanes = blocks * threads
    order.block_sync = np.full(lanes, len(lines), np.int32)
    order.oldest = len(lines)
    order.heard, order.heard_in_warp, order.first_tag = None, None, first_block * threads + 1
    order.warp_sync = np.full(lanes, len(lines), np.int32)
    order.read_place, order.read_time = np.full(lanes, -1, np.int64), np.zeros(lanes, np.int32)
    order.swap_place, order.swap_time = np.full(lanes, -1, np.int64), np.zeros(lanes, np.int32)
    for space in ("global", "shared") if program.bulk else ():
        if space in regions and regions[space].generic is None:
            regions[space].generic = np.zeros(regions[space].flags.size, np.int32)
    if order.causality is not None:
        order.causality.begin(lanes, order.first_tag)
    number = np.arange(lanes, dtype=np.intp)
    block_of = number // threads
    thread_of = number - block_of * threads
    slots = number if threads % 32 == 0 else block_of * (order.shape.warps * 32) + thread_of
    tags = np.int64 if threads_of(launch) >= WIDE else np.int32
    registers = [np.zeros(lanes, storage(t)) for t in program.register_types]
    for slot, value in program.preset.items():
        registers[slot][:] = value
    return Machine(
        launch, first_block, blocks, threads,
        registers,
        {slot: np.zeros(lanes, np.bool_) for slot in program.unproven},
        regions, report, order, lines,
        {0: slice(0, lanes)}, {}, [], np.ones(lanes, np.bool_), np.full(blocks, threads, np.int64), lanes,
        block_of, thread_of, (number + (first_block * threads + 1)).astype(tags), slots,
        cluster=program.demands.cluster or (1, 1, 1), saved_at=program.saved_at,
        depth=np.zeros(lanes, np.int64),
        cluster_arrived=np.zeros(lanes, np.int64), cluster_waited=np.zeros(lanes, np.int64),
    )
