"""Decoding of asynchronous copies, stores and reductions: cp.async, cp.async.bulk, st.async, red.async, st.bulk."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxgen.executing.emulator import access, late, mbarriers
from ptxgen.executing.emulator.atomics import OPERATIONS, Operation, apply, atomic, make_operation
from ptxgen.executing.emulator.clusters import blocks_named, in_block
from ptxgen.executing.emulator.data import by_space, nothing, space_of, store
from ptxgen.executing.emulator.lanes import Lanes, count
from ptxgen.executing.emulator.machine import Machine
from ptxgen.executing.emulator.memory import INITIALISED, MAPPED, WINDOW_SHIFT, WINDOWS, WRITABLE, Region
from ptxgen.executing.emulator.program import Run
from ptxgen.executing.emulator.scope import RegisterSymbol
from ptxgen.executing.emulator.site import Getter, Site
from ptxgen.executing.emulator.values import BITS, Array
from ptxgen.ptx.tree import Immediate, Name, Negated, Operand

_WORD = 4
#: Bulk copies move lines of this many bytes.
_LINE = 16


def copy(site: Site) -> Run:
    """cp and everything below it."""
    if site.has("bulk"):
        return _bulk(site)
    if site.has("commit_group"):
        return lambda m, lanes: late.commit(m, "group", lanes)
    if site.has("wait_group", "wait_all"):
        leave = _number(site.operands[0]) if site.has("wait_group") else None
        return lambda m, lanes: late.finish(m, "group", lanes, leave=leave)
    if site.has("mbarrier"):
        return mbarriers.arrive_after_copies(site)
    return _copy_words(site)


def _number(operand: Any) -> int:
    return int(operand.value) if isinstance(operand, Immediate) else 0


def _copy_words(site: Site) -> Run:
    """cp.async of 4, 8 or 16 bytes, zeros after the first src-size of them."""
    target, _ = site.address(site.operands[0], "shared")
    source, _ = site.address(site.operands[1], "global")
    size = _number(site.operands[2])
    if size not in {4, 8, 16}:
        raise site.unsupported(f"a copy of {size} bytes")
    extra = site.operands[3:] if not site.has("L2::cache_hint") else site.operands[3:-1]
    amount = _amount(site, extra[0], size) if extra else None
    site.accesses += [("shared", _WORD, "write"), ("global", _WORD, "read")]

    def run(m: Machine, lanes: Lanes) -> None:
        some = late.lane_array(lanes)
        to, of = (np.array(np.broadcast_to(get(m, lanes), some.shape)) for get in (target, source))
        given = np.broadcast_to(amount(m, lanes) if amount else np.uint32(size), some.shape).astype(np.int64)
        if (given > size).any():
            m.fault_among("out-of-bounds", f"a copy of more than its {size} bytes", lanes, given > size)
        shared = m.regions["shared"]
        place = access.offsets(m, shared, to, some)
        access.check(m, shared, to, place, some, size, MAPPED | WRITABLE, "an asynchronous write")
        wanted = given > 0
        if wanted.any():
            space = m.regions["global"]
            there = access.offsets(m, space, of[wanted], some[wanted])
            access.check(m, space, of[wanted], there, some[wanted], _WORD, MAPPED, "an asynchronous read")

        def perform(machine: Machine, entries: Array) -> None:
            _move_words(machine, some[entries], of[entries], to[entries], given[entries], size)

        spots = [late.Spot("shared", place, np.full(some.size, size), writes=True)]
        if wanted.all():
            spots.append(late.Spot("global", there, given, writes=False))
        late.postpone(m, "group", some, perform, spots=tuple(spots))

    return run


def _amount(site: Site, operand: Operand, size: int) -> Getter:
    """How many bytes the source gives: a number, or none of them where a predicate says so."""
    name = operand.operand if isinstance(operand, Negated) else operand
    symbol = site.scope.find(name.text) if isinstance(name, Name) else None
    if not isinstance(symbol, RegisterSymbol) or symbol.type != "pred":
        return site.bits(operand, "u32")
    ignored = site.predicate(operand)
    return lambda m, lanes: np.where(ignored(m, lanes), np.uint32(0), np.uint32(size))


def _move_words(m: Machine, lanes: Array, source: Array, target: Array, given: Array, size: int) -> None:
    words = np.zeros((lanes.size, size // _WORD), np.uint32)
    for amount in np.unique(given):
        mine = given == amount
        number = -(-int(amount) // _WORD)
        if number == size // _WORD:
            found = access.load(m, m.regions["global"], source[mine], lanes[mine], _WORD, number)
            words[mine] = np.stack(found, axis=-1)
        else:
            for word in range(number):
                (value,) = access.load(m, m.regions["global"], source[mine] + word * _WORD, lanes[mine], _WORD, 1)
                words[mine, word] = value
        rest = int(amount) % _WORD
        if rest:
            words[mine, number - 1] &= np.uint32((1 << 8 * rest) - 1)
    access.store(m, m.regions["shared"], target, lanes, _WORD, [words[:, i].copy() for i in range(words.shape[1])])


# ---------------------------------------------------------------- bulk


def _bulk(site: Site) -> Run:
    if site.has("commit_group"):
        return lambda m, lanes: late.commit(m, "bulk", lanes)
    if site.has("wait_group"):
        leave = _number(site.operands[0])
        return lambda m, lanes: late.finish(m, "bulk", lanes, leave=leave)
    if site.has("prefetch"):
        return nothing(site)
    return _bulk_copy(site)


def _spaces(site: Site) -> tuple[str, str]:
    """Where a bulk copy leads, and whence."""
    named = [word.partition("::")[0] for word in site.words if word.partition("::")[0] in {"shared", "global"}]
    return named[0], named[1]


def _bulk_copy(site: Site) -> Run:
    """cp.async.bulk and cp.reduce.async.bulk: lines of 16 bytes, reported to an mbarrier or counted in a group."""
    to_space, of_space = _spaces(site)
    target, _ = site.address(site.operands[0], to_space)
    source, _ = site.address(site.operands[1], of_space)
    size = site.bits(site.operands[2], "u32")
    reports = site.has("mbarrier::complete_tx::bytes")
    rest = list(site.operands[3:])
    edges = [site.bits(rest.pop(0), "u32") for _ in range(2)] if site.has("ignore_oob") else []
    barrier = site.address(rest.pop(0), "shared")[0] if reports else None
    many = next((word for word in site.words if word.startswith("multicast::cluster")), "")
    blocks = site.bits(rest.pop(0), "b32" if many.endswith("32b") else "b16") if many else None
    if site.has("L2::cache_hint"):
        rest.pop(0)
    bytes_kept = site.bits(rest[0], "b16") if site.has("cp_mask") else None
    update = _reduction(site) if site.name == "cp" and site.has("reduce") else None
    width = BITS[site.type] // 8 if update else 1 if bytes_kept or edges else 8
    site.accesses += [(to_space, width, "atomic" if update else "write"), (of_space, width, "read")]
    if reports:
        site.accesses.append(("shared", 8, "atomic"))
        site.fences = True

    def run(m: Machine, lanes: Lanes) -> None:
        some = late.lane_array(lanes)
        amount = np.broadcast_to(size(m, lanes), some.shape).astype(np.int64)
        to, of = (np.array(np.broadcast_to(get(m, lanes), some.shape)) for get in (target, source))
        _check_bulk(m, lanes, amount, to, of)
        masks = np.broadcast_to(bytes_kept(m, lanes), some.shape) if bytes_kept else None
        at = np.array(np.broadcast_to(barrier(m, lanes), some.shape)) if barrier else None
        skipped = [np.broadcast_to(edge(m, lanes), some.shape).astype(np.int64) for edge in edges]
        if blocks is not None and at is not None:
            chosen = np.broadcast_to(blocks(m, lanes), some.shape)
            some, amount, to, of, at = _to_blocks(m, chosen, some, amount, to, of, at)
        spots = () if skipped or masks is not None else (
            _spot(m, to_space, some, to, amount, writes=True), _spot(m, of_space, some, of, amount, writes=False)
        )

        def perform(machine: Machine, entries: Array) -> None:
            for entry in entries:
                mask = None if masks is None else int(masks[entry])
                if skipped:
                    inside = np.arange(skipped[0][entry], amount[entry] - skipped[1][entry])
                    here = np.full(inside.size, some[entry])
                    found = access.load(machine, machine.regions[of_space], of[entry] + inside, here, 1, 1)
                    access.store(machine, machine.regions[to_space], to[entry] + inside, here, 1, found)
                    continue
                lines = np.arange(0, amount[entry], _LINE)
                mine = np.full(lines.size, some[entry])
                regions = machine.regions[to_space], machine.regions[of_space]
                _move_lines(machine, regions, mine, of[entry] + lines, to[entry] + lines, width, update, mask)
            written = machine.regions[to_space]
            if spots and written.generic is not None:
                written.generic[spots[0].granules(written, entries)] = 0
            if at is not None:
                mbarriers.complete_bytes(machine, at[entries], some[entries], amount[entries])

        if at is None:
            late.postpone(m, "bulk", some, perform, spots=spots)
        else:
            late.postpone(m, "barrier", some, perform, mbarriers.places(m, at, some), spots=spots)

    return run


def _spot(m: Machine, space: str, lanes: Array, address: Array, amount: Array, *, writes: bool) -> late.Spot:
    """What a bulk copy will read or write, checked line by line: it must be there, and meant for this proxy."""
    region = m.regions[space]
    for lane, first, size in zip(lanes, address, amount, strict=True):
        where = first + np.arange(0, size, _LINE)
        mine = np.full(where.size, lane)
        offset = access.offsets(m, region, where, mine)
        need, verb = (MAPPED | WRITABLE, "an asynchronous write") if writes else (MAPPED, "an asynchronous read")
        access.examine(m, region, where, offset, mine, _LINE, need, verb)
        late.check_proxy(m, region, where, offset, mine, _LINE)
    return late.Spot(space, access.offsets(m, region, address, lanes), amount, writes)


def _check_bulk(m: Machine, lanes: Lanes, amount: Array, to: Array, of: Array) -> None:
    bad = (amount % _LINE != 0) | (amount == 0)
    if bad.any():
        m.fault_among("misaligned", f"a bulk copy of {int(amount[bad][0])} bytes, no multiple of {_LINE}", lanes, bad)
    for address in (to, of):
        crooked = address % _LINE != 0
        if crooked.any():
            message = f"a bulk copy at an address that is no multiple of {_LINE}"
            m.fault_among("misaligned", message, lanes, crooked, address=address)


def _to_blocks(
    m: Machine, masks: Array, lanes: Array, amount: Array, to: Array, of: Array, at: Array
) -> tuple[Array, Array, Array, Array, Array]:
    """An entry for each block of the cluster that a lane's mask names."""
    entry, rank = blocks_named(masks)
    return (
        lanes[entry], amount[entry], in_block(m, to[entry], rank, lanes[entry]), of[entry],
        in_block(m, at[entry], rank, lanes[entry]),
    )


