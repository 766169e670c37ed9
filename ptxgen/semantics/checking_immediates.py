"""Constants as operands, where bounds alone do not say which are right."""

from __future__ import annotations

from ptxgen.isa import Expansion
from ptxgen.ptx.constants import WARP_SIZE
from ptxgen.ptx.tree import Immediate, Instruction
from ptxgen.semantics.checking_scopes import Findings
from ptxgen.semantics.operands import Refusal

#: Bounds that assemblers pass over, so a warning is all there is to say.
_UNENFORCED_BOUNDS = frozenset({"lop3", "prmt", "shf", "nanosleep"})
_BARRIERS = ("bar", "barrier")
#: Sizes are unsigned words.
_WORD = 1 << 32
#: Constants of which the first cannot be above the second: names of operands, and what that means.
_ORDERED = {
    ("src-size", "cp-size"): "bytes cannot be read where fewer are copied",
    ("primary-size", "total-size"): "bytes cannot be a part of fewer",
}


def unenforced(chosen: Expansion, refusal: Refusal, instruction: Instruction) -> bool:
    """Whether assemblers let a constant beyond its bounds pass; the thread count of a barrier has other rules."""
    if chosen.name in _UNENFORCED_BOUNDS:
        return True
    return chosen.name in _BARRIERS and any(
        wanted.name == "b" and operand.span == refusal.span
        for operand, wanted in zip(instruction.operands, chosen.operands, strict=True)
    )


def check_immediates(instruction: Instruction, chosen: Expansion, findings: Findings) -> None:
    """Thread counts of barriers, sizes that are a part of others."""
    if chosen.name in _BARRIERS:
        _check_barrier(instruction, chosen, findings)
    constants = {
        wanted.name: (operand, operand.value % _WORD)
        for operand, wanted in zip(instruction.operands, chosen.operands, strict=True)
        if isinstance(operand, Immediate) and isinstance(operand.value, int)
    }
    for (part, whole), told in _ORDERED.items():
        if part in constants and whole in constants and constants[part][1] > constants[whole][1]:
            written = constants[part][0]
            findings.error(written.span, "immediate-range", f"{written.text} {told}: {constants[whole][0].text}")


def _check_barrier(instruction: Instruction, chosen: Expansion, findings: Findings) -> None:
    """The thread count of a barrier is whole warps; only one that waits may leave it to the block."""
    for operand, wanted in zip(instruction.operands, chosen.operands, strict=True):
        if wanted.name != "b" or not isinstance(operand, Immediate) or not isinstance(operand.value, int):
            continue
        if operand.value % WARP_SIZE:
            findings.error(
                operand.span, "barrier-count",
                f"{operand.text} threads cannot meet at a barrier: the count is a multiple of {WARP_SIZE}",
            )
        elif operand.value == 0 and "arrive" in chosen.opcode:
            findings.error(operand.span, "barrier-count", "arriving needs the count of threads that take part")
