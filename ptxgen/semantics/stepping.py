"""`step`: what a statement does to the state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ptxgen.errors import PtxgenError
from ptxgen.isa.model import Expansion
from ptxgen.ptx import parse_statement
from ptxgen.ptx.tree import Address, Guard, Instruction, Label, Name, Operand, Pair
from ptxgen.semantics.contract import SHARED_SYMBOL, Level, matches_prefix
from ptxgen.semantics.effects import (
    FOREIGN,
    address_of,
    elements_of,
    expression_key,
    move_result,
    read_source,
    result_of,
)
from ptxgen.semantics.labels import branch, define_label, leave
from ptxgen.semantics.state import State
from ptxgen.semantics.values import NO_NAMES, Pointer, Value, kind_of_type


class Violation(PtxgenError):
    """A statement that the state does not allow."""

    exit_code = 1


def step(state: State, text: str) -> State:
    """The state after one statement, given as its line of text (`}` closes the kernel).

    Follows what the statement does; whether it is allowed is `allowing.allowed(state).contains(text)`.
    Raises Violation for what has no meaning here: an opcode the contract lacks, a broken structure.
    """
    if state.closed:
        raise Violation("the kernel is closed", where=text.strip())
    if text.strip() == "}":
        return replace(state, ending="closed", statements=state.statements + 1)
    statement = parse_statement(text)
    if state.level < Level.SCOPED:
        returns = isinstance(statement, Instruction) and statement.opcode == "ret" and statement.guard is None
        return replace(state, ending="ret" if returns else "", statements=state.statements + 1)
    if isinstance(statement, Label):
        after = define_label(state, statement.name)
    elif isinstance(statement, Instruction):
        after = _instruction(state, statement)
    else:
        raise Violation("only instructions and labels stand in a generated kernel", where=text.strip())
    return replace(after, statements=state.statements + 1)


def find_expansion(state: State, instruction: Instruction) -> Expansion:
    """The contract's expansion for an instruction as written. Raises Violation."""
    candidates = state.contract.by_opcode.get(instruction.opcode, ())
    count = len(instruction.operands)
    pair = bool(instruction.operands) and isinstance(instruction.operands[0], Pair)
    for expansion in candidates:
        if len(expansion.operands) == count:
            starts_with_pair = bool(expansion.operands) and "pair" in expansion.operands[0].kinds
            if pair == starts_with_pair or count == 0:
                return expansion
    raise Violation(f"{instruction.opcode} with {count} operands is not among the allowed instructions")


def _instruction(state: State, instruction: Instruction) -> State:
    expansion = find_expansion(state, instruction)
    guard = instruction.guard
    state = _meet(state, expansion.opcode)
    if expansion.name == "bra":
        target = instruction.operands[0]
        assert isinstance(target, Name)
        return branch(state, target.text, guard)
    if expansion.name in {"ret", "exit"}:
        return leave(state, guard)
    if expansion.name in {"bar", "barrier"}:
        return _barrier(state)
    if expansion.name in FOREIGN - {"atom"}:
        state = _mark_synchronising(state)
    if expansion.name in {"ld", "st", "atom", "red"}:
        return _memory(state, expansion, instruction)
    return _arithmetic(state, expansion, instruction)


def _meet(state: State, opcode: str) -> State:
    found = {p for p in state.contract.require if matches_prefix(opcode, p)}
    return replace(state, met=state.met | found) if found - state.met else state


def _barrier(state: State) -> State:
    epochs = {
        **state.epochs,
        "shared": state.epochs.get("shared", 0) + 1,
        "global": state.epochs.get("global", 0) + 1,
    }
    return _mark_synchronising(replace(state, epochs=epochs, shared_dirty=(), since_barrier=False))


def _mark_synchronising(state: State) -> State:
    regions = tuple(replace(r, synchronises=True) if r.kind == "loop" else r for r in state.regions)
    return replace(state, regions=regions)


# ---------------------------------------------------------------- definitions


