"""Binding registers to values: fresh ones, rewritten ones, and what is written on a condition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ptxgen.errors import PtxgenError
from ptxgen.isa.model import Expansion
from ptxgen.ptx.tree import Guard, Instruction, Name, Operand, Pair
from ptxgen.semantics.effects import elements_of
from ptxgen.semantics.state import State
from ptxgen.semantics.values import Value


class Violation(PtxgenError):
    """A statement that the state does not allow."""

    exit_code = 1


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


def destinations(instruction: Instruction, expansion: Expansion) -> list[tuple[str, str]]:
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


def kind_by_register(state: State, register: str, value: Value) -> Value:
    """Untyped bits in a float register are a float."""
    register_type = state.contract.register_types.get(register, "")
    if register_type in ("f32", "f64"):
        return replace(value, kind="float")
    if value.kind == "float" and register_type in ("b32", "b64"):
        return replace(value, kind="int")
    return value


def hold(state: State, key: tuple[object, ...] | None, number: int) -> State:
    return state if key is None else replace(state, held={**state.held, key: number})
