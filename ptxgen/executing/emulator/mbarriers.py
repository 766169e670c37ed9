"""mbarrier: counting arrivals and bytes in a word of shared memory, and waiting for a phase to end.

The word holds, from the lowest bit: pending arrivals (20 bits), expected arrivals (20), bytes still to come (21, more
by 2**20), whether the layout is v1 (1), a mark (1) and the parity of the phase (1). PTX leaves all that open.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptxgen.executing.emulator import access, late
from ptxgen.executing.emulator.atomics import Operation, apply
from ptxgen.executing.emulator.causality import SPACES
from ptxgen.executing.emulator.clusters import blocks_named, in_block
from ptxgen.executing.emulator.data import by_space, space_of
from ptxgen.executing.emulator.lanes import Lanes, count
from ptxgen.executing.emulator.machine import Machine
from ptxgen.executing.emulator.memory import INITIALISED, MAPPED, WINDOW_SHIFT, WRITABLE, Region
from ptxgen.executing.emulator.program import Run
from ptxgen.executing.emulator.site import Getter, Site
from ptxgen.executing.emulator.values import Array
from ptxgen.ptx.tree import Address, Pair

MOST = (1 << 20) - 1
_BIAS = 1 << 20
_LAYOUT, _MARK, _PHASE = (np.uint64(1 << place) for place in (61, 62, 63))
_WIDTH = 8


def fields(words: Array) -> tuple[Any, Any, Any]:
    """(pending, expected, bytes to come) as int64."""
    number = words.view(np.int64)
    return number & MOST, number >> 20 & MOST, (number >> 40 & 2 * _BIAS - 1) - _BIAS


def make(pending: Any, expected: Any, missing: Any, phase: Any) -> Array:
    """The word of an mbarrier; `phase` is its parity bit in place, with that of the layout."""
    low = pending | expected << 20 | (missing + _BIAS) << 40
    return np.asarray(low, np.int64).view(np.uint64) | _MARK | phase


def arrival(*, drop: bool, completes: bool, may_complete: bool = True) -> Callable[..., Array]:
    """(old words, arrivals, bytes announced) to new words; 0 where the counts do not allow it.

    `may_complete` is False for arrivals with .noComplete, which must not be the last of a phase.
    """

    def update(old: Array, arrivals: Array, announced: Array) -> Array:
        pending, expected, missing = fields(old)
        arrivals, announced = arrivals.view(np.int64), announced.view(np.int64)
        missing = missing + announced
        left = pending - arrivals
        if drop:
            expected = expected - arrivals
        phase = old & (_PHASE | _LAYOUT)
        done = (left == 0) & (missing == 0) & completes
        good = (left >= 0) & (may_complete | ~done) & (expected >= 0) & (np.abs(missing) <= MOST) & (old & _MARK != 0)
        left = np.where(done, expected, left)
        word = make(np.maximum(left, 0), np.maximum(expected, 0), np.clip(missing, -MOST, MOST),
                    np.where(done, phase ^ _PHASE, phase))
        return np.where(good, word, np.uint64(0))

    return update


_COMPLETE = Operation("complete", arrival(drop=False, completes=True))


def change(
    m: Machine, region: Region, where: Array, lanes: Lanes, operation: Operation, arrivals: Array, announced: Array,
    *, releases: bool | None = None,
) -> Array:
    """Update the mbarriers at these addresses, one lane after the other; gives the words before. `releases`: whether
    the lanes arrive and tell who waits of all that they did; None where nobody arrives."""
    offset = access.offsets(m, region, where, lanes)
    access.check(m, region, where, offset, lanes, _WIDTH, MAPPED | INITIALISED | WRITABLE, "an mbarrier operation")
    access.note_atomic(m, region, offset, where, lanes, _WIDTH)
    values = [np.ascontiguousarray(np.broadcast_to(v, offset.shape)).view(np.uint64) for v in (arrivals, announced)]
    old = apply(region, offset, _WIDTH, operation, values, wanted=True)
    words = region.view(_WIDTH)
    now = words[offset >> 3]
    if (now & _MARK == 0).any():
        # The first whose own operation left no mbarrier: what follows at the same place finds none.
        bad = operation.update(old, *values) & _MARK == 0
        message = "an mbarrier operation that its counts do not allow, or on what is no mbarrier"
        m.fault_among("barrier", message, lanes, bad, address=where)
    m.changes += 1
    if m.order.causality is not None:
        _pass_on(m, offset, late.lane_array(lanes), old & _PHASE != 0, now & _PHASE != 0, releases)
    return old


def _pass_on(
    m: Machine, offset: Array, lanes: Array, before: Array, after: Array, releases: bool | None
) -> None:
    """Who arrives tells those who wait for the phase that it arrives in; `before` and `after` are its parities."""
    causality = m.order.causality
    assert causality is not None
    time = m.tick()
    for place in np.unique(offset):
        mine = np.flatnonzero(offset == place)
        bounds = np.flatnonzero(np.diff(before[mine])) + 1
        for part in np.split(mine, bounds):
            if releases is not None:
                causality.arrive(m.order, offset[part], lanes[part], time, releases=releases)
            if part[-1] != mine[-1] or before[part[-1]] != after[part[-1]]:
                causality.complete([int(place)])


def complete_bytes(m: Machine, where: Array, lanes: Lanes, amount: Array) -> None:
    """Bytes have arrived: the mbarriers at these addresses of shared memory expect fewer."""
    region = m.regions["shared"]
    tell(m, places(m, where, lanes), lanes)
    change(m, region, where, lanes, _COMPLETE, np.zeros(1, np.int64), -np.asarray(amount, np.int64))


def tell(m: Machine, place: Array, lanes: Lanes) -> None:
    """What was done in these lanes' names is told to who waits at the mbarriers."""
    if m.order.causality is not None:
        m.order.causality.report(np.broadcast_to(place, (count(lanes),)), late.lane_array(lanes), m.tick())


