"""A trace of one thread: every statement it came to, what it wrote to registers and which memory it touched."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ptxgen.executing.emulator.lanes import Lanes
from ptxgen.executing.emulator.memory import Region, describe
from ptxgen.executing.emulator.values import Array, is_signed, number_dtype
from ptxgen.executing.emulator.watching import place_of
from ptxgen.executing.protocol import Dim3, three

if TYPE_CHECKING:
    from ptxgen.executing.emulator.machine import Machine
    from ptxgen.executing.emulator.program import Program, Step

#: A number of a register's declared type; packed and 128-bit registers are their bits.
RegisterValue = bool | int | float


@dataclass(frozen=True, slots=True)
class Written:
    """A register after the statement. `type` is the declared one."""

    name: str
    type: str
    value: RegisterValue


@dataclass(frozen=True, slots=True)
class Touched:
    """One access. `address` lies within the space, `place` says where that is. `issued` is the line of the
    instruction that asked for it, which for asynchronous ones is an earlier one."""

    kind: str                                  # "read", "write", "atomic access", "asynchronous write", …
    space: str
    address: int
    bytes: int
    place: str
    issued: int


@dataclass(frozen=True, slots=True)
class Guarded:
    """The guard as it was read. `value` is the predicate's, before a negation."""

    register: str
    negated: bool
    value: bool


@dataclass(slots=True)
class Traced:
    """One statement that the thread came to. `executed` is False where its guard said no, or a fault came first."""

    line: int
    opcode: str
    executed: bool
    guard: Guarded | None = None
    registers: list[Written] = field(default_factory=list)
    memory: list[Touched] = field(default_factory=list)


class Trace:
    """Watches one thread of a launch.

    At most `limit` statements are kept, the first three quarters of them and the last quarter; `count` is how many
    there were and `left_out` how many of them are missing between `first` and `last`. Of a thread that the launch
    does not have there are none. Raises UsageError where block or thread is not three whole numbers.
    """

    def __init__(self, block: Dim3, thread: Dim3, *, limit: int = 1000) -> None:
        self.block, self.thread = three("block", block), three("thread", thread)
        self.count = 0
        self.first: list[Traced] = []
        self._last: deque[Traced] = deque(maxlen=max(limit // 4, 1))
        self._room = limit - max(limit // 4, 1)
        self._lane = -1
        self._pending: tuple[int, Step, Traced] | None = None
        self._program: Program | None = None

    @property
    def last(self) -> tuple[Traced, ...]:
        return tuple(self._last)

    @property
    def left_out(self) -> int:
        return self.count - len(self.first) - len(self._last)

    def begin(self, m: Machine, program: Program) -> None:
        """Find the thread's lane, if the batch has its block."""
        self._program = program
        self._lane = -1
        x, y, _ = m.launch.block
        thread = self.thread[0] + x * (self.thread[1] + y * self.thread[2])
        for first in range(0, m.lanes, m.threads):
            if m.thread_id(first)[0] == self.block:
                self._lane = first + thread

    def issued(self, m: Machine, counter: int, step: Step, lanes: Lanes, some: Lanes | None) -> None:
        """Note the statement; what it writes is read when the thread comes to the next one."""
        if self._lane < 0 or place_of(lanes, self._lane) < 0:
            return
        before = self._pending
        if before is not None and before[0] == counter and step.action == "warp":
            # It waited for lanes of its warp and is tried again.
            return
        self._settle(m)
        assert self._program is not None
        guard = None
        if step.guard is not None:
            value = bool(m.registers[step.guard][self._lane])
            guard = Guarded(self._program.register_names[step.guard], step.negated, value)
        executed = some is not None and place_of(some, self._lane) >= 0
        entry = Traced(step.line, step.opcode, executed, guard)
        self._pending = counter, step, entry
        self.count += 1
        if len(self.first) < self._room:
            self.first.append(entry)
        else:
            self._last.append(entry)

    def accessed(self, m: Machine, region: Region, address: Array, lanes: Lanes, size: int, verb: str) -> None:
        place = place_of(lanes, self._lane) if self._lane >= 0 else -1
        if place < 0 or self._pending is None:
            return
        where = int(np.broadcast_to(address, (place + 1,))[place] if address.size == 1 else address[place])
        touched = Touched(
            verb.partition(" ")[2], region.space, where & (1 << 64) - 1, size, describe(region, where), m.line
        )
        self._pending[2].memory.append(touched)

    def end(self, m: Machine) -> None:
        """Read what the last statement wrote, unless a fault came first."""
        if self._pending is not None and self._stopped(m, self._pending[1]):
            self._pending[2].executed = False
            self._pending = None
        self._settle(m)

    def _stopped(self, m: Machine, step: Step) -> bool:
        """Whether the launch ended in this step of this thread, which then stands nowhere."""
        standing = any(place_of(lanes, self._lane) >= 0 for lanes in m.groups.values())
        return bool(m.alive[self._lane]) and m.line == step.line and not standing

    def _settle(self, m: Machine) -> None:
        if self._pending is None:
            return
        _, step, entry = self._pending
        self._pending = None
        assert self._program is not None
        if not entry.executed:
            return
        for slot in step.writes:
            name = self._program.register_names[slot]
            if " " not in name:            # the frame and the like, which no kernel can name
                type_name = self._program.register_types[slot]
                entry.registers.append(Written(name, type_name, value_of(m.registers[slot][self._lane], type_name)))


_FLOATS = {"f16": np.dtype(np.float16), "f32": np.dtype(np.float32), "f64": np.dtype(np.float64)}


def value_of(word: Array, type_name: str) -> RegisterValue:
    """What one stored register holds, as a number of its declared type."""
    if type_name == "pred":
        return bool(word)
    if word.dtype.names is not None:
        return int(word["low"]) | int(word["high"]) << 64
    if type_name == "bf16":
        return float(np.array([int(word) << 16], np.uint32).view(np.float32)[0])
    if type_name in _FLOATS:
        return float(word.view(_FLOATS[type_name]))
    return int(word.view(number_dtype(type_name))) if is_signed(type_name) else int(word)
