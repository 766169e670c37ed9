"""Barriers of a block and of a warp: who waits, when they go on, and what a deadlock looks like."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ptxgen.executing.emulator import warps
from ptxgen.executing.emulator.lanes import Lanes, as_array, count, normal, union
from ptxgen.executing.emulator.machine import Arrival, Machine
from ptxgen.executing.emulator.program import BarrierStep
from ptxgen.executing.emulator.values import Array


def _same(values: Array) -> bool:
    return values.size == 1 or bool((values == values[0]).all())


def arrive(m: Machine, step: BarrierStep, lanes: Lanes, resume: int) -> bool:
    """Lanes reach a barrier; True if they may go straight on (all threads came at once and nobody waits)."""
    numbers = np.asarray(step.number(m, lanes))
    counts = None if step.count is None else np.asarray(step.count(m, lanes))
    bad = numbers > 15
    if bad.any():
        m.fault_among("barrier", f"barrier {int(numbers[bad][0])} does not exist (0 to 15 do)", lanes, bad)
    if counts is not None and ((counts % 32 != 0) | (counts == 0)).any():
        wrong = (counts % 32 != 0) | (counts == 0)
        message = f"a barrier's thread count is a positive multiple of 32, not {int(counts[wrong][0])}"
        m.fault_among("barrier", message, lanes, wrong)
    if (
        counts is None and not step.reduce and not m.waiting and count(lanes) == m.alive_total and _same(numbers)
    ):
        if m.order.causality is not None:
            everyone = as_array(lanes)
            m.order.causality.meet(m.order, everyone, everyone, m.block_of)
        m.order.pass_barrier(slice(None), len(m.lines))
        return True
    places = as_array(lanes)
    values = None
    if step.predicate is not None:
        values = np.broadcast_to(step.predicate(m, lanes), places.shape)
    numbers = np.broadcast_to(numbers, places.shape)
    for number in np.unique(numbers):
        mine = numbers == number
        expected = None
        if counts is not None:
            some = np.broadcast_to(counts, places.shape)[mine]
            if not _same(some):
                m.fault("barrier", f"threads name different counts for barrier {number}", int(places[mine][0]))
            expected = int(some[0])
        m.waiting.append(Arrival(
            int(number), expected, places[mine], resume, m.line, step.waits, step.aligned, step.reduce,
            None if values is None else values[mine], step.target,
        ))
        if not step.waits:
            ready(m, resume, normal(places[mine]))
    release(m)
    return False


def ready(m: Machine, counter: int, lanes: Lanes) -> None:
    """Put lanes back among those that can run."""
    m.groups[counter] = union(m.groups.get(counter), lanes)


def _arrived(m: Machine, arrivals: list[Arrival], *, counted: bool) -> Array:
    """Threads that came, by block. Against a count, the last warp of a block counts whole, as the hardware does."""
    total = np.zeros(m.blocks, np.int64)
    tail = m.threads % 32
    for arrival in arrivals:
        total += np.bincount(m.block_of[arrival.lanes], minlength=m.blocks)
        if counted and tail and arrival.count is not None:
            first_of_tail = arrival.lanes[m.thread_of[arrival.lanes] == m.threads - tail]
            total += (32 - tail) * np.bincount(m.block_of[first_of_tail], minlength=m.blocks)
    return total


def release(m: Machine) -> None:
    """Let go every block whose barrier is complete. Exited threads are not waited for."""
    for number in {arrival.barrier for arrival in m.waiting}:
        arrivals = [a for a in m.waiting if a.barrier == number]
        if _disagree(m, arrivals, [a.count for a in arrivals]):
            m.line = arrivals[-1].line
            m.fault("barrier", f"threads name different counts for barrier {number}", int(arrivals[-1].lanes[0]))
        if _disagree(m, arrivals, [a.reduce for a in arrivals]):
            m.line = arrivals[-1].line
            message = f"threads come to barrier {number} to reduce and not to, or by different operations"
            m.fault("barrier", message, int(arrivals[-1].lanes[0]))
        wanted = m.alive_in_block.copy()
        for arrival in arrivals:
            if arrival.count is not None:
                wanted[m.block_of[arrival.lanes]] = arrival.count
        arrived = _arrived(m, arrivals, counted=True)
        done = (arrived >= wanted) & (arrived > 0)
        if done.any():
            _complete(m, arrivals, done)


def _disagree(m: Machine, arrivals: list[Arrival], said: Sequence[int | str | None]) -> bool:
    """Whether threads of one block said different things; other blocks are at other barriers."""
    if len(set(said)) < 2:
        return False
    blocks = []
    for one in set(said):
        lanes = np.concatenate([a.lanes for a, word in zip(arrivals, said, strict=True) if word == one])
        blocks.append(np.unique(m.block_of[lanes]))
    return len(np.unique(np.concatenate(blocks))) < sum(b.size for b in blocks)


def _complete(m: Machine, arrivals: list[Arrival], done: Array) -> None:
    _check_aligned(m, arrivals, done)
    for arrival in arrivals:
        if arrival.reduce:
            _reduce(m, arrivals, arrival, done)
    _note_order(m, arrivals, done)
    left = []
    for arrival in m.waiting:
        if all(arrival is not a for a in arrivals):
            left.append(arrival)
            continue
        gone = done[m.block_of[arrival.lanes]]
        if arrival.waits and gone.any():
            ready(m, arrival.resume, normal(arrival.lanes[gone]))
        if not gone.all():
            arrival = Arrival(
                arrival.barrier, arrival.count, arrival.lanes[~gone], arrival.resume, arrival.line, arrival.waits,
                arrival.aligned, arrival.reduce, None if arrival.values is None else arrival.values[~gone],
                arrival.target,
            )
            left.append(arrival)
    m.waiting = left


def _note_order(m: Machine, arrivals: list[Arrival], done: Array) -> None:
    """A barrier of all threads orders the whole block. One of a part orders what those who came did, and had heard
    of, before what those who wait do next."""
    now = len(m.lines)
    if m.order.causality is not None:
        here = [a.lanes[done[m.block_of[a.lanes]]] for a in arrivals]
        waiting = [lanes for a, lanes in zip(arrivals, here, strict=True) if a.waits] or [here[0][:0]]
        m.order.causality.meet(m.order, np.sort(np.concatenate(here)), np.sort(np.concatenate(waiting)), m.block_of)
    came, waited = (
        sum((np.bincount(m.block_of[a.lanes], minlength=m.blocks) for a in arrivals if a.waits or not waits),
            np.zeros(m.blocks, np.int64))
        for waits in (False, True)
    )
    whole = done & (came == m.alive_in_block) & (waited == came)
    m.order.pass_barrier(whole[m.block_of], now)
    for block in np.flatnonzero(done & ~whole):
        if m.order.heard is None:
            m.settle_traces()
            m.order.heard = np.zeros((m.lanes, m.order.shape.warps), np.int32)
        heard = m.order.heard
        there = np.concatenate([a.lanes[m.block_of[a.lanes] == block] for a in arrivals])
        known = np.maximum(heard[there].max(axis=0), m.order.block_sync[there].max())
        known[np.unique(m.thread_of[there] // 32)] = now
        for arrival in arrivals:
            if arrival.waits:
                mine = arrival.lanes[m.block_of[arrival.lanes] == block]
                heard[mine] = np.maximum(heard[mine], known)


def _check_aligned(m: Machine, arrivals: list[Arrival], done: Array) -> None:
    """All threads of a warp must come to an aligned barrier through the same instruction."""
    if len({a.resume for a in arrivals if a.aligned}) < 2:
        return
    place = np.zeros(m.warps, np.int64)
    for arrival in arrivals:
        lanes = arrival.lanes[done[m.block_of[arrival.lanes]]]
        warps = m.slots[lanes] // 32
        other = (place[warps] != 0) & (place[warps] != arrival.resume)
        if arrival.aligned and other.any():
            m.line = arrival.line
            message = f"threads of one warp reach barrier {arrival.barrier} at different instructions"
            m.fault("barrier", message, int(lanes[np.argmax(other)]), fatal=False)
            return
        place[warps] = arrival.resume


def _reduce(m: Machine, arrivals: list[Arrival], mine: Arrival, done: Array) -> None:
    """bar.red: combine the predicates of all arrivals by block and write the result for these lanes."""
    true = np.zeros(m.blocks, np.int64)
    total = np.zeros(m.blocks, np.int64)
    for arrival in arrivals:
        if arrival.values is not None:
            blocks = m.block_of[arrival.lanes]
            true += np.bincount(blocks[arrival.values], minlength=m.blocks)
            total += np.bincount(blocks, minlength=m.blocks)
    result = {"popc": true, "and": true == total, "or": true > 0}[mine.reduce]
    lanes = mine.lanes[done[m.block_of[mine.lanes]]]
    if mine.target >= 0 and lanes.size:
        m.registers[mine.target][lanes] = result[m.block_of[lanes]]


def synchronise_warps(m: Machine, lanes: Lanes, masks: Array) -> None:
    """bar.warp.sync among these lanes."""
    now = len(m.lines)
    slots = m.slots[lanes]
    masks = np.broadcast_to(masks, slots.shape)
    alive = warps.ballot(m, m.alive, slice(0, m.lanes))[slots // 32]
    whole = (alive & ~masks) == 0
    numbers = as_array(lanes)
    if m.order.causality is not None:
        for mask in np.unique(masks):
            mine = numbers[masks == mask]
            m.order.causality.meet(m.order, mine, mine, m.slots // 32)
    m.order.pass_warp_barrier(numbers[whole], now)
    if whole.all():
        return
    if m.order.heard_in_warp is None:
        m.settle_traces()
        m.order.heard_in_warp = np.zeros((m.warps, 32, 32), np.int32)
    heard = m.order.heard_in_warp
    for mask in np.unique(masks[~whole]):
        chosen = masks == mask
        there = np.unique(slots[chosen] // 32)
        members = np.flatnonzero(int(mask) >> np.arange(32) & 1)
        known = heard[there[:, None], members].max(axis=1)
        # All lanes of a barrier have last met with their whole warp at one time.
        together = np.zeros(m.warps, np.int32)
        together[slots[chosen] // 32] = m.order.warp_sync[numbers[chosen]]
        known = np.maximum(known, together[there][:, None])
        known[:, members] = now
        places = there[:, None], members
        heard[places] = np.maximum(heard[places], known[:, None, :])


def deadlock(m: Machine) -> None:
    """Nobody can run and somebody waits at a barrier. Raises Stopped."""
    first = m.waiting[0]
    block = int(m.block_of[first.lanes[0]])
    here = [a for a in m.waiting if a.barrier == first.barrier]
    came = int(_arrived(m, here, counted=False)[block])
    alive = int(m.alive_in_block[block])
    wanted = alive if first.count is None else first.count
    where = sorted({a.line for a in m.waiting if (m.block_of[a.lanes] == block).any()})
    m.line = first.line
    others = ", ".join(str(line) for line in where if line != first.line)
    message = f"{came} of {wanted} threads wait at barrier {first.barrier} and the others never come"
    if others:
        message += f" (some wait at line {others})"
    m.fault("barrier", message, int(first.lanes[0]))
