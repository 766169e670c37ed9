"""Constants as operands, where bounds alone do not say which are right."""

from __future__ import annotations

from ptxgen.isa import Expansion
from ptxgen.ptx.constants import WARP_SIZE
from ptxgen.ptx.tree import Immediate, Instruction
from ptxgen.semantics.checking_scopes import Findings
from ptxgen.semantics.operands import Refusal

#: Bounds that assemblers pass over, so a warning is all there is to say.
_UNENFORCED_BOUNDS = frozenset({"lop3", "prmt", "shf", "nanosleep"})
_REGISTER_UNIT = 8
_BARRIERS = ("bar", "barrier")
#: Sizes in bytes that are the only right ones: instruction, position of the operand, sizes.
_EXACT_SIZES = {"cp.async.ca": (2, (4, 8, 16)), "cp.async.cg": (2, (16,)), "discard": (1, (128,)),
                "applypriority": (1, (128,))}  # fmt: skip


def unenforced(chosen: Expansion, refusal: Refusal, instruction: Instruction) -> bool:
    """Whether assemblers let a constant beyond its bounds pass; the thread count of a barrier has other rules."""
    if chosen.name in _UNENFORCED_BOUNDS:
        return True
    return chosen.name in _BARRIERS and any(
        wanted.name == "b" and operand.span == refusal.span
        for operand, wanted in zip(instruction.operands, chosen.operands, strict=True)
    )


def check_immediates(instruction: Instruction, chosen: Expansion, findings: Findings) -> None:
    """Thread counts of barriers, sizes of asynchronous copies."""
    if chosen.name in _BARRIERS:
        _check_barrier(instruction, chosen, findings)
    if chosen.name == "setmaxnreg":
        _check_register_count(instruction, findings)
    for opcode, (position, sizes) in _EXACT_SIZES.items():
        if (chosen.opcode + ".").startswith(opcode + ".") and position < len(instruction.operands):
            size = instruction.operands[position]
            if isinstance(size, Immediate) and size.value not in sizes:
                listed = " or ".join(map(str, sizes))
                findings.error(size.span, "immediate-range", f"{opcode} takes {listed} bytes, not {size.text}")


def _check_register_count(instruction: Instruction, findings: Findings) -> None:
    """Registers are handed out by eights."""
    for count in instruction.operands:
        if isinstance(count, Immediate) and isinstance(count.value, int) and count.value % _REGISTER_UNIT:
            findings.error(count.span, "immediate-range", f"{count.text} registers: the count is a multiple of 8")


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
