"""Kernels that ptxas 13.0 and 13.5 and a driver's compiler turn into something else, seen on an H200: the emulator
follows the manual. Which forms they are stands in `isa/assembler-faults.toml`; here every one is tried.
"""

from __future__ import annotations

import numpy as np
import pytest
from executor_contract import empty, kernel, line

from ptxgen.executing.emulator import Emulator
from ptxgen.isa import Expansion, load_table
from ptxgen.isa.faults import Circumstance, circumstances, cut_amount

EMULATOR = Emulator()
TABLE = load_table()
#: A register of each width and kind that `SOURCES` fills, for results and for what is read.
REGISTERS = {"f32": "%f1", "f64": "%fd1", "16": "%rs1", "32": "%r12", "64": "%rd6"}
SOURCES = """mov.f32 %f1, 0f3F800000; mov.f64 %fd1, 0d3FF0000000000000;
mov.u16 %rs1, 35; mov.u32 %r12, 35; mov.u64 %rd6, 35;"""


def forms(name: str, circumstance: Circumstance) -> list[Expansion]:
    """Of one instruction, for each choice of types the first form that goes wrong there."""
    found: dict[tuple[str, ...], Expansion] = {}
    for form in TABLE.expansions(name):
        if circumstance in circumstances(form):
            found.setdefault(tuple(operand.type for operand in form.operands), form)
    return list(found.values())


def opcodes(*every: list[Expansion]) -> list[str]:
    return [form.opcode for some in every for form in some]


def register(type_name: str) -> str:
    return REGISTERS.get(type_name) or REGISTERS[type_name.lstrip("busf")]


def result(body: str) -> int:
    """What a thread leaves in the low word of %rd5."""
    outcome = EMULATOR.run(kernel(f"{body} cvt.u32.u64 %r10, %rd5; st.global.u32 [%rd2], %r10;"), None, line(1),
                           [empty(1)])  # fmt: skip
    assert outcome.ok, outcome.faults
    return int(np.asarray(outcome.buffers[0])[0])


@pytest.mark.parametrize("opcode", [form.opcode for form in TABLE.expansions("testp")])
@pytest.mark.parametrize("before", [0, 1])
def test_a_guard_that_says_no_keeps_a_predicate(opcode: str, before: int) -> None:
    form = TABLE.candidates(opcode)[0]
    assert "guard" in circumstances(form)
    assert result(f"""setp.eq.u32 %p1, 0, 1; setp.eq.u32 %p2, {before}, 1; {SOURCES}
    @%p1 {opcode} %p2, {register(form.type)}; selp.u64 %rd5, 1, 0, %p2;""") == before


@pytest.mark.parametrize("opcode", opcodes(forms("set", "guard"), forms("vadd4", "guard"), forms("vsub4", "guard")))
def test_a_guard_that_says_no_keeps_a_word(opcode: str) -> None:
    form = TABLE.candidates(opcode)[0]
    target, source, *others = form.operands
    kept, bits, move = 0x1919CCC3, 32, "mov.b32 %r11, %f2" if target.type == "f32" else "mov.b32 %r11, %r13"
    written = "%f2" if target.type == "f32" else "%r13"
    if target.type in ("f16", "bf16", "u16", "s16"):
        kept, bits, move, written = 0xCCC3, 16, "cvt.u32.u16 %r11, %rs2", "%rs2"
    read = ", ".join("%p1" if operand.type == "pred" else register(operand.type) for operand in (source, *others))
    assert result(f"""setp.eq.u32 %p1, 0, 1; {SOURCES} mov.b{bits} {written}, {kept};
    @%p1 {opcode} {written}, {read}; {move}; cvt.u64.u32 %rd5, %r11;""") == kept


@pytest.mark.parametrize("opcode", opcodes(forms("shl", "constant"), forms("shr", "constant")))
@pytest.mark.parametrize("value", [0x0B2D, 0x8C45])
@pytest.mark.parametrize("amount", [65536, 65543, 1 << 20, 1 << 26])
def test_all_bits_of_a_constant_amount_count(opcode: str, value: int, amount: int) -> None:
    assert cut_amount(amount)
    expected = 0xFFFF if opcode.endswith("s16") and value >> 15 else 0
    assert result(f"mov.b16 %rs1, {value}; {opcode} %rs2, %rs1, {amount}; cvt.u64.u16 %rd5, %rs2;") == expected


@pytest.mark.parametrize("opcode", [
    form.opcode for form in forms("set", "beside") if all(operand.type != "pred" for operand in form.operands)
])  # fmt: skip
def test_true_is_the_number_of_the_type(opcode: str) -> None:
    form = TABLE.candidates(opcode)[0]
    source = register(form.operands[1].type)
    equal = opcode.split(".")[1] in ("eq", "le", "ge")
    one = {"f16": 0x3C00, "bf16": 0x3F80}[form.operands[0].type]
    assert result(f"""{SOURCES} rcp.rp.f32 %f1, %f1;
    {opcode} %rs3, {source}, {source}; cvt.u64.u16 %rd5, %rs3;""") == (one if equal else 0)


@pytest.mark.parametrize("opcode", opcodes(forms("madc", "carry")))
def test_a_carry_that_is_known_loses_no_product(opcode: str) -> None:
    a, b, c = 0x23C40DDBD4FF5B9B, 0x1DDB394DB72F739B, 0x1DDB394DB72F739B
    assert result(f"""mov.u64 %rd6, {a}; mov.u64 %rd7, {b}; mov.u64 %rd8, {c};
    add.cc.u32 %r11, 270798484, 0; {opcode} %rd5, %rd6, %rd7, %rd8;""") == ((a * b >> 64) + c) & 0xFFFFFFFF
