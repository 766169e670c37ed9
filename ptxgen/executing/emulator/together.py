"""Decoding of what threads do together: shuffles, votes, matches, reductions, barriers and fences."""

from __future__ import annotations

import numpy as np

from ptxgen.executing.emulator import barriers, clusters, floats, rounding, undefined, warps
from ptxgen.executing.emulator.data import nothing
from ptxgen.executing.emulator.lanes import Lanes
from ptxgen.executing.emulator.machine import Machine
from ptxgen.executing.emulator.program import BarrierStep, Run, Step
from ptxgen.executing.emulator.scope import RegisterSymbol
from ptxgen.executing.emulator.scopes import Role
from ptxgen.executing.emulator.site import Getter, Site
from ptxgen.executing.emulator.values import Array
from ptxgen.ptx.tree import Name, Operand, Pair


def _warp_step(site: Site, run: Run, mask: Getter | None) -> Step:
    return Step("warp", site.line, site.instruction.opcode, run, member_mask=mask)


def _mask(site: Site, operand: Operand | None) -> Getter | None:
    """The member mask; None for the forms without .sync, which take whoever is there."""
    return site.bits(operand, "u32") if site.has("sync") and operand is not None else None


def shuffle(site: Site) -> Step:
    mode = site.one_of("up", "down", "bfly", "idx")
    target = site.operands[0]
    first = target.first if isinstance(target, Pair) else target
    value, b, c = (site.bits(operand, "b32") for operand in site.operands[1:4])
    mask = _mask(site, site.operands[4] if len(site.operands) > 4 else None)
    put = site.put(first, "b32")
    put_flag = site.put(target.second, "pred") if isinstance(target, Pair) else None
    # Only lanes that somebody reads must hold a value: a broadcast needs that of its leader alone.
    symbol = site.scope.find(site.operands[1].text) if isinstance(site.operands[1], Name) else None
    slot = symbol.slot if isinstance(symbol, RegisterSymbol) else -1
    site.deferred.append(slot)

    def run(m: Machine, lanes: Lanes) -> None:
        masks = mask(m, lanes) if mask else None
        source, good = warps.source_lanes(m, lanes, mode, b(m, lanes), c(m, lanes), masks)
        if slot in m.written or slot in m.undefined:
            _undefined_lanes(m, lanes, slot, source)
        result = warps.from_lanes(m, lanes, value(m, lanes), source)
        put(m, lanes, result)
        if put_flag is not None:
            put_flag(m, lanes, good)

    return _warp_step(site, run, mask)


def _undefined_lanes(m: Machine, lanes: Lanes, slot: int, source: Array) -> None:
    """A lane that reads another's undefined value has one itself."""
    known = undefined.unwritten(m, slot, lanes, undefined.known_of(m, slot, lanes), "another lane's value")
    if known is not None:
        numbers, bits = (warps.from_lanes(m, lanes, of, source) for of in known)
        if numbers.any():
            everyone = np.zeros(m.lanes, np.int32), np.zeros(m.lanes, np.uint64)
            everyone[0][lanes], everyone[1][lanes] = numbers, bits
            m.loaded, m.loaded_from = [everyone], ""


def vote(site: Site) -> Step:
    mode = site.one_of("ballot", "all", "any", "uni")
    source = site.predicate(site.operands[1])
    mask = _mask(site, site.operands[2] if len(site.operands) > 2 else None)
    put = site.put(site.operands[0], "b32" if mode == "ballot" else "pred")

    def run(m: Machine, lanes: Lanes) -> None:
        put(m, lanes, warps.vote(m, lanes, mode, source(m, lanes), mask(m, lanes) if mask else None))

    return _warp_step(site, run, mask)


def match(site: Site) -> Step:
    everyone = site.has("all")
    target = site.operands[0]
    first = target.first if isinstance(target, Pair) else target
    source, mask = site.bits(site.operands[1], site.type), site.bits(site.operands[2], "u32")
    put = site.put(first, "b32")
    put_flag = site.put(target.second, "pred") if isinstance(target, Pair) else None

    def run(m: Machine, lanes: Lanes) -> None:
        result, agree = warps.match(m, lanes, source(m, lanes), mask(m, lanes), everyone=everyone)
        put(m, lanes, result)
        if put_flag is not None:
            put_flag(m, lanes, agree)

    return _warp_step(site, run, mask)


