"""Why a launch does not end: who goes round where, what they look at, and who changed that last."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ptxgen.executing.emulator import meeting, races
from ptxgen.executing.emulator.causality import SPACES
from ptxgen.executing.emulator.lanes import LaneArray, Lanes, as_array
from ptxgen.executing.emulator.machine import Machine
from ptxgen.executing.emulator.memory import Region, describe
from ptxgen.executing.emulator.program import Program

#: Loops, and barriers, that a message names.
_MOST = 3


def explain(m: Machine, program: Program, lanes: Lanes) -> str:
    """What these lanes, and others that go round elsewhere, wait for; "" where that cannot be told."""
    parts = list(_loops(m, program, lanes))[:_MOST]
    waiting = sorted({(arrival.line, arrival.barrier) for arrival in m.waiting})[:_MOST]
    parts += [f"others wait at barrier {number} at line {line}" for line, number in waiting]
    if m.report.unlaunched:
        parts.append(f"{m.report.unlaunched} blocks have not begun and will not before these end")
    return "; ".join(parts)


def _loops(m: Machine, program: Program, lanes: Lanes) -> Iterator[str]:
    mine = as_array(lanes)
    for lane in _one_a_place(m, mine):
        words = _looks_at(m, lane)
        if words:
            yield f"{_name(m, lane)} looks again and again at {words}"
    for counter, others in sorted(m.groups.items()):
        for lane in _one_a_place(m, as_array(others)):
            words = _looks_at(m, lane)
            if words and lane not in mine:
                yield f"{_name(m, lane)} is at line {program.steps[counter].line} and looked last at {words}"


def _one_a_place(m: Machine, lanes: LaneArray) -> list[int]:
    """The first lane of all that look at one place."""
    return sorted(lanes[np.unique(m.order.read_place[lanes], return_index=True)[1]].tolist())


def _name(m: Machine, lane: int) -> str:
    block, thread = m.thread_id(lane)
    return f"thread {thread} of block {block}"


def _looks_at(m: Machine, lane: int) -> str:
    """What the lane's last strong read looked at, and who changed it last."""
    place = int(m.order.read_place[lane])
    space = next((name for name, number in SPACES.items() if number == place % 4), "")
    region = m.regions.get(space)
    if place < 0 or region is None:
        return ""
    offset = place // 4 << region.shift
    return f"{describe(region, offset % region.stride + region.base)}, which {_changer(m, region, place, lane)}"


def _changer(m: Machine, region: Region, place: int, lane: int) -> str:
    order = m.order
    swapped = np.flatnonzero(order.swap_place == place)
    if swapped.size:
        # Compare and swap that failed has changed nothing.
        last = int(swapped[np.argmax(order.swap_time[swapped])])
        return _did(m, last, lane, int(order.swap_time[last]))
    for trace in (region.atomics, region.writes):
        if trace is None:
            continue
        races.settle(trace, order, private=meeting.private(m, region))
        tag, time = int(trace.tag[place // 4]), int(trace.time[place // 4])
        if tag > 0:
            return _did(m, tag - order.first_tag, lane, time)
        if tag < 0:
            return f"several threads changed, last at line {m.lines[time]}"
    return "nobody has changed"


def _did(m: Machine, who: int, lane: int, time: int) -> str:
    name = "it" if who == lane else _name(m, who)
    return f"{name} changed last, at line {m.lines[time]}"
