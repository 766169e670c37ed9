"""Lanes that left a loop come to its warp-wide instructions again while others are still inside, and wait."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxgen.executing import Buffer, Launch
from ptxgen.executing.emulator import Emulator

EMULATOR = Emulator()
ROUNDS = 3
#: What each counts of the lanes that are inside with it.
COUNTS = {
    "vote": "vote.sync.ballot.b32 %seen, %always, %inside; popc.b32 %seen, %seen;",
    "redux": "redux.sync.add.u32 %seen, 1, %inside;",
    "match": "match.any.sync.b32 %seen, 7, %inside; popc.b32 %seen, %seen;",
    "shfl": "popc.b32 %seen, %inside; shfl.sync.idx.b32 %seen, %seen, %lane, 31, %inside;",
    "bar": "bar.warp.sync %inside; popc.b32 %seen, %inside;",
}


def kernel(count: str) -> str:
    """Each thread goes round an inner loop as often as `trips` says, and round an outer one three times. The function
    called in the inner loop lets those who have left go ahead."""
    return f""".version 8.0
.target sm_90
.address_size 64
.func something() {{ ret; }}
.visible .entry k(.param .u64 trips, .param .u64 out)
{{
    .reg .b32 %lane, %left, %rounds, %inside, %seen, %total;
    .reg .b64 %at, %shift, %callee; .reg .pred %again, %always;
    nothing: .callprototype _ ();
    mov.u32 %lane, %tid.x; mul.wide.u32 %shift, %lane, 4; mov.u32 %total, 0; mov.u32 %rounds, {ROUNDS};
    setp.eq.u32 %always, 0, 0;
$outer:
    ld.param.u64 %at, [trips]; add.u64 %at, %at, %shift; ld.global.u32 %left, [%at];
    mov.u32 %inside, 0xffffffff;
$inner:
    mov.u64 %callee, something;
    call %callee, (), nothing;
    {count}
    add.u32 %total, %total, %seen;
    sub.u32 %left, %left, 1; setp.ne.u32 %again, %left, 0;
    vote.sync.ballot.b32 %inside, %again, %inside;
    @%again bra $inner;
    sub.u32 %rounds, %rounds, 1; setp.ne.u32 %again, %rounds, 0;
    @%again bra $outer;
    ld.param.u64 %at, [out]; add.u64 %at, %at, %shift; st.global.u32 [%at], %total;
    ret;
}}
"""


@pytest.mark.parametrize("name", COUNTS)
@settings(max_examples=10, deadline=None)
@given(st.lists(st.integers(1, 6), min_size=64, max_size=64))
def test_everybody_meets_those_who_are_in_the_same_trip(name: str, trips: list[int]) -> None:
    given_trips = Buffer(np.array(trips, np.uint32))
    outcome = EMULATOR.run(kernel(COUNTS[name]), "k", Launch((1, 1, 1), (64, 1, 1)), [given_trips, Buffer(
        np.zeros(64, np.uint32), initialised=False)])  # fmt: skip
    assert outcome.ok, outcome.faults
    rows = np.array(trips).reshape(2, 32)
    expected = [sum((row >= trip).sum() for trip in range(1, most + 1)) * ROUNDS for row in rows for most in row]
    assert outcome.buffers[1].tolist() == expected