def places(m: Machine, where: Array, lanes: Lanes) -> Array:
    """Where in all shared memory the mbarriers of these addresses lie."""
    return np.asarray(access.offsets(m, m.regions["shared"], where, lanes))


def _address(site: Site, place: int) -> tuple[Getter, str]:
    address, space = site.address(site.operands[place], space_of(site))
    # A generic address may lie in shared memory alone, and nothing else is touched.
    site.accesses.append(("shared", _WIDTH, "atomic"))
    site.atomic = True
    return address, space


def initialise(site: Site) -> Run:
    """mbarrier.init and mbarrier.inval."""
    address, space = _address(site, 0)
    amount = site.bits(site.operands[1], "u32") if site.has("init") else None
    layout = _LAYOUT if site.has("layout::v1") else np.uint64(0)

    def run(m: Machine, lanes: Lanes) -> None:
        expected = np.broadcast_to(amount(m, lanes) if amount else np.uint32(1), (count(lanes),)).astype(np.int64)
        bad = (expected < 1) | (expected > MOST)
        if bad.any():
            m.fault_among("barrier", f"an mbarrier for {int(expected[bad][0])} arrivals (1 to {MOST})", lanes, bad)
        words = make(expected, expected, np.zeros(1, np.int64), layout)
        if amount is None:
            words = np.zeros_like(words)
        for region, where, some, chosen in by_space(m, address(m, lanes), lanes, space):
            place = np.broadcast_to(access.offsets(m, region, where, some), (count(some),))
            old = region.view(_WIDTH).take(place >> 3, mode="clip")
            # The word begins like any other; its end is often left to the last of several threads to come.
            here = [words if chosen is None else words[chosen]]
            access.store(m, region, where, some, _WIDTH, here, strong=amount is None)
            _begin_or_end(m, place, old & _MARK != 0, some, where, begins=amount is not None)

    return run


