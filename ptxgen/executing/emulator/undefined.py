"""Values that nothing has written, on their way through registers and memory.

Compilers move such values about where they know that nothing hangs on them: members of a structure that were never
set, an element read ahead that is not chosen. So an undefined value is handed on, and reported only when something
hangs on it: an address, a guard, a branch, an atomic, a store to global memory. The report names the statement where
it was read first. A register that nothing has written may be moved so too, but not be computed with.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxgen.executing.emulator import definedness
from ptxgen.executing.emulator.memory import INITIALISED, Region, describe
from ptxgen.executing.emulator.scope import RegisterSymbol
from ptxgen.executing.protocol import FaultKind
from ptxgen.ptx.tree import Name, Operand

if TYPE_CHECKING:
    from ptxgen.executing.emulator.lanes import Lanes
    from ptxgen.executing.emulator.machine import Machine
    from ptxgen.executing.emulator.program import Program, Step
    from ptxgen.executing.emulator.site import Site

#: int32 by lane: the number of the origin of an undefined value, 0 where the value is defined.
Numbers = Any
#: Of the sources of a step (by slot) what its result is undefined by.
Settle = Callable[["Machine", "Lanes", dict[int, Numbers]], Numbers]
#: Instructions whose results are as undefined as their sources, and that do nothing else.
HANDING_ON = frozenset({
    "add", "addc", "sub", "subc", "mul", "mad", "madc", "fma", "mul24", "mad24", "clmad", "div", "rem", "sad", "min",
    "max", "abs", "neg", "sqrt", "rcp", "rsqrt", "ex2", "lg2", "sin", "cos", "tanh", "copysign", "dp4a", "dp2a",
    "and", "or", "xor", "not", "cnot", "shl", "shr", "shf", "lop3", "popc", "clz", "brev", "bfind", "bfe", "bfi",
    "bmsk", "szext", "prmt", "fns", "setp", "set", "selp", "slct", "testp", "mov", "cvt", "cvta", "isspacep",
    *(f"v{what}" for what in ("add", "sub", "absdiff", "min", "max", "shl", "shr", "set", "mad")),
    *(f"v{what}{width}" for what in ("add", "sub", "avrg", "absdiff", "min", "max", "set") for width in (2, 4)),
})

#: Of those the ones that only move.
MOVING = frozenset({"mov", "cvt", "selp"})


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


def of(m: Machine, program: Program, step: Step, slot: int, lanes: Lanes) -> Numbers | None:
    """The origins of a register's values, None where all of them are defined."""
    known = m.undefined.get(slot)
    numbers = None if known is None else known[lanes]
    if slot in step.unproven or slot in step.deferred:
        numbers = unwritten(m, slot, lanes, numbers, program.register_names[slot])
    return numbers if numbers is not None and numbers.any() else None


def unwritten(m: Machine, slot: int, lanes: Lanes, numbers: Numbers | None, name: str) -> Numbers | None:
    """The same with what was never written."""
    written = m.written.get(slot)
    if written is None or written[lanes].all():
        return numbers
    number = origin(m, "uninitialised-register", f"{name} is read before anything was written to it")
    fresh = np.where(written[lanes], 0, number).astype(np.int32)
    return fresh if numbers is None else np.where(numbers != 0, numbers, fresh)


def before(m: Machine, program: Program, step: Step, lanes: Lanes) -> Numbers | None:
    """What a step's results will be undefined by, None if they are defined. Reports what has to be defined."""
    found: dict[int, Numbers] = {}
    for slot in step.reads:
        if slot != step.guard and slot not in step.deferred:
            numbers = of(m, program, step, slot, lanes)
            if numbers is None:
                continue
            if slot in step.unproven and not (step.moves or step.values):
                fresh = np.where(m.written[slot][lanes], 0, numbers)
                report(m, fresh, lanes)
                numbers = numbers - fresh
            if numbers.any():
                found[slot] = numbers
    if not found:
        return None
    harmless = step.reads if step.hands_on else tuple(slot for element in step.values for slot in element)
    for slot, numbers in found.items():
        if slot not in harmless or slot in step.needs:
            report(m, numbers, lanes)
    if step.values:
        m.carried = [_spread(m, lanes, _either([found[slot] for slot in e if slot in found])) for e in step.values]
    if not step.hands_on:
        return None
    return step.settle(m, lanes, found) if step.settle else _either(list(found.values()))


def after(m: Machine, program: Program, counter: int, lanes: Lanes, numbers: Numbers | None) -> None:
    """Step `counter` has been carried out: its results are undefined by `numbers`, or by what it loaded.

    What is loaded and never read is reported here, but not from local memory: code that is not optimised reads a
    word before it writes a part of it.
    """
    step = program.steps[counter]
    loaded, m.loaded, m.carried = m.loaded, None, None
    of_each: list[Numbers | None] = [numbers] * len(step.writes)
    if loaded is not None:
        parts = [None if part is None else part[lanes] for part in loaded]
        if len(parts) > len(step.writes):
            parts = [_either([part for part in parts if part is not None])] * len(step.writes)
        of_each = parts + [None] * (len(step.writes) - len(parts))
    for slot, new in zip(step.writes, of_each, strict=True):
        known = m.undefined.get(slot)
        shared = new is not None and loaded is not None and m.loaded_from in {"shared", "global"}
        if shared and not _is_read(m, program, counter, slot):
            report(m, new, lanes)
            new = None
        if new is not None and new.any():
            if known is None:
                known = m.undefined[slot] = np.zeros(m.lanes, np.int32)
            known[lanes] = new
        elif known is not None:
            known[lanes] = 0
            if not known.any():
                del m.undefined[slot]


