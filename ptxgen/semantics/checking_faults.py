"""Warnings of valid code that ptxas is known to make something else of (`ptxgen.isa.faults`)."""

from __future__ import annotations

from dataclasses import dataclass, field

from ptxgen.isa import Expansion
from ptxgen.isa.faults import AssemblerFault, cut_amount, faults_of, known_faults
from ptxgen.ptx.tree import Immediate, Instruction, Span
from ptxgen.semantics.checking_availability import Ground

#: What they carry hangs on what they were carried.
_READS_A_CARRY = frozenset({"addc", "subc", "madc"})
#: The highest bit of a word.
_HIGHEST = 31


@dataclass
class FaultWatch:
    """What has been seen of one function so far."""

    no_carry: bool = False                       # constants alone say that nothing is carried
    waiting: list[tuple[Span, str, AssemblerFault]] = field(default_factory=list)
    called: list[Expansion] = field(default_factory=list)

    def instruction(self, instruction: Instruction, chosen: Expansion, ground: Ground) -> None:
        """Warn of one instruction, as far as it alone and what came before it tell."""
        for fault in faults_of(chosen):
            if fault.circumstance == "beside":
                self.waiting.append((instruction.span, chosen.opcode, fault))
            elif self._comes_true(fault, instruction):
                _warn(instruction.span, chosen.opcode, fault, ground)
                break                                # one way to write it otherwise is enough
        if any(fault.is_called(chosen, ground.table) for fault in known_faults()):
            self.called.append(chosen)
        if "cc" in chosen.opcode.split("."):
            self.no_carry = _carries_nothing(instruction, chosen)

    def label(self) -> None:
        """Where paths meet nothing is known of the carry."""
        self.no_carry = False

    def finish(self, ground: Ground) -> None:
        """Warn of what hangs on another instruction anywhere in the function."""
        for span, opcode, fault in self.waiting:
            if any(fault.is_called(called, ground.table) for called in self.called):
                _warn(span, opcode, fault, ground)

    def _comes_true(self, fault: AssemblerFault, instruction: Instruction) -> bool:
        if fault.circumstance == "guard":
            return instruction.guard is not None
        if fault.circumstance == "carry":
            return self.no_carry
        if fault.circumstance == "position":
            position = instruction.operands[2]
            return isinstance(position, Immediate) and isinstance(position.value, int) and position.value > _HIGHEST
        amount = instruction.operands[-1]
        return isinstance(amount, Immediate) and isinstance(amount.value, int) and cut_amount(amount.value)


def _carries_nothing(instruction: Instruction, chosen: Expansion) -> bool:
    """Whether constants alone say so: it adds, takes away or multiplies by 0, or two constants do not carry."""
    if chosen.name in _READS_A_CARRY or instruction.guard is not None:
        return False
    mask = (1 << int(chosen.type[1:])) - 1
    sources = [
        operand.value & mask if isinstance(operand, Immediate) and isinstance(operand.value, int) else None
        for operand in instruction.operands[1:]
    ]
    if chosen.name == "mad":
        return 0 in sources
    first, second = sources[0], sources[1]
    if first is None or second is None:
        return second == 0 or (first == 0 and chosen.name == "add")
    return first + second <= mask if chosen.name == "add" else first >= second


def _warn(span: Span, opcode: str, fault: AssemblerFault, ground: Ground) -> None:
    when = ", with optimisation" if fault.optimised else ""
    versions = " and ".join(fault.ptxas)
    ground.findings.warn(span, "assembler-fault", f"ptxas {versions} get {opcode} wrong here{when}: {fault.what}",
                         fault.instead)
