"""Memory: a thread's own cells, everybody's after a barrier, local arrays, tables, accumulators."""

from __future__ import annotations

from collections.abc import Iterable

from bench.vectors.inputs import word_bits
from fuzz.kernels.forms import usable
from fuzz.kernels.statements import anything, emit, possible
from fuzz.kernels.writing import REGISTERS, Place, Writer
from ptxgen.isa import Expansion

#: The table of values that every kernel reads: 64-bit words, so many a section, one section a kind.
SECTION = 128
SECTIONS = ("b32", "b64", "b16", "f16", "bf16", "f16x2", "bf16x2", "f32", "f64", "pred")
#: Operations of the block's accumulators in shared memory and of the grid's in global memory, 8 bytes each. Each
#: is order-independent, and an accumulator knows only one.
ACCUMULATORS = (
    "add.u32", "add.u64", "min.s32", "max.u32", "or.b32", "xor.b32", "and.b32", "max.s64",
)  # fmt: skip


def access_bytes(form: Expansion) -> int:
    """Of the whole access, which is its alignment too."""
    operand = next(o for o in form.operands if "address" in o.kinds)
    vector = max([o.vector for o in form.operands] + [operand.vector])
    return word_bits(operand.type) * vector // 8


def _offset(w: Writer, form: Expansion, size: int) -> str:
    places = size // access_bytes(form)
    offset = w.dice.below(places) * access_bytes(form)
    return f"+{offset}" if offset else ""


def own_cell(w: Writer, place: Place) -> None:
    """A load, store or atomic of any width in the thread's own cell of shared or global memory."""
    if not w.layout.cell:
        return
    space = w.dice.pick(("shared", "global"))
    base = {"shared": "%own_shared", "global": "%own_global"}[space]
    forms = usable()
    kinds = [forms.loads, forms.stores, forms.stores, forms.atomics] if place.phase == "own" else []
    if not kinds:
        return
    chosen = w.dice.pick(kinds)
    if w.dice.chance(0.3):
        base, space = {"shared": "%own_generic", "global": "%own_global"}[space], ""
    form = w.dice.pick(_fitting(w, chosen[space], w.layout.cell))
    if form.name in ("atom", "red") and any(operand.vector > 1 for operand in form.operands):
        base = "%own_global"                         # vectors change in global memory alone
    emit(w, form, guarded=True, address=f"[{base}{_offset(w, form, w.layout.cell)}]")


