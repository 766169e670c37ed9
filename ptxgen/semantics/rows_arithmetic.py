"""Legal operands of instructions that compute: registers in, registers out."""

from __future__ import annotations

from ptxgen.isa.faults import circumstances
from ptxgen.isa.model import Expansion, Operand
from ptxgen.semantics.choices import (
    BELOW_32,
    BELOW_64,
    NONZERO,
    SHORT,
    Reserve,
    destination_classes,
    either_class,
    fresh,
    guards,
    registers,
    sources,
    vectors,
)
from ptxgen.semantics.contract import SHARED_SYMBOL, Level
from ptxgen.semantics.rows_addresses import address_rows
from ptxgen.semantics.state import State
from ptxgen.semantics.statements import Pattern, Row, alternation
from ptxgen.semantics.values import kind_of_type

#: Their first source may be a constant; for the others a constant goes second, where one spelling is enough.
CONSTANT_FIRST = frozenset({"sub", "div", "rem"})
#: One register of either class in and out: bits are moved, not interpreted.
POLYMORPHIC = frozenset({"selp", "shfl"})
#: Instructions that have something to do where no number of their first source's type is held: `add` moves
#: pointers.
MOVING = POLYMORPHIC | {"add"}
#: What may write a register anew: the accumulations, and the choices between old and new.
REWRITING = frozenset(
    {"add", "sub", "mul", "mad", "fma", "min", "max", "and", "or", "xor", "shl", "shr", "selp", "div"}
)
#: (destination classes or () for the natural ones, alternatives per source)
Sources = tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]


def arithmetic_rows(state: State, expansion: Expansion, reserve: Reserve) -> list[Row]:
    """Rows of one computing instruction: into a fresh register, and into those that may be rewritten."""
    writes = [o for o in expansion.operands if o.access != "read"]
    if not writes:
        return []
    if state.level < Level.SCOPED:
        return [_typed_row(state, expansion, reserve)]
    computes = kind_of_type(writes[0].type) not in ("int", "pred", "")
    if state.level >= Level.FULL and computes and _input_missing(state):
        return []
    rows = []
    for classes, alternatives in _source_rows(state, expansion):
        target = targets(state, writes[0], reserve, classes)
        if target:
            rows.append(Row((target, *alternatives)))
        if expansion.name in REWRITING:
            rows += _rewriting_rows(state, writes[0], classes, alternatives)
    return rows


def _input_missing(state: State) -> bool:
    """Whether an input that a computation may want is announced and not there yet: an element whose address
    was just made, or a float among the parameters. Small models forget it, and go on without."""
    found: bool | None = state.memo.get("waiting")
    if found is None:
        found = bool(state.addressed) or any(
            not p.pointer and kind_of_type(p.element) not in ("int", "") and ("param", p.symbol) not in state.held
            for p in state.contract.parameters.values()
        )
        state.memo["waiting"] = found
    return found


def _typed_row(state: State, expansion: Expansion, reserve: Reserve) -> Row:
    operands: list[tuple[str, ...]] = []
    for o in expansion.operands:
        if o.access != "read":
            operands.append(typed_destination(state, o, reserve))
        else:
            operands.append((*sources(state, o), *_typed_names(state, o)))
    if "constant" in circumstances(expansion):  # assemblers cut the amount to 16 bits
        operands[-1] = (*(a for a in operands[-1] if not isinstance(a, Pattern)), SHORT)
    if "position" in circumstances(expansion):
        operands[2] = (*(a for a in operands[2] if not isinstance(a, Pattern)), BELOW_32)
    return Row(tuple(operands), ("", *guards(state)))


def _typed_names(state: State, operand: Operand) -> tuple[str, ...]:
    """Special registers, and the shared array's address."""
    specials = tuple(state.contract.specials) if "special" in operand.kinds and operand.type == "u32" else ()
    shared = state.contract.shared and "symbol" in operand.kinds and operand.vector == 1
    return (*specials, SHARED_SYMBOL) if shared else specials


def typed_destination(state: State, operand: Operand, reserve: Reserve) -> tuple[str, ...]:
    """Any register of the right class, alone, paired or as a vector."""
    if operand.parts:
        first, second = (alternation(_typed_registers(state, p, reserve)) for p in operand.parts)
        return (Pattern(rf"{first}\|{second}"),)
    names = _typed_registers(state, operand, reserve)
    return vectors(state, names, operand.vector) if operand.vector > 1 else names


