"""Which register reads are certain to follow a write, so that only the others are watched while running."""

from __future__ import annotations

from ptxgen.executing.emulator.program import Step


def _followers(steps: list[Step], counter: int) -> tuple[int, ...]:
    step = steps[counter]
    after = (counter + 1,) if counter + 1 < len(steps) else ()
    if step.action == "jump":
        return (step.target, *after) if step.guard is not None else (step.target,)
    if step.action == "table":
        return (*step.targets, *after) if step.guard is not None else step.targets
    if step.action == "call":
        return (*step.targets, *after)
    if step.action == "return":
        return ()
    if step.action == "exit":
        return after if step.guard is not None else ()
    return after


def prove(steps: list[Step], registers: int) -> frozenset[int]:
    """Mark each step's unproven reads and the writes to be tracked; gives the registers concerned.

    A forward analysis: a register is written on entry to a step if it is on every path there. A guarded write
    counts for nothing. Sets are bits of integers.
    """
    everything = (1 << registers) - 1
    written: list[int] = [everything] * len(steps)
    written[0] = 0
    work = [0]
    seen = [False] * len(steps)
    while work:
        counter = work.pop()
        seen[counter] = True
        step = steps[counter]
        out = written[counter]
        if step.guard is None:
            for slot in step.writes:
                out |= 1 << slot
        for follower in _followers(steps, counter):
            merged = written[follower] & out
            if merged != written[follower] or not seen[follower]:
                written[follower] = merged
                seen[follower] = True
                work.append(follower)
    unproven: set[int] = set()
    for counter, step in enumerate(steps):
        step.unproven = tuple(slot for slot in step.reads if not written[counter] >> slot & 1)
        unproven.update(step.unproven)
    for step in steps:
        step.unproven = tuple(slot for slot in step.unproven if slot not in step.deferred)
        step.tracked = tuple(slot for slot in step.writes if slot in unproven)
    return frozenset(unproven)


def is_read_after(steps: list[Step], counter: int, slot: int) -> bool:
    """Whether some path from step `counter` leads to a read of a register before a certain write."""
    seen = set()
    work = list(_followers(steps, counter))
    while work:
        here = work.pop()
        if here in seen:
            continue
        seen.add(here)
        step = steps[here]
        if slot in step.reads:
            return True
        if step.guard is not None or slot not in step.writes:
            work.extend(_followers(steps, here))
    return False
