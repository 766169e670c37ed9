"""Control flow of a kernel being written: branches open and close regions, labels join paths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ptxgen.ptx.tree import Guard
from ptxgen.semantics.contract import END_LABEL
from ptxgen.semantics.state import Region, State
from ptxgen.semantics.values import NO_FACTS, Value


def label_name(number: int) -> str:
    return f"$L_{number}"


def next_label(state: State) -> str:
    """Labels are numbered in the order of their first mention."""
    return label_name(state.labels + 1)


def predicate_of(state: State, guard: Guard | None) -> Value | None:
    if guard is None:
        return None
    return state.values.get(state.registers.get(guard.predicate, -1))


def facts_when(predicate: Value | None, guard: Guard | None, taken: bool) -> frozenset[int]:
    """The bounds that hold where a guarded instruction is carried out (`taken`) or skipped."""
    if predicate is None or guard is None:
        return NO_FACTS
    return predicate.when_true if taken != guard.negated else predicate.when_false


def branch(state: State, target: str, guard: Guard | None) -> State:
    """`bra`: to the kernel's end, back to an open loop, or forward."""
    predicate = predicate_of(state, guard)
    if predicate is not None:
        state = replace(state, consumed=state.consumed | predicate.made_of)
    taken = facts_when(predicate, guard, True)
    stays = facts_when(predicate, guard, False)
    if target == END_LABEL:
        return _exit(replace(state, end_used=True), guard, predicate, stays)
    position = next((i for i, r in enumerate(state.regions) if r.label == target), None)
    if position is not None and state.regions[position].kind == "loop":
        return _back(state, position, guard, stays)
    return _forward(state, position, target, guard, predicate, taken, stays)


def _exit(state: State, guard: Guard | None, predicate: Value | None, stays: frozenset[int]) -> State:
    if guard is None:
        return replace(state, reachable=False, diverged=state.diverged or state.divergent())
    varying = predicate is None or predicate.varying
    return replace(
        state,
        facts=state.facts | stays,
        decided=state.decided | _number(predicate),
        diverged=state.diverged or varying or state.divergent(),
    )


def _number(predicate: Value | None) -> frozenset[int]:
    return frozenset() if predicate is None else frozenset({predicate.number})


def leave(state: State, guard: Guard | None) -> State:
    """`ret` or `exit`: the kernel's last one ends it, a guarded or nested one ends some threads."""
    predicate = predicate_of(state, guard)
    if guard is None and not any(r.kind == "forward" for r in state.regions):
        return replace(state, ending="ret", reachable=False, regions=())
    if predicate is not None:
        state = replace(state, consumed=state.consumed | predicate.made_of)
    return _exit(state, guard, predicate, facts_when(predicate, guard, False))


def _back(state: State, position: int, guard: Guard | None, stays: frozenset[int]) -> State:
    """The branch back closes its loop. Forward regions opened inside stay promised: they are its exits."""
    loop = state.regions[position]
    settled = {n: state.values[n].arguments[0] for n, r in loop.carried.items() if r not in loop.rewritten}
    inside = tuple(replace(r, registers=_settle(r.registers, settled)) for r in state.regions[position + 1 :])
    facts = state.facts | stays
    return replace(
        state,
        regions=state.regions[:position] + inside,
        registers=_settle(state.registers, settled),
        reachable=guard is not None,
        facts=facts | {settled[f] for f in facts if f in settled},
    )


def _settle(registers: Mapping[str, int], settled: Mapping[int, int]) -> dict[str, int]:
    """What the loop turned out not to carry is what it was before."""
    return {r: settled.get(n, n) for r, n in registers.items()}