def _begin_or_end(m: Machine, place: Array, marked: Array, lanes: Lanes, where: Array, *, begins: bool) -> None:
    """An mbarrier begins where none is, and by one thread; it ends where one is. `marked`: it looked like one."""
    bad = np.array([here in m.mbarriers for here in place.tolist()], np.bool_) & marked
    message = "an mbarrier begins where one is that nobody invalidated"
    if begins:
        again = np.ones(place.shape, np.bool_)
        again[np.unique(place, return_index=True)[1]] = False
        bad |= again
        m.mbarriers.update(place.tolist())
    else:
        bad, message = ~bad, "what is invalidated is no mbarrier"
        m.mbarriers.difference_update(place.tolist())
    if bad.any():
        m.fault_among("barrier", message, lanes, bad, address=np.broadcast_to(where, place.shape))


def arrive(site: Site) -> Run:
    """mbarrier.arrive, arrive_drop, expect_tx and complete_tx."""
    alone = not site.has("arrive", "arrive_drop")
    place = 0 if alone else 1
    address, space = _address(site, place)
    put = None if alone else site.put(site.operands[0], "b64")
    rest = list(site.operands[place + 1 :])
    many = next((word for word in site.words if word.startswith("multicast::cluster")), "")
    blocks = site.bits(rest.pop(), "b32" if many.endswith("32b") else "b16") if many else None
    amount = site.bits(rest[0], "u32") if rest else None
    announces, gives = site.has("expect_tx"), site.has("complete_tx")
    operation = Operation("arrive", arrival(
        drop=site.has("arrive_drop"), completes=not alone or gives, may_complete=not site.has("noComplete")
    ))
    releases = None if alone else not site.has("relaxed")
    site.fences = True

    def run(m: Machine, lanes: Lanes) -> None:
        given = np.broadcast_to(amount(m, lanes) if amount else np.uint32(1), (count(lanes),)).astype(np.int64)
        arrivals = np.zeros_like(given) if alone else np.ones_like(given) if announces else given
        announced = given if announces else -given if gives else np.zeros_like(given)
        if blocks is not None:
            _change_many(m, lanes, address(m, lanes), blocks(m, lanes), operation, arrivals, announced, releases)
            return
        for region, where, some, chosen in by_space(m, address(m, lanes), lanes, space):
            mine = slice(None) if chosen is None else chosen
            old = change(m, region, where, some, operation, arrivals[mine], announced[mine], releases=releases)
            if put is not None:
                put(m, some, old if site.has("noComplete") else _of_warps(m, where, some, old))

    return run


def _of_warps(m: Machine, where: Array, lanes: Lanes, old: Array) -> Array:
    """The words that lanes see that arrive at one mbarrier by one instruction: an sm_90 has a warp arrive at once, so
    all its lanes see what the first of them saw, as long as the phase is the same."""
    if old.size < 2:
        return old
    some = late.lane_array(lanes)
    warp = m.block_of[some] * 32 + m.thread_of[some] // 32
    _, first, group = np.unique(np.stack([warp, where]), axis=1, return_index=True, return_inverse=True)
    seen = old[first][group.reshape(-1)]
    return np.where((seen ^ old) & _PHASE == 0, seen, old)


def _change_many(
    m: Machine, lanes: Lanes, address: Array, masks: Array, operation: Operation, arrivals: Array, announced: Array,
    releases: bool | None,
) -> None:
    """The same mbarrier in every block of the cluster that a lane's mask names."""
    numbers = late.lane_array(lanes)
    entry, rank = blocks_named(np.broadcast_to(masks, numbers.shape))
    where = np.broadcast_to(address, numbers.shape)[entry] & (1 << WINDOW_SHIFT) - 1
    mine = numbers[entry]
    there = in_block(m, where, rank, mine)
    change(m, m.regions["shared"], there, mine, operation, arrivals[entry], announced[entry], releases=releases)


