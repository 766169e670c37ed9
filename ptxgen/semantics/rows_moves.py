"""Legal moves: special registers, constants, the shared array's address, copies, bits read another way."""

from __future__ import annotations

from ptxgen.isa.model import Expansion
from ptxgen.semantics.choices import (
    FLOAT32,
    FLOAT64,
    INTEGER,
    SHORT,
    Reserve,
    destination_classes,
    either_class,
    fresh,
    guards,
    registers,
)
from ptxgen.semantics.contract import SHARED_SYMBOL, Level
from ptxgen.semantics.rows_arithmetic import arithmetic_rows
from ptxgen.semantics.state import State
from ptxgen.semantics.statements import Row

#: Constants by the type of the `mov`; what is not here takes none.
CONSTANTS = {
    "f32": (FLOAT32,),
    "f64": (FLOAT64,),
    **dict.fromkeys(("u32", "s32", "b32", "u64", "s64", "b64"), (INTEGER,)),
    **dict.fromkeys(("u16", "s16", "b16"), (SHORT,)),
}
#: The same bits under another class of register.
OTHER_CLASS = {("b32", "b32"): "f32", ("b32", "f32"): "b32", ("b64", "b64"): "f64", ("b64", "f64"): "b64"}


def move_rows(state: State, expansion: Expansion, reserve: Reserve) -> list[Row]:
    """Rows of one `mov`. A constant or a copy makes a variable: a register that may be rewritten."""
    if state.level < Level.SCOPED:
        return arithmetic_rows(state, expansion, reserve)
    write, read = expansion.operands[0], expansion.operands[1]
    if write.vector > 1 or read.vector > 1:
        return []
    type_name = write.type
    types = state.contract.register_types
    classes = either_class(type_name) or destination_classes(type_name, state.contract.bits.get(type_name, 0))
    rows: list[Row] = []
    for register_class in classes:
        constants = CONSTANTS.get(type_name, ())
        if register_class in ("f32", "f64") and type_name != register_class:
            constants = ()
        copies = tuple(
            r
            for r in registers(state, read, moved=True)
            if types[r] == register_class and (state.level < Level.TYPESTATE or _copyable(state, r))
        )
        if register_class == "b64" and state.level >= Level.TYPESTATE:
            copies += _pointer_copies(state)
        given = (*constants, *copies)
        once = (*_named(state, expansion, register_class), *_reinterpreted(state, type_name, register_class))
        target = fresh(state, type_name, reserve, (register_class,))
        rows.append(Row((target, (*once, *given))))
        for guarded in (False, True):
            variables = tuple(
                r for r in state.rewritable(guarded) if r in state.variables and types[r] == register_class
            )
            rows.append(Row((variables, given), guards(state) if guarded else ("",)))
    return [r for r in rows if r.possible()]


def _named(state: State, expansion: Expansion, register_class: str) -> tuple[str, ...]:
    """Special registers and the shared array that no register holds yet."""
    held = {state.values[n].operation for n in state.registers.values()} if state.level >= Level.TYPESTATE else set()
    names: list[str] = []
    if register_class == "b32" and "special" in expansion.operands[1].kinds:
        names += [s for s in state.contract.specials if f"special {s}" not in held]
    if register_class in ("b32", "b64") and state.contract.shared and f"special {SHARED_SYMBOL}" not in held:
        names.append(SHARED_SYMBOL)
    return tuple(names)


def _copyable(state: State, register: str) -> bool:
    """One copy of a value is enough."""
    return len(state.holders(state.registers[register])) < 2


def _pointer_copies(state: State) -> tuple[str, ...]:
    """Addresses of elements, to be stepped through memory by a loop."""
    return tuple(
        r
        for r in state.registers
        if state.contract.register_types[r] == "b64"
        and (pointer := state.value(r).pointer) is not None
        and pointer.index
        and _copyable(state, r)
    )


def _reinterpreted(state: State, type_name: str, register_class: str) -> tuple[str, ...]:
    """The bits of a float as an integer, and back (`mov.b32 %r1, %f1`)."""
    source_class = OTHER_CLASS.get((type_name, register_class))
    if source_class is None:
        return ()
    kind = "int" if register_class[0] == "b" else "float"
    return tuple(
        r
        for r in state.registers
        if state.contract.register_types[r] == source_class
        and state.value(r).pointer is None
        and ("bits", kind, state.registers[r]) not in state.held
    )
