"""What ptxas is known to get wrong: the checker warns of it, and no mask offers it, by the same rows."""

from __future__ import annotations

import pytest

from ptxgen.isa import load_table
from ptxgen.isa.faults import circumstances, faulty_names
from ptxgen.ptx import parse
from ptxgen.semantics import Level, allowed
from ptxgen.semantics.checking import check_module
from tests.semantics.kernels_and_walks import example

TABLE = load_table()
MASKED = (Level.SYNTAX, Level.TYPED, Level.SCOPED, Level.TYPESTATE, Level.FULL)
_BEFORE = """.version 8.0\n.target sm_90\n.address_size 64\n.entry k(.param .u32 n)
{
.reg .pred %p<4>; .reg .b16 %rs<8>; .reg .b32 %r<8>; .reg .f32 %f<8>; .reg .b64 %rd<8>;
ld.param.u32 %r1, [n]; cvt.u16.u32 %rs1, %r1; mov.b32 %f1, %r1; cvt.u64.u32 %rd1, %r1; setp.eq.u32 %p1, %r1, 0;
mov.pred %p2, %p1; mov.u32 %r2, %r1; mov.f32 %f2, %f1; mov.u16 %rs2, %rs1;
"""


def warnings(body: str) -> list[str]:
    found = check_module(parse(f"{_BEFORE}{body}\nret;\n}}\n"), TABLE)
    assert {d.severity for d in found} <= {"warning"}
    assert all(d.hint for d in found)
    assert all(d.span.line == _BEFORE.count("\n") + 1 for d in found)
    return [d.code for d in found]


@pytest.mark.parametrize("body", [
    "@%p1 testp.finite.f32 %p2, %f1;", "@!%p1 testp.normal.f32 %p2, %f1;", "@%p1 set.eq.f32.f32 %f2, %f1, %f1;",
    "@%p1 set.eq.f32.b32 %f2, %r1, %r1;", "@%p1 set.lt.u32.u16 %r2, %rs1, 3;",
    "@%p1 set.eq.f16.f16 %rs2, %rs1, %rs1;", "@%p1 set.eq.u16.bf16 %rs2, %rs1, %rs1;",
    "@%p1 vadd4.u32.u32.u32.add %r2, %r1, %r1, %r1;",
    "@%p1 vsub4.s32.s32.u32.add %r2, %r1, %r1, %r1;", "shl.b16 %rs2, %rs1, 65536;", "shr.s16 %rs2, %rs1, 0x10001;",
    "shr.u16 %rs2, %rs1, -65536;", "shr.b16 %rs2, %rs1, 65544;",
    "add.cc.u32 %r2, %r1, 0; madc.hi.u64 %rd2, %rd1, %rd1, %rd1;",
    "add.cc.u32 %r2, 3, 4; madc.hi.cc.s64 %rd2, %rd1, %rd1, %rd1;",
    "mad.lo.cc.u32 %r2, %r1, 0, %r1; madc.hi.u64 %rd2, %rd1, %rd1, %rd1;",
    "bfe.s32 %r2, %r1, 32, 4;", "bfe.s32 %r2, %r1, 255, %r1;",
    "set.eq.f16.f16 %rs2, %rs1, %rs1; rcp.rn.f32 %f2, %f1;",
    "div.rn.f32 %f2, %f1, %f1; set.ge.bf16.u32 %rs2, %r1, %r1;",
])  # fmt: skip
def test_code_that_ptxas_gets_wrong_is_warned_of_once(body: str) -> None:
    assert warnings(body) == ["assembler-fault"]


