"""Values that nothing has written, on their way through registers and memory.

Compilers move such values about where they know that nothing hangs on them: members of a structure that were never
set, an element read ahead that is not chosen. So an undefined value is handed on, and reported only when something
hangs on it: an address, a guard, a branch, an atomic, a store to global memory. The report names the statement where
it was read first. A register that nothing has written may be moved so too, but not be computed with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxgen.executing.emulator import definedness
from ptxgen.executing.emulator.memory import INITIALISED, Region, describe
from ptxgen.executing.emulator.undefined_bits import ALL, Shadow, cut, either, whole
from ptxgen.executing.protocol import FaultKind

if TYPE_CHECKING:
    from ptxgen.executing.emulator.lanes import Lanes
    from ptxgen.executing.emulator.machine import Machine
    from ptxgen.executing.emulator.program import Program, Step

#: int32 by lane: the number of the origin of an undefined value, 0 where the value is defined.
Numbers = Any

@dataclass(frozen=True, slots=True)
class Origin:
    """Where an undefined value was read first."""

    kind: FaultKind
    line: int
    message: str
    address: int | None


def origin(m: Machine, kind: FaultKind, message: str, address: int | None = None) -> int:
    """The number of the origin at the current line."""
    key = kind, m.line
    number = m.origin_numbers.get(key)
    if number is None:
        m.origins.append(Origin(kind, m.line, message, address))
        number = m.origin_numbers[key] = len(m.origins)
    return number


def report(m: Machine, numbers: Numbers, lanes: Lanes) -> None:
    """Something hangs on these values."""
    line = m.line
    for number in np.unique(numbers[numbers != 0]):
        found = m.origins[number - 1]
        m.line = found.line
        address = None if found.address is None else np.full(numbers.size, found.address)
        m.fault_among(found.kind, found.message, lanes, numbers == number, address=address, fatal=False)
    m.line = line


def of(m: Machine, program: Program, step: Step, slot: int, lanes: Lanes) -> Shadow | None:
    """What is undefined of a register's values, None where all of them are defined."""
    known = known_of(m, slot, lanes)
    if slot in step.unproven or slot in step.deferred:
        known = unwritten(m, slot, lanes, known, program.register_names[slot])
    return known if known is not None and known[0].any() else None


def known_of(m: Machine, slot: int, lanes: Lanes) -> Shadow | None:
    """What undefined values were moved to a register."""
    known = m.undefined.get(slot)
    return None if known is None else (known[0][lanes], known[1][lanes])


def unwritten(m: Machine, slot: int, lanes: Lanes, known: Shadow | None, name: str) -> Shadow | None:
    """The same with what was never written."""
    written = m.written.get(slot)
    if written is None or written[lanes].all():
        return known
    number = origin(m, "uninitialised-register", f"{name} is read before anything was written to it")
    fresh = whole((np.where(written[lanes], 0, number).astype(np.int32), ALL))
    return fresh if known is None or fresh is None else either([known, fresh])


def before(m: Machine, program: Program, step: Step, lanes: Lanes) -> list[Shadow | None] | None:
    """What each of a step's results will be undefined by, None if none is. Reports what has to be defined."""
    found: dict[int, Shadow] = {}
    for slot in step.reads:
        if slot != step.guard and slot not in step.deferred:
            shadow = of(m, program, step, slot, lanes)
            if shadow is None:
                continue
            if slot in step.unproven and not (step.moves or step.values):
                written = m.written[slot][lanes]
                report(m, np.where(written, 0, shadow[0]), lanes)
                shadow = np.where(written, shadow[0], 0), np.where(written, shadow[1], np.uint64(0))
            if shadow[0].any():
                found[slot] = shadow
    if not found:
        return None
    harmless = step.reads if step.hands_on else tuple(slot for element in step.values for slot in element)
    for slot, (numbers, _) in found.items():
        if slot not in harmless or slot in step.needs:
            report(m, numbers, lanes)
    if step.values:
        m.carried = [_spread(m, lanes, either([found[slot] for slot in e if slot in found])) for e in step.values]
    if not step.hands_on:
        return None
    if step.settle:
        return step.settle(m, lanes, found)
    together = either(list(found.values()))
    return [together if step.moves else whole(together)] * len(step.writes)


