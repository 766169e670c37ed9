"""Decoding of data movement: mov, ld, st, cvta, isspacep and the hints that do nothing here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ptxgen.executing.emulator import access
from ptxgen.executing.emulator.lanes import Lanes, count, select
from ptxgen.executing.emulator.machine import Machine
from ptxgen.executing.emulator.memory import GENERIC_BIAS, RANK_SHIFT, Region, window_of
from ptxgen.executing.emulator.program import Run
from ptxgen.executing.emulator.scopes import BLOCK, Role
from ptxgen.executing.emulator.site import Site
from ptxgen.executing.emulator.values import BITS, Array, Bools

SPACES = {
    "global": "global", "shared": "shared", "shared::cta": "shared", "shared::cluster": "shared", "local": "local",
    "const": "const", "param": "param", "param::entry": "param", "param::func": "param",
}
STRONG = ("volatile", "relaxed", "acquire", "release", "mmio")


def move(site: Site) -> Run:
    if site.has("v2", "v4", "v8"):
        return _move_elements(site)
    return site.simple(lambda a: a, site.type, site.bits(site.operands[1], site.type))


def _move_elements(site: Site) -> Run:
    """mov.v2 and mov.v4: all sources are read before anything is written."""
    getters = [site.bits(element, site.type) for element in site.elements(site.operands[1])]
    puts = [site.put(element, site.type) for element in site.elements(site.operands[0])]
    if len(getters) != len(puts):
        raise site.unsupported(f"{len(puts)} elements from {len(getters)}")

    def run(m: Machine, lanes: Lanes) -> None:
        values = [np.array(get(m, lanes)) for get in getters]
        for put, value in zip(puts, values, strict=True):
            put(m, lanes, value)

    return run


# ---------------------------------------------------------------- loads and stores


def by_space(
    m: Machine, address: Array, lanes: Lanes, space: str
) -> Iterator[tuple[Region, Array, Lanes, Bools | None]]:
    """(region, addresses in it, lanes, which of the lanes) for an access; several for generic addresses."""
    size = count(lanes)
    if address.size != size:
        address = np.broadcast_to(address, (size,))
    if space:
        yield m.regions[space], address, lanes, None
        return
    # A copy: a load may overwrite the address register before the next region's turn.
    address = np.array(address)
    windows = address >> 40
    for window in np.unique(windows):
        chosen = windows == window
        name = window_of(int(window) << 40)
        region = m.regions.get(name or "global")
        some = select(lanes, chosen)
        if region is None or some is None:
            m.fault_among("out-of-bounds", "a generic address that no memory of the kernel has", lanes, chosen,
                          address=address)
            return
        bias = GENERIC_BIAS[name] if name else 0
        yield region, address[chosen] - bias, some, None if chosen.all() else chosen


def space_of(site: Site) -> str:
    """The state space the opcode names, "" for a generic address."""
    return next((SPACES[word] for word in site.words if word in SPACES), "")


def load(site: Site) -> Run:
    width = BITS[site.type] // 8
    address, space = site.address(site.operands[1], space_of(site))
    targets = site.elements(site.operands[0])
    puts = [site.put(target, site.type) for target in targets]
    strong = site.has(*STRONG)
    site.accesses.append((space, width, "strong" if strong else "read"))
    # A loop around it may wait for another thread.
    site.atomic = strong
    role = Role.of(site.words, reads=True)
    narrow = strong and role.level == BLOCK
    site.fences = role.orders
    length = len(puts)
    own = site.has("shared", "shared::cta")
    guess = _guess(site, width)

    def run(m: Machine, lanes: Lanes) -> None:
        if own and m.cluster_size > 1:
            access.check_own(m, address(m, lanes), lanes)
        lone = strong or guess()
        for region, where, some, _ in by_space(m, address(m, lanes), lanes, space):
            values = access.load(m, region, where, some, width, length, strong=lone, narrow=narrow, keep=True)
            if strong:
                old = values[0] if length == 1 else None
                for number, value in m.touch(region, access.offsets(m, region, where, some), some, role, old=old):
                    values[0][number] = value
            for put, value in zip(puts, values, strict=True):
                put(m, some, value)

    return run


def _guess(site: Site, width: int) -> Callable[[], bool]:
    """Whether a load is the first look of a loop around `cas`, at the same address: it need not be strong, as what it
    gives is compared again before anything hangs on it."""
    place = site.place(site.operands[1])
    if place is None:
        return lambda: False
    registers, key = site.scope.registers, (*place, width)
    return lambda: key in registers.compared and registers.changed[place[0]] == 1


def store(site: Site) -> Run:
    width = BITS[site.type] // 8
    address, space = site.address(site.operands[0], space_of(site))
    if space in {"const"} or (space == "param"):
        raise site.unsupported(f"{space} memory cannot be written")
    site.needs = tuple(site.reads)
    sources = []
    for operand in site.elements(site.operands[1]):
        known = len(site.reads)
        sources.append(site.bits(operand, site.type))
        site.values.append(tuple(site.reads[known:]))
    strong = site.has(*STRONG)
    site.accesses.append((space, width, "strong" if strong else "write"))
    own = site.has("shared", "shared::cta")
    role = Role.of(site.words, writes=True, overwrites=True)
    narrow = strong and role.level == BLOCK
    site.fences = role.orders

    def run(m: Machine, lanes: Lanes) -> None:
        if own and m.cluster_size > 1:
            access.check_own(m, address(m, lanes), lanes)
        values = [source(m, lanes) for source in sources]
        for region, where, some, chosen in by_space(m, address(m, lanes), lanes, space):
            if chosen is not None:
                values_here = [value if value.size == 1 else value[chosen] for value in values]
            else:
                values_here = values
            before = _before(m, region, where, some, width) if strong and m.order.causality is not None else None
            access.store(m, region, where, some, width, values_here, strong=strong, narrow=narrow)
            if strong:
                m.touch(region, access.offsets(m, region, where, some), some, role, old=before)

    return run


def _before(m: Machine, region: Region, where: Array, lanes: Lanes, width: int) -> Array:
    """The words that are about to change."""
    place = access.offsets(m, region, where, lanes) >> (width.bit_length() - 1)
    return np.asarray(region.view(width).take(place, mode="clip"))


# ---------------------------------------------------------------- addresses


def convert_address(site: Site) -> Run:
    """cvta: space to generic, or with .to generic to space."""
    space = space_of(site)
    bias = np.uint64(site.bias(space))
    source = site.bits(site.operands[1], "u64")
    if site.has("to"):
        return site.simple(lambda a: a - bias, "u64", source)
    return site.simple(lambda a: a + bias, "u64", source)


def is_in_space(site: Site) -> Run:
    window = np.uint64((site.bias(space_of(site)) or GENERIC_BIAS["global"]) >> 40)
    # Parameters of a kernel lie in global memory.
    elsewhere = np.array([GENERIC_BIAS[s] >> 40 for s in GENERIC_BIAS if s not in ("global", "param")], np.uint64)
    everything_else = space_of(site) == "global"
    own_block = site.has("shared", "shared::cta")

    def test(a: Array) -> Array:
        high = a.astype(np.uint64) >> np.uint64(RANK_SHIFT if own_block else 40)
        if own_block:
            return high == window << np.uint64(40 - RANK_SHIFT)
        return ~np.isin(high, elsewhere) if everything_else else high == window

    return site.simple(test, "pred", site.pointer(site.operands[1]))


def policy(site: Site) -> Run:
    """createpolicy: a word for the cache, which nothing here has."""
    put = site.put(site.operands[0], "b64")
    return lambda m, lanes: put(m, lanes, np.zeros(1, np.uint64))


def nothing(site: Site) -> Run:
    """Prefetches, sleeps and other hints change nothing that a kernel can see."""
    del site

    def run(m: Any, lanes: Any) -> None:
        """No effect."""

    return run
