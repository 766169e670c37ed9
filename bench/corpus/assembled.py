"""What ptxas says of a file, held against `check`, and whether printing changes the machine code."""

from __future__ import annotations

from dataclasses import dataclass
from subprocess import TimeoutExpired

from bench.corpus.machine_code import is_debug, machine_code
from bench.corpus.measuring import Outcome
from bench.corpus.sources import number
from ptxgen.assembling import Ptxas, ToolCrashed
from ptxgen.ptx import parse, print_module
from ptxgen.ptx.diagnostics import Diagnostic

#: ptxas 13 assembles for sm_75 and newer
_OLDEST = 75
#: seconds a file
_TIME_LIMIT = 300.0


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
        return not self.accepted and not self.outcome.errors and not self.message.startswith("no verdict")


def assemble(outcome: Outcome, ptxas: Ptxas) -> Assembled:
    """Asks ptxas for a verdict on the whole program, and for the code of the file and of the printed tree."""
    if number(outcome.file.target) < _OLDEST:
        return Assembled(outcome, False, "no verdict: the target is older than what ptxas knows", None)
    try:
        return _assembled(outcome, ptxas)
    except (ToolCrashed, TimeoutExpired) as error:
        return Assembled(outcome, False, f"no verdict: {error}", None)


def _assembled(outcome: Outcome, ptxas: Ptxas) -> Assembled:
    file = outcome.file
    whole = ptxas.assemble(
        file.text, file.target, optimise=0 if is_debug(file.text) else 3, time_limit=_TIME_LIMIT
    )
    message = next((m.text for m in whole.messages if m.severity in ("error", "fatal")), "")
    code = machine_code(file.text, file.target, ptxas)
    if code is None or not outcome.parsed:
        return Assembled(outcome, whole.ok, message, None)
    again = machine_code(print_module(parse(file.text, file.name)), file.target, ptxas)
    return Assembled(outcome, whole.ok, message, code == again)
