"""Call graphs of every shape are decoded in time, and whoever may call itself is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxgen.executing import Buffer, Launch
from ptxgen.executing.emulator import Emulator, building
from ptxgen.executing.emulator.calling import recursive
from ptxgen.ptx import parse
from ptxgen.ptx.tree import Function

GRAPHS = st.lists(st.sets(st.integers(0, 7), max_size=3), min_size=8, max_size=8)


def module(calls: list[list[int]], body: str = "") -> str:
    """`f0`, `f1`, … call those they are told to; the kernel calls the last one."""
    functions = "\n".join(
        f".func f{number}() {{ {body} {' '.join(f'call f{other};' for other in others)} ret; }}"
        for number, others in enumerate(calls)
    )
    declared = "\n".join(f".func f{number}();" for number in range(len(calls)))
    entry = f".visible .entry k(.param .u64 p) {{ call f{len(calls) - 1}; ret; }}"
    return f".version 8.0\n.target sm_90\n.address_size 64\n.global .u32 count;\n{declared}\n{functions}\n{entry}\n"


@settings(max_examples=60, deadline=None)
@given(GRAPHS)
def test_who_may_call_itself(graph: list[set[int]]) -> None:
    functions = {
        item.name: item for item in parse(module([sorted(row) for row in graph])).items
        if isinstance(item, Function) and item.body is not None and item.name != "k"
    }  # fmt: skip
    reached = np.zeros((8, 8), bool)
    for number, others in enumerate(graph):
        reached[number, list(others)] = True
    for _ in range(8):
        reached |= (reached.astype(int) @ reached.astype(int)) > 0
    assert recursive(functions) == {f"f{number}" for number in range(8) if reached[number, number]}


def test_a_chain_of_four_hundred_functions() -> None:
    outcome = Emulator().run(module([[], *([n] for n in range(399))]), None, Launch((1, 1, 1), (32, 1, 1)), [
        Buffer(np.zeros(1))])  # fmt: skip
    assert outcome.ok, outcome.faults


def test_functions_that_each_call_the_next_one_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """2^8 calls in all are counted, and 2^30 run into the step limit: nothing grows with the number of calls."""
    monkeypatch.setattr(building, "_MOST_INLINED", 500)
    add = ".reg .b32 %r; ld.global.u32 %r, [count]; add.u32 %r, %r, 1; st.global.u32 [count], %r;"
    seen = f"""{module([[], *([n, n] for n in range(8))], add)}
    .visible .entry seen(.param .u64 p) {{ .reg .b64 %p; .reg .b32 %r; call f8; ld.param.u64 %p, [p];
    ld.global.u32 %r, [count]; st.global.u32 [%p], %r; ret; }}"""
    outcome = Emulator().run(seen, "seen", Launch((1, 1, 1), (1, 1, 1)), [Buffer(np.zeros(1, np.uint32))])
    assert outcome.ok, outcome.faults
    assert outcome.buffers[0].tolist() == [2**9 - 1]
    endless = Emulator(step_limit=5_000).run(module([[], *([n, n] for n in range(30))]), None, Launch(
        (1, 1, 1), (1, 1, 1)), [Buffer(np.zeros(1))])  # fmt: skip
    assert [fault.kind for fault in endless.faults] == ["step-limit"]
