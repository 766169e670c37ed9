"""The run loop: the group of lanes with the lowest program counter goes first, so that lanes meet again.

Lanes at one program counter are one group and run together. Divergence splits a group; groups that meet merge. A
group that keeps jumping back while others wait (a spin lock) loses its turn now and then, as threads on hardware
make progress independently.
"""

from __future__ import annotations

import time

import numpy as np

from ptxgen.executing.emulator import barriers, clusters, late, undefined, waiting, warps
from ptxgen.executing.emulator.lanes import Lanes, count, lane_at, select, union
from ptxgen.executing.emulator.machine import Machine
from ptxgen.executing.emulator.program import Program, Step
from ptxgen.executing.emulator.values import Bools

#: A program counter that no step has.
NOWHERE = 1 << 60
#: Backward jumps a group may make while others wait; a jump after an atomic access counts as many as _SPIN_COST.
_PATIENCE = 4096
_SPIN_COST = 64


def run(
    m: Machine, program: Program, *, step_limit: int, deadline: float, seconds: float, until: int = NOWHERE,
    end: int = NOWHERE,
) -> None:
    """Run until every lane has exited, stands at step `until`, which is left to do, or has come to `end` or beyond.

    The machine can then be copied, changed and run on. Raises Stopped after a fatal fault, one of the limits
    included.
    """
    patience = _PATIENCE
    rotate = False
    held = min(until, end)
    while True:
        counters = sorted(counter for counter in m.groups if counter != until and counter < end)
        if not counters:
            if m.groups or not _wake(m, program):
                return
            continue
        # A group that spins lets the next one run until that one stops by itself.
        counter = counters[1] if rotate and len(counters) > 1 else counters[0]
        rotate = False
        lanes = m.groups.pop(counter)
        stop = min((c for c in (*m.groups, until, end) if c > counter), default=NOWHERE)
        jumps = _run_group(m, program, counter, lanes, stop, step_limit, deadline, seconds, held)
        if jumps and m.groups:
            patience -= jumps
            if patience <= 0:
                patience, rotate = _PATIENCE, True


def step_over(
    m: Machine, program: Program, counter: int, *, step_limit: int, deadline: float, seconds: float
) -> None:
    """Carry out one step for the lanes that stand there. Raises Stopped as `run` does."""
    lanes = m.groups.pop(counter)
    _run_group(m, program, counter, lanes, counter + 1, step_limit, deadline, seconds, counter)


def _wake(m: Machine, program: Program) -> bool:
    """Nobody is ready: let parked lanes go whose missing partners have exited. False when all have exited."""
    for counter in sorted(m.parked):
        lanes = m.parked.pop(counter)
        step = program.steps[counter]
        m.line = step.line
        assert step.member_mask is not None
        free, early = warps.gather(m, lanes, step.member_mask(m, lanes))
        if free is not None:
            if early is not None:
                m.parked[counter] = early
            m.groups[counter] = free
            return True
        m.parked[counter] = lanes
    if m.waiting:
        barriers.deadlock(m)
    if m.cluster_waiting:
        clusters.deadlock(m)
    for counter, lanes in m.parked.items():
        m.line = program.steps[counter].line
        warps.never_gathered(m, lanes, program.steps[counter].opcode)
    return False


def _limits(
    m: Machine, program: Program, step_limit: int, deadline: float, seconds: float, lanes: Lanes
) -> None:
    stepped, late = m.steps > step_limit, time.monotonic() > deadline
    if not (stepped or late):
        return
    if m.last_jump is not None:
        # What takes so long is a loop, and that is known by where it jumps back.
        m.line, lanes = m.last_jump
    lane = lane_at(lanes, 0)
    why = waiting.explain(m, program, lanes)
    after = f": {why}" if why else ""
    if stepped:
        m.fault("step-limit", f"no end after {step_limit} steps{after}", lane)
    m.fault("time-limit", f"no end after {seconds:g} seconds{after}", lane)