def define(state: State, register: str, value: Value, guard: Guard | None, *, variable: bool = False) -> State:
    """Bind a register to a value; a conditional or repeated write merges with what was there."""
    known = state.registers.get(register)
    rewrites = known is not None
    if guard is not None:
        predicate = state.values.get(state.registers.get(guard.predicate, -1))
        before = state.values.get(known) if known is not None else None
        inputs = [v for v in (predicate, before) if v is not None]
        written = value
        number = max(state.next_number, value.number + 1)
        state = replace(state, values={**state.values, written.number: written}, next_number=number + 1)
        value = replace(
            value,
            number=number,
            operation="merged",
            arguments=(written.number, *(v.number for v in inputs)),
            varying=value.varying or any(v.varying for v in inputs),
            divisor=min([value.divisor, *(v.divisor for v in inputs[1:])]),
            constant=None,
            folds="",
            made_of=value.made_of.union(*(v.made_of for v in inputs)),
        )
    values = dict(state.values)
    values.setdefault(value.number, value)
    register_type = state.contract.register_types.get(register, "")
    fresh = state.fresh
    if not rewrites and register == state.next_register(register_type):
        fresh = {**fresh, register_type: fresh.get(register_type, 0) + 1}
    regions = state.regions
    if rewrites:
        regions = tuple(
            replace(r, rewritten=r.rewritten | {register}) if r.kind == "loop" and register in r.registers else r
            for r in regions
        )
    variables = state.variables | {register} if variable else state.variables
    return replace(
        state,
        registers={**state.registers, register: value.number},
        values=values,
        fresh=fresh,
        regions=regions,
        variables=variables,
        next_number=max(state.next_number, value.number + 1),
    )


def _destinations(instruction: Instruction, expansion: Expansion) -> list[tuple[str, str]]:
    """(register, type in the table) for every register written."""
    out: list[tuple[str, str]] = []
    for operand, node in zip(expansion.operands, instruction.operands, strict=True):
        if operand.access == "read":
            continue
        if isinstance(node, Pair):
            parts = operand.parts or (operand, operand)
            nodes: Sequence[tuple[Operand, str]] = [(node.first, parts[0].type), (node.second, parts[1].type)]
        else:
            nodes = [(n, operand.type) for n in elements_of(node)]
        out += [(n.text, t) for n, t in nodes if isinstance(n, Name) and n.text != "_"]
    return out


def _arithmetic(state: State, expansion: Expansion, instruction: Instruction) -> State:
    reads = [
        node
        for operand, node in zip(expansion.operands, instruction.operands, strict=True)
        if operand.access == "read" and not isinstance(node, Address)
    ]
    guard = instruction.guard
    destinations = _destinations(instruction, expansion)
    if expansion.name == "mov" and len(reads) == 1 and len(destinations) == 1:
        return _move(state, expansion, reads[0], destinations[0], guard)
    sources = [read_source(state, node) for node in reads]
    if expansion.name == "cvta" and sources and sources[0].value is not None and sources[0].value.pointer:
        source = sources[0].value
        base = source.pointer
        assert base is not None
        value = replace(
            source, number=state.next_number, operation="cvta", pointer=replace(base, space="global"), divisor=16
        )
        state = define(state, destinations[0][0], value, guard)
        return _hold(state, expression_key(state, expansion, sources), value.number)
    key = expression_key(state, expansion, sources)
    for position, (register, type_name) in enumerate(destinations):
        value = result_of(state, expansion, sources, type_name, state.next_number)
        if not kind_of_type(type_name):
            value = _kind_by_register(state, register, value)
        state = define(state, register, value, guard)
        if position == 0 and guard is None:
            state = _hold(state, key, value.number)
    return state


def _kind_by_register(state: State, register: str, value: Value) -> Value:
    """Untyped bits in a float register are a float."""
    register_type = state.contract.register_types.get(register, "")
    if register_type in ("f32", "f64"):
        return replace(value, kind="float")
    if value.kind == "float" and register_type in ("b32", "b64"):
        return replace(value, kind="int")
    return value


