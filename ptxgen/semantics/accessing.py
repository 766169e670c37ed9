"""What loads, stores and atomics do to the state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ptxgen.isa.model import Expansion
from ptxgen.ptx.tree import Address, Guard, Instruction
from ptxgen.semantics.contract import SHARED_SYMBOL
from ptxgen.semantics.defining import Violation, define, destinations, hold, kind_by_register
from ptxgen.semantics.effects import address_of, elements_of, read_source
from ptxgen.semantics.state import State
from ptxgen.semantics.values import NO_NAMES, Pointer, Value, kind_of_type


def access(state: State, expansion: Expansion, instruction: Instruction) -> State:
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
        if pointer_value is not None:
            state = replace(state, addressed=state.addressed - {pointer_value.number})
        state = _load(state, expansion, instruction, operand.space or "", pointer, pointer_value, node)
    return state


def _name_shared(state: State) -> State:
    """Give the shared array's own address a number, whether or not a register holds it."""
    if ("special smem",) in state.held:
        return state
    number = state.next_number
    value = Value(number, "pointer", "special smem", divisor=16, pointer=Pointer("shared"))
    return hold(
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
    for position, (register, type_name) in enumerate(destinations(instruction, expansion)):
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
            value = kind_by_register(state, register, value)
            if pointer is not None and pointer.parameter:
                element = kind_of_type(state.parameter(pointer.parameter).element)
                if element in {"half", "bf16"}:
                    value = replace(value, kind=element)
        state = define(state, register, value, instruction.guard)
        if expansion.name == "ld" and instruction.guard is None:
            state = hold(state, key, value.number)
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
    register, type_name = destinations(instruction, expansion)[0]
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
    return hold(state, ("param", symbol), value.number)