def _forward(
    state: State,
    position: int | None,
    target: str,
    guard: Guard | None,
    predicate: Value | None,
    taken: frozenset[int],
    stays: frozenset[int],
) -> State:
    arriving = state.facts | taken
    diverges = guard is not None and (predicate is None or predicate.varying)
    if position is not None:
        region = state.regions[position]
        state, registers = merge(state, region.registers, state.registers, region.diverges or diverges)
        joined = replace(
            region,
            registers=registers,
            facts=region.facts & arriving,
            decided=region.decided & state.decided,
            diverges=region.diverges or diverges,
        )
        regions = (*state.regions[:position], joined, *state.regions[position + 1 :])
        crossed = range(position + 1, len(state.regions))
    else:
        joined = Region("forward", target, dict(state.registers), arriving, state.decided, diverges)
        state = replace(state, labels=state.labels + 1)
        if guard is None and state.regions and state.regions[-1].kind == "forward":
            # then-branch jumps over the else-branch: the promised label below comes first
            regions = (*state.regions[:-1], joined, state.regions[-1])
        else:
            regions = (*state.regions, joined)
        crossed = range(0)
    regions = tuple(
        replace(r, left=True) if i in crossed or (position is None and r.kind == "loop") else r
        for i, r in enumerate(regions)
    )
    if guard is None:
        return replace(state, regions=regions, reachable=False)
    return replace(state, regions=regions, facts=state.facts | stays, decided=state.decided | _number(predicate))


def define_label(state: State, name: str) -> State:
    """`$L_k:` joins the branches that promised it, or heads a new loop; the end label begins the end."""
    if name == END_LABEL:
        regions = tuple(r for r in state.regions if r.kind == "forward")
        return replace(state, ending="label", reachable=True, regions=regions, end_used=True)
    position = next((i for i, r in enumerate(state.regions) if r.label == name), None)
    if position is None:
        return _loop_head(state, name)
    region = state.regions[position]
    regions = state.regions[:position] + state.regions[position + 1 :]
    if state.reachable:
        state, registers = merge(state, region.registers, state.registers, region.diverges)
        facts = region.facts & state.facts
        decided = region.decided & state.decided
    else:
        registers, facts, decided = dict(region.registers), region.facts, region.decided
    return replace(state, regions=regions, registers=registers, facts=facts, decided=decided, reachable=True)


def merge(
    state: State, one: Mapping[str, int], other: Mapping[str, int], diverges: bool
) -> tuple[State, dict[str, int]]:
    """What is available on both of two paths. A register written on one of them only holds one of two
    values from here on, and gets a number of its own."""
    values = dict(state.values)
    number = state.next_number
    registers: dict[str, int] = {}
    for register, first in one.items():
        second = other.get(register)
        if second is None:
            continue
        if first == second:
            registers[register] = first
            continue
        a, b = values[first], values[second]
        values[number] = replace(
            b,
            number=number,
            operation="merged",
            arguments=(first, second),
            varying=diverges or a.varying or b.varying,
            divisor=min(a.divisor, b.divisor),
            scale=a.scale if a.scale == b.scale else 0,
            constant=None,
            folds="",
            bounded=a.bounded and b.bounded,
            made_of=a.made_of | b.made_of,
            when_true=a.when_true & b.when_true,
            when_false=a.when_false & b.when_false,
        )
        registers[register] = number
        number += 1
    return replace(state, values=values, next_number=number), registers


def _loop_head(state: State, name: str) -> State:
    """Registers that the loop may carry get a new number: what was computed from their first value
    says nothing about the next. Bounds known of them are assumed and must hold again at the branch back."""
    registers = dict(state.registers)
    values = dict(state.values)
    number = state.next_number
    carried: dict[int, str] = {}
    facts = set(state.facts)
    for register, current in state.registers.items():
        value = values[current]
        constant = value.operation.startswith(("param ", "special ")) and register not in state.variables
        if value.kind == "pred" or constant:
            continue
        if value.pointer is not None and not value.pointer.index:
            continue
        values[number] = value.carried(number)
        if current in facts or (value.varying and state.guarded(current)):
            facts.add(number)
        registers[register] = number
        carried[number] = register
        number += 1
    region = Region("loop", name, dict(registers), frozenset(facts), state.decided, carried=carried)
    return replace(
        state,
        registers=registers,
        values=values,
        next_number=number,
        facts=frozenset(facts),
        regions=(*state.regions, region),
        labels=state.labels + 1,
        epochs={space: epoch + 1 for space, epoch in {"shared": 0, "global": 0, **state.epochs}.items()},
    )