def copy(w: Writer, place: Place) -> None:
    """An asynchronous copy from the thread's cell of global memory to that of shared memory, waited for."""
    if place.phase != "own":
        return
    size = w.dice.pick([size for size in (4, 8, 16) if size <= w.layout.cell])
    at = [size * w.dice.below(w.layout.cell // size) for _ in range(2)]
    policy = "cg" if size == 16 and w.dice.chance(0.5) else "ca"
    of_source = f", {w.dice.between(0, size)}" if w.dice.chance(0.3) else ""
    guard = f"@{w.register('pred')} " if w.dice.chance(0.3) else ""
    w.line(f"{guard}cp.async.{policy}.shared.global [%own_shared+{at[0]}], [%own_global+{at[1]}], {size}{of_source}")
    if w.dice.chance(0.5):
        w.line("cp.async.wait_all")
    else:
        w.line("cp.async.commit_group")
        w.line("cp.async.wait_group 0")


def _fitting(w: Writer, forms: Iterable[Expansion], size: int) -> list[Expansion]:
    return [form for form in possible(w, forms) if access_bytes(form) <= size]


def cell_of_another(w: Writer, place: Place, among: int = 0) -> None:
    """A load from any thread's cell, or one of the first threads', or of an accumulator, while nobody writes."""
    if not w.layout.cell or place.phase != "read":
        return
    if w.dice.chance(0.2) and not among:
        number = w.dice.below(len(ACCUMULATORS))
        bits = ACCUMULATORS[number][-2:]
        register = w.register(f"b{bits}")
        w.line(f"ld.shared.b{bits} {register}, [accumulators+{8 * number}]")
        w.mix(register, f"b{bits}")
        return
    space = w.dice.pick(("shared", "global"))
    other, at, wide = w.temporary("b32"), w.temporary("b64"), w.temporary("b32")
    w.line(f"and.b32 {wide}, {anything(w, 'b32')}, 65535")
    w.line(f"rem.u32 {other}, {wide}, {among or w.layout.threads}")
    base = {"shared": "%all_shared", "global": "%all_global"}[space]
    if w.dice.chance(0.3):
        base, space = {"shared": "%all_generic", "global": "%all_global"}[space], ""
    w.line(f"mad.wide.u32 {at}, {other}, {w.layout.cell}, {base}")
    form = w.dice.pick(_fitting(w, usable().loads[space], w.layout.cell))
    emit(w, form, guarded=True, address=f"[{at}{_offset(w, form, w.layout.cell)}]")


def accumulate(w: Writer, place: Place) -> None:
    """An order-independent reduction into an accumulator of the block or of the grid."""
    if place.phase != "own":
        return
    number = w.dice.below(len(ACCUMULATORS))
    operation = ACCUMULATORS[number]
    where = w.dice.pick(("shared.{} [accumulators", "global.{} [%sums"))
    value = w.register(f"b{operation[-2:]}")
    guard = f"@{w.register('pred')} " if w.dice.chance(0.3) else ""
    if w.dice.chance(0.7):
        w.line(f"{guard}red.{where.format(operation)}+{8 * number}], {value}")
    else:
        space, _, base = where.format(operation).partition(" ")
        w.line(f"{guard}atom.{space} {w.temporary('b' + operation[-2:])}, {base}+{8 * number}], {value}")


def local_array(w: Writer, place: Place) -> None:
    """A load or store of any width at any place of the thread's array."""
    if not w.layout.local:
        return
    forms = usable()
    space = w.dice.pick(("local", "local", ""))
    form = w.dice.pick(_fitting(w, w.dice.pick((forms.loads, forms.stores))[space], w.layout.local))
    if space == "" and (form.name in ("atom", "red") or _is_strong(form)):
        return
    base = "%local" if space else "%local_generic"
    size = access_bytes(form)
    index, at = w.temporary("b32"), w.temporary("b64")
    w.line(f"and.b32 {index}, {anything(w, w.dice.pick(('b32', 'b16', 'b64')))}, {w.layout.local - size}")
    w.line(f"cvt.u64.u32 {at}, {index}")
    w.line(f"add.u64 {at}, {at}, {base}")
    emit(w, form, guarded=True, address=f"[{at}]")


def _is_strong(form: Expansion) -> bool:
    return not {"volatile", "relaxed", "acquire", "release", "mmio"}.isdisjoint(form.opcode.split("."))


def constant_table(w: Writer, place: Place) -> None:
    """A load from constant memory, or by a load that only reads from the table of values."""
    nc = w.dice.chance(0.4) and w.is_kernel
    if not nc and not w.layout.constants:
        return
    size = SECTION * len(SECTIONS) * 8 if nc else 4 * w.layout.constants
    forms = usable().loads["nc" if nc else "const"]
    form = w.dice.pick(_fitting(w, forms, min(size, 64)))
    index, at = w.temporary("b32"), w.temporary("b64")
    reach = (1 << size.bit_length() - 1) - access_bytes(form)
    w.line(f"and.b32 {index}, {anything(w, 'b32')}, {reach & -access_bytes(form)}")
    if nc:
        w.line(f"mad.wide.u32 {at}, {index}, 1, %values")
    else:
        base = w.temporary("b64")
        w.line(f"mov.u64 {base}, constants")
        w.line(f"mad.wide.u32 {at}, {index}, 1, {base}")
    emit(w, form, address=f"[{at}]")


def refresh(w: Writer, place: Place, kind: str = "", register: str = "") -> None:
    """A value of a kind from the table of values, so that registers do not all come to the same few numbers."""
    kind = kind or w.dice.pick([k for k in w.pools if k not in ("b8", "b128")])
    register = register or w.dice.pick(w.pools[kind])
    if not w.is_kernel:
        from_argument(w, kind, register)
        return
    index, at = w.temporary("b32"), w.temporary("b64")
    w.line(f"mad.lo.u32 {index}, %thread, {2 * w.dice.below(64) + 1}, {w.dice.below(SECTION)}")
    w.line(f"and.b32 {index}, {index}, {SECTION - 1}")
    w.line(f"mad.wide.u32 {at}, {index}, 8, %values")
    load_value(w, kind, register, at, 0)


def load_value(w: Writer, kind: str, register: str, base: str, word: int) -> None:
    """A word of the kind's section of the table, `base` being a place in the first section."""
    section = SECTIONS.index({"b8": "b16", "b128": "b64"}.get(kind, kind))
    offset = (section * SECTION + word) * 8
    place = f"[{base}+{offset}]" if offset else f"[{base}]"
    if kind == "pred":
        loaded = w.temporary("b32")
        w.line(f"ld.global.b32 {loaded}, {place}")
        w.line(f"setp.ne.b32 {register}, {loaded}, 0")
    elif kind == "b128":
        low, high = w.temporary("b64"), w.temporary("b64")
        w.line(f"ld.global.b64 {low}, {place}")
        w.line(f"not.b64 {high}, {low}")
        w.line(f"mov.b128 {register}, {{{low}, {high}}}")
    else:
        w.line(f"ld.global.{REGISTERS[kind]} {register}, {place}")


def from_argument(w: Writer, kind: str, register: str) -> None:
    """Something made of the function's second argument."""
    number = w.dice.below(1 << 16)
    bits = REGISTERS[kind]
    if bits == "pred":
        w.line(f"setp.lt.u16 {register}, %given_half, {number}")
    elif bits == "b8":
        w.line(f"cvt.u8.u16 {register}, %given_half")
    elif bits == "b16":
        w.line(f"xor.b16 {register}, %given_half, {number}")
    elif bits == "b32":
        w.line(f"mad.lo.u32 {register}, %given_1, {2 * number + 1}, {number}")
    else:
        w.line(f"mad.wide.u32 {register}, %given_1, {2 * number + 1}, %hash")
