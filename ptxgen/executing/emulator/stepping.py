"""Stepping: a kernel run up to a line, looked into, continued, saved, restored, and grown statement by statement.

The end of the kernel's body is open: threads that come to it stand there until a statement is appended. All blocks
run as one batch, every register is watched for reads before a write, and memory is watched byte by byte, because
nobody knows what the next statement will do.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ptxgen.errors import PtxgenError, UsageError
from ptxgen.executing.checking import check_arguments, check_buffers
from ptxgen.executing.emulator import fitting, launching, looking, schedule
from ptxgen.executing.emulator.building import begin, program_of
from ptxgen.executing.emulator.lanes import as_array, union
from ptxgen.executing.emulator.machine import Machine, Report, Stopped, make_order, start_batch
from ptxgen.executing.emulator.opening import LabelsToCome, declares_memory, moved_to, parse_open
from ptxgen.executing.emulator.program import Program, Step
from ptxgen.executing.emulator.scope import LabelSymbol, Symbol, Unsupported
from ptxgen.executing.emulator.values import Array, Bools, storage
from ptxgen.executing.protocol import Argument, Fault, Launch, Outcome
from ptxgen.ptx import parse_statement
from ptxgen.ptx.tree import Label, Statement

_SPACES = ("global", "shared", "local", "const", "param")
_MOST_THREADS = 65_536


@dataclass(frozen=True, slots=True)
class State:
    """What `Stepper.save` keeps: the machine with its memory, and the kernel as it was."""

    owner: Stepper
    machine: Machine
    steps: list[Step]
    targets: list[tuple[int, tuple[int, ...]]]      # where each step leads, which labels that come later change
    places: list[tuple[LabelSymbol, int]]           # and where each label lies
    register_types: list[str]
    register_names: list[str]
    symbols: dict[str, Symbol]
    families: list[tuple[str, int, str]]
    labels: LabelsToCome
    next_line: int
    stopped: bool


class Stepper:
    """One launch of one kernel, stopped wherever that is wanted.

    `ptx` is a module; the closing brace of its last kernel may be missing. Raises UsageError for a launch or
    arguments that the kernel does not take, PtxSyntaxError, and PtxgenError for instructions that are not emulated.
    """

    def __init__(
        self, ptx: str, launch: Launch, arguments: Sequence[Argument], *, entry: str | None = None,
        step_limit: int = 1_000_000, time_limit: float = 60.0,
    ) -> None:
        self.launch, self.arguments = launch, tuple(arguments)
        self._step_limit, self._time_limit = step_limit, time_limit
        check_buffers(arguments)
        module = parse_open(ptx)
        try:
            self._builder, self._scope, function = begin(module, entry)
            self._labels = LabelsToCome()
            for statement in function.body or ():
                self._labels.expect(statement, self._scope)
            self._builder.enter(function.body or (), self._scope, None)
        except Unsupported as error:
            raise _refused(error) from None
        if self._builder.routines:
            raise UsageError("a kernel with calls that cannot be inlined cannot be stepped through")
        self._labels.resolve(self._builder.pending)
        self._labels.prune(self._scope)
        self._next_line = ptx.count("\n") + 1
        self.program = _watchful(program_of(self._builder, function, frozenset()))
        self.machine = self._start()
        self._stopped = False
        self._watch_from(0)

    def _start(self) -> Machine:
        program, launch = self.program, self.launch
        check_arguments(program.name, program.params, self.arguments)
        refused = launching.launch_fault(program, launch)
        if refused is not None:
            raise UsageError("a driver would refuse this launch", why=refused.message)
        blocks = launch.grid[0] * launch.grid[1] * launch.grid[2]
        threads = blocks * launch.block[0] * launch.block[1] * launch.block[2]
        if threads > _MOST_THREADS:
            raise UsageError(
                f"{threads} threads are too many to step through", why=f"at most {_MOST_THREADS} run at once",
                fix="launch fewer blocks",
            )
        fitting.require(program, launch, self.arguments, blocks)
        memory = launching.prepare(program, launch, self.arguments)
        self._buffers = memory.buffers
        regions = {**memory.regions, **launching.private_regions(program, launch, blocks)}
        order = make_order(launch, fenced=True, late=True)
        return start_batch(launch, 0, blocks, program, regions, Report(), order, [])

    # -------------------------------------------------------------- running

    @property
    def faults(self) -> tuple[Fault, ...]:
        """Faults so far, the first of each kind and line."""
        return tuple(self.machine.report.faults)

    @property
    def stopped(self) -> bool:
        """Whether a fault has ended the launch; only `restore` leads back."""
        return self._stopped

    @property
    def finished(self) -> bool:
        """Whether every thread has exited."""
        return self.machine.alive_total == 0

    def run_to(self, line: int) -> bool:
        """Run until every thread stands before the first statement of that line (1-based), waits for others, has
        exited or has come to the end; threads that stand there already carry it out first.

        Gives whether any thread stands there now. Raises UsageError for a line without a statement.
        """
        counter = next((n for n, step in enumerate(self.program.steps) if step.line == line), -1)
        if counter < 0:
            later = [step.line for step in self.program.steps if step.line > line]
            fix = f"line {min(later)} is the next that has one" if later else ""
            raise UsageError(f"no statement of the kernel stands at line {line}", fix=fix)
        if counter in self.machine.groups:
            self._go(lambda limits: schedule.step_over(self.machine, self.program, counter, **limits))
        if not self._stopped:
            self._run(counter)
        return counter in self.machine.groups

    def go_on(self) -> bool:
        """Run to the end of the kernel as it is now; gives whether no fault has ended the launch."""
        self._run(schedule.NOWHERE)
        return not self._stopped

    def finish(self) -> Outcome:
        """Close the kernel, run to the end, and give what `Emulator.run` gives.

        Raises UsageError where a branch leads to a label that never came.
        """
        if self._labels.names:
            raise UsageError(f"the kernel branches to {', '.join(self._labels.names)}, which is not there")
        if not self._stopped:
            self._builder.steps.append(Step("exit", self._next_line, "ret"))
            self._run(schedule.NOWHERE)
        memory = launching.Memory(self.machine.regions, self._buffers)
        report = self.machine.report
        return Outcome(
            not report.faults, tuple(report.faults), launching.results(memory, self.arguments),
            self.machine.instructions, "".join(report.printed),
        )

    def _run(self, until: int) -> None:
        end = len(self.program.steps)
        self._go(lambda limits: schedule.run(self.machine, self.program, until=until, end=end, **limits))

    def _go(self, run: Callable[[Any], None]) -> None:
        if self._stopped:
            raise UsageError("a fault has ended the launch", fix="restore a state from before it")
        limits = {
            "step_limit": self.machine.steps + self._step_limit, "deadline": time.monotonic() + self._time_limit,
            "seconds": self._time_limit,
        }
        try:
            with np.errstate(all="ignore"):
                run(limits)
        except Stopped:
            self._stopped = True

    # -------------------------------------------------------------- growing

    def append(self, text: str) -> int:
        """Put a statement, a label or a declaration of registers at the end of the kernel; nothing runs yet.

        Gives its line, which follows the last one. A branch may name a label that comes later: threads that take it
        wait for the label. Raises PtxSyntaxError, UsageError for what needs memory of its own or a call that cannot
        be inlined, and PtxgenError for what is not emulated; the kernel is then as it was.
        """
        statement = moved_to(parse_statement(text), self._next_line)
        if declares_memory(statement):
            fix = "declare it in the text that the kernel begins with"
            raise UsageError("memory cannot be declared once the kernel runs", fix=fix)
        steps, labels = len(self._builder.steps), self._labels.copy()
        extents = self._extents()
        try:
            self._enter(statement)
            if self._builder.routines or self._extents() != extents:
                fix = "write it in the text that the kernel begins with"
                raise UsageError("this call needs memory of its own", fix=fix)
        except (Unsupported, UsageError) as error:
            del self._builder.steps[steps:]
            self._builder.pending.clear()
            self._builder.routines.clear()
            self._labels.drop_newer(labels, self._scope)
            if isinstance(error, UsageError):
                raise
            raise _refused(error) from None
        line = self._next_line
        self._next_line += 1
        self._watch_from(steps)
        return line

    def _extents(self) -> dict[str, int]:
        return {space: len(found) for space, found in self._builder.layout.extents.items()}

    def _enter(self, statement: Statement) -> None:
        if isinstance(statement, Label):
            known = self._scope.symbols.get(statement.name)
            if known is not None and statement.name not in self._labels.names:
                raise UsageError(f"{statement.name} is there already")
            self._place(statement.name)
            return
        before = len(self._labels.labels)
        self._labels.expect(statement, self._scope)
        self._builder.enter((statement,), self._scope, None)
        self._labels.resolve(self._builder.pending)
        if len(self._labels.labels) != before:
            self._labels.prune(self._scope)

    def _place(self, name: str) -> None:
        """Give a label its place: here. Threads that wait for it go on from here."""
        here = len(self._builder.steps)
        waiting = self._labels.place(name, self._scope, here)
        lanes = self.machine.groups.pop(waiting, None)
        if lanes is not None:
            self.machine.groups[here] = union(self.machine.groups.get(here), lanes)

    def _watch_from(self, first: int) -> None:
        """Make room for new registers, and watch all that the new steps read and write."""
        m = self.machine
        for slot in range(len(m.registers), len(self.program.register_types)):
            m.registers.append(np.zeros(m.lanes, storage(self.program.register_types[slot])))
            m.written[slot] = np.zeros(m.lanes, np.bool_)
        for slot in range(len(m.written), len(m.registers)):
            m.written[slot] = np.full(m.lanes, slot in self.program.preset)
        for step in self.program.steps[first:]:
            step.unproven = tuple(slot for slot in step.reads if slot not in step.deferred)
            step.tracked = step.writes

    # -------------------------------------------------------------- saving

    def save(self) -> State:
        """The state as it is, to which `restore` leads back any number of times. Costs a copy of all memory."""
        steps, symbols, registers = self._builder.steps, self._scope.symbols, self._builder.registers
        places = [(symbol, symbol.counter) for symbol in symbols.values() if isinstance(symbol, LabelSymbol)]
        return State(
            self, self.machine.copy(), list(steps), [(step.target, step.targets) for step in steps], places,
            list(registers.types), list(registers.names), dict(symbols), list(self._scope.families),
            self._labels.copy(), self._next_line, self._stopped,
        )

    def restore(self, state: State) -> None:
        """Go to a state of this stepper, an earlier or another one: the kernel has the statements that it had then.

        Raises UsageError for anything else.
        """
        if not isinstance(state, State) or state.owner is not self:
            raise UsageError("this is no state of this stepper", fix="restore what its own save() gave")
        self.machine = state.machine.copy()
        # In place: the program holds the same lists.
        self._builder.steps[:] = state.steps
        for step, (target, targets) in zip(state.steps, state.targets, strict=True):
            step.target, step.targets = target, targets
        for label, place in state.places:
            label.counter = place
        registers = self._builder.registers
        registers.types[:], registers.names[:] = state.register_types, state.register_names
        self._scope.symbols = dict(state.symbols)
        self._scope.families[:] = state.families
        self._labels = state.labels.copy()
        self._next_line, self._stopped = state.next_line, state.stopped

    # -------------------------------------------------------------- looking

    def register(self, name: str) -> Array:
        """A copy of a register, (blocks, threads), in the dtype of its declared type: `.f32` as float32, `.s32` as
        int32, `.b32` and `.u32` as uint32, `.pred` as bool; `.bf16` and packed types as their bits.

        A name of an inner block or an inlined function stands for the last such register. Raises UsageError.
        """
        slot = looking.slot_of(name, self._scope, self.program)
        self._watch_from(len(self.program.steps))
        values = looking.typed(self.machine.registers[slot].copy(), self.program.register_types[slot])
        return values.reshape(self.machine.blocks, self.machine.threads)

    def written(self, name: str) -> Bools:
        """Which threads have written the register, (blocks, threads). Raises UsageError."""
        slot = looking.slot_of(name, self._scope, self.program)
        self._watch_from(len(self.program.steps))
        return self.machine.written[slot].copy().reshape(self.machine.blocks, self.machine.threads)

    def memory(self, name: str) -> Array:
        """A copy of what a name stands for. A parameter with a buffer: the buffer, shaped as it was given. Other
        parameters, global and constant variables: (elements,). Shared variables: (blocks, elements). Local ones:
        (blocks, threads, elements). Elements have the dtype of the declared type. Raises UsageError.
        """
        return looking.memory(name, self.machine, self.program, self._scope, self.arguments, self._buffers)

    def raw(self, space: str, address: int, dtype: str, count: int, *, block: int = 0, thread: int = 0) -> Array:
        """`count` elements of a dtype at an address of a state space, (count,): of a block's shared or a thread's
        local memory. Raises UsageError for a range that is not mapped."""
        return looking.raw(self.machine, space, address, np.dtype(dtype), count, block, thread)

    def lines(self) -> Array:
        """The line of the statement that each thread comes to next, (blocks, threads); where it waits at a barrier,
        the barrier's. 0 for threads that have exited, and the next line to be appended for those at the end."""
        m = self.machine
        found = np.zeros(m.lanes, np.int64)
        for counter, lanes in (*m.groups.items(), *m.parked.items()):
            at_end = counter >= len(self.program.steps)
            found[as_array(lanes)] = self._next_line if at_end else self.program.steps[counter].line
        for arrival in m.waiting:
            if arrival.waits:
                found[arrival.lanes] = arrival.line
        for waiting, _, line in m.cluster_waiting:
            found[waiting] = line
        return found.reshape(m.blocks, m.threads)


def _watchful(program: Program) -> Program:
    """The program with memory watched for whatever may come."""
    return dataclasses.replace(
        program, smallest=dict.fromkeys(_SPACES, 1), writes_global=True, strong=frozenset({"global", "shared"}),
        fenced=True,
    )


def _refused(error: Unsupported) -> PtxgenError:
    return PtxgenError(error.message, where=f"line {error.line}")


