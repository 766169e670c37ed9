"""The decoding loop: statement by statement, each under the mask of what is legal there."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ptxgen.decoding.canonical import Canonical
from ptxgen.decoding.course import Course, Line
from ptxgen.decoding.free import write_freely
from ptxgen.decoding.result import Decoded, Tally
from ptxgen.decoding.sampling import Sampler
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
) -> Decoded:
    """Write one kernel. Evaluates `prompt` (system, turns, answer_start) unless the session holds it already.

    `max_tokens` bounds the body's tokens; from `syntax` on the kernel closes within it, always.
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
    writer = _Writer(session, course, sampler, on_text)
    writer.run()
    return writer.tally.finish(header + writer.text, course.state.closed, time.perf_counter() - started)


@dataclass
class _Drawn:
    """One line as drawn. `evaluated` of its tokens are in the model's memory, from position `base` on."""

    line: Line
    forced: int = 0
    evaluated: int = 0
    base: int | None = None


@dataclass
class _Writer:
    """One kernel being written."""

    session: Session
    course: Course
    sampler: Sampler
    on_text: Callable[[str], None] | None
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
            line = Line(self.session.ll_tokenizer(), self.course.canonical, legal, tuple(rejected))
            self.tally.mask_seconds += time.perf_counter() - started
            drawn = self._draw(line)
            text = line.text(self.session.token_bytes).decode()
            if self._accept(text, len(line.tokens)):
                self.pending += line.tokens[drawn.evaluated :]
                self.tally.count(len(line.tokens), drawn.forced)
                return text
            if drawn.base is not None:
                self.session.rewind(drawn.base)
            rejected.append(escape(text))
            self.tally.redraws += 1
        return None

    def _accept(self, line: str, count: int) -> bool:
        started = time.perf_counter()
        try:
            return self.course.accept(line, count)
        finally:
            self.tally.mask_seconds += time.perf_counter() - started

    def _draw(self, line: Line) -> _Drawn:
        """Tokens of one line. What is forced is not asked of the model; what has to be evaluated before the
        next choice goes in one batch."""
        drawn = _Drawn(line)
        while True:
            started = time.perf_counter()
            drawn.forced += line.take_forced()
            if line.finished:
                self.tally.mask_seconds += time.perf_counter() - started
                return drawn
            ids = line.choices(self.session.token_bytes, self.session.n_vocab)
            self.tally.mask_seconds += time.perf_counter() - started
            if len(ids) == 1:
                choice = int(ids[0])
                drawn.forced += 1
            else:
                self._catch_up(drawn)
                choice = self.sampler.choose(self.session.logits(), ids)
            line.take(choice)

    def _catch_up(self, drawn: _Drawn) -> None:
        """Evaluate all that was chosen and not yet evaluated, so that the logits are those of here."""
        tokens = drawn.line.tokens
        if self.pending:
            self.session.evaluate(self.pending)
            self.pending = []
        if drawn.base is None:
            drawn.base = self.session.position
        if drawn.evaluated < len(tokens):
            self.session.evaluate(tokens[drawn.evaluated :])
            drawn.evaluated = len(tokens)
