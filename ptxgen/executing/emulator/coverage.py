"""Which expansions of the ISA table the emulator decodes, found by decoding one statement for each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ptxgen.executing.emulator.building import begin
from ptxgen.executing.emulator.instructions import needs_gpu
from ptxgen.executing.emulator.scope import Unsupported
from ptxgen.isa import load_table
from ptxgen.isa.model import Expansion, Version
from ptxgen.isa.probing import module, probes
from ptxgen.ptx import PtxSyntaxError, parse, parse_statement

#: How the message of every instruction begins that runs on hardware the emulator does not model.
NEEDS_GPU = "needs a GPU"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One expansion: `why` is "" if it decodes."""

    expansion: Expansion
    statement: str
    why: str

    @property
    def covered(self) -> bool:
        return not self.why

    @property
    def needs_gpu(self) -> bool:
        return NEEDS_GPU in self.why


def survey(expansions: Iterable[Expansion]) -> Iterator[Verdict]:
    """A verdict for each expansion, written with its usual operands."""
    types = load_table().types
    text, _ = module(["mov.b128 %rq1, %rq2;"], "sm_90", Version(9, 0))
    builder, scope, entry = begin(parse(text), None)
    builder.enter(entry.body or (), scope, None)
    for expansion in expansions:
        statement = probes(expansion, types)[0].statement
        what = needs_gpu(expansion.opcode)
        if what:
            yield Verdict(expansion, statement, f"{expansion.opcode}: {NEEDS_GPU}, {what} are not emulated")
            continue
        try:
            builder.enter((parse_statement(statement),), scope.child(), None)
        except Unsupported as error:
            yield Verdict(expansion, statement, error.message)
        except PtxSyntaxError as error:
            yield Verdict(expansion, statement, str(error))
        else:
            yield Verdict(expansion, statement, "")
