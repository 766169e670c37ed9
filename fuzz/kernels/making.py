"""Whole kernels: layout, functions, what comes before the random statements and after them."""

from __future__ import annotations

from dataclasses import dataclass

from fuzz.kernels import calls, flow
from fuzz.kernels.calls import Signature
from fuzz.kernels.forms import ARCH, VERSION, usable
from fuzz.kernels.memory import ACCUMULATORS, SECTION, from_argument, load_value
from fuzz.kernels.statements import emit
from fuzz.kernels.writing import REGISTERS, Dice, Layout, Place, Writer, make_pools
from ptxgen.executing import Launch
from ptxgen.isa import Expansion

#: Words of 64 bits that each thread stores: its last hash, and hashes on the way.
WORDS = 8
_ALWAYS = ("pred", "b32", "b64")
_SOMETIMES = ("b8", "b16", "b128", "f16", "bf16", "f16x2", "bf16x2", "f32", "f64")
_PARAMETERS = ("values_at", "out_at", "cells_at", "sums_at")
_MOST_SHARED = 40_000


@dataclass(frozen=True)
class Kernel:
    """`ptx` and how to launch it. `cells` bytes of global memory hold the threads' cells."""

    seed: int
    ptx: str
    launch: Launch
    cells: int
    statements: int

    @property
    def threads(self) -> int:
        """Of the whole grid."""
        grid, block = self.launch.grid, self.launch.block
        return grid[0] * grid[1] * grid[2] * block[0] * block[1] * block[2]


