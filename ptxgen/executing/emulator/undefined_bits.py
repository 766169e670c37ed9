"""Which bits of a result are undefined where some bits of its sources are.

Code that is not optimised makes structures of bit fields and flags out of words that nothing has written, by masks
and shifts. A *shadow* is two arrays by lane: the number of the value's origin, and its undefined bits (uint64).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxgen.executing.emulator.scope import RegisterSymbol
from ptxgen.executing.emulator.values import BITS, SIGNED, immediate_bits, is_float, is_signed
from ptxgen.ptx.tree import Immediate, Name, Operand, Vector

if TYPE_CHECKING:
    from ptxgen.executing.emulator.lanes import Lanes
    from ptxgen.executing.emulator.machine import Machine
    from ptxgen.executing.emulator.site import Site

#: (numbers, bits) by lane of a set: int32 and uint64.
Shadow = tuple[Any, Any]
#: Of the sources' shadows, by slot, the shadow of each result (None: defined).
Settle = Callable[["Machine", "Lanes", dict[int, Shadow]], list[Shadow | None]]
ALL = np.uint64(2**64 - 1)
_Source = Callable[["Machine", "Lanes", dict[int, Shadow]], tuple[Any, Any, Any]]


def either(several: Sequence[Shadow]) -> Shadow | None:
    """A shadow over everything that one of these is over."""
    if not several:
        return None
    numbers, bits = several[0]
    for other, more in several[1:]:
        numbers, bits = np.where(numbers != 0, numbers, other), bits | more
    return numbers, bits


def whole(shadow: Shadow | None) -> Shadow | None:
    """The same with every bit undefined where one is."""
    if shadow is None:
        return None
    return shadow[0], np.where(shadow[0] != 0, ALL, np.uint64(0))


def cut(shadow: Shadow | None, width: int) -> Shadow | None:
    """The lowest `width` bits alone."""
    if shadow is None:
        return None
    bits = shadow[1] & np.uint64((1 << width) - 1)
    return np.where(bits != 0, shadow[0], 0).astype(np.int32), bits


def settle_of(site: Site) -> Settle | None:
    """For instructions that treat bits one by one, or choose a source; None for all others, where every bit of the
    results hangs on every bit of the sources."""
    if site.name == "mov" and len(site.operands) == 2 and site.types and not site.has("v2", "v4", "v8"):
        return _moved(site)
    if site.name == "cvt" and len(site.types) == 2 and not any(is_float(t) or t not in BITS for t in site.types):
        return _converted(site) if not site.has("sat") else None
    maker = {"selp": _selected, "and": _logic, "or": _logic, "xor": _logic, "shl": _shifted, "shr": _shifted}
    if site.name in maker and len(site.operands) >= 3 and (site.type == "pred" or BITS.get(site.type, 128) <= 64):
        return maker[site.name](site)
    return None


def _source(site: Site, operand: Operand, type_name: str) -> _Source:
    """A scalar operand as (value, numbers, bits), the value as uint64."""
    if isinstance(operand, Immediate) and type_name != "pred":
        word = np.uint64(immediate_bits(operand, type_name) & int(ALL))
        return lambda m, lanes, found: (word, 0, np.uint64(0))
    symbol = site.scope.find(operand.text) if isinstance(operand, Name) else None
    if not isinstance(symbol, RegisterSymbol) or (symbol.type in BITS and BITS[symbol.type] > 64):
        # An address, a special register: known to be defined; its value is taken to decide nothing.
        return lambda m, lanes, found: (None, 0, np.uint64(0))
    slot = symbol.slot

    def get(m: Machine, lanes: Lanes, found: dict[int, Shadow]) -> tuple[Any, Any, Any]:
        numbers, bits = found.get(slot, (0, np.uint64(0)))
        return m.registers[slot][lanes].astype(np.uint64), numbers, bits

    return get


def _made(numbers: Any, bits: Any) -> Shadow:
    return np.where(bits != 0, numbers, 0).astype(np.int32), np.asarray(bits, np.uint64)


def _moved(site: Site) -> Settle:
    """Scalars bit for bit, and words put together of parts or taken apart."""
    target, source = site.operands
    given = site.spelt_out(source)
    parts = given.elements if isinstance(given, Vector) else (given,)
    to = site.spelt_out(target)
    wanted = to.elements if isinstance(to, Vector) else (to,)
    width = BITS.get(site.type, 64)
    if width > 64:
        return lambda m, lanes, found: [whole(either(list(found.values())))] * len(wanted)
    each, every = width // len(parts), width // len(wanted)
    getters = [_source(site, part, "pred" if site.type == "pred" else f"b{each}") for part in parts]
    kept = [number for number, part in enumerate(wanted) if not (isinstance(part, Name) and part.text == "_")]

    def settle(m: Machine, lanes: Lanes, found: dict[int, Shadow]) -> list[Shadow | None]:
        numbers: Any = 0
        bits: Any = np.uint64(0)
        for place, get in enumerate(getters):
            _, origin, more = get(m, lanes, found)
            numbers = np.where(numbers != 0, numbers, origin)
            bits = bits | (more & np.uint64((1 << each) - 1)) << np.uint64(place * each)
        mask = np.uint64((1 << every) - 1)
        return [_made(numbers, bits >> np.uint64(place * every) & mask) for place in kept]

    return settle


def _converted(site: Site) -> Settle:
    """Between integers: cut, and filled with zeros or with the sign."""
    to, of = BITS[site.types[0]], BITS[site.types[1]]
    get = _source(site, site.operands[1], site.types[1])
    extends = is_signed(site.types[1]) and to > of

    def settle(m: Machine, lanes: Lanes, found: dict[int, Shadow]) -> list[Shadow | None]:
        _, numbers, bits = get(m, lanes, found)
        bits = bits & np.uint64((1 << min(to, of)) - 1)
        if extends:
            bits = bits | np.where(bits >> np.uint64(of - 1) & np.uint64(1), ALL << np.uint64(of), np.uint64(0))
        return [_made(numbers, bits)]

    return settle


def _selected(site: Site) -> Settle:
    """selp: the value that is not selected does not count."""
    first, second = (_source(site, operand, site.type) for operand in site.operands[1:3])
    by = _source(site, site.operands[3], "pred")

    def settle(m: Machine, lanes: Lanes, found: dict[int, Shadow]) -> list[Shadow | None]:
        chosen, doubt, _ = by(m, lanes, found)
        (_, numbers, bits), (_, others, more) = first(m, lanes, found), second(m, lanes, found)
        yes = np.asarray(chosen != 0) if chosen is not None else np.ones(1, np.bool_)
        bits = np.where(doubt != 0, ALL, np.where(yes, bits, more))
        return [_made(np.where(doubt != 0, doubt, np.where(yes, numbers, others)), bits)]

    return settle


def _logic(site: Site) -> Settle:
    """A defined 0 decides an `and`, a defined 1 an `or`, bit for bit."""
    first, second = (_source(site, operand, site.type) for operand in site.operands[1:3])
    name = site.name
    mask = np.uint64(1 if site.type == "pred" else (1 << BITS[site.type]) - 1)

    def settle(m: Machine, lanes: Lanes, found: dict[int, Shadow]) -> list[Shadow | None]:
        (a, numbers, x), (b, others, y) = first(m, lanes, found), second(m, lanes, found)
        if name == "xor" or a is None or b is None:
            bits = x | y
        elif name == "and":
            bits = (x & (b | y)) | (y & (a | x))
        else:
            bits = (x & (~b | y)) | (y & (~a | x))
        return [_made(np.where(numbers != 0, numbers, others), bits & mask)]

    return settle


def _shifted(site: Site) -> Settle:
    """By a defined amount the undefined bits go along."""
    get = _source(site, site.operands[1], site.type)
    amount = _source(site, site.operands[2], "u32")
    width, left, signed = BITS[site.type], site.name == "shl", site.name == "shr" and is_signed(site.type)

    def settle(m: Machine, lanes: Lanes, found: dict[int, Shadow]) -> list[Shadow | None]:
        _, numbers, bits = get(m, lanes, found)
        by, doubt, _ = amount(m, lanes, found)
        mask = np.uint64((1 << width) - 1)
        steps = np.minimum(np.uint64(63) if by is None else by, np.uint64(min(width, 63)))
        bits = np.asarray(bits & mask)
        if left:
            moved = bits << steps
        elif signed:
            top = np.uint64(64 - width)
            by_so_many = np.minimum(steps + top, np.uint64(63)).astype(SIGNED[64])
            moved = ((bits << top).view(SIGNED[64]) >> by_so_many).view(np.uint64)
        else:
            moved = bits >> steps
        return [_made(np.where(doubt != 0, doubt, numbers), np.where(doubt != 0, mask, moved & mask))]

    return settle
