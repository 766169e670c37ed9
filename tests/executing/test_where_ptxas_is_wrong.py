"""Kernels that ptxas 13.0 and 13.5 and a driver's compiler turn into something else, seen on an H200: the emulator
follows the manual.

- `testp` under a guard: the guard is lost, and the predicate is written in any case.
- `set` with a 16-bit source or result, or a float result, and `vadd4` and `vsub4` with `.add`, under a guard: part of
  the code that stands for them has no guard.
- `shl.b16`, `shr.u16` and `shr.s16` by a constant: 16 bits of it count, so that 65536 is none at all.
- `madc.hi` over 64 bits where the carry is known to be 0: with optimisation the product is lost.
- `set` with an f16 or bf16 result in a kernel with an out-of-line division, root or reciprocal: with optimisation 1.0
  is the integer 1.
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


@pytest.mark.parametrize(("opcode", "value", "expected"), [
    ("shl.b16", 0x0B2D, 0), ("shr.u16", 0x2C45, 0), ("shr.s16", 0x2C45, 0), ("shr.s16", 0x8C45, 0xFFFF),
])  # fmt: skip
@pytest.mark.parametrize("amount", [16, 65536, 1 << 20, 1 << 26])
def test_all_bits_of_a_constant_amount_count(opcode: str, value: int, expected: int, amount: int) -> None:
    assert result(f"mov.b16 %rs1, {value}; {opcode} %rs2, %rs1, {amount}; cvt.u64.u16 %rd5, %rs2;") == expected


@pytest.mark.parametrize(("opcode", "one"), [("set.ne.f16.f16", 0x3C00), ("set.ne.bf16.bf16", 0x3F80)])
def test_true_is_the_number_of_the_type(opcode: str, one: int) -> None:
    assert result(f"""mov.f32 %f1, 0f3F800000; rcp.rp.f32 %f1, %f1; mov.b16 %rs1, 35; mov.b16 %rs2, 36;
    {opcode} %rs3, %rs1, %rs2; cvt.u64.u16 %rd5, %rs3;""") == one


@pytest.mark.parametrize("sign", ["u", "s"])
def test_a_carry_that_is_known_loses_no_product(sign: str) -> None:
    a, b, c = 0x23C40DDBD4FF5B9B, 0x1DDB394DB72F739B, 0x1DDB394DB72F739B
    assert result(f"""mov.u64 %rd6, {a}; mov.u64 %rd7, {b}; mov.u64 %rd8, {c};
    add.cc.u32 %r11, 270798484, 0; madc.hi.{sign}64 %rd5, %rd6, %rd7, %rd8;""") == ((a * b >> 64) + c) & 0xFFFFFFFF