def _run_group(
    m: Machine, program: Program, counter: int, lanes: Lanes, stop: int, step_limit: int, deadline: float,
    seconds: float, held: int,
) -> int:
    """Run one group until it splits, waits, exits, passes `stop`, or jumps back while others wait.

    A jump back to or before `held`, where lanes are kept, ends it too. Gives the cost of the backward jump that ended
    it, 0 for any other end.
    """
    steps = program.steps
    watchers = m.watchers
    size = count(lanes)
    while True:
        if counter >= stop:
            barriers.ready(m, counter, lanes)
            return 0
        step = steps[counter]
        m.line = step.line
        m.steps += 1
        m.instructions += size
        # A single step of many threads may take a second, so that every one looks at the clock.
        if not m.steps & 255 or time.monotonic() > deadline:
            _limits(m, program, step_limit, deadline, seconds, lanes)
        chosen = None if step.guard is None else _allowed(m, program, step, step.guard, lanes)
        some = lanes if chosen is None else select(lanes, chosen)
        for watcher in watchers:
            watcher.issued(m, counter, step, lanes, some)
        if some is None:
            counter += 1
            continue
        numbers = None
        if step.unproven or m.undefined:
            numbers = undefined.before(m, program, step, some)
        if step.action == "plain":
            assert step.run is not None
            step.run(m, some)
            for slot in step.tracked:
                m.written[slot][some] = True
            if m.undefined or m.loaded is not None or numbers is not None:
                undefined.after(m, program, counter, some, numbers)
            m.carried = None
            if step.atomic:
                m.touched_atomic = True
            counter += 1
            continue
        if chosen is not None and some is not lanes:
            rest = select(lanes, ~chosen)
            assert rest is not None
            barriers.ready(m, counter + 1, rest)
        if step.action == "jump":
            if step.target <= counter:
                m.last_jump = step.line, some
            if step.target <= counter and some is lanes and not m.groups and m.goes_round(step.target):
                lane = lane_at(lanes, 0)
                why = waiting.explain(m, program, some)
                message = "an endless loop: it changes neither registers nor memory any more"
                m.fault("step-limit", message + (f"; {why}" if why else ""), lane)
            alone = not (m.groups or m.parked or m.waiting) and not step.target <= held <= counter
            if some is lanes and (step.target > counter or alone):
                counter = step.target
                continue
            barriers.ready(m, step.target, some)
            if step.target > counter:
                return 0
            cost = _SPIN_COST if m.touched_atomic else 1
            m.touched_atomic = False
            return cost
        if step.action == "barrier":
            assert step.barrier is not None
            passed = barriers.arrive(m, step.barrier, some, counter + 1)
            for slot in step.tracked:
                m.written[slot][some] = True
            if m.undefined:
                undefined.after(m, program, counter, some, None)
            if not passed:
                return 0
            counter += 1
            continue
        if step.action == "warp":
            if not _warp_step(m, program, step, counter, some):
                return 0
            if some is not lanes:
                barriers.ready(m, counter + 1, some)
                return 0
            counter += 1
            continue
        if step.action == "cluster":
            clusters.wait(m, some, counter + 1)
            return 0
        if step.action in {"call", "return"}:
            assert step.run is not None
            step.run(m, some)
            return 0
        if step.action == "table":
            _jump_by_table(m, step, some)
            return 0
        _exit(m, some)
        return 0


def _allowed(m: Machine, program: Program, step: Step, guard: int, lanes: Lanes) -> Bools:
    """Which lanes the guard lets carry the instruction out."""
    if guard in step.unproven or guard in m.undefined:
        numbers = undefined.of(m, program, step, guard, lanes)
        if numbers is not None:
            undefined.report(m, numbers[0], lanes)
    value = m.registers[guard][lanes]
    return ~value if step.negated else value


def _warp_step(m: Machine, program: Program, step: Step, counter: int, lanes: Lanes) -> bool:
    """Carry out a warp-wide instruction for the lanes whose partners are here. True if that was all of them."""
    assert step.run is not None
    parked = m.parked.pop(counter, None)
    together = lanes if parked is None else union(parked, lanes)
    if step.member_mask is None:
        free: Lanes | None = together
        early = None
    else:
        free, early = warps.gather(m, together, step.member_mask(m, together))
    if early is not None:
        m.parked[counter] = early
    if free is None:
        return False
    step.run(m, free)
    for slot in step.tracked:
        m.written[slot][free] = True
    if m.undefined or m.loaded is not None:
        undefined.after(m, program, counter, free, None)
    if free is lanes:
        return True
    barriers.ready(m, counter + 1, free)
    return False


def _jump_by_table(m: Machine, step: Step, lanes: Lanes) -> None:
    assert step.selector is not None
    index = np.broadcast_to(step.selector(m, lanes), (count(lanes),))
    bad = index >= len(step.targets)
    if bad.any():
        message = f"brx.idx index {int(index[bad][0])} of a table of {len(step.targets)} targets"
        m.fault_among("trap", message, lanes, bad)
    for number in np.unique(index):
        some = select(lanes, index == number)
        if some is not None:
            barriers.ready(m, step.targets[int(number)], some)


def _exit(m: Machine, lanes: Lanes) -> None:
    m.alive[lanes] = False
    m.alive_total -= count(lanes)
    m.alive_in_block -= np.bincount(m.block_of[lanes], minlength=m.blocks)
    if m.waiting:
        barriers.release(m)
    if m.late:
        late.finish_exiting(m, lanes)
    clusters.release(m)