def _move(
    state: State, expansion: Expansion, node: Operand, destination: tuple[str, str], guard: Guard | None
) -> State:
    register, type_name = destination
    if isinstance(node, Name) and node.text in state.registers:
        source = state.value(node.text)
        moved = _kind_by_register(state, register, source) if not kind_of_type(type_name) else source
        if moved is not source:
            moved = replace(moved, number=state.next_number, operation="mov", arguments=(source.number,))
            key: tuple[object, ...] = ("bits", moved.kind, source.number)
            return _hold(define(state, register, moved, guard), key, moved.number)
        return define(state, register, source, guard, variable=guard is None)
    value = move_result(state, expansion, node, type_name, state.next_number)
    special = value.operation != "constant"
    if special:
        held = state.held.get((value.operation,))
        if held is not None:
            value = state.values[held]
    state = define(state, register, value, guard, variable=guard is None and not special)
    return _hold(state, (value.operation,), value.number) if special and guard is None else state


def _hold(state: State, key: tuple[object, ...] | None, number: int) -> State:
    return state if key is None else replace(state, held={**state.held, key: number})


# ---------------------------------------------------------------- memory


def _memory(state: State, expansion: Expansion, instruction: Instruction) -> State:
    node = next((a for a in map(address_of, instruction.operands) if a is not None), None)
    operand = next((o for o in expansion.operands if o.space is not None), None)
    if node is None or operand is None:
        raise Violation(f"{expansion.opcode} without an address")
    if operand.space == "param":
        return _load_parameter(state, expansion, instruction, node)
    if node.base is not None and node.base.text == SHARED_SYMBOL:
        state = _name_shared(state)
        base = state.held[("special smem",)]
    else:
        base = state.registers.get(node.base.text, -1) if node.base is not None else -1
    pointer_value = state.values.get(base)
    pointer = pointer_value.pointer if pointer_value is not None else None
    guard = instruction.guard
    predicate = state.values.get(state.registers.get(guard.predicate, -1)) if guard is not None else None
    state = _rely(state, pointer, predicate, guard)
    stored = [
        s.value
        for o, n in zip(expansion.operands, instruction.operands, strict=True)
        if o.access == "read" and o.space is None
        for element in elements_of(n)
        for s in [read_source(state, element)]
        if s.value is not None
    ]
    reads = expansion.name in {"ld", "atom"}
    if expansion.name in {"st", "red", "atom"}:
        element = _element_of(operand.type, stored)
        state = _store(state, operand.space or "", pointer, pointer_value, stored, predicate, element)
    if reads:
        state = _load(state, expansion, instruction, operand.space or "", pointer, pointer_value, node)
    return state


def _name_shared(state: State) -> State:
    """Give the shared array's own address a number, whether or not a register holds it."""
    if ("special smem",) in state.held:
        return state
    number = state.next_number
    value = Value(number, "pointer", "special smem", divisor=16, pointer=Pointer("shared"))
    return _hold(
        replace(state, values={**state.values, number: value}, next_number=number + 1), ("special smem",), number
    )


def _element_of(type_name: str, stored: Sequence[Value]) -> str:
    """The element type that a store shows: untyped bits take it from the value."""
    if kind_of_type(type_name) or not stored:
        return type_name
    kind = stored[0].kind
    return {"float": "f", "half": "f", "bf16": "bf"}.get(kind, "u") + type_name[1:]


def _rely(state: State, pointer: Pointer | None, predicate: Value | None, guard: Guard | None) -> State:
    """Note which carried bounds an access rests on, for the branch back of each loop."""
    if pointer is None or not any(r.kind == "loop" for r in state.regions):
        return state
    extra = _facts_of(predicate, guard)
    rests = frozenset().union(*(state.reliances(i, extra) for i in pointer.index)) - extra
    regions = tuple(
        replace(r, relied=r.relied | (rests & frozenset(r.carried))) if r.kind == "loop" else r for r in state.regions
    )
    return replace(state, regions=regions)


def _facts_of(predicate: Value | None, guard: Guard | None) -> frozenset[int]:
    if predicate is None or guard is None:
        return frozenset()
    return predicate.when_false if guard.negated else predicate.when_true