def _typed_registers(state: State, operand: Operand, reserve: Reserve) -> tuple[str, ...]:
    return fresh(state, operand.type, reserve, state.contract.accepted(operand))


def targets(state: State, operand: Operand, reserve: Reserve, classes: tuple[str, ...]) -> tuple[str, ...]:
    """The forced destination: fresh registers, paired ones written `a|b`."""
    if not operand.parts:
        return fresh(state, operand.type, reserve, classes) if operand.vector == 1 else ()
    first, second = operand.parts
    one = fresh(state, first.type, reserve, classes)
    two = fresh(state, second.type, reserve)
    if first.type == second.type:
        following = state.next_register(first.type, 1)
        spare = state.left(first.type) >= 2 + reserve.get(first.type, 0)
        two = (following,) if following is not None and spare else ()
    return tuple(f"{a}|{b}" for a in one for b in two)


def _source_rows(state: State, expansion: Expansion) -> list[Sources]:
    name = expansion.name
    reads = [o for o in expansion.operands if o.access == "read"]
    if reads and name not in MOVING and not registers(state, reads[0]):
        return []
    rows: list[Sources] = []
    if name in POLYMORPHIC and either_class(reads[0].type):
        for c in either_class(reads[0].type):
            rows.append(((c,), tuple(_of_class(state, o, c) for o in reads)))
        return [r for r in rows if all(r[1])]
    plain = [sources(state, o) for o in reads]
    if name in {"shl", "shr"}:
        plain[1] = (*registers(state, reads[1]), BELOW_64 if reads[0].type.endswith("64") else BELOW_32)
    if "position" in circumstances(expansion):
        plain[1] = (*registers(state, reads[1]), BELOW_32)
    if name in {"div", "rem"} and "imm" in reads[1].kinds and _integer(reads[1]):
        plain[1] = (*registers(state, reads[1]), NONZERO)
    if plain and name != "selp":
        # what is computed from constants alone is a constant, and `mov` writes it
        first = sources(state, reads[0], constants=False)
        rows.append(((), (first, *plain[1:])))
        constants = tuple(a for a in plain[0] if a not in first)
        if name in CONSTANT_FIRST and constants:
            rows.append(((), (constants, sources(state, reads[1], constants=False))))
    else:
        rows.append(((), tuple(plain)))
    if state.level >= Level.TYPESTATE and name in {"add", "mad"}:
        rows += address_rows(state, expansion)
    return [r for r in rows if all(r[1])]


def _integer(operand: Operand) -> bool:
    return operand.type[:1] in "us" and operand.type[1:].isdigit()


def _of_class(state: State, operand: Operand, register_class: str) -> tuple[str, ...]:
    """Bits that are only moved stay in one class: float registers feed float registers."""
    if operand.type not in ("b32", "b64"):
        return sources(state, operand)
    types = state.contract.register_types
    names = tuple(r for r in registers(state, operand, moved=True) if types[r] == register_class)
    if "imm" not in operand.kinds or register_class != operand.type:
        return names  # a constant of untyped bits is an integer
    return (*names, *(a for a in sources(state, operand) if isinstance(a, Pattern)))


# ---------------------------------------------------------------- rewriting


def _rewriting_rows(
    state: State, write: Operand, classes: tuple[str, ...], alternatives: tuple[tuple[str, ...], ...]
) -> list[Row]:
    """Writes to registers that already hold something: variables, and what a loop carries (`r = r op x`)."""
    if write.parts or write.vector > 1 or write.type == "pred":
        return []
    wanted = classes or destination_classes(write.type, state.contract.bits.get(write.type, 0))
    types = state.contract.register_types
    rows: list[Row] = []
    for guarded in (False, True):
        names = guards(state) if guarded else ("",)
        free: list[str] = []
        for register in state.rewritable(guarded):
            if types[register] not in wanted:
                continue
            if register in state.variables and state.value(register).pointer is None:
                free.append(register)
                continue
            for position, choice in enumerate(alternatives):
                if register in choice:
                    chosen = tuple((register,) if i == position else a for i, a in enumerate(alternatives))
                    rows.append(Row(((register,), *chosen), names))
        if free:
            rows.append(Row((tuple(free), *alternatives), names))
    return [r for r in rows if r.possible()]
