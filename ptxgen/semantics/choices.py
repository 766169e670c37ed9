"""What may stand in one operand's place, by mask level."""

from __future__ import annotations

from collections.abc import Mapping

from ptxgen.isa.model import Operand
from ptxgen.semantics.contract import Level
from ptxgen.semantics.state import State
from ptxgen.semantics.statements import Pattern, alternation
from ptxgen.semantics.values import Value, kind_of_type

INTEGER = Pattern(r"(0|-?[1-9][0-9]{0,8})")
NATURAL = Pattern(r"(0|[1-9][0-9]{0,8})")
NONZERO = Pattern(r"[1-9][0-9]{0,8}")
SHORT = Pattern(r"(0|[1-9][0-9]{0,3})")
BELOW_32 = Pattern(r"([12]?[0-9]|3[01])")
BELOW_64 = Pattern(r"([1-5]?[0-9]|6[0-3])")
BELOW_100 = Pattern(r"[1-9]?[0-9]")
DECIMAL = r"-?(0|[1-9][0-9]{0,3})\.(0|[0-9]{0,5}[1-9])"
FLOAT32 = Pattern(rf"(0f[0-9A-F]{{8}}|{DECIMAL})")
FLOAT64 = Pattern(rf"(0d[0-9A-F]{{16}}|{DECIMAL})")

#: Bytes are loaded into, and stored from, registers of either width.
BYTE_CLASSES = ("b16", "b32")
Reserve = Mapping[str, int]


def destination_classes(type_name: str, bits: int) -> tuple[str, ...]:
    """The classes of register that results of this type go to."""
    if type_name in ("pred", "f32", "f64"):
        return (type_name,)
    if bits == 8:
        return BYTE_CLASSES
    return ({16: "b16", 32: "b32", 64: "b64"}[bits],) if bits in (16, 32, 64) else ()


def either_class(type_name: str) -> tuple[str, ...]:
    """Where untyped bits that are only moved may live: as integers or as floats."""
    return {"b32": ("b32", "f32"), "b64": ("b64", "f64")}.get(type_name, ())


def immediates(operand: Operand) -> tuple[str, ...]:
    """Spellings of constants that an operand takes: canonical ones, so that one value has one spelling."""
    if "imm" not in operand.kinds:
        return ()
    if operand.low is not None and operand.high is not None:
        if operand.high - operand.low <= 64:
            return tuple(str(n) for n in range(operand.low, operand.high + 1))
        return (SHORT,) if operand.high > 9999 else (BELOW_100,)
    kind = kind_of_type(operand.type)
    if kind == "float":
        return (FLOAT64,) if operand.type == "f64" else (FLOAT32,)
    if kind in {"half", "half2", "bf16", "bf162", "pred"}:
        return ()
    if operand.type.endswith(("8", "16")):
        return (SHORT,)
    return (INTEGER,) if operand.type.startswith("s") else (NATURAL,)


def registers(state: State, operand: Operand, *, moved: bool = False) -> tuple[str, ...]:
    """Registers that may be read there: of an accepted class; from `scoped` on written before; from
    `typestate` on holding a value of the right kind, and never an address. `moved`: the instruction only
    moves untyped bits, so any number will do; else bits are an integer's."""
    key = ("registers", operand.type, operand.wider and operand.vector == 1, moved)
    found: tuple[str, ...] | None = state.memo.get(key)
    if found is None:
        found = state.memo[key] = _registers(state, operand, moved)
    return found


def _registers(state: State, operand: Operand, moved: bool) -> tuple[str, ...]:
    classes = state.contract.accepted(operand)
    types = state.contract.register_types
    if state.level < Level.SCOPED:
        return tuple(r for r, c in types.items() if c in classes)
    found = [r for r in state.registers if types[r] in classes]
    if state.level < Level.TYPESTATE:
        return tuple(found)
    return tuple(r for r in found if fits(state.value(r), operand.type, moved))


def fits(value: Value, type_name: str, moved: bool = False) -> bool:
    """Whether a value means something to an instruction of this type."""
    if value.pointer is not None:
        return False
    kind = kind_of_type(type_name)
    if value.kind == "bf16" and type_name == "u16":
        return True  # older targets widen a bf16 by its bits
    return kind == value.kind or (kind == "" and (moved or value.kind == "int"))


def integers(state: State, register_class: str) -> tuple[str, ...]:
    """Registers of a class that hold a plain integer."""
    key = ("integers", register_class)
    found: tuple[str, ...] | None = state.memo.get(key)
    if found is None:
        types = state.contract.register_types
        found = state.memo[key] = tuple(
            r
            for r in state.registers
            if types[r] == register_class and (v := state.value(r)).kind == "int" and v.pointer is None
        )
    return found


def sources(state: State, operand: Operand, *, constants: bool = True, moved: bool = False) -> tuple[str, ...]:
    """Registers, constants and vectors of them for a source operand that is no address."""
    key = ("sources", operand, constants, moved)
    found: tuple[str, ...] | None = state.memo.get(key)
    if found is None:
        found = state.memo[key] = _sources(state, operand, constants, moved)
    return found


def _sources(state: State, operand: Operand, constants: bool, moved: bool) -> tuple[str, ...]:
    if operand.type == "pred":
        names = registers(state, operand)
        return (*names, *(f"!{n}" for n in names)) if "not-pred" in operand.kinds else names
    if operand.vector > 1:
        return vectors(state, registers(state, operand, moved=moved), operand.vector)
    found = registers(state, operand, moved=moved) if "reg" in operand.kinds else ()
    return (*found, *immediates(operand)) if constants else found


def vectors(state: State, names: tuple[str, ...], width: int) -> tuple[str, ...]:
    """`{a, b}` with a choice in each place: registers of one class, as ptxas wants it."""
    by_class: dict[str, list[str]] = {}
    for name in names:
        by_class.setdefault(state.contract.register_types[name], []).append(name)
    return tuple(Pattern(r"\{" + ", ".join([alternation(c)] * width) + r"\}") for c in by_class.values())


def fresh(state: State, type_name: str, reserve: Reserve, classes: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The forced destinations: the next fresh register of each class that fits. Below `scoped`: any register.

    `reserve` is what closing the kernel still needs, by class.
    """
    classes = classes or destination_classes(type_name, state.contract.bits.get(type_name, 0))
    if state.level < Level.SCOPED:
        return tuple(r for r, c in state.contract.register_types.items() if c in classes)
    out = []
    for c in classes:
        name = state.next_register(c)
        if name is not None and state.left(c) - 1 >= reserve.get(c, 0):
            out.append(name)
    return tuple(out)


def guards(state: State) -> tuple[str, ...]:
    """Every predicate that a guard may name, plain and negated; not those that this path has decided."""
    found: tuple[str, ...] | None = state.memo.get("guards")
    if found is None:
        types = state.contract.register_types
        names = [r for r in (types if state.level < Level.SCOPED else state.registers) if types[r] == "pred"]
        if state.level >= Level.TYPESTATE:
            names = [r for r in names if state.registers[r] not in state.decided]
        found = tuple(g for n in names for g in (f"@{n} ", f"@!{n} "))
        state.memo["guards"] = found
    return found
