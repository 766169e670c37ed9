"""Sets of lanes as NumPy indices.

A set is a slice where its lanes are neighbours (a slice of an array is a view and costs nothing) and a sorted
index array otherwise. No set is empty.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ptxgen.executing.emulator.values import Bools

LaneArray = npt.NDArray[np.intp]
Lanes = slice | LaneArray


def normal(lanes: LaneArray) -> Lanes:
    """The cheaper form of a sorted, duplicate-free, non-empty index array."""
    first, last = int(lanes[0]), int(lanes[-1])
    return slice(first, last + 1) if last - first + 1 == lanes.size else lanes


def count(lanes: Lanes) -> int:
    return int(lanes.stop - lanes.start) if isinstance(lanes, slice) else int(lanes.size)


def as_array(lanes: Lanes) -> LaneArray:
    return np.arange(lanes.start, lanes.stop, dtype=np.intp) if isinstance(lanes, slice) else lanes


def select(lanes: Lanes, chosen: Bools) -> Lanes | None:
    """Those lanes whose entry of `chosen` (one per lane of the set) is true; None if there is none."""
    if chosen.all():
        return lanes
    places = chosen.nonzero()[0]
    if places.size == 0:
        return None
    return normal(places + lanes.start if isinstance(lanes, slice) else lanes[places])


def union(first: Lanes | None, second: Lanes) -> Lanes:
    """The union of two disjoint sets."""
    if first is None:
        return second
    if isinstance(first, slice) and isinstance(second, slice):
        if first.stop == second.start:
            return slice(first.start, second.stop)
        if second.stop == first.start:
            return slice(second.start, first.stop)
    low = min(lane_at(first, 0), lane_at(second, 0))
    present = np.zeros(max(lane_at(first, -1), lane_at(second, -1)) - low + 1, np.bool_)
    for lanes in (first, second):
        if isinstance(lanes, slice):
            present[lanes.start - low : lanes.stop - low] = True
        else:
            present[lanes - low] = True
    return normal(np.flatnonzero(present) + low)


def lane_at(lanes: Lanes, place: int) -> int:
    """The lane that is number `place` of the set; negative from the end."""
    if isinstance(lanes, slice):
        return int(lanes.start if place >= 0 else lanes.stop) + place
    return int(lanes[place])