def make(seed: int, *, statements: int = 0, scalar_only: bool = False) -> Kernel:
    """The kernel of a seed, of about so many statements (0: the seed says how many, 20 to 2,000).

    `scalar_only`: integers in single registers, no functions, nothing warp-wide.
    """
    dice = Dice(seed)
    size = statements or _size(dice)
    layout = _layout(dice, few=scalar_only)
    kinds = [kind for kind in _SOMETIMES if dice.chance(0.75)] if not scalar_only else ["b16"]
    low, high = dice.pick(((2, 4), (3, 6), (4, 12)))
    if dice.chance(0.08):
        low, high = 20, 60                           # more than fit the machine's registers
    pools = make_pools(dice, [*_ALWAYS, *kinds, *(("b16",) if "b16" not in kinds else ())], low, high)
    w = Writer(dice, layout, pools, is_kernel=True, scalar_only=scalar_only)
    functions = [] if scalar_only else _functions(w, size)
    _begin(w)
    place = Place("" if scalar_only else "%live", full=layout.threads % 32 == 0, uniform=True, top=True)
    end = w.statements + size
    while w.statements < end:
        flow.body(w, place, size // 7)
        flow.checkpoint(w)
    return _whole(seed, w, functions)


def make_guarded(number: int) -> Kernel:
    """One form of the table, by its number among all, that every other thread's guard forbids; then the others'."""
    form = guarded_forms()[number]
    w = Writer(Dice(number), Layout(), make_pools(Dice(number), [*_ALWAYS, *_SOMETIMES], 4, 4), is_kernel=True)
    _begin(w)
    w.line("and.b32 %x, %in_block, 1")
    w.line("setp.eq.u32 %first, %x, 0")
    emit(w, form, guard="@%first ")
    emit(w, form, guard="@!%first ")
    return _whole(number, w, [])


def guarded_forms() -> tuple[Expansion, ...]:
    """Everything that works on registers alone."""
    return tuple(form for every in usable().scalar.values() for form in every)


def _whole(seed: int, w: Writer, functions: list[str]) -> Kernel:
    """The kernel around statements that are written."""
    layout = w.layout
    _finish(w)
    shared = ".extern .shared .align 16 .b8 dynamic[];\n" if layout.dynamic and layout.cell else ""
    head = f".version {VERSION}\n.target {ARCH}\n.address_size 64\n{shared}{_constants(w.dice, layout)}"
    ptx = "\n".join([head, *functions, *_text(w)]) + "\n"
    launch = Launch(layout.grid, layout.block, layout.threads * layout.cell if layout.dynamic else 0)
    blocks = layout.grid[0] * layout.grid[1] * layout.grid[2]
    return Kernel(seed, ptx, launch, max(blocks * layout.threads * layout.cell, 8), w.statements)


def _size(dice: Dice) -> int:
    choice = dice.below(20)
    if choice < 10:
        return dice.between(20, 60)
    if choice < 17:
        return dice.between(60, 200)
    return dice.between(200, 600) if choice < 19 else dice.between(600, 2000)


def _layout(dice: Dice, *, few: bool) -> Layout:
    threads = dice.pick((1, 2, 3, 5) if few else (1, 7, 31, 32, 33, 48, 64, 64, 96, 100, 128))
    block = (threads, 1, 1)
    choice = dice.below(4)
    if choice == 0 and not few:
        block = dice.pick(
            ((8, 4, 1), (5, 7, 1), (16, 3, 2), (2, 3, 11), (4, 4, 4), (1, 33, 1), (1, 1, 40), (3, 3, 3))
        )
    grid = dice.pick(((1, 1, 1), (2, 1, 1), (3, 1, 1), (2, 2, 1), (1, 3, 1), (1, 1, 2), (2, 1, 3)))
    cell = dice.pick((0, 16, 32, 32, 64))
    assert block[0] * block[1] * block[2] * cell < _MOST_SHARED
    return Layout(
        block, grid, cell, dice.pick((0, 32, 64, 64, 128)), dice.pick((0, 16, 64)), dynamic=dice.chance(0.3)
    )


def _constants(dice: Dice, layout: Layout) -> str:
    if not layout.constants:
        return ""
    words = ", ".join(str(dice.below(1 << 32)) for _ in range(layout.constants))
    return f".const .align 16 .b32 constants[{layout.constants}] = {{{words}}};\n"


def _functions(kernel: Writer, size: int) -> list[str]:
    """A few functions, each of which may call those before it."""
    dice = kernel.dice
    if dice.chance(0.5):
        return []
    signatures = []
    for number in range(dice.between(1, 2)):
        given = ("b32", "b32", *(dice.pick(("b32", "b64", "b16", "f32", "f64")) for _ in range(dice.below(3))))
        signatures.append(Signature(number, given, dice.pick(("b64", "b32", "b16")), dice.chance(0.3)))
    texts = []
    for number in range(dice.between(1, 4)):
        signature = dice.pick(signatures)
        name = f"function_{number}"
        kinds = [kind for kind in ("b16", "f16x2", "f32", "f64", "b8") if dice.chance(0.4)]
        needed = {"b16", *signature.given, signature.result} - set(_ALWAYS)
        pools = make_pools(dice, [*_ALWAYS, *sorted(needed | set(kinds))], 2, 4)
        layout = Layout(local=dice.pick((0, 0, 32)), constants=kernel.layout.constants)
        w = Writer(dice, layout, pools, is_kernel=False, functions=list(kernel.functions), signature=signature)
        _enter(w, signature)
        flow.body(w, Place(top=True), dice.between(3, min(30, size)))
        if signature.recursive:
            calls.call_self(w, name, signature)
            flow.body(w, Place(top=True), 3)
        for kind, pool in w.pools.items():
            w.mix(dice.pick(pool), kind)
        calls.store_result(w)
        w.line("ret")
        texts += _function_text(w, name, signature)
        kernel.functions.append((name, signature))
    return texts


def _enter(w: Writer, signature: Signature) -> None:
    for number, kind in enumerate(signature.given):
        w.line(f"ld.param.{REGISTERS[kind]} %given_{number}, [given_{number}]")
    w.line("cvt.u16.u32 %given_half, %given_1")
    w.line("mov.u64 %hash, 1")
    for number, kind in enumerate(signature.given):
        w.mix(f"%given_{number}", kind)
    for kind, pool in w.pools.items():
        for register in pool:
            from_argument(w, kind, register)
    _fill_local(w)


def _function_text(w: Writer, name: str, signature: Signature) -> list[str]:
    given = [f"\t.reg .{REGISTERS[kind]} %given_{n};" for n, kind in enumerate(signature.given)]
    local = [f"\t.local .align 16 .b8 array[{w.layout.local}];"] if w.layout.local else []
    return [
        f".func {signature.heading(name)}", "{", "\t.reg .b64 %hash, %local, %local_generic;",
        "\t.reg .b16 %given_half;", *given, *local, *_declared(w), *w.lines, "}",
    ]  # fmt: skip


def _declared(w: Writer) -> list[str]:
    prototypes = sorted(w.prototypes, key=lambda signature: signature.number)
    kept = [f"\t{line};" for line in w.kept]
    return [*w.declarations(), *("\t" + signature.prototype() for signature in prototypes), *kept]


def _fill_local(w: Writer) -> None:
    """Every byte of the array is something before it is read."""
    if not w.layout.local:
        return
    w.line("mov.u64 %local, array")
    w.line("cvta.local.u64 %local_generic, %local")
    for offset in range(0, w.layout.local, 8):
        w.line(f"st.local.b64 [array+{offset}], {w.register('b64')}")


def _begin(w: Writer) -> None:
    """Who I am, what I own, and something in every register."""
    layout = w.layout
    for name in _PARAMETERS:
        w.line(f"ld.param.u64 %{name}, [{name}]")
    w.line("mov.u32 %x, %tid.x")
    for axis, size in (("y", "%ntid.x"), ("z", "%ntid.y")):
        w.line(f"mov.u32 %{axis}, %tid.{axis}")
        w.line(f"mov.u32 %n{axis}, {size}")
    w.line("mad.lo.u32 %in_block, %z, %nz, %y")
    w.line("mad.lo.u32 %in_block, %in_block, %ny, %x")
    w.line("mov.u32 %block, %ctaid.x")
    for axis, size in (("y", "%nctaid.x"), ("z", "%nctaid.y")):
        w.line(f"mov.u32 %{axis}, %ctaid.{axis}")
        w.line(f"mov.u32 %n{axis}, {size}")
    w.line("mad.lo.u32 %z, %z, %nz, %y")
    w.line("mad.lo.u32 %block, %z, %ny, %block")
    w.line(f"mad.lo.u32 %thread, %block, {layout.threads}, %in_block")
    w.line("cvta.to.global.u64 %values, %values_at")
    w.line("cvta.to.global.u64 %sums, %sums_at")
    w.line(f"mad.wide.u32 %out, %thread, {8 * WORDS}, %out_at")
    w.line("cvt.u64.u32 %hash, %thread")
    if not w.scalar_only:
        w.line("shr.u32 %warp, %in_block, 5")
        w.line("mad.lo.u32 %live, %warp, 32, 0")
        w.line(f"sub.u32 %live, {layout.threads}, %live")
        w.line("bmsk.clamp.b32 %live, 0, %live")
    w.line(f"mad.lo.u32 %x, %thread, {2 * w.dice.below(32) + 1}, {w.dice.below(64)}")
    w.line(f"and.b32 %x, %x, {SECTION // 2 - 1}")
    w.line("mad.wide.u32 %first_values, %x, 8, %values")
    for kind, pool in w.pools.items():
        for register in pool:
            load_value(w, kind, register, "%first_values", w.dice.below(SECTION // 2))
    _fill_local(w)
    if layout.cell:
        _fill_cells(w)


def _fill_cells(w: Writer) -> None:
    layout = w.layout
    w.line(f"mov.u64 %all_shared, {'dynamic' if layout.dynamic else 'cells'}")
    w.line("cvta.shared.u64 %all_generic, %all_shared")
    w.line(f"mul.lo.u32 %x, %block, {layout.threads * layout.cell}")
    w.line("mad.wide.u32 %all_global, %x, 1, %cells_at")
    flow.take_cell(w, 0)
    for offset in range(0, layout.cell, 8):
        w.line(f"st.shared.b64 [%own_shared+{offset}], {w.register('b64')}")
        w.line(f"st.global.b64 [%own_global+{offset}], {w.register('b64')}")
    w.line("setp.eq.u32 %first, %in_block, 0")
    for number in range(len(ACCUMULATORS)):
        w.line(f"@%first st.shared.b64 [accumulators+{8 * number}], 0")
    w.line("bar.sync 0")


def _finish(w: Writer) -> None:
    """Everything that is still in registers, and the cells, into the hash."""
    for kind, pool in w.pools.items():
        for register in pool:
            w.mix(register, kind)
    for space in ("shared", "global") if w.layout.cell else ():
        for offset in range(0, w.layout.cell, 8):
            word = w.temporary("b64")
            w.line(f"ld.{space}.b64 {word}, [%own_{space}+{offset}]")
            w.mix(word, "b64")
    for offset in range(0, w.layout.local, 8):
        word = w.temporary("b64")
        w.line(f"ld.local.b64 {word}, [array+{offset}]")
        w.mix(word, "b64")
    w.line("st.global.b64 [%out], %hash")
    w.line("ret")


def _text(w: Writer) -> list[str]:
    layout = w.layout
    params = ", ".join(f".param .u64 {name}" for name in _PARAMETERS)
    pointers = ", ".join(f"%{name}" for name in _PARAMETERS)
    memory = [f"\t.local .align 16 .b8 array[{layout.local}];"] if layout.local else []
    if layout.cell:
        memory.append(f"\t.shared .align 8 .b64 accumulators[{len(ACCUMULATORS)}];")
        memory += [] if layout.dynamic else [f"\t.shared .align 16 .b8 cells[{layout.threads * layout.cell}];"]
    return [
        f".visible .entry k({params})", "{", *memory,
        "\t.reg .b32 %x, %y, %z, %ny, %nz, %in_block, %block, %thread, %warp, %live;", "\t.reg .pred %first;",
        f"\t.reg .b64 {pointers}, %values, %first_values, %sums, %out, %hash, %local, %local_generic;",
        "\t.reg .b64 %all_shared, %all_global, %all_generic, %own_shared, %own_global, %own_generic;",
        *_declared(w), *w.lines, "}",
    ]  # fmt: skip
