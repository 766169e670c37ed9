"""The emulator has every instruction of the profile: a new row of the table without semantics fails here."""

import functools
from collections.abc import Sequence

import numpy as np
import pytest

from ptxgen.executing import Buffer, Launch, Value
from ptxgen.executing.emulator import Emulator
from ptxgen.executing.emulator.building import build
from ptxgen.executing.emulator.coverage import Verdict, survey
from ptxgen.executing.emulator.scope import Unsupported
from ptxgen.isa import load_table
from ptxgen.isa.conformance import covering
from ptxgen.isa.model import Expansion, Operand, Version
from ptxgen.isa.probing import module
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


#: Instructions of hardware that the emulator does not model; everything else in the table decodes.
NEED_A_GPU = {
    "tex", "tld4", "txq", "istypep", "suld", "sust", "sured", "suq", "tcgen05", "wgmma", "tensormap", "multimem",
    "fabric", "spcompress", "spdecompress",
}
#: Of these only the forms with such a word.
NEED_A_GPU_IN_PART = {"cp": (".tensor.", "mbarrier::report::validity"), "fence": (".proxy.tensormap",)}


@functools.cache
def verdicts_of_all() -> tuple[Verdict, ...]:
    """A verdict for a few expansions of every form, that show each value of each slot."""
    return tuple(survey(covering(load_table())))


def test_every_form_of_the_table_decodes_or_needs_a_gpu() -> None:
    verdicts = verdicts_of_all()
    assert len({v.expansion.form.line for v in verdicts}) > 100
    missing = [f"{v.statement} {v.why}" for v in verdicts if not v.covered and not v.needs_gpu]
    assert not missing, f"{len(missing)} of {len(verdicts)}: " + "\n".join(missing[:40])


def test_what_needs_a_gpu_is_a_short_list() -> None:
    for verdict in verdicts_of_all():
        name, opcode = verdict.expansion.name, verdict.expansion.opcode
        parts = NEED_A_GPU_IN_PART.get(name, ())
        expected = name in NEED_A_GPU or any(part in opcode + "." for part in parts)
        assert verdict.needs_gpu == expected, verdict
        assert opcode.partition(".")[0] in verdict.why if expected else True


def test_a_kernel_that_needs_a_gpu_is_told_so() -> None:
    ptx = HEADER + "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [gvar, {%r1}];\nret;\n}\n"
    outcome = Emulator().run(ptx, "k", Launch((1, 1, 1), (1, 1, 1)), [Buffer(np.zeros(8, np.uint64))])
    assert [fault.kind for fault in outcome.faults] == ["unsupported"]
    assert "needs a GPU, textures" in outcome.faults[0].message


def test_what_does_not_decode_is_named() -> None:
    foreign = covering(load_table(), ["wgmma"])[:2]
    plain = list(load_table().expansions("clz"))
    verdicts = list(survey([*foreign[:1], *plain, *foreign[1:]]))
    assert [v.expansion.opcode for v in verdicts if not v.covered] == [e.opcode for e in foreign]


@pytest.mark.slow
def test_what_decodes_runs() -> None:
    """One warp carries every covered form out, on registers that nothing has written: faults, but no errors."""
    emulator = Emulator(time_limit=5, step_limit=20_000)
    for verdict in verdicts_of_all():
        if not verdict.covered:
            continue
        spaces = ("shared", "local", "const")
        space = next((s for s in spaces if s in verdict.statement), "global")
        text, _ = module([f"mov.u64 %rd30, in_{space};", verdict.statement], "sm_90", Version(9, 0))
        outcome = emulator.run(text, None, Launch((1, 1, 1), (32, 1, 1)), [Value(np.zeros(256, np.uint8))])
        assert all(fault.kind != "unsupported" for fault in outcome.faults), verdict