def _is_read(m: Machine, program: Program, counter: int, slot: int) -> bool:
    """Whether some path from a step leads to a read of a register before it is written."""
    known = m.read_later.get((counter, slot))
    if known is None:
        known = m.read_later[counter, slot] = definedness.is_read_after(program.steps, counter, slot)
    return known


def _either(several: list[Numbers]) -> Numbers | None:
    result = None
    for numbers in several:
        result = numbers if result is None else np.where(result != 0, result, numbers)
    return result


def _spread(m: Machine, lanes: Lanes, numbers: Numbers | None) -> Numbers | None:
    """The numbers of these lanes as those of all lanes."""
    if numbers is None:
        return None
    whole = np.zeros(m.lanes, np.int32)
    whole[lanes] = numbers
    return whole


# ---------------------------------------------------------------- memory


def _granules(region: Region, offset: Any, width: int) -> Any:
    return (offset[:, None] >> region.shift) + np.arange(max(1, width >> region.shift))


def stored(m: Machine, region: Region, offset: Any, lanes: Lanes, width: int, element: int) -> None:
    """`width` bytes at these offsets hold what the step before carries."""
    whole = m.carried[element] if m.carried is not None else None
    if whole is None:
        return
    numbers = whole[lanes]
    bad = numbers != 0
    if not bad.any():
        return
    if region.space == "global":
        report(m, numbers, lanes)
        return
    places = _granules(region, offset[bad], width)
    region.flags[places] &= np.uint8(255 - INITIALISED)
    region.forget()
    region.uninitialised = True
    if region.origins is None:
        region.origins = np.zeros(region.flags.size, np.int32)
    region.origins[places] = numbers[bad][:, None]


def note_loaded(
    m: Machine, region: Region, address: Any, offset: Any, lanes: Lanes, width: int, count: int, verb: str
) -> None:
    """`count` elements of `width` bytes were loaded, some of which nothing has written."""
    m.loaded_from = region.space
    if m.loaded is None:
        m.loaded = [None] * count
    for element in range(count):
        places = _granules(region, offset + element * width, width)
        bad = ((region.flags.take(places, mode="clip") & INITIALISED) == 0).any(axis=1)
        if not bad.any():
            continue
        numbers = np.zeros(bad.size, np.int32)
        if region.origins is not None:
            numbers[bad] = region.origins.take(places[bad], mode="clip").max(axis=1)
        fresh = bad & (numbers == 0)
        if fresh.any():
            where = int(address[int(np.argmax(fresh))])
            message = f"{verb} of {width * count} bytes that nothing has written, {describe(region, where)}"
            numbers[fresh] = origin(m, "uninitialised-read", message, where)
        whole = m.loaded[element]
        if whole is None:
            whole = m.loaded[element] = np.zeros(m.lanes, np.int32)
        whole[lanes] = numbers


# ---------------------------------------------------------------- what need not be defined


def settle_of(site: Site) -> Settle | None:
    """For instructions whose result does not always hang on every source: the value that is not selected, and what
    is combined with a word that decides alone."""
    if site.name == "selp" and len(site.operands) == 4:
        chosen, other, by = (_slot(site, operand) for operand in site.operands[1:])
        return lambda m, lanes, found: _selected(m, lanes, found, chosen, other, by)
    if site.name in {"and", "or"} and len(site.operands) == 3:
        first, second = (_slot(site, operand) for operand in site.operands[1:])
        if first >= 0 and second >= 0:
            every = site.name == "or"
            return lambda m, lanes, found: _combined(m, lanes, found, first, second, every=every)
    return None


def _slot(site: Site, operand: Operand) -> int:
    symbol = site.scope.find(operand.text) if isinstance(operand, Name) else None
    return symbol.slot if isinstance(symbol, RegisterSymbol) else -1


def _selected(m: Machine, lanes: Lanes, found: dict[int, Numbers], chosen: int, other: int, by: int) -> Numbers:
    size = next(iter(found.values())).size
    nothing = np.zeros(size, np.int32)
    value = m.registers[by][lanes] if by >= 0 else np.ones(size, np.bool_)
    result = np.where(value, found.get(chosen, nothing), found.get(other, nothing))
    doubt = found.get(by, nothing)
    return np.where(doubt != 0, doubt, result)


def _combined(
    m: Machine, lanes: Lanes, found: dict[int, Numbers], first: int, second: int, *, every: bool
) -> Numbers:
    """Of `and` (`or` if `every`): a defined word of zeros (ones) decides, whatever the other is."""
    nothing = np.zeros(next(iter(found.values())).size, np.int32)
    numbers = [found.get(slot, nothing) for slot in (first, second)]
    words = [m.registers[slot][lanes] for slot in (first, second)]
    decided = [(n == 0) & ((~w if every else w) == 0) for n, w in zip(numbers, words, strict=True)]
    return np.where(decided[0] | decided[1], 0, np.where(numbers[0] != 0, numbers[0], numbers[1]))
