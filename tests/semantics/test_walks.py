"""One meaning, two directions: what `allowed` offers, `step` can follow, from anywhere in a correct kernel."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import fields
from itertools import pairwise
from random import Random

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ptxgen.ptx import parse_statement
from ptxgen.ptx.tree import Instruction, Name, Vector
from ptxgen.semantics import Level, State, plan_closing, step
from tests.semantics.kernels_and_walks import LEVELS, allowed_here, kernels, states, walk

#: A place in a correct kernel, and the randomness to go on from there.
PLACES = st.tuples(st.sampled_from(kernels()), st.sampled_from(LEVELS), st.floats(0, 0.95), st.integers(0, 2**32))
WALKS = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def _walk(place: tuple, steps: int) -> list[tuple[State, str]]:
    kernel, level, share, seed = place
    reached = states(kernel, level)
    return walk(reached[int(share * (len(reached) - 1))], steps, Random(seed))


def _snapshot(state: State) -> dict[str, object]:
    return {f.name: deepcopy(getattr(state, f.name)) for f in fields(state) if f.name not in ("contract", "memo")}


#: Once, a return out of a loop left nothing to write but the end of the region around it.
@example((next(k for k in kernels() if k.name == "column_max"), Level.TYPESTATE, 0.84375, 0))
@WALKS
@given(PLACES)
def test_every_allowed_statement_has_a_meaning(place: tuple) -> None:
    passed = _walk(place, 12)  # `walk` steps, and would raise
    assert all(line or state.closed or not allowed_here(state).empty for state, line in passed)
    assert all(after.statements == before.statements + 1 for (before, _), (after, _) in pairwise(passed))


@WALKS
@given(PLACES)
def test_a_state_never_changes(place: tuple) -> None:
    for state, line in _walk(place, 4):
        before = _snapshot(state)
        legal = allowed_here(state)
        if line:
            step(state, line)
        assert _snapshot(state) == before
        assert allowed_here(state) == legal


@WALKS
@given(PLACES)
def test_from_everywhere_there_is_a_way_home(place: tuple) -> None:
    for state, _ in _walk(place, 8):
        if state.closed:
            continue
        reached = state
        plan = plan_closing(state)
        for line in plan.lines:
            reached = step(reached, line)
        assert reached.closed
        assert state.level < Level.FULL or reached.fulfilled() or state.ending
        assert all(state.left(c) >= n for c, n in plan.registers.items())


@WALKS
@given(PLACES)
def test_registers_are_declared_and_written_before_they_are_read(place: tuple) -> None:
    kernel, level, share, seed = place
    for state, line in _walk((kernel, max(level, Level.SCOPED), share, seed), 8):
        statement = parse_statement(line) if line.startswith("\t") else None
        if not isinstance(statement, Instruction):
            continue
        if statement.guard is not None:
            assert statement.guard.predicate in state.registers
        expansions = state.contract.by_opcode[statement.opcode]
        reads = [
            n
            for i, operand in enumerate(statement.operands)
            if any(len(e.operands) > i and e.operands[i].access == "read" for e in expansions)
            for n in (operand.elements if isinstance(operand, Vector) else (operand,))
        ]
        for node in reads:
            if isinstance(node, Name) and node.text in state.contract.register_types:
                assert node.text in state.registers, line
        for register in (n for n in step(state, line).registers if n not in state.registers):
            assert register in state.contract.register_types
