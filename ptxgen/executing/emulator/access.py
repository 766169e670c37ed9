"""Loads and stores of one element per lane, with every check that a sanitizer makes.

Addresses are int64 arrays, one per lane of the set; results and values are unsigned arrays of the access's width.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ptxgen.executing.emulator import late, meeting, races, undefined
from ptxgen.executing.emulator.lanes import Lanes
from ptxgen.executing.emulator.machine import Machine
from ptxgen.executing.emulator.meeting import Addresses, Offsets
from ptxgen.executing.emulator.memory import INITIALISED, MAPPED, RANK_SHIFT, WRITABLE, Region, describe, window_of
from ptxgen.executing.emulator.values import Array, Bools
from ptxgen.executing.protocol import FaultKind


def offsets(m: Machine, region: Region, address: Addresses, lanes: Lanes) -> Offsets:
    """Byte offsets into the region's data; addresses outside an instance lead to its unmapped first bytes."""
    if region.space == "shared" and m.cluster_size > 1:
        return _cluster_offsets(m, region, address, lanes)
    offset = address - region.base
    if region.instances == 1:
        return offset
    offset = np.where((offset < 0) | (offset >= region.stride), region.base, address)
    return np.asarray(offset + _starts(m, region)[lanes])


def _starts(m: Machine, region: Region) -> npt.NDArray[np.int64]:
    """By lane: what an address of the lane's instance is smaller by than its offset."""
    if region.starts is None:
        if region.space == "shared":
            instance = m.block_of
        else:
            instance = np.arange(m.lanes) if region.instances > 1 else np.zeros(m.lanes, np.intp)
        region.starts = instance * region.stride - region.base
    return np.asarray(region.starts)


def _locate(
    m: Machine, region: Region, address: Addresses, lanes: Lanes, size: int, need: int, verb: str, keep: int = 0
) -> tuple[Offsets | range, int]:
    """Offsets of `size` bytes at each address, checked, and flags that they have: a range where one lane's bytes
    follow on another's. Looks at single granules only where an extent's flags do not answer already."""
    low = high = 0
    if address.size:
        low, high = int(np.minimum.reduce(address)), int(np.maximum.reduce(address))
    flags = region.surely(low, high + size, need, address.size)
    if flags & need != need or (low | high) & (size - 1):
        offset = offsets(m, region, address, lanes)
        return offset, check(m, region, address, offset, lanes, size, need, verb, keep=keep)
    if region.instances == 1 and high - low == (address.size - 1) * size and bool(
        (address[1:] - address[:-1] == size).all()
    ):
        for watcher in m.watchers:
            watcher.accessed(m, region, address, lanes, size, verb)
        return range(low - region.base, high - region.base + size, size), flags
    if low != high and int(np.bitwise_or.reduce(address)) & (size - 1):
        offset = offsets(m, region, address, lanes)
        return offset, check(m, region, address, offset, lanes, size, need, verb, keep=keep)
    for watcher in m.watchers:
        watcher.accessed(m, region, address, lanes, size, verb)
    return address - region.base if region.instances == 1 else address + _starts(m, region)[lanes], flags


