"""Warp-wide instructions under member masks that hold exactly the lanes which come there."""

from __future__ import annotations

from fuzz.kernels.forms import usable
from fuzz.kernels.statements import emit
from fuzz.kernels.writing import Place, Writer


def warp_wide(w: Writer, place: Place) -> None:
    """A vote, match, reduction, shuffle or barrier of the warp; a matrix product where whole warps come."""
    if not place.mask:
        return
    if place.full and place.uniform and w.dice.chance(0.15):
        w.line("bar.warp.sync 0xffffffff")
        emit(w, w.dice.pick(usable().matrices))
        return
    if w.dice.chance(0.1):
        w.line(f"bar.warp.sync {place.mask}")
        return
    every = usable().warps
    form = w.dice.pick(every[w.dice.pick(tuple(every))])
    if form.name != "shfl":
        emit(w, form, mask=place.mask)
    else:
        _shuffle(w, place, "|" in "".join(operand.name for operand in form.operands))


def _shuffle(w: Writer, place: Place, with_predicate: bool) -> None:
    """In whole warps any; elsewhere from a lane that is there, which may be one's own."""
    target, source = w.register("b32"), w.register("b32")
    inside = w.temporary("pred")
    result = f"{target}|{inside}" if with_predicate else target
    if place.full:
        mode = w.dice.pick(("up", "down", "bfly", "idx"))
        lane = w.dice.pick((w.register("b32"), str(w.dice.below(32))))
        segments = w.dice.pick((0x1F, 0x181F, 0x1C03, 0, 0x1E00, 0x1F0F, 0x1000))
        # Upwards the bound is the lowest lane of a segment, elsewhere the highest.
        w.line(f"shfl.sync.{mode}.b32 {result}, {source}, {lane}, {segments}, {place.mask}")
    else:
        wanted, there, own = w.temporary("b32"), w.temporary("b32"), w.temporary("b32")
        chosen = w.temporary("pred")
        w.line(f"and.b32 {wanted}, {w.register('b32')}, 31")
        w.line(f"shr.u32 {there}, {place.mask}, {wanted}")
        w.line(f"and.b32 {there}, {there}, 1")
        w.line(f"setp.ne.u32 {chosen}, {there}, 0")
        w.line(f"mov.u32 {own}, %laneid")
        w.line(f"selp.b32 {wanted}, {wanted}, {own}, {chosen}")
        w.line(f"shfl.sync.idx.b32 {result}, {source}, {wanted}, 31, {place.mask}")
    w.mix(target, "b32")
    if with_predicate:
        w.mix(inside, "pred")


def lanes_where(w: Writer, place: Place, predicate: str) -> tuple[str, str]:
    """Masks of the lanes where a predicate holds and where it does not; "" where the lanes here are not known."""
    if not place.mask:
        return "", ""
    true, false = w.temporary("b32"), w.temporary("b32")
    w.line(f"vote.sync.ballot.b32 {true}, {predicate}, {place.mask}")
    w.line(f"xor.b32 {false}, {true}, {place.mask}")
    return true, false
