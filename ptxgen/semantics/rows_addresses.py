"""Legal address arithmetic: a pointer plus an index times the size of what it points at."""

from __future__ import annotations

from ptxgen.isa.model import Expansion
from ptxgen.semantics.choices import Reserve, fresh, integers
from ptxgen.semantics.contract import Level
from ptxgen.semantics.state import State
from ptxgen.semantics.statements import Row

#: Whole elements by which a pointer may be moved at once.
STEPS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


def address_rows(state: State, expansion: Expansion) -> list[tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]]:
    """`add` with an index already scaled, `mad` with the size as its constant: nothing else makes an address."""
    form = _address_form(expansion)
    if form is None:
        return []
    index_class, result = form
    rows: list[tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]] = []
    for pointer, sizes, exact in _pointers(state, result):
        if expansion.name == "add":
            offsets = scaled_indices(state, index_class, sizes, exact)
            steps = tuple(str(k * sizes[0]) for k in STEPS) if pointer in state.rewritable(False) else ()
            rows.append(((result,), ((pointer,), (*offsets, *steps))))
            rows.append(((result,), (offsets, (pointer,))))
        else:
            factors = tuple(str(sizes[0] * k) for k in (STEPS[:1] if exact else STEPS))
            rows.append(((result,), (integers(state, index_class), factors, (pointer,))))
    return rows


def _address_form(expansion: Expansion) -> tuple[str, str] | None:
    """(class of the index, class of the address) of an `add` or `mad` that can make an address."""
    chosen = set(expansion.slots.values())
    type_name = expansion.type
    if expansion.name == "mad" and "wide" in chosen:
        return ("b32", "b64") if type_name in ("u32", "s32") else None
    if expansion.name == "mad" and "lo" not in chosen:
        return None
    if type_name in ("u64", "s64"):
        return "b64", "b64"
    return ("b32", "b32") if type_name in ("u32", "s32") else None


def _pointers(state: State, register_class: str) -> list[tuple[str, tuple[int, ...], bool]]:
    """(register, element sizes, whether an index must have been scaled by exactly that size)."""
    key = ("pointers", register_class)
    found: list[tuple[str, tuple[int, ...], bool]] | None = state.memo.get(key)
    if found is not None:
        return found
    found = []
    for register in state.registers:
        if state.contract.register_types[register] != register_class:
            continue
        pointer = state.value(register).pointer
        if pointer is None:
            continue
        if pointer.space == "global" and pointer.parameter:
            size = state.contract.element_size(state.parameter(pointer.parameter).element)
            found.append((register, (size,), True))
        elif pointer.space == "shared":
            elements = (state.shared_element,) if state.shared_element else state.contract.shared_elements
            sizes = tuple(sorted({state.contract.element_size(e) for e in elements})) or (4,)
            found.append((register, sizes, False))
    state.memo[key] = found
    return found


def scaled_indices(state: State, index_class: str, sizes: tuple[int, ...], exact: bool) -> tuple[str, ...]:
    """Integers that are whole multiples of the element size, by their making."""
    out = []
    for register in integers(state, index_class):
        value = state.value(register)
        if exact:
            if value.scale in sizes or (1 in sizes and value.scale == 0):
                out.append(register)
        elif value.divisor >= min(sizes) and (value.scale or value.divisor > 1 or min(sizes) == 1):
            out.append(register)
    return tuple(out)


def conversion_rows(state: State, expansion: Expansion, reserve: Reserve) -> list[Row]:
    """`cvta.to.global`: of a parameter's address that has not been converted yet."""
    if expansion.opcode != "cvta.to.global.u64":
        return []
    target = fresh(state, "u64", reserve, ("b64",))
    types = state.contract.register_types
    if state.level < Level.TYPESTATE:
        names = types if state.level < Level.SCOPED else state.registers
        return [Row((target, tuple(r for r in names if types[r] == "b64")))]
    pointers = {r: p for r in state.registers if (p := state.value(r).pointer) is not None}
    done = {p.parameter for p in pointers.values() if p.space == "global"}
    pending = tuple(r for r, p in pointers.items() if p.space == "generic" and p.parameter not in done)
    return [Row((target, pending))]
