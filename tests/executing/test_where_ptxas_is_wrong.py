"""Kernels that ptxas 13.0 and 13.5 and a driver's compiler turn into something else, seen on an H200: the emulator
follows the manual.

- `testp` under a guard: the guard is lost, and the predicate is written in any case.
- `set` with a float or 16-bit source or result under a guard: part of the code that stands for it has no guard.
- `madc.hi` over 64 bits where the carry is known to be 0: with optimisation the product is lost.
"""

from __future__ import annotations

import numpy as np
import pytest
from executor_contract import empty, kernel, line

from ptxgen.executing.emulator import Emulator

EMULATOR = Emulator()


def result(body: str) -> int:
    """What a thread leaves in the low word of %rd5."""
    outcome = EMULATOR.run(kernel(f"{body} cvt.u32.u64 %r10, %rd5; st.global.u32 [%rd2], %r10;"), None, line(1),
                           [empty(1)])  # fmt: skip
    assert outcome.ok, outcome.faults
    return int(np.asarray(outcome.buffers[0])[0])


@pytest.mark.parametrize("kind", ["finite", "infinite", "number", "notanumber", "normal", "subnormal"])
@pytest.mark.parametrize("before", [0, 1])
def test_a_guard_that_says_no_keeps_a_predicate(kind: str, before: int) -> None:
    assert result(f"""setp.eq.u32 %p1, 0, 1; setp.eq.u32 %p2, {before}, 1; mov.f32 %f1, 0f3F800000;
    @%p1 testp.{kind}.f32 %p2, %f1; selp.u64 %rd5, 1, 0, %p2;""") == before


@pytest.mark.parametrize(("opcode", "target", "source", "kept"), [
    ("set.eq.f32.f32", "%r11", "%f1", 0xBCDC4AFF), ("set.ge.u32.u16", "%r11", "%rs1", 0x1919CCC3),
    ("set.le.u32.s16", "%r11", "%rs1", 0x1919CCC3), ("set.eq.u32.f32", "%r11", "%f1", 0xBCDC4AFF),
])  # fmt: skip
def test_a_guard_that_says_no_keeps_a_word(opcode: str, target: str, source: str, kept: int) -> None:
    assert result(f"""setp.eq.u32 %p1, 0, 1; mov.u32 {target}, {kept}; mov.f32 %f1, 0f3F800000; mov.u16 %rs1, 35;
    @%p1 {opcode} {target}, {source}, {source}; cvt.u64.u32 %rd5, {target};""") == kept


@pytest.mark.parametrize("sign", ["u", "s"])
def test_a_carry_that_is_known_loses_no_product(sign: str) -> None:
    a, b, c = 0x23C40DDBD4FF5B9B, 0x1DDB394DB72F739B, 0x1DDB394DB72F739B
    assert result(f"""mov.u64 %rd6, {a}; mov.u64 %rd7, {b}; mov.u64 %rd8, {c};
    add.cc.u32 %r11, 270798484, 0; madc.hi.{sign}64 %rd5, %rd6, %rd7, %rd8;""") == ((a * b >> 64) + c) & 0xFFFFFFFF
