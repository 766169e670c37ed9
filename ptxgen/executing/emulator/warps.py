"""Warp-wide instructions: gathering the lanes of a warp, shuffles, votes, matches and reductions.

Lanes are seen through their slot, warp * 32 + lane number, so that a warp is a row of 32 even where a block's last
warp is not full.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from ptxgen.executing.emulator.lanes import Lanes, select
from ptxgen.executing.emulator.machine import Machine
from ptxgen.executing.emulator.values import Array, Bools

Words: TypeAlias = Any
_PLACES = np.arange(32, dtype=np.uint32)
_ONES = (np.uint32(1) << _PLACES).astype(np.uint32)
_ALL = np.uint32(0xFFFFFFFF)


def _whole(m: Machine, lanes: Lanes) -> bool:
    """Whether every warp of the batch is here, with 32 lanes each. Slots are lanes then."""
    return isinstance(lanes, slice) and lanes.stop - lanes.start == m.warps * 32


def rows(m: Machine, values: Any, lanes: Lanes, fill: Any = 0) -> Array:
    """(warps, 32) array of one value per lane; absent lanes hold `fill`."""
    values = np.asarray(values)
    if _whole(m, lanes):
        return np.broadcast_to(values, m.slots.shape).reshape(-1, 32)
    table = np.full(m.warps * 32, fill, values.dtype)
    table[m.slots[lanes]] = values
    return table.reshape(-1, 32)


def ballot(m: Machine, chosen: Any, lanes: Lanes) -> Words:
    """uint32 by warp: bit i set where lane i is in the set and its `chosen` is true."""
    if _whole(m, lanes) and np.all(chosen):
        return np.full(m.warps, _ALL)
    return np.asarray((rows(m, np.broadcast_to(chosen, m.slots[lanes].shape), lanes, False) * _ONES).sum(
        axis=1, dtype=np.uint32
    ))


def active(m: Machine, lanes: Lanes) -> Words:
    return ballot(m, np.True_, lanes)


def gather(m: Machine, lanes: Lanes, masks: Words) -> tuple[Lanes | None, Lanes | None]:
    """(ready, early): lanes all of whose named partners are here too, and lanes that must wait for some.

    Partners that have exited are not waited for. A lane outside its own mask, or two partners with different masks,
    are faults.
    """
    if _whole(m, lanes) and (masks == _ALL).all():
        return lanes, None
    slots = m.slots[lanes]
    warp, place = slots >> 5, (slots & 31).astype(np.uint32)
    masks = np.broadcast_to(masks, slots.shape)
    own = (masks >> place) & np.uint32(1)
    if not own.all():
        number = int(np.argmin(own))
        message = f"the executing lane {int(place[number])} is not in its member mask 0x{int(masks[number]):08x}"
        m.fault_among("member-mask", message, lanes, own == 0)
    with_me = _with_the_same_mask(m, lanes, warp, place, masks)
    if (masks & ~with_me).any():
        alive = ballot(m, m.alive, slice(0, m.lanes))[warp]
        missing = (masks & alive & ~with_me) != 0
        if missing.any():
            return select(lanes, ~missing), select(lanes, missing)
    return lanes, None


def _with_the_same_mask(m: Machine, lanes: Lanes, warp: Array, place: Array, masks: Words) -> Words:
    """For each lane the lanes of its warp that are here with its mask. Those with another mask, which leaves it out,
    are here for something else, and may come again."""
    here = active(m, lanes)[warp]
    table = rows(m, masks, lanes)
    first = np.log2((here & (np.uint32(0) - here)).astype(np.float64)).astype(np.intp)
    if (table[warp, first] == masks).all():
        return here
    named = table[warp]
    same = named == masks[:, None]
    naming_me = (named >> place[:, None]) & np.uint32(1) != 0
    named_by_me = masks[:, None] & _ONES != 0
    differs = (naming_me & named_by_me & ~same).any(axis=1)
    if differs.any():
        message = "lanes that name each other as members give different member masks"
        m.fault_among("member-mask", message, lanes, differs)
    return (same * _ONES).sum(axis=1, dtype=np.uint32)


def never_gathered(m: Machine, lanes: Lanes, opcode: str) -> None:
    """Lanes wait for partners that will not come. Raises Stopped."""
    first = lanes.start if isinstance(lanes, slice) else int(lanes[0])
    message = f"{opcode} waits for lanes of its member mask that never come here"
    m.fault("shuffle" if opcode.startswith("shfl") else "member-mask", message, first)


def source_lanes(
    m: Machine, lanes: Lanes, mode: str, b: Words, c: Words, masks: Words | None
) -> tuple[Array, Bools]:
    """(lane of the warp read, in range) for each lane of a shuffle; out of range it is the lane itself.

    Found as the PTX ISA describes for shfl.
    """
    slots = m.slots[lanes]
    place = slots & 31
    b = np.broadcast_to(b, slots.shape).astype(np.int64) & 31
    c = np.broadcast_to(c, slots.shape).astype(np.int64)
    clamp, segment = c & 31, c >> 8 & 31
    most = (place & segment) | (clamp & ~segment)
    least = place & segment
    if mode == "up":
        source = place - b
        good = source >= most
    elif mode == "down":
        source = place + b
        good = source <= most
    elif mode == "bfly":
        source = place ^ b
        good = source <= most
    else:
        source = least | (b & ~segment)
        good = source <= most
    source = np.where(good, source, place)
    if _whole(m, lanes) and (masks is None or bool((masks == _ALL).all())):
        return source, good
    warp = slots >> 5
    here = active(m, lanes)[warp]
    present = (here >> source.astype(np.uint32)) & np.uint32(1) != 0
    member = present
    if masks is not None:
        member = present & ((np.broadcast_to(masks, slots.shape) >> source.astype(np.uint32)) & np.uint32(1) != 0)
    if not member.all():
        number = int(np.argmin(member))
        message = f"lane {int(place[number])} reads lane {int(source[number])}, which does not take part"
        m.fault_among("shuffle", message, lanes, ~member, fatal=False)
    return source, good


def from_lanes(m: Machine, lanes: Lanes, value: Array, source: Array) -> Array:
    """What lane `source` of its warp holds, for each lane."""
    slots = m.slots[lanes]
    return rows(m, np.broadcast_to(value, slots.shape), lanes).reshape(-1)[(slots & ~31) + source]


def vote(m: Machine, lanes: Lanes, mode: str, predicate: Bools, masks: Words | None) -> Array:
    """uint32 for ballot, bool for all, any and uni."""
    warp = m.slots[lanes] // 32
    true = ballot(m, predicate, lanes)[warp]
    members = active(m, lanes)[warp]
    if masks is not None:
        members = members & masks
    true = true & members
    if mode == "ballot":
        return true
    if mode == "all":
        return true == members
    if mode == "any":
        return true != 0
    return (true == members) | (true == 0)


def match(m: Machine, lanes: Lanes, value: Array, masks: Words, *, everyone: bool) -> tuple[Words, Bools]:
    """match.any: lanes of the mask with my value. match.all: the mask and true if all agree, else 0 and false."""
    slots = m.slots[lanes]
    warp = slots // 32
    value = np.broadcast_to(value, slots.shape)
    members = active(m, lanes)[warp] & masks
    same = (rows(m, value, lanes)[warp] == value[:, None]) * _ONES
    equal = same.sum(axis=1, dtype=np.uint32) & members
    if not everyone:
        return equal, np.ones(slots.shape, np.bool_)
    agree = equal == members
    return np.where(agree, members, np.uint32(0)), agree


def reduce(m: Machine, lanes: Lanes, operation: str, value: Array, masks: Words) -> Array:
    """redux.sync over the lanes of each lane's mask, in the dtype of `value`."""
    slots = m.slots[lanes]
    warp = slots // 32
    members = active(m, lanes)[warp] & masks
    table = rows(m, np.broadcast_to(value, slots.shape), lanes)[warp]
    chosen = (members[:, None] & _ONES) != 0
    info = np.iinfo(value.dtype)
    neutral = {"add": 0, "min": info.max, "max": info.min, "and": -1 if info.min else info.max, "or": 0, "xor": 0}
    function: Any = {
        "add": np.add, "min": np.minimum, "max": np.maximum,
        "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    }[operation]
    filled = np.where(chosen, table, np.array(neutral[operation], value.dtype))
    return np.asarray(function.reduce(filled, axis=1, dtype=value.dtype))


def fold(
    m: Machine, lanes: Lanes, function: Callable[[Array, Array], Array], value: Array, masks: Words
) -> Array:
    """A function of two values over the lanes of each lane's mask, in their order."""
    slots = m.slots[lanes]
    warp = slots // 32
    members = active(m, lanes)[warp] & masks
    table = rows(m, np.broadcast_to(value, slots.shape), lanes)[warp]
    chosen = (members[:, None] & _ONES) != 0
    result, started = table[:, 0], chosen[:, 0]
    for lane in range(1, 32):
        both = function(result, table[:, lane])
        here = chosen[:, lane]
        result = np.where(here, np.where(started, both, table[:, lane]), result)
        started = started | here
    return np.asarray(result)


def elect(m: Machine, lanes: Lanes, masks: Words) -> tuple[Words, Bools]:
    """elect.sync: the lowest member lane's number, and whether I am it."""
    slots = m.slots[lanes]
    members = active(m, lanes)[slots // 32] & masks
    low = np.bitwise_and(members, np.uint32(0) - members)
    leader = np.log2(low.astype(np.float64)).astype(np.uint32)
    return leader, leader == (slots % 32).astype(np.uint32)