def reduce(site: Site) -> Step:
    operation = site.one_of("add", "min", "max", "and", "or", "xor")
    if site.type == "f32":
        return _reduce_floats(site, operation)
    source, mask = site.number(site.operands[1], site.type), site.bits(site.operands[2], "u32")
    put = site.put(site.operands[0], site.type)

    def run(m: Machine, lanes: Lanes) -> None:
        put(m, lanes, warps.reduce(m, lanes, operation, source(m, lanes), mask(m, lanes)))

    return _warp_step(site, run, mask)


def _reduce_floats(site: Site, operation: str) -> Step:
    """redux.sync.min and .max of f32, with .abs and .NaN."""
    source, mask = site.bits(site.operands[1], "f32"), site.bits(site.operands[2], "u32")
    put = site.put(site.operands[0], "f32")
    largest, magnitude, propagate = operation == "max", site.has("abs"), site.has("NaN")

    def pick(a: Array, b: Array) -> Array:
        return floats.extreme(a, b, rounding.F32, largest=largest, propagate=propagate)

    def run(m: Machine, lanes: Lanes) -> None:
        words = source(m, lanes)
        words = floats.absolute(words, rounding.F32) if magnitude else words
        put(m, lanes, warps.fold(m, lanes, pick, words, mask(m, lanes)))

    return _warp_step(site, run, mask)


def elect(site: Site) -> Step:
    target = site.operands[0]
    if not isinstance(target, Pair):
        raise site.unsupported("a destination d|p is needed")
    mask = site.bits(site.operands[1], "u32")
    put, put_flag = site.put(target.first, "b32"), site.put(target.second, "pred")

    def run(m: Machine, lanes: Lanes) -> None:
        leader, me = warps.elect(m, lanes, mask(m, lanes))
        put(m, lanes, leader)
        put_flag(m, lanes, me)

    return _warp_step(site, run, mask)


def active_mask(site: Site) -> Step:
    put = site.put(site.operands[0], "b32")

    def run(m: Machine, lanes: Lanes) -> None:
        put(m, lanes, warps.active(m, lanes)[m.slots[lanes] // 32])

    return _warp_step(site, run, None)


def barrier(site: Site) -> Run | Step:
    """bar and barrier: .sync, .red, .arrive of the block, bar.warp.sync and barrier.cluster."""
    if site.has("cluster"):
        return clusters.barrier(site)
    if site.has("warp"):
        mask = site.bits(site.operands[0], "u32")
        return _warp_step(site, lambda m, lanes: barriers.synchronise_warps(m, lanes, mask(m, lanes)), mask)
    action = site.one_of("sync", "arrive", "red")
    operands = list(site.operands)
    target = operands.pop(0) if action == "red" else None
    predicate = site.predicate(operands.pop()) if action == "red" else None
    number = site.bits(operands[0], "u32")
    amount = site.bits(operands[1], "u32") if len(operands) > 1 else None
    reduction = site.one_of("popc", "and", "or")
    slot = site.target_slot(target)[0] if target is not None else -1
    what = BarrierStep(
        number, amount, action != "arrive", site.name == "bar" or site.has("aligned"), reduction, predicate, slot
    )
    return Step("barrier", site.line, site.instruction.opcode, barrier=what)


def fence(site: Site) -> Run:
    """membar and fence. What orders proxies orders nothing else."""
    if site.has("proxy"):
        return _proxy_fence if site.has("async") else nothing(site)
    site.fences = True
    both = not site.has("acquire", "release")
    # An mbarrier's beginning is released to the cluster, and more is taken to be: a race may be missed then.
    role = Role(
        Role.of(site.words).level, both or site.has("acquire"), both or site.has("release"),
        sequential=site.name == "membar" or site.has("sc"),
    )

    def run(m: Machine, lanes: Lanes) -> None:
        m.note_fence(lanes, role)

    return run


def _proxy_fence(m: Machine, lanes: Lanes) -> None:
    del lanes
    m.order.proxy_fence = m.tick()


def trap(site: Site) -> Run:
    del site

    def run(m: Machine, lanes: Lanes) -> None:
        m.fault_among("trap", "the kernel trapped", lanes, np.array([True]))

    return run
