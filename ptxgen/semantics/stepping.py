"""`step`: what a statement does to the state."""

from __future__ import annotations

from dataclasses import replace

from ptxgen.isa.model import Expansion
from ptxgen.ptx import parse_statement
from ptxgen.ptx.tree import Address, Guard, Instruction, Label, Name, Operand, Pair
from ptxgen.semantics.accessing import access
from ptxgen.semantics.contract import Level, matches_prefix
from ptxgen.semantics.defining import Violation, define, destinations, hold, kind_by_register
from ptxgen.semantics.effects import (
    FOREIGN,
    expression_key,
    move_result,
    read_source,
    result_of,
)
from ptxgen.semantics.labels import branch, define_label, leave
from ptxgen.semantics.rows_control import of_warp
from ptxgen.semantics.state import State
from ptxgen.semantics.values import NO_FACTS, Value, kind_of_type


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
        after = replace(define_label(state, statement.name), addressed=NO_FACTS)
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
        return replace(branch(state, target.text, guard), addressed=NO_FACTS)
    if expansion.name in {"ret", "exit"}:
        return leave(state, guard)
    if expansion.name in {"bar", "barrier"}:
        return _mark_synchronising(state) if of_warp(expansion.opcode) else _barrier(state)
    if expansion.name in FOREIGN - {"atom"}:
        state = _mark_synchronising(state)
    if expansion.name in {"ld", "st", "atom", "red"}:
        return access(state, expansion, instruction)
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


def _arithmetic(state: State, expansion: Expansion, instruction: Instruction) -> State:
    reads = [
        node
        for operand, node in zip(expansion.operands, instruction.operands, strict=True)
        if operand.access == "read" and not isinstance(node, Address)
    ]
    guard = instruction.guard
    targets = destinations(instruction, expansion)
    if expansion.name == "mov" and len(reads) == 1 and len(targets) == 1:
        return _move(state, expansion, reads[0], targets[0], guard)
    sources = [read_source(state, node) for node in reads]
    if expansion.name == "cvta" and sources and sources[0].value is not None and sources[0].value.pointer:
        source = sources[0].value
        base = source.pointer
        assert base is not None
        value = replace(
            source, number=state.next_number, operation="cvta", pointer=replace(base, space="global"), divisor=16
        )
        state = define(state, targets[0][0], value, guard)
        return hold(state, expression_key(state, expansion, sources), value.number)
    key = expression_key(state, expansion, sources)
    for position, (register, type_name) in enumerate(targets):
        value = result_of(state, expansion, sources, type_name, state.next_number)
        if not kind_of_type(type_name):
            value = kind_by_register(state, register, value)
        state = define(state, register, value, guard)
        if _input_element(state, value):
            state = replace(state, addressed=state.addressed | {value.number})
        if position == 0 and guard is None:
            state = hold(state, key, value.number)
    return state


def _input_element(state: State, value: Value) -> bool:
    """Whether a value is the address of an element that the kernel may only read."""
    pointer = value.pointer
    if pointer is None or pointer.space != "global" or not pointer.index or not pointer.parameter:
        return False
    return state.parameter(pointer.parameter).access == "in"


def _move(
    state: State, expansion: Expansion, node: Operand, destination: tuple[str, str], guard: Guard | None
) -> State:
    register, type_name = destination
    if isinstance(node, Name) and node.text in state.registers:
        source = state.value(node.text)
        moved = kind_by_register(state, register, source) if not kind_of_type(type_name) else source
        if moved is not source:
            moved = replace(moved, number=state.next_number, operation="mov", arguments=(source.number,))
            key: tuple[object, ...] = ("bits", moved.kind, source.number)
            return hold(define(state, register, moved, guard), key, moved.number)
        return define(state, register, source, guard, variable=guard is None)
    value = move_result(state, expansion, node, type_name, state.next_number)
    special = value.operation != "constant"
    if special:
        held = state.held.get((value.operation,))
        if held is not None:
            value = state.values[held]
    state = define(state, register, value, guard, variable=guard is None and not special)
    return hold(state, (value.operation,), value.number) if special and guard is None else state
