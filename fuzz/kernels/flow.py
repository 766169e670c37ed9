"""Branches, loops, regions of jumps in all directions, barriers between phases, early ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from fuzz.kernels import calls
from fuzz.kernels.memory import (
    accumulate,
    cell_of_another,
    constant_table,
    copy,
    local_array,
    own_cell,
    refresh,
)
from fuzz.kernels.statements import carry_chain, scalar
from fuzz.kernels.warps import lanes_where, warp_wide
from fuzz.kernels.writing import Place, Writer

Item = Callable[[Writer, Place], None]
_DEEPEST = 5


def body(w: Writer, place: Place, statements: int) -> None:
    """About so many statements, and at least one."""
    end = w.statements + max(statements, 1)
    while w.statements < end:
        if w.somebody_left and place.full:
            place = replace(place, full=False)
        if place.targets and w.dice.chance(0.08):
            w.line(f"@{w.register('pred')} bra {w.dice.pick(place.targets)}")
        room = end - w.statements
        _item(w, place, room)(w, place)


def _item(w: Writer, place: Place, room: int) -> Item:
    weighted: list[tuple[int, Item]] = [(40, scalar), (5, refresh)]
    if not w.scalar_only:
        weighted += [(5, carry_chain), (3, constant_table)]
        if place.mask:
            weighted.append((8, warp_wide))
        if w.functions:
            weighted.append((2, calls.call))
    weighted += [(8, local_array)] if w.layout.local else []
    if w.is_kernel and w.layout.cell:
        weighted += [(9, own_cell), (3, accumulate)] if place.phase == "own" else [(10, cell_of_another)]
        weighted += [(1, copy)] if not w.scalar_only else []
    if room > 6 and place.depth < _DEEPEST:
        weighted += [(5, _branch), (4, _loop), (2, _region)]
        if w.is_kernel and place.uniform:
            weighted += [(2, _uniform_branch), (2, _uniform_loop)]
            if place.phase == "own" and w.layout.cell:
                weighted.append((6, _exchange))
    if place.top:
        weighted.append((1, _leave if w.is_kernel else calls.return_early))
    choice = w.dice.below(sum(weight for weight, _ in weighted))
    for weight, item in weighted:
        choice -= weight
        if choice < 0:
            return item
    return scalar


def _part(w: Writer) -> int:
    return w.dice.between(2, 14)


def _branch(w: Writer, place: Place) -> None:
    """Some threads do one thing, the others another or nothing."""
    condition = w.predicate()
    true, false = lanes_where(w, place, condition)
    otherwise, end = w.new_label(), w.new_label()
    w.line(f"@!{condition} bra {otherwise}")
    body(w, place.inside(true), _part(w))
    if w.dice.chance(0.6):
        w.line(f"bra {end}")
        w.label(otherwise)
        body(w, place.inside(false), _part(w))
    else:
        w.label(otherwise)
    w.label(end)
    _together(w, place)


def _together(w: Writer, place: Place) -> None:
    if place.mask and w.dice.chance(0.3):
        w.line(f"bar.warp.sync {place.mask}")


def _uniform_branch(w: Writer, place: Place) -> None:
    """A branch that a whole block takes or does not: barriers may stand in it."""
    condition, end, bit = w.temporary("pred"), w.new_label(), w.temporary("b32")
    w.line(f"shr.u32 {bit}, %block, {w.dice.below(3)}")
    w.line(f"and.b32 {bit}, {bit}, 1")
    w.line(f"setp.eq.u32 {condition}, {bit}, {w.dice.below(2)}")
    w.line(f"@{condition} bra{w.dice.pick(('', '.uni'))} {end}")
    body(w, place.inside(place.mask, uniform=True), _part(w))
    w.label(end)


def _uniform_loop(w: Writer, place: Place) -> None:
    """So many trips for every thread."""
    counter, again, head = w.temporary("b32"), w.temporary("pred"), w.new_label()
    w.line(f"mov.u32 {counter}, {w.dice.between(1, 5)}")
    w.label(head)
    body(w, place.inside(place.mask, uniform=True), _part(w))
    w.line(f"sub.u32 {counter}, {counter}, 1")
    w.line(f"setp.ne.u32 {again}, {counter}, 0")
    w.line(f"@{again} bra {head}")


def _loop(w: Writer, place: Place) -> None:
    """A number of trips that differs from thread to thread, with several ways out and on.

    The mask of the lanes still inside is kept by votes at every way out.
    """
    counter, again = w.temporary("b32"), w.temporary("pred")
    head, onward, end = w.new_label(), w.new_label(), w.new_label()
    inside = w.temporary("b32") if place.mask else ""
    w.line(f"and.b32 {counter}, {w.register('b32')}, {w.dice.pick((1, 3, 7))}")
    if inside:
        w.line(f"mov.b32 {inside}, {place.mask}")
    w.label(head)
    here = place.inside(inside)
    if not inside:
        here = replace(here, targets=(*here.targets, onward, end))
    body(w, here, _part(w))
    for _ in range(w.dice.below(3)):
        condition = w.predicate()
        # Who leaves while others already go on to the next trip would have to tell them.
        leaving = here.mask == inside and w.dice.chance(0.5)
        if here.mask:
            _, rest = lanes_where(w, here, condition)
            w.line(f"@{condition} bra {end if leaving else onward}")
            if leaving:
                w.line(f"mov.b32 {inside}, {rest}")
            else:
                here = replace(here, mask=rest)
        else:
            w.line(f"@{condition} bra {end if leaving else onward}")
        body(w, here, _part(w) // 2)
    w.label(onward)
    w.line(f"sub.s32 {counter}, {counter}, 1")
    w.line(f"setp.gt.s32 {again}, {counter}, 0")
    if inside:
        w.line(f"vote.sync.ballot.b32 {inside}, {again}, {inside}")
    w.line(f"@{again} bra {head}")
    w.label(end)
    _together(w, place)


def _region(w: Writer, place: Place) -> None:
    """Pieces of code that jump to one another in all directions, into branches and loops too, until fuel is spent."""
    fuel, spent, end = w.temporary("b32"), w.temporary("pred"), w.new_label()
    pieces = [w.new_label() for _ in range(w.dice.between(2, 5))]
    middles = [w.new_label() for _ in range(w.dice.below(3))]
    here = replace(place.inside(), targets=(*pieces, *middles, end))
    w.line(f"mov.u32 {fuel}, {w.dice.between(2, 10)}")
    if w.dice.chance(0.5):
        _jump_by_table(w, pieces)

    def station(label: str) -> None:
        w.label(label)
        w.line(f"sub.s32 {fuel}, {fuel}, 1")
        w.line(f"setp.le.s32 {spent}, {fuel}, 0")
        w.line(f"@{spent} bra {end}")

    for number, label in enumerate(pieces):
        station(label)
        body(w, here, _part(w) // 2)
        if middles and (number == len(pieces) - 1 or w.dice.chance(0.5)):
            _with_station_inside(w, here, middles, station, all_of_them=number == len(pieces) - 1)
        choice = w.dice.below(4)
        if choice == 0:
            _jump_by_table(w, [*pieces, *middles])
        elif choice == 1:
            w.line(f"bra {w.dice.pick(pieces)}")
        else:
            w.line(f"@{w.register('pred')} bra {w.dice.pick(pieces)}")
    w.label(end)
    if place.mask:
        w.line(f"bar.warp.sync {place.mask}")


def _with_station_inside(
    w: Writer, here: Place, middles: list[str], station: Callable[[str], None], *, all_of_them: bool
) -> None:
    """A branch or a loop into whose middle others jump. Its counter begins anywhere, and counts down all the same."""
    for _ in range(len(middles) if all_of_them else 1):
        label = middles.pop()
        condition, counter = w.beginning("pred"), w.beginning("b32")
        head, end = w.new_label(), w.new_label()
        looping = w.dice.chance(0.5)
        w.line(f"mov.pred {condition}, {w.register('pred')}")
        w.line(f"mov.u32 {counter}, {w.dice.between(1, 3)}")
        w.label(head)
        w.line(f"@{condition} bra {end}")
        body(w, here, 3)
        station(label)
        body(w, here, 3)
        w.label(end)
        if looping:
            w.line(f"sub.s32 {counter}, {counter}, 1")
            w.line(f"setp.gt.s32 {condition}, {counter}, 0")
            w.line(f"@{condition} bra {head}")


def _jump_by_table(w: Writer, labels: list[str]) -> None:
    table, index = w.new_label(), w.temporary("b32")
    w.line(f"rem.u32 {index}, {w.register('b32')}, {len(labels)}")
    w.lines.append(f"{table}: .branchtargets {', '.join(labels)};")
    w.line(f"brx.idx {index}, {table}")


def barrier(w: Writer) -> None:
    """Every thread of the block that still runs waits for the others."""
    number = w.dice.below(3)
    choice = w.dice.below(6)
    if choice < 4:
        opcode = ("bar.sync", "barrier.sync", "barrier.sync.aligned", "barrier.cta.sync")[choice]
        w.line(f"{opcode} {number}")
    elif choice == 4:
        result = w.register("b32")
        w.line(f"bar.red.popc.u32 {result}, {number}, {w.register('pred')}")
        w.mix(result, "b32")
    else:
        result = w.register("pred")
        w.line(f"barrier.red.{w.dice.pick(('and', 'or'))}.pred {result}, {number}, {w.register('pred')}")
        w.mix(result, "pred")


def _exchange(w: Writer, place: Place) -> None:
    """A barrier, what others wrote is read, a barrier, and perhaps another cell for everyone."""
    if w.dice.chance(0.25) and place.full and not w.somebody_left and w.layout.threads >= 64:
        _half_waits(w, place)
        return
    if place.mask:
        w.line(f"bar.warp.sync {place.mask}")
    barrier(w)
    reading = replace(place, phase="read", top=False, depth=place.depth + 1)
    cell_of_another(w, reading)
    body(w, reading, _part(w))
    if place.mask:
        w.line(f"bar.warp.sync {place.mask}")
    barrier(w)
    if w.dice.chance(0.4):
        take_cell(w, w.dice.below(w.layout.threads))


def _half_waits(w: Writer, place: Place) -> None:
    """Some warps only arrive where the others wait, who then read what the first have written."""
    producers = 32 * w.dice.between(1, w.layout.threads // 32 - 1)
    first, others, end = w.temporary("pred"), w.new_label(), w.new_label()
    number = w.dice.between(3, 15)
    barrier(w)
    take_cell(w, 0)
    w.line(f"st.shared.b64 [%own_shared], {w.register('b64')}")
    w.line(f"setp.ge.u32 {first}, %in_block, {producers}")
    w.line(f"@{first} bra {others}")
    w.line(f"bar.arrive {number}, {w.layout.threads}")
    w.line(f"bra {end}")
    w.label(others)
    w.line(f"bar.sync {number}, {w.layout.threads}")
    for _ in range(w.dice.between(1, 3)):
        cell_of_another(w, replace(place, phase="read"), among=producers)
    w.label(end)
    w.line(f"bar.warp.sync {place.mask}")
    barrier(w)


def take_cell(w: Writer, shift: int) -> None:
    """The thread's own cells from now on: those of the thread `shift` further."""
    number, over = w.temporary("b32"), w.temporary("pred")
    w.line(f"add.u32 {number}, %in_block, {shift}")
    w.line(f"setp.ge.u32 {over}, {number}, {w.layout.threads}")
    w.line(f"@{over} sub.u32 {number}, {number}, {w.layout.threads}")
    for space in ("shared", "global", "generic"):
        w.line(f"mad.wide.u32 %own_{space}, {number}, {w.layout.cell}, %all_{space}")


def _leave(w: Writer, place: Place) -> None:
    """Some threads end here; what they had is stored first."""
    condition, stay = w.predicate(), w.new_label()
    if place.mask:
        _, rest = lanes_where(w, place, condition)
        w.line(f"@!{condition} bra {stay}")
    else:
        w.line(f"@!{condition} bra {stay}")
    w.line("st.global.b64 [%out], %hash")
    w.line(w.dice.pick(("ret", "exit")))
    w.label(stay)
    if place.mask:
        w.line(f"mov.b32 {place.mask}, {rest}")
    w.somebody_left = True


def checkpoint(w: Writer) -> None:
    """The hash so far, into one of the thread's words of the output."""
    w.checkpoints += 1
    w.line(f"st.global.b64 [%out+{8 * (1 + w.checkpoints % 7)}], %hash")
