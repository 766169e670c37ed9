"""`allowed`: every statement that may come next, by the same state and rules that `step` follows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ptxgen.isa.faults import circumstances, faulty_names
from ptxgen.isa.model import Expansion
from ptxgen.semantics.choices import BELOW_32, Reserve
from ptxgen.semantics.contract import Contract, Level
from ptxgen.semantics.rows_addresses import conversion_rows
from ptxgen.semantics.rows_arithmetic import CONSTANT_FIRST, REWRITING, arithmetic_rows
from ptxgen.semantics.rows_control import (
    COLLECTIVE,
    branch_rows,
    collective_rows,
    fixed_lines,
    return_rows,
)
from ptxgen.semantics.rows_memory import memory_rows
from ptxgen.semantics.rows_moves import move_rows
from ptxgen.semantics.state import State
from ptxgen.semantics.statements import AllowedStatements, Pattern, Row, alternation, collect, escape

MEMORY = frozenset({"ld", "st", "atom", "red"})
#: Instructions that some rule of their own applies to.
OWN_RULES = frozenset({"bra", "ret", "exit", "cvta", "mov", "add", "mad", "div", "rem", "shl", "shr", "selp"}) | (
    MEMORY | frozenset(COLLECTIVE)
)
#: Instructions whose opcodes differ in more than their type.
WHOLE = frozenset({"bra", "ret", "exit", "cvta", "bar", "barrier"})
#: `op d, a, a` says nothing that a move or a constant would not.
DEGENERATE = ("sub", "max", "min", "setp", "xor", "and", "or", "div", "rem", "selp")

REGISTER = r"%[a-z]{1,2}[0-9]{1,3}"
NUMBER = r"(-?(0|[1-9][0-9]{0,8})|0f[0-9A-F]{8}|-?(0|[1-9][0-9]{0,5})\.[0-9]{1,6})"
#: Where assemblers cut constants to 16 bits: nothing is left to cut.
SHORT_NUMBER = r"(0|[1-9][0-9]{0,3})"
ADDRESS = rf"\[(param_[a-z0-9_]{{1,16}}|{REGISTER}(\+(0|[1-9][0-9]{{0,3}}))?)\]"


def allowed(state: State, reserve: Reserve | None = None) -> AllowedStatements:
    """All legal next statements. `reserve`: fresh registers, by class, that closing the kernel still needs.

    Shapes: the result's rows are opcodes x guards x operands; see `ptxgen.semantics.statements`.
    """
    reserve = reserve or {}
    if state.closed:
        return AllowedStatements()
    if state.level <= Level.SYNTAX:
        return _syntax(state)
    if state.level <= Level.TYPED:
        return _typed(state)
    fixed = fixed_lines(state)
    if state.ending == "label":
        return collect([(("ret",), return_rows(state))], [], [])
    if state.ending == "ret" or not state.reachable:
        return collect([], fixed, [])
    choices = _choices(state, reserve)
    return collect(choices, fixed, _excluded(state) if state.level >= Level.TYPESTATE else [])


def _typed(state: State) -> AllowedStatements:
    """At `typed` every statement that is legal once is legal always."""
    found: AllowedStatements | None = state.contract.memo.get("typed")
    if found is None:
        found = state.contract.memo["typed"] = collect(_choices(state, {}), fixed_lines(state), [])
    return found


def _groups(contract: Contract) -> tuple[tuple[Expansion, tuple[str, ...]], ...]:
    """Expansions that the rules cannot tell apart, one to stand for each group, with all opcodes."""
    found: tuple[tuple[Expansion, tuple[str, ...]], ...] | None = contract.memo.get("groups")
    if found is None:
        found = contract.memo["groups"] = _grouped(contract.expansions)
    return found


def _grouped(expansions: tuple[Expansion, ...]) -> tuple[tuple[Expansion, tuple[str, ...]], ...]:
    grouped: dict[tuple[object, ...], tuple[Expansion, list[str]]] = {}
    for e in expansions:
        signature = tuple(
            (o.access, o.type, o.kinds, o.vector, o.space, o.wider, o.low, o.high, o.parts) for o in e.operands
        )
        grouped.setdefault((_family(e), circumstances(e), signature), (e, []))[1].append(e.opcode)
    return tuple((e, tuple(o)) for e, o in grouped.values())


def _family(expansion: Expansion) -> tuple[object, ...]:
    """What the rules look at beside the operands: the name where it has rules of its own, and its company."""
    name = expansion.name
    if name in WHOLE or not expansion.operands:
        return (expansion.opcode,)
    if name in OWN_RULES:
        special = tuple(sorted(set(expansion.slots.values()) & {"wide", "lo", "nc", "up"}))
        return name, special, expansion.type if name in {"add", "mad"} else ""
    return name in REWRITING, name in CONSTANT_FIRST


def _choices(state: State, reserve: Reserve) -> Iterable[tuple[Sequence[str], Sequence[Row]]]:
    for expansion, opcodes in _groups(state.contract):
        rows = rows_of(state, expansion, reserve)
        if "guard" in circumstances(expansion):
            rows = [replace(row, guards=("",)) for row in rows if "" in row.guards]
        if rows:
            yield opcodes, rows


def rows_of(state: State, expansion: Expansion, reserve: Reserve) -> list[Row]:
    """The rows of one expansion."""
    name = expansion.name
    if name == "bra":
        return branch_rows(state) if expansion.opcode == "bra" and len(expansion.operands) == 1 else []
    if name == "ret":
        return return_rows(state) if expansion.opcode == "ret" else []
    if name == "exit":
        return []
    if name == "cvta":
        return conversion_rows(state, expansion, reserve)
    if name == "mov":
        return move_rows(state, expansion, reserve)
    if name in MEMORY:
        return memory_rows(state, expansion, reserve)
    if name in COLLECTIVE:
        return collective_rows(state, expansion, reserve)
    if not expansion.operands:
        return [Row(())]
    return arithmetic_rows(state, expansion, reserve)


def _syntax(state: State) -> AllowedStatements:
    """Anything that parses: an instruction word with any modifiers and operands, a label, the end. Instructions that
    assemblers get wrong under a guard, or with a large constant, have none here: their forms are not told apart."""
    guarded, cut, far = (faulty_names(circumstance) for circumstance in ("guard", "constant", "position"))
    guards = ("", Pattern(r"@!?%p[0-9]{1,2} "))
    groups: dict[tuple[bool, str], list[str]] = {}
    for name in sorted(state.contract.instruction_names):
        number = BELOW_32 if name in far else SHORT_NUMBER if name in cut else NUMBER
        groups.setdefault((name in guarded, number), []).append(name)
    rows = tuple(
        ((_words(names),), Row(((_operands(number),),), ("",) if alone else guards))
        for (alone, number), names in groups.items()
    )
    fixed = ("}\n", Pattern(r"\$L_([0-9]{1,2}|end):\n"))
    return AllowedStatements((*rows, (("ret",), Row((), guards))), fixed)


def _words(names: Sequence[str]) -> Pattern:
    return Pattern(rf"{alternation(names)}(\.[a-z][a-z0-9]{{1,6}}){{0,4}}")


def _operands(number: str) -> Pattern:
    operand = rf"({REGISTER}|%n?(tid|ctaid)\.[xyz]|{number}|{ADDRESS})"
    return Pattern(rf"{operand}(, {operand}){{0,3}}")


# ---------------------------------------------------------------- what is held already


def _excluded(state: State) -> list[str]:
    """Lines that compute a value some register still holds, and those that compute nothing."""
    available = set(state.registers.values())
    out: list[str] = []
    for key, number in state.held.items():
        if number in available:
            out += _spellings(state, key)
    return [*out, *_degenerate(state)]


def _spellings(state: State, key: tuple[object, ...]) -> list[str]:
    """Every line that evaluates the expression again."""
    head = key[0]
    if head == "load":
        _, space, number, offset, _, epoch = key
        return _load_spellings(state, str(space), number, offset, epoch)
    if head == "stored":
        _, address, value = key
        names = alternation(_named(state, ("value", address)) or ("-",))
        data = alternation(_named(state, ("value", value)) or ("-",))
        return [rf"\tst[^ ]* \[{names}\], {data};\n"]
    if not isinstance(head, str) or head in {"param", "bits"} or head.startswith("special"):
        return []
    opcodes = state.contract.equivalent.get(head, ())
    sources = _source_keys(key[1:])
    if not opcodes or any(not _named(state, s) for s in sources):
        return []
    commutative = state.contract.by_opcode[opcodes[0]][0].commutative
    orders = [sources]
    if commutative and len(sources) >= 2 and sources[0] != sources[1]:
        orders.append([sources[1], sources[0], *sources[2:]])
    lines = []
    for order in orders:
        operands = ", ".join(alternation(_named(state, s)) for s in order)
        lines.append(rf"\t{alternation(opcodes)} %[a-z]{{1,2}}[0-9]+(\|%p[0-9]+)?, {operands};\n")
    return lines


def _source_keys(flat: tuple[object, ...]) -> list[tuple[object, ...]]:
    return [k for k in flat if isinstance(k, tuple)]


def _named(state: State, key: tuple[object, ...]) -> tuple[str, ...]:
    """How a source can be written here."""
    if key[0] == "not":
        return tuple(f"!{n}" for n in _named(state, key[1:]))
    if key[0] == "value":
        assert isinstance(key[1], int)
        return tuple(state.holders(key[1]))
    if key[0] == "constant":
        return _constant_spellings(str(key[1]))
    return (str(key[1]),)


def _constant_spellings(literal: str) -> tuple[str, ...]:
    """An integer is written one way; a float as decimals and as bits."""
    from struct import pack

    try:
        return (str(int(literal)),)
    except ValueError:
        value = float(literal)
    if value != value or value in (float("inf"), float("-inf")) or abs(value) > 3e38:
        return (literal,)
    single = "0f" + pack(">f", value).hex().upper()
    double = "0d" + pack(">d", value).hex().upper()
    return (repr(value), single, double)


def _load_spellings(state: State, space: str, number: object, offset: object, epoch: object) -> list[str]:
    if not isinstance(number, int) or number not in state.values:
        return []
    pointer = state.values[number].pointer
    constant = pointer is not None and pointer.parameter and state.parameter(pointer.parameter).access == "in"
    if epoch != (0 if constant else state.epochs.get(space, 0)):
        return []
    names = state.holders(number)
    if state.values[number].operation == "special smem":
        names = [*names, "smem"]
    if not names:
        return []
    suffix = rf"\+{offset}" if offset else ""
    return [rf"\tld\.{space}[^ ]* [^ ]+, \[{alternation(names)}{suffix}\];\n"]


def _degenerate(state: State) -> list[str]:
    lines = []
    by_class: dict[str, list[str]] = {}
    for register in state.registers:
        by_class.setdefault(state.contract.register_types[register], []).append(register)
    names = [r for group in by_class.values() for r in group]
    folding: dict[str, list[str]] = {}
    for register in names:
        if operation := state.value(register).folds:
            folding.setdefault(operation, []).append(register)
    for operation, made in folding.items():
        opcodes = r"(add|sub)" if operation == "add" else operation
        lines.append(rf"\t{opcodes}\.[^ ]* %[a-z]{{1,2}}[0-9]+, {alternation(made)}, [-0-9][^ ]*;\n")
    if names:
        same = "|".join(f"{escape(r)}, {escape(r)}" for r in names)
        lines.append(rf"\t{alternation(DEGENERATE)}\.[^ ]* %[a-z]{{1,2}}[0-9]+, ({same})(, [^ ]+)?;\n")
    return lines
