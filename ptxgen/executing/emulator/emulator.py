"""The emulator as an Executor: decode once, run batch after batch, report."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence

import numpy as np

from ptxgen.errors import PtxgenError
from ptxgen.executing.checking import check_arguments, check_buffers
from ptxgen.executing.emulator import fitting, launching, schedule
from ptxgen.executing.emulator.building import build
from ptxgen.executing.emulator.machine import Report, Stopped, make_order, start_batch
from ptxgen.executing.emulator.program import Program
from ptxgen.executing.emulator.scope import Unsupported
from ptxgen.executing.emulator.watching import Watcher
from ptxgen.executing.protocol import Argument, Fault, Launch, Outcome
from ptxgen.ptx import parse
from ptxgen.ptx.tree import Module

_MOST_PROGRAMS = 256
#: Just below the largest block that glibc's malloc will ever keep for itself after it was freed (32 MB).
_KEPT = 30 << 20


class Emulator:
    """Runs kernels on the CPU with a sanitizer's checks always on.

    `step_limit` bounds the instructions issued to groups of lanes in one batch of blocks, `time_limit` the seconds
    of one launch. `lanes_at_once` and `private_limit` (bytes of registers, shared and local memory) decide how many
    blocks run together; fewer do where a launch would take more than `memory_limit` bytes in all (None: than are
    free), and none, by a PtxgenError, where that has no room for one.
    """

    name = "emulator"

    def __init__(
        self, *, step_limit: int = 1_000_000, time_limit: float = 60.0, lanes_at_once: int = 65_536,
        private_limit: int = 1 << 29, memory_limit: int | None = None,
    ) -> None:
        self._step_limit = step_limit
        self._time_limit = time_limit
        self._lanes = lanes_at_once
        self._private = private_limit
        self._most = memory_limit
        self._programs: dict[tuple[bytes, str | None], Program | Unsupported] = {}
        self._parsed: tuple[bytes, Module] | None = None    # the last text, whose next entry may be asked for
        # Arrays of a register or of addresses come and go with every step. Where malloc gives each back to the system
        # their pages are faulted in anew every time, which takes as long as the arithmetic; freeing one large block
        # teaches it to keep them. The block itself is never touched.
        np.empty(_KEPT, np.uint8)

    def program(self, ptx: str, entry: str | None) -> Program:
        """The decoded entry, kept by the text's hash. Raises Unsupported, UsageError, PtxSyntaxError."""
        key = (hashlib.sha256(ptx.encode()).digest(), entry)
        found = self._programs.get(key)
        if found is None:
            if self._parsed is None or self._parsed[0] != key[0]:
                self._parsed = key[0], parse(ptx)
            try:
                found = build(self._parsed[1], entry)
            except Unsupported as error:
                found = error
            if len(self._programs) >= _MOST_PROGRAMS:
                self._programs.clear()
            self._programs[key] = found
        if isinstance(found, Unsupported):
            raise found
        return found

    def run(
        self, ptx: str, entry: str | None, launch: Launch, arguments: Sequence[Argument], *, arch: str | None = None,
        watchers: Sequence[Watcher] = (),
    ) -> Outcome:
        """Launch once; see `Executor.run`. `arch` changes nothing: a text means what its own `.target` says.

        `watchers`, such as a `Trace` or a `Profile`, are told of every step.
        """
        check_buffers(arguments)
        try:
            program = self.program(ptx, entry)
        except Unsupported as error:
            fault = Fault("unsupported", error.message, error.line)
            return Outcome(False, (fault,), launching.results(None, arguments))
        check_arguments(program.name, program.params, arguments)
        refused = launching.launch_fault(program, launch)
        if refused is not None:
            return Outcome(False, (refused,), launching.results(None, arguments))
        try:
            with np.errstate(all="ignore"):
                return self._launch(program, launch, arguments, tuple(watchers))
        except MemoryError:
            raise PtxgenError(
                "the launch needs more memory than there is", why=f"grid {launch.grid} of blocks {launch.block}",
                fix="launch fewer blocks, or pass smaller buffers",
            ) from None

    def _launch(
        self, program: Program, launch: Launch, arguments: Sequence[Argument], watchers: tuple[Watcher, ...]
    ) -> Outcome:
        total = launch.grid[0] * launch.grid[1] * launch.grid[2]
        size = fitting.blocks_at_once(
            program, launch, arguments, lanes=self._lanes, private=self._private, most=self._most
        )
        memory = launching.prepare(program, launch, arguments)
        report = Report()
        order = make_order(
            launch, fenced=program.fenced, cluster=int(np.prod(program.demands.cluster or 1)),
            late=program.late,
        )
        lines: list[int] = []
        deadline = time.monotonic() + self._time_limit
        instructions = first = blocks = 0
        report.unlaunched = total
        while report.unlaunched:
            first += blocks
            if time.monotonic() > deadline:
                done = f"{first} of {total} blocks were done after {self._time_limit:g} seconds"
                report.faults.append(Fault("time-limit", done))
                break
            blocks = min(size, report.unlaunched)
            report.unlaunched -= blocks
            regions = {**memory.regions, **launching.private_regions(program, launch, blocks)}
            machine = start_batch(
                launch, first, blocks, program, regions, report, order, lines
            )
            machine.watchers = watchers
            for watcher in watchers:
                watcher.begin(machine, program)
            try:
                schedule.run(
                    machine, program, step_limit=self._step_limit, deadline=deadline, seconds=self._time_limit
                )
            except Stopped:
                break
            finally:
                instructions += machine.instructions
                for watcher in watchers:
                    watcher.end(machine)
            # The next batch takes the memory of this one.
            del machine, regions
        faults = tuple(report.faults)
        return Outcome(
            not faults, faults, launching.results(memory, arguments), instructions, "".join(report.printed)
        )

    def close(self) -> None:
        """Forget the decoded programs."""
        self._programs.clear()
        self._parsed = None