def _reduction(site: Site) -> Any:
    """Bulk reductions add f32 with subnormals everywhere; an f64 NaN goes as atomics of global memory have it."""
    space = "global" if site.type == "f64" else "shared"
    return make_operation(site.one_of(*OPERATIONS), site.type, space)


def _move_lines(
    m: Machine, regions: tuple[Region, Region], lanes: Array, source: Array, target: Array, width: int, update: Any,
    mask: int | None,
) -> None:
    """Lines of 16 bytes from the second region to the first, or combined with what is there."""
    to, of = regions
    values = access.load(m, of, source, lanes, width, _LINE // width)
    if update is None and mask is None:
        access.store(m, to, target, lanes, width, values)
        return
    for number, value in enumerate(values):
        if mask is not None and not mask >> number & 1:
            continue
        here = target + number * width
        if update is None:
            access.store(m, to, here, lanes, width, [value])
            continue
        offset = access.offsets(m, to, here, lanes)
        _reduce(m, to, here, offset, lanes, width, update, [value])
    m.changes += 1


def _reduce(
    m: Machine, region: Region, where: Array, offset: Array, lanes: Array, width: int, operation: Operation,
    values: list[Array],
) -> None:
    need = MAPPED | INITIALISED | WRITABLE
    access.check(m, region, where, offset, lanes, width, need, "an asynchronous reduction")
    access.note_atomic(m, region, offset, where, lanes, width)
    apply(region, offset, width, operation, values, wanted=False)


# ---------------------------------------------------------------- st.async, red.async, st.bulk


def store_late(site: Site) -> Run:
    """st.async with an mbarrier; without one it is a strong store."""
    if not site.has("mbarrier::complete_tx::bytes"):
        return store(site)
    width = BITS[site.type] // 8
    sources = [site.bits(operand, site.type) for operand in site.elements(site.operands[1])]

    def write(m: Machine, region: Region, where: Array, lanes: Array, values: list[Array]) -> None:
        access.store(m, region, where, lanes, width, values)

    return _late_access(site, width, sources, write, "write")


def reduce_late(site: Site) -> Run:
    """red.async with an mbarrier; without one it is red."""
    if not site.has("mbarrier::complete_tx::bytes"):
        return atomic(site)
    width = BITS[site.type] // 8
    operation = _reduction(site)

    def change(m: Machine, region: Region, where: Array, lanes: Array, values: list[Array]) -> None:
        offset = access.offsets(m, region, where, lanes)
        _reduce(m, region, where, offset, lanes, width, operation, values)
        m.changes += 1

    return _late_access(site, width, [site.bits(site.operands[1], site.type)], change, "atomic")


def _late_access(site: Site, width: int, sources: list[Getter], act: Any, kind: str) -> Run:
    """Something done to shared memory of the cluster later, and then reported to an mbarrier there."""
    target = shared_address(site, 0)
    barrier = shared_address(site, 2)
    site.accesses += [("shared", width, kind), ("shared", 8, "atomic")]
    site.fences = True
    size = width * len(sources)

    def run(m: Machine, lanes: Lanes) -> None:
        some = late.lane_array(lanes)
        to, at = (get(m, lanes) for get in (target, barrier))
        values = [np.array(np.broadcast_to(get(m, lanes), some.shape)) for get in sources]
        region = m.regions["shared"]
        place = access.offsets(m, region, to, some)
        access.check(m, region, to, place, some, size, MAPPED | WRITABLE, "an asynchronous write")

        def perform(machine: Machine, entries: Array) -> None:
            mine = some[entries]
            act(machine, machine.regions["shared"], to[entries], mine, [value[entries] for value in values])
            mbarriers.complete_bytes(machine, at[entries], mine, np.full(entries.size, size))

        spots = (late.Spot("shared", place, np.full(some.size, size), writes=kind == "write"),)
        late.postpone(m, "barrier", some, perform, mbarriers.places(m, at, some), spots=spots)

    return run


def shared_address(site: Site, place: int) -> Getter:
    """An address in shared memory, of which the opcode may leave the space open."""
    address, space = site.address(site.operands[place], space_of(site))

    def read(m: Machine, lanes: Lanes) -> Array:
        where = np.array(np.broadcast_to(address(m, lanes), (count(lanes),)))
        if space:
            return where
        outside = where >> WINDOW_SHIFT != WINDOWS["shared"] >> WINDOW_SHIFT
        if outside.any():
            message = "a generic address that is not in shared memory"
            m.fault_among("wrong-space", message, lanes, outside, address=where)
        return np.concatenate([w for _, w, _, _ in by_space(m, where, lanes, "")])

    return read


def fill(site: Site) -> Run:
    """st.bulk: zeros over a range of shared memory."""
    target = shared_address(site, 0)
    size = site.bits(site.operands[1], "b64")
    site.accesses.append(("shared", 8, "write"))

    def run(m: Machine, lanes: Lanes) -> None:
        some = late.lane_array(lanes)
        amounts = np.broadcast_to(size(m, lanes), some.shape)
        if (amounts % np.uint64(8) != 0).any():
            m.fault_among("misaligned", "a bulk store of no multiple of 8 bytes", lanes, amounts % np.uint64(8) != 0)
        for lane, start, amount in zip(some, target(m, lanes), amounts, strict=True):
            where = start + np.arange(0, int(amount), 8)
            mine = np.full(where.size, lane)
            access.store(m, m.regions["shared"], where, mine, 8, [np.zeros(where.size, np.uint64)])

    return run