def after(m: Machine, program: Program, counter: int, lanes: Lanes, results: list[Shadow | None] | None) -> None:
    """Step `counter` has been carried out: its results are undefined by `results`, or by what it loaded.

    What is loaded and never read is reported here, but not from local memory: code that is not optimised reads a
    word before it writes a part of it.
    """
    step = program.steps[counter]
    loaded, m.loaded, m.carried = m.loaded, None, None
    of_each: list[Shadow | None] = list(results or ())
    if loaded is not None:
        of_each = [None if part is None else (part[0][lanes], part[1][lanes]) for part in loaded]
    if len(of_each) > len(step.writes):
        of_each = [either([part for part in of_each if part is not None])] * len(step.writes)
    of_each += [None] * (len(step.writes) - len(of_each))
    for slot, new in zip(step.writes, of_each, strict=True):
        known = m.undefined.get(slot)
        seen = new is not None and loaded is not None and m.loaded_from in {"shared", "global"}
        if new is not None and seen and not _is_read(m, program, counter, slot):
            report(m, new[0], lanes)
            new = None
        if new is not None and new[0].any():
            if known is None:
                known = m.undefined[slot] = np.zeros(m.lanes, np.int32), np.zeros(m.lanes, np.uint64)
            known[0][lanes], known[1][lanes] = new
        elif known is not None:
            known[0][lanes], known[1][lanes] = 0, 0
            if not known[0].any():
                del m.undefined[slot]


def _is_read(m: Machine, program: Program, counter: int, slot: int) -> bool:
    """Whether some path from a step leads to a read of a register before it is written."""
    known = m.read_later.get((counter, slot))
    if known is None:
        known = m.read_later[counter, slot] = definedness.is_read_after(program.steps, counter, slot)
    return known


def _spread(m: Machine, lanes: Lanes, shadow: Shadow | None) -> Shadow | None:
    """The shadow of these lanes as that of all lanes."""
    if shadow is None:
        return None
    numbers, bits = np.zeros(m.lanes, np.int32), np.zeros(m.lanes, np.uint64)
    numbers[lanes], bits[lanes] = shadow
    return numbers, bits


# ---------------------------------------------------------------- memory


def _granules(region: Region, offset: Any, width: int) -> Any:
    return (offset[:, None] >> region.shift) + np.arange(max(1, width >> region.shift))


def stored(m: Machine, region: Region, offset: Any, lanes: Lanes, width: int, element: int) -> None:
    """`width` bytes at these offsets hold what the step before carries."""
    carried = m.carried[element] if m.carried is not None else None
    shadow = cut(None if carried is None else (carried[0][lanes], carried[1][lanes]), min(64, 8 * width))
    if shadow is None or not shadow[0].any():
        return
    numbers, bits = shadow
    if region.space == "global":
        report(m, numbers, lanes)
        return
    bad = numbers != 0
    origins, shadows = region.undefined_bytes()
    undefined = np.ascontiguousarray(bits[bad]).view(np.uint8).reshape(-1, 8)
    undefined = undefined[:, :width] if width <= 8 else np.full((undefined.shape[0], width), 255, np.uint8)
    shadows[offset[bad][:, None] + np.arange(width)] = undefined
    places = _granules(region, offset[bad], width)
    lost = undefined.reshape(*places.shape, -1).any(axis=2)
    region.flags[places[lost]] &= np.uint8(255 - INITIALISED)
    region.uninitialised = True
    region.forget()
    origins[places] = numbers[bad][:, None]


def note_loaded(
    m: Machine, region: Region, address: Any, offset: Any, lanes: Lanes, width: int, count: int, verb: str
) -> None:
    """`count` elements of `width` bytes were loaded, some of which nothing has written."""
    for element in range(count):
        places = _granules(region, offset + element * width, width)
        missing = (region.flags.take(places, mode="clip") & INITIALISED) == 0
        bad = missing.any(axis=1)
        if not bad.any():
            continue
        m.loaded_from = region.space
        if m.loaded is None:
            m.loaded = [None] * count
        numbers = np.zeros(bad.size, np.int32)
        undefined = np.repeat(missing, width // missing.shape[1], axis=1).astype(np.uint8) * np.uint8(255)
        if region.shadows is not None and region.origins is not None:
            numbers[bad] = np.where(missing[bad], region.origins.take(places[bad], mode="clip"), 0).max(axis=1)
            undefined &= region.shadows.take((offset + element * width)[:, None] + np.arange(width), mode="clip")
        fresh = bad & (numbers == 0)
        if fresh.any():
            where = int(address[int(np.argmax(fresh))])
            message = f"{verb} of {width * count} bytes that nothing has written, {describe(region, where)}"
            numbers[fresh] = origin(m, "uninitialised-read", message, where)
        bits = np.zeros((bad.size, 8), np.uint8)
        bits[:, : min(width, 8)] = undefined[:, :8]
        word = bits.view(np.uint64)[:, 0] if width <= 8 else np.where(bad, ALL, np.uint64(0))
        so_far = m.loaded[element] or (np.zeros(m.lanes, np.int32), np.zeros(m.lanes, np.uint64))
        so_far[0][lanes], so_far[1][lanes] = numbers, word
        m.loaded[element] = so_far