def wait(site: Site) -> Run:
    """mbarrier.test_wait and try_wait: whether the phase of a state, or of a parity, is over. Neither suspends.

    Nothing here reports on an mbarrier: both its phases advance together, and reports are always empty.
    """
    first = site.operands[0]
    place = 1 if isinstance(site.operands[1], Address) else 2
    address, space = _address(site, place)
    put = site.put(first.first if isinstance(first, Pair) else first, "pred")
    put_report = site.put(first.second, "pred") if isinstance(first, Pair) else None
    put_value = site.put(site.operands[1], "b8") if place == 2 else None
    parity = site.has("parity")
    wanted = site.bits(site.operands[place + 1], "u32" if parity else "b64")
    acquires = not site.has("relaxed")
    site.fences = True

    def run(m: Machine, lanes: Lanes) -> None:
        phase = np.broadcast_to(wanted(m, lanes), (count(lanes),))
        if put_report is not None:
            put_report(m, lanes, np.zeros(count(lanes), np.bool_))
        if put_value is not None:
            put_value(m, lanes, np.zeros(count(lanes), np.uint8))
        asked = phase.astype(np.uint64) << np.uint64(63) if parity else phase & _PHASE
        for region, where, some, chosen in by_space(m, address(m, lanes), lanes, space):
            offset = access.offsets(m, region, where, some)
            access.check(m, region, where, offset, some, _WIDTH, MAPPED | INITIALISED, "an mbarrier wait")
            m.order.note_read(some, (offset >> region.shift) * 4 + SPACES[region.space], len(m.lines) + 1, False)
            late.finish_at(m, offset)
            words = region.view(_WIDTH)[offset >> 3]
            access.note_atomic(m, region, offset, where, some, _WIDTH)
            if (words & _MARK == 0).any():
                m.fault_among("barrier", "a wait for what is no mbarrier", some, words & _MARK == 0, address=where)
            over = (words & _PHASE) != (asked if chosen is None else asked[chosen])
            put(m, some, over)
            causality = m.order.causality
            if causality is not None and over.any():
                causality.attend(m.order, offset[over], late.lane_array(some)[over], acquires=acquires)

    return run


def pending_count(site: Site) -> Run:
    """How many arrivals a state says were pending."""
    return site.simple(lambda state: fields(state)[0].astype(np.uint32), "u32", site.bits(site.operands[1], "b64"))


def check_layout(site: Site) -> Run:
    """Whether an mbarrier has the layout that the opcode names."""
    address, space = _address(site, 1)
    put = site.put(site.operands[0], "pred")
    second = site.has("layout::v1")

    def run(m: Machine, lanes: Lanes) -> None:
        for region, where, some, _ in by_space(m, address(m, lanes), lanes, space):
            offset = access.offsets(m, region, where, some)
            access.check(m, region, where, offset, some, _WIDTH, MAPPED | INITIALISED, "a look at an mbarrier")
            put(m, some, (region.view(_WIDTH)[offset >> 3] & _LAYOUT != 0) == second)

    return run


def barrier(site: Site) -> Run:
    """mbarrier."""
    if site.has("check_layout"):
        return check_layout(site)
    if site.has("init", "inval"):
        return initialise(site)
    if site.has("test_wait", "try_wait"):
        return wait(site)
    return pending_count(site) if site.has("pending_count") else arrive(site)


def arrive_after_copies(site: Site) -> Run:
    """cp.async.mbarrier.arrive: the lane's copies happen, then with .noinc it arrives.

    Without .noinc the arrival is first added to those pending, and so changes nothing in the end.
    """
    address, space = _address(site, 0)
    amount = np.array([int(site.has("noinc"))], np.int64)
    operation = Operation("arrive", arrival(drop=False, completes=True))
    site.fences = True

    def run(m: Machine, lanes: Lanes) -> None:
        late.finish(m, "group", lanes, leave=None)
        for region, where, some, _ in by_space(m, address(m, lanes), lanes, space):
            tell(m, access.offsets(m, region, where, some), some)
            change(m, region, where, some, operation, amount, np.zeros(1, np.int64))

    return run
