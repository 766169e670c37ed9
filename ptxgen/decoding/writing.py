"""The decoding loop: statement by statement, each under the mask of what is legal there."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ptxgen.decoding.canonical import Canonical
from ptxgen.decoding.course import Course, Line
from ptxgen.decoding.free import write_freely
from ptxgen.decoding.result import Decoded, Tally
from ptxgen.decoding.sampling import Sampler
from ptxgen.decoding.searching import LineSearch
from ptxgen.errors import MaskError
from ptxgen.models.session import Session
from ptxgen.semantics import Level, State, contract_of
from ptxgen.semantics.statements import escape

if TYPE_CHECKING:
    from ptxgen.isa import Table

#: Redraws of one statement before decoding takes the way home.
REDRAWS = 16


def decode(
    session: Session,
    prompt: Any,
    spec: Any,
    table: Table,
    level: str | Level,
    *,
    temperature: float,
    top_p: float = 1.0,
    seed: int,
    max_tokens: int,
    on_text: Callable[[str], None] | None = None,
    arch: str | None = None,
    turn: int | None = None,
) -> Decoded:
    """Write one kernel. Evaluates `prompt` (system, turns, answer_start) unless the session holds it already.

    `max_tokens` bounds the body's tokens; from `syntax` on the kernel closes within it, always.
    At statement `turn` (from 0) the line that would be chosen is passed over for the next best one: candidates
    that differ where the model was least sure (limited discrepancy search, Harvey and Ginsberg 1995).
    Raises MaskError (a mask could not be computed, or the budget cannot hold any kernel), ContextFull.
    """
    level = Level.parse(level) if isinstance(level, str) else level
    arch = arch or spec.target.arch[0]
    tokens = session.chat_prompt(prompt.system, prompt.turns, prompt.answer_start)
    session.rewind(0)
    session.evaluate(tokens)
    header = spec.header(arch, table)
    sampler = Sampler(temperature, top_p, seed)
    started = time.perf_counter()
    if level is Level.NONE:
        return write_freely(session, header, sampler, max_tokens, on_text, started)
    contract = contract_of(spec, table, arch)
    course = Course(Canonical(session), State.start(contract, level), max_tokens)
    writer = _Writer(session, course, sampler, on_text, turn)
    writer.run()
    return writer.tally.finish(header + writer.text, course.state.closed, time.perf_counter() - started)


def any_sign(line: str) -> str:
    """An expression of the line with any signedness of its types."""
    return re.sub(r"\\\.[sub](?=[0-9])", r"\\.[sub]", escape(line))


@dataclass
class _Writer:
    """One kernel being written."""

    session: Session
    course: Course
    sampler: Sampler
    on_text: Callable[[str], None] | None
    turn: int | None = None
    text: str = ""
    tally: Tally = field(default_factory=Tally)
    pending: list[int] = field(default_factory=list)  # chosen, not yet evaluated

    # ------------------------------------------------------------ the loop

    def run(self) -> None:
        while not self.course.state.closed:
            line = self._free_statement() if self.course.may_roam() else None
            if line is None:
                line = self._way_home()
            self.text += line
            self.tally.statements += 1
            if self.on_text is not None:
                self.on_text(line)

    def _way_home(self) -> str:
        """The plan's next line, whatever the model thinks."""
        line, tokens = self.course.way_home()
        self.pending += tokens
        self.tally.gaps.append(math.inf)
        self.tally.count(len(tokens), forced=len(tokens))
        return line

    # ------------------------------------------------------------ one statement

    def _free_statement(self) -> str | None:
        """A statement of the model's choice after which the way home still fits; None if none was found."""
        rejected: list[str] = []
        for _ in range(REDRAWS):
            started = time.perf_counter()
            legal = self.course.legal()
            if legal.empty:
                return None
            search = LineSearch(self.session, self.sampler, self.tally, self.pending)
            try:
                line = Line(self.session.ll_tokenizer(), self.course.canonical, legal, tuple(rejected))
                self.tally.mask_seconds += time.perf_counter() - started
                chosen = search.find(line)
            except MaskError:
                if rejected:
                    return None         # all that was legal has been taken back
                raise
            tokens = chosen.line.tokens
            text = chosen.line.text(self.session.token_bytes).decode()
            passed_over = not rejected and self.tally.statements == self.turn
            if not passed_over and self._accept(text, len(tokens)):
                self.tally.gaps.append(search.gap(chosen))
                self.pending += tokens[search.evaluated :]
                self.tally.count(len(tokens), chosen.forced)
                return text
            if search.base is not None:
                self.session.rewind(search.base)
            rejected.append(any_sign(text))
            self.tally.redraws += 1
        return None

    def _accept(self, line: str, count: int) -> bool:
        started = time.perf_counter()
        try:
            return self.course.accept(line, count)
        finally:
            self.tally.mask_seconds += time.perf_counter() - started