@pytest.mark.parametrize("body", [
    "bfe.s32 %r2, %r1, 31, 4;", "bfe.u32 %r2, %r1, 40, 4;", "bfe.s64 %rd2, %rd1, 70, 4;", "bfe.s32 %r2, %r1, %r1, 4;",
    "testp.finite.f32 %p2, %f1;", "@%p1 set.eq.u32.f32 %r2, %f1, %f1;", "set.lt.u32.u16 %r2, %rs1, 3;",
    "@%p1 set.eq.u32.f16x2 %r2, %r1, %r1;", "@%p1 vadd4.u32.u32.u32 %r2, %r1, %r1, %r1;",
    "@%p1 vadd2.u32.u32.u32.add %r2, %r1, %r1, %r1;", "shl.b16 %rs2, %rs1, 40;", "shl.b16 %rs2, %rs1, -1;",
    "shl.b16 %rs2, %rs1, %r1;", "shl.b32 %r2, %r1, 65536;", "madc.hi.u64 %rd2, %rd1, %rd1, %rd1;",
    "add.cc.u32 %r2, %r1, 1; madc.hi.u64 %rd2, %rd1, %rd1, %rd1;",
    "add.cc.u32 %r2, -1, 1; madc.hi.u64 %rd2, %rd1, %rd1, %rd1;",
    "add.cc.u32 %r2, %r1, 0; madc.hi.u32 %r2, %r1, %r1, %r1;",
    "set.eq.f16.f16 %rs2, %rs1, %rs1; rcp.approx.f32 %f2, %f1;",
    "set.eq.u32.f16 %r2, %rs1, %rs1; rcp.rn.f32 %f2, %f1;", "set.eq.f16.f16 %rs2, %rs1, %rs1; div.u32 %r2, %r1, %r1;",
])  # fmt: skip
def test_what_stands_near_is_not(body: str) -> None:
    assert warnings(body) == []


@pytest.mark.parametrize("level", [Level.SYNTAX, Level.TYPED])
def test_guards_that_are_lost_are_not_offered(level: Level) -> None:
    legal = allowed(example("saxpy", level))
    assert legal.contains("\ttestp.finite.f32 %p2, %f1;\n")
    assert not legal.contains("\t@%p1 testp.finite.f32 %p2, %f1;\n")
    assert not legal.contains("\t@!%p1 testp.finite.f32 %p2, %f1;\n")
    assert legal.contains("\t@%p1 setp.eq.u32 %p2, %r1, %r2;\n")


@pytest.mark.parametrize("level", [Level.SYNTAX, Level.TYPED])
@pytest.mark.parametrize("opcode", ["shl.b16", "shr.u16", "shr.s16"])
def test_amounts_that_are_cut_are_not_offered(level: Level, opcode: str) -> None:
    legal = allowed(example("half_add", level))
    assert legal.contains("\tshl.b16 %rs2, %rs1, 16;\n")
    for amount in ("65536", "131080", "999999999", "-65536"):
        assert not legal.contains(f"\t{opcode} %rs2, %rs1, {amount};\n")


@pytest.mark.parametrize("level", MASKED)
def test_fields_above_the_word_are_not_offered(level: Level) -> None:
    for number in (32, 40, 99, 100, 255):
        assert not allowed(example("saxpy", level)).contains(f"\tbfe.s32 %r2, %r1, {number}, 4;\n")
    if level in (Level.SYNTAX, Level.TYPED):
        assert allowed(example("saxpy", level)).contains("\tbfe.s32 %r2, %r1, 31, 4;\n")


@pytest.mark.parametrize("level", MASKED)
@pytest.mark.parametrize("name", ["saxpy", "half_add", "block_sum"])
def test_no_row_of_any_level_has_a_guard_that_is_lost(name: str, level: Level) -> None:
    guarded = faulty_names("guard")
    for opcodes, row in allowed(example(name, level)).rows:
        for opcode in opcodes:
            lost = any("guard" in circumstances(form) for form in TABLE.candidates(opcode))
            assert not lost or row.guards == ("",)
    if level == Level.SYNTAX:
        for word in guarded:
            assert not allowed(example(name, level)).contains(f"\t@%p1 {word}.eq.f32.f32 %f1, %f2, %f3;\n")


def test_no_other_circumstance_can_be_written_by_what_the_profile_offers() -> None:
    offered = {circumstance for form in TABLE.offered() for circumstance in circumstances(form)}
    assert offered <= {"guard", "constant", "position"}