def _cluster_offsets(m: Machine, region: Region, address: Addresses, lanes: Lanes) -> Offsets:
    """Shared memory of the lane's own block, or of the block of its cluster that the address names."""
    block, size = m.block_of[lanes], m.cluster_size
    rank = (address >> RANK_SHIFT) - 1
    own = rank < 0
    offset = np.where(own, address, address & (1 << RANK_SHIFT) - 1) - region.base
    offset = np.where((offset < 0) | (offset >= region.stride) | (rank >= size), 0, offset)
    block = np.where(own, block, block // size * size + np.minimum(rank, size - 1))
    return np.asarray(offset + block * region.stride)


def check_own(m: Machine, address: Addresses, lanes: Lanes) -> None:
    """Shared addresses of an access to `.shared::cta` are those of the lane's own block."""
    other = (address >> RANK_SHIFT) != 0
    if other.any():
        message = "an access to .shared::cta with an address of another block of the cluster"
        m.fault_among("wrong-space", message, lanes, other, address=address)


def check(
    m: Machine, region: Region, address: Addresses, offset: Offsets, lanes: Lanes, size: int, need: int, verb: str,
    *, keep: int = 0,
) -> int:
    """All `size` bytes at each address are mapped, aligned, and have the flags `need`; gives all their flags.

    `keep`: that many elements go to registers, where it is known of each whether it is undefined.
    """
    for watcher in m.watchers:
        watcher.accessed(m, region, address, lanes, size, verb)
    return examine(m, region, address, offset, lanes, size, need, verb, keep=keep)


def examine(
    m: Machine, region: Region, address: Addresses, offset: Offsets, lanes: Lanes, size: int, need: int, verb: str,
    *, keep: int = 0,
) -> int:
    """`check` of which no watcher is told, for what is part of an access."""
    place = offset >> region.shift
    flags = region.flags.take(place, mode="clip")
    for granule in range(1, size >> region.shift):
        flags = flags & region.flags.take(place + granule, mode="clip")
    if int(np.bitwise_and.reduce(flags)) & need != need or int(np.bitwise_or.reduce(address)) & (size - 1):
        _explain(m, region, address, flags, lanes, size, need, verb, keep)
    return int(np.bitwise_or.reduce(flags))


def _explain(
    m: Machine, region: Region, address: Addresses, flags: npt.NDArray[np.uint8], lanes: Lanes, size: int, need: int,
    verb: str, keep: int,
) -> None:
    unmapped = (flags & MAPPED) == 0
    crooked = (address & (size - 1)) != 0
    protected = ((flags & WRITABLE) == 0) & bool(need & WRITABLE)
    bad: Bools = unmapped | crooked | protected
    kind: FaultKind
    if not bad.any() and keep:
        undefined.note_loaded(m, region, address, offsets(m, region, address, lanes), lanes, size // keep, keep, verb)
        return
    if not bad.any():
        bad = (flags & need) != need
        place = int(np.argmax(bad))
        words = describe(region, int(address[place]))
        message = f"{verb} of {size} bytes that nothing has written, {words}"
        m.fault_among("uninitialised-read", message, lanes, bad, address=address, fatal=False)
        return
    place = int(np.argmax(bad))
    where = int(address[place])
    if unmapped[place]:
        window = window_of(where)
        other = _named_space(m, region, where, window)
        if other:
            kind, message = "wrong-space", f"{verb} in {region.space} memory with an address of {other} memory"
        else:
            kind = "out-of-bounds"
            message = f"{verb} of {size} bytes in {region.space} memory, {describe(region, where)}"
    elif crooked[place]:
        kind, message = "misaligned", f"{verb} of {size} bytes at an address that is no multiple of {size}"
    else:
        kind, message = "read-only-write", f"{verb} to read-only memory, {describe(region, where)}"
    m.fault_among(kind, message, lanes, bad, address=address)


def _named_space(m: Machine, region: Region, address: int, window: str) -> str:
    """The other state space that an unmapped address plainly belongs to, "" if it could be any."""
    if window and window != region.space:
        return window
    if window == region.space and region.space != "global":
        return "generic"
    if window or region.space != "global":
        return ""
    for space in ("shared", "local"):
        other = m.regions.get(space)
        if other and any(e.start <= address < e.stop for e in other.extents):
            return space
    return ""


def load(
    m: Machine, region: Region, address: Addresses, lanes: Lanes, width: int, count: int, *, strong: bool = False,
    narrow: bool = False, keep: bool = False,
) -> list[Array]:
    """`count` neighbouring elements of `width` bytes from each address, undefined ones too if `keep`.

    `narrow`: strong within the block alone.
    """
    need = MAPPED | INITIALISED
    offset, flags = _locate(m, region, address, lanes, width * count, need, "a read", keep=count if keep else 0)
    if region.pending is not None:
        late.check_pending(m, region, offset, address, lanes, width * count, writes=False)
    # Where nothing may be written nothing can race.
    traced = region.reads is not None and bool(flags & WRITABLE)
    words = region.view(width)
    time = m.tick()
    result = []
    for element in range(count):
        here, place = _element(offset, element, width, count)
        result.append(words[place].copy() if isinstance(place, slice) else words.take(place, mode="clip"))
        if not traced or region.reads is None:
            continue
        touch = meeting.touch_of(m, region, here, lanes, width, time, place)
        if strong:
            meeting.check(m, region, touch, address, ((region.writes, "wrote"),), "reads")
            if narrow:
                meeting.check_narrow(m, region, touch, address, "reads, strongly within its block alone,")
            if region.strong_reads is not None:
                races.remember(region.strong_reads, touch, m.order, private=meeting.private(m, region))
        else:
            against = ((region.writes, "wrote"), (region.atomics, "changed atomically"))
            meeting.check(m, region, touch, address, against, "reads")
            races.remember(region.reads, touch, m.order, private=meeting.private(m, region))
    return result


def store(
    m: Machine, region: Region, address: Addresses, lanes: Lanes, width: int, values: list[Array], *,
    strong: bool = False, narrow: bool = False,
) -> None:
    """Neighbouring elements to each address; among lanes that write one place the last wins. `narrow`: strong within
    the block alone."""
    offset, _ = _locate(m, region, address, lanes, width * len(values), MAPPED | WRITABLE, "a write")
    m.changes += 1
    words = region.view(width)
    time = m.tick()
    if region.pending is not None:
        late.check_pending(m, region, offset, address, lanes, width * len(values), writes=True)
    if region.generic is not None:
        region.generic[region.granules(offset, width * len(values))] = time + 1
    for element, value in enumerate(values):
        here, place = _element(offset, element, width, len(values))
        if region.writes is None:
            words[place] = value
        elif strong:
            against = ((region.writes, "wrote"), (region.reads, "read"))
            touch = meeting.touch_of(m, region, here, lanes, width, time, place)
            meeting.check(m, region, touch, address, against, "changes")
            if narrow:
                meeting.check_narrow(m, region, touch, address, "writes, strongly within its block alone,")
            words[place] = value
            if region.atomics is not None:
                races.remember(region.atomics, touch, m.order, private=meeting.private(m, region))
        else:
            _plain_store(m, region, here, place, address, lanes, width, value, time)
        note_written(region, here, width)
        if m.carried is not None:
            undefined.stored(m, region, np.asarray(here), lanes, width, element)


def _element(
    offset: Offsets | range, element: int, width: int, count: int
) -> tuple[Offsets | range, Offsets | slice]:
    """Of accesses of `count` elements each the offsets of one element, and its places among words of that width."""
    bits = width.bit_length() - 1
    if not isinstance(offset, range):
        here = offset + element * width if element else offset
        return here, here >> bits
    if count == 1:
        return offset, slice(offset.start >> bits, offset.stop >> bits)
    here = np.arange(offset.start + element * width, offset.stop, offset.step)
    first = (offset.start >> bits) + element
    return here, slice(first, offset.stop >> bits, count)


def note_written(region: Region, offset: Offsets | range, width: int) -> None:
    """`width` bytes at each of these places hold something from now on."""
    if region.uninitialised:
        region.flags[region.granules(offset, width)] |= INITIALISED


def _plain_store(
    m: Machine, region: Region, offset: Offsets | range, place: Offsets | slice, address: Addresses, lanes: Lanes,
    width: int, value: Array, time: int,
) -> None:
    assert region.writes is not None
    words = region.view(width)
    against = (
        (region.writes, "wrote"), (region.reads, "read"), (region.strong_reads, "read"),
        (region.atomics, "changed atomically"),
    )
    touch = meeting.touch_of(m, region, offset, lanes, width, time, place)
    # Two threads that store the same value are not reported: whichever comes last, the result is the same.
    meeting.check(m, region, touch, address, against, "writes", lambda: np.asarray(words[place] == value))
    words[place] = value
    races.remember(region.writes, touch, m.order, private=meeting.private(m, region))
    lost = words[place] != value if not isinstance(place, slice) else None
    if lost is not None and lost.any():
        bad = meeting.spread(lost, region, width)
        meeting.report(m, region, region.writes, touch, address, bad, "writes", "wrote")


def note_atomic(
    m: Machine, region: Region, offset: Offsets, address: Addresses, lanes: Lanes, width: int, *, narrow: bool = False
) -> None:
    """Check an atomic access against plain ones, and remember it. `narrow`: it is atomic within its block alone."""
    if region.writes is None:
        return
    against = ((region.writes, "wrote"), (region.reads, "read"))
    touch = meeting.touch_of(m, region, offset, lanes, width, m.tick())
    meeting.check(m, region, touch, address, against, "changes")
    if region.pending is not None:
        late.check_pending(m, region, offset, address, lanes, width, writes=True)
    if region.generic is not None:
        region.generic[touch.where] = touch.time + 1
    if region.atomics is None:
        return
    races.remember(region.atomics, touch, m.order, private=meeting.private(m, region))
    if narrow and region.space == "global":
        races.settle(region.atomics, m.order, private=False)
        bad = m.order.shape.block(region.atomics.tag[touch.where]) != m.order.shape.block(touch.by_granule(m.tags))
        if bad.any():
            now = "changes, atomically within its block alone,"
            meeting.report(m, region, region.atomics, touch, address, bad, now, "changed")
