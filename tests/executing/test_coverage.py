"""The emulator has every instruction of the profile: a new row of the table without semantics fails here."""

from collections.abc import Sequence

import pytest

from ptxgen.executing.emulator.building import build
from ptxgen.executing.emulator.scope import Unsupported
from ptxgen.isa import load_table
from ptxgen.isa.model import Expansion, Operand
from ptxgen.ptx import parse

HEADER = """.version 8.0
.target sm_90
.address_size 64
.global .align 16 .b8 gvar[64];
.const .align 16 .b8 cvar[64];
.visible .entry k(.param .align 16 .b8 pvar[64])
{
.reg .pred %p<16>; .reg .b16 %rs<32>; .reg .b32 %r<32>; .reg .b64 %rd<32>; .reg .f32 %f<32>; .reg .f64 %fd<32>;
.shared .align 16 .b8 svar[64]; .local .align 16 .b8 lvar[64];
"""

#: Opcodes of the profile that no kernel runs through `decode`.
CONTROL = {"bra", "brx", "call", "ret", "exit"}


def operand_text(operand: Operand, number: int) -> str:
    """Some operand of the right kind."""
    if operand.parts:
        return "|".join(operand_text(part, number + 8 * i) for i, part in enumerate(operand.parts))
    kinds = operand.kinds
    if "address" in kinds:
        return {"param": "[pvar]", "const": "[cvar]"}.get(operand.space or "", f"[%rd{number + 1}]")
    if operand.type == "pred" or "pred" in kinds:
        return f"%p{number + 1}"
    if operand.vector > 1 and "vector" in kinds:
        prefix = register_prefix(operand.type)
        return "{" + ", ".join(f"{prefix}{number * 4 + i}" for i in range(operand.vector)) + "}"
    if "reg" in kinds:
        return f"{register_prefix(operand.type)}{number + 1}"
    if "imm" in kinds:
        return str(operand.low or 0)
    if "symbol" in kinds:
        return "gvar"
    raise AssertionError(f"no text for {operand}")


def register_prefix(type_name: str) -> str:
    if type_name in {"f32", "f64"}:
        return {"f32": "%f", "f64": "%fd"}[type_name]
    bits = {"8": "%rs", "16": "%rs", "64": "%rd"}
    if type_name.endswith("x2"):
        return "%r"
    return next((p for end, p in bits.items() if type_name.endswith(end) and not type_name.endswith("x2")), "%r")


def missing_in(expansions: Sequence[Expansion]) -> list[str]:
    """Which of the instructions do not decode, and why. Tried together first, since parsing costs most."""
    lines = [
        f"{e.opcode} {', '.join(operand_text(o, i) for i, o in enumerate(e.operands))};" for e in expansions
    ]
    try:
        build(parse(HEADER + "\n".join(lines) + "\nret;\n}\n"), "k")
    except Unsupported as error:
        number = error.line - HEADER.count("\n") - 1
        return [f"{lines[number]} {error.message}", *missing_in(expansions[number + 1 :])]
    return []


def test_every_instruction_of_the_profile_decodes() -> None:
    missing = missing_in([e for e in load_table().profile("sm_90") if e.name not in CONTROL])
    assert not missing, "\n".join(missing)


#: What is known to be left out: narrow and wide types that no general arithmetic has, and two modifiers.
FOREIGN = (
    "f32x2", "e2m1", "e2m3", "e3m2", "e4m3", "e5m2", "ue8m0", "b128", ".rs", ".s2", ".u2", ".s4", ".u4", "oob",
)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "mad", "fma", "min", "max", "setp", "cvt", "shf", "prmt"])
def test_whole_instructions_beyond_the_profile_decode(name: str) -> None:
    chosen = [e for e in load_table().expansions(name) if not any(word in e.opcode for word in FOREIGN)]
    assert missing_in(chosen[:: max(1, len(chosen) // 40)]) == []


def test_what_does_not_decode_is_named() -> None:
    foreign = [e for e in load_table().expansions("add") if "f32x2" in e.opcode][:2]
    plain = list(load_table().expansions("clz"))
    named = missing_in([*foreign[:1], *plain, *foreign[1:]])
    assert [text.split()[0] for text in named] == [e.opcode for e in foreign]
