"""What ptxas says of a file, held against `check`, and whether printing changes the machine code."""

from __future__ import annotations

from dataclasses import dataclass

from bench.corpus.machine_code import is_debug, machine_code
from bench.corpus.measuring import Outcome
from ptxgen.assembling import Ptxas
from ptxgen.ptx import parse, print_module
from ptxgen.ptx.diagnostics import Diagnostic


@dataclass(frozen=True, slots=True)
class Assembled:
    """One file at ptxas. `same_code` is None where there is no code to compare."""

    outcome: Outcome
    accepted: bool
    message: str
    same_code: bool | None

    @property
    def false_alarms(self) -> tuple[Diagnostic, ...]:
        """Errors that `check` finds in what ptxas takes."""
        return self.outcome.errors if self.accepted else ()

    @property
    def missed(self) -> bool:
        """Whether ptxas refuses what `check` finds nothing wrong with."""
        return not self.accepted and not self.outcome.errors


def assemble(outcome: Outcome, ptxas: Ptxas) -> Assembled:
    """Asks ptxas for a verdict on the whole program, and for the code of the file and of the printed tree."""
    file = outcome.file
    whole = ptxas.assemble(file.text, file.target, optimise=0 if is_debug(file.text) else 3)
    message = next((m.text for m in whole.messages if m.severity in ("error", "fatal")), "")
    code = machine_code(file.text, file.target, ptxas)
    if code is None or not outcome.parsed:
        return Assembled(outcome, whole.ok, message, None)
    again = machine_code(print_module(parse(file.text, file.name)), file.target, ptxas)
    return Assembled(outcome, whole.ok, message, code == again)