def _store(
    state: State,
    space: str,
    pointer: Pointer | None,
    pointer_value: Value | None,
    stored: Sequence[Value],
    predicate: Value | None,
    element: str,
) -> State:
    flowing = [v for v in (*stored, pointer_value, predicate) if v is not None]
    made_of = frozenset().union(*(v.made_of for v in flowing)) if flowing else NO_NAMES
    epochs = {**state.epochs, space: state.epochs.get(space, 0) + 1}
    held = state.held
    if pointer_value is not None and len(stored) == 1 and predicate is None:
        held = {**held, ("stored", pointer_value.number, stored[0].number): stored[0].number}
    state = replace(state, epochs=epochs, held=held, since_barrier=True)
    if space == "shared":
        numbers = (*state.shared_dirty, pointer_value.number) if pointer_value is not None else state.shared_dirty
        return replace(
            state,
            shared_dirty=numbers,
            shared_written=True,
            shared_element=state.shared_element or element,
            shared_made_of=state.shared_made_of | made_of,
        )
    if pointer is not None and pointer.parameter:
        return replace(state, stored=state.stored | {pointer.parameter}, consumed=state.consumed | made_of)
    return replace(state, consumed=state.consumed | made_of)


def _load(
    state: State,
    expansion: Expansion,
    instruction: Instruction,
    space: str,
    pointer: Pointer | None,
    pointer_value: Value | None,
    node: Address,
) -> State:
    made_of = pointer_value.made_of if pointer_value is not None else NO_NAMES
    if pointer is not None and pointer.parameter:
        made_of = made_of | {pointer.parameter}
    if space == "shared":
        made_of = made_of | state.shared_made_of
        state = replace(state, since_barrier=True)
    varying = True
    if expansion.name == "ld" and pointer is not None:
        varying = any(state.values[i].varying for i in pointer.index)
    for position, (register, type_name) in enumerate(_destinations(instruction, expansion)):
        key = load_key(state, expansion, pointer_value, node, position)
        value = Value(
            state.next_number,
            kind_of_type(type_name) or "int",
            expansion.name,
            (pointer_value.number,) if pointer_value is not None else (),
            varying=varying,
            bounded=True,
            made_of=made_of,
        )
        if not kind_of_type(type_name):
            value = _kind_by_register(state, register, value)
            if pointer is not None and pointer.parameter:
                element = kind_of_type(state.parameter(pointer.parameter).element)
                if element in {"half", "bf16"}:
                    value = replace(value, kind=element)
        state = define(state, register, value, instruction.guard)
        if expansion.name == "ld" and instruction.guard is None:
            state = _hold(state, key, value.number)
    return state


def load_key(
    state: State, expansion: Expansion, pointer_value: Value | None, node: Address, position: int
) -> tuple[object, ...]:
    """Two loads are one value when address and memory are the same. What only reads never changes."""
    space = next((o.space for o in expansion.operands if o.space is not None), "")
    pointer = pointer_value.pointer if pointer_value is not None else None
    constant = pointer is not None and pointer.parameter and state.parameter(pointer.parameter).access == "in"
    epoch = 0 if constant else state.epochs.get(space or "", 0)
    number = pointer_value.number if pointer_value is not None else repr(node.base)
    return ("load", space, number, node.offset, position, epoch)


def _load_parameter(state: State, expansion: Expansion, instruction: Instruction, node: Address) -> State:
    symbol = node.base.text if node.base is not None else ""
    parameter = state.contract.parameters.get(symbol)
    if parameter is None:
        raise Violation(f"no parameter {symbol!r}")
    register, type_name = _destinations(instruction, expansion)[0]
    kind = "pointer" if parameter.pointer else (kind_of_type(parameter.element) or kind_of_type(type_name) or "int")
    value = Value(
        state.next_number,
        kind,
        f"param {symbol}",
        pointer=Pointer("generic", symbol) if parameter.pointer else None,
        divisor=16 if parameter.pointer else 1,
        made_of=NO_NAMES if parameter.pointer else frozenset({symbol}),
    )
    state = define(state, register, value, instruction.guard)
    return _hold(state, ("param", symbol), value.number)
