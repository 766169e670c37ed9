"""The decoding loop: statement by statement, each under the mask of what is legal there."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ptxgen.decoding.canonical import Canonical
from ptxgen.decoding.free import write_freely
from ptxgen.decoding.grammars import StatementMatcher, allowed_ids, statement_grammar
from ptxgen.decoding.result import Decoded, Tally
from ptxgen.decoding.sampling import Sampler
from ptxgen.errors import MaskError
from ptxgen.models.session import Session
from ptxgen.semantics import Level, NoWayHome, Plan, State, allowed, contract_of, plan_closing, step
from ptxgen.semantics.statements import AllowedStatements, escape

if TYPE_CHECKING:
    from ptxgen.isa import Table

#: No statement is longer than this many bytes, and no token shorter than one.
LONGEST_STATEMENT = 96
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
    writer = _Writer(session, State.start(contract, level), sampler, max_tokens, on_text)
    writer.run()
    return writer.tally.finish(header + writer.text, writer.state.closed, time.perf_counter() - started)


@dataclass
class _Drawn:
    """One line as drawn. `evaluated` of its tokens are in the model's memory, from position `base` on."""

    line: str = ""
    tokens: list[int] = field(default_factory=list)
    forced: int = 0
    evaluated: int = 0
    base: int | None = None


@dataclass
class _Writer:
    """One kernel being written."""

    session: Session
    state: State
    sampler: Sampler
    max_tokens: int
    on_text: Callable[[str], None] | None
    text: str = ""
    tally: Tally = field(default_factory=Tally)

    def __post_init__(self) -> None:
        self.canonical = Canonical(self.session)
        self.pending: list[int] = []  # chosen, not yet evaluated
        self.plan = self._first_plan()

    # ------------------------------------------------------------ the loop

    def run(self) -> None:
        while not self.state.closed:
            line = self._free_statement() if self._may_roam() else None
            if line is None:
                line = self._way_home()
            self.text += line
            self.tally.statements += 1
            if self.on_text is not None:
                self.on_text(line)

    def _first_plan(self) -> Plan:
        try:
            plan = plan_closing(self.state)
        except NoWayHome as error:
            raise MaskError(
                "this spec cannot be met by any kernel the mask can promise", why=str(error), fix=error.fix
            ) from None
        cost = self._cost(plan)
        if cost > self.max_tokens:
            raise MaskError(
                f"max_tokens is {self.max_tokens}, and the shortest kernel takes {cost}",
                fix=f"give --max-tokens {2 * cost} or more",
            )
        return plan

    def _cost(self, plan: Plan) -> int:
        return sum(len(self.canonical.split(line.encode())) for line in plan.lines)

    def _may_roam(self) -> bool:
        """Whether the budget holds one more statement of any kind and the way home after it."""
        return self.tally.tokens + LONGEST_STATEMENT + self._cost(self.plan) <= self.max_tokens

    def _way_home(self) -> str:
        """The plan's next line, whatever the model thinks."""
        line = self.plan.lines[0]
        tokens = list(self.canonical.split(line.encode()))
        self.pending += tokens
        self.tally.count(len(tokens), forced=len(tokens))
        self.state = step(self.state, line)
        self.plan = Plan(self.plan.lines[1:], self.plan.registers)
        return line

    # ------------------------------------------------------------ one statement

    def _free_statement(self) -> str | None:
        """A statement of the model's choice after which the way home still fits; None if none was found."""
        rejected: list[str] = []
        for _ in range(REDRAWS):
            started = time.perf_counter()
            legal = allowed(self.state, self.plan.registers)
            if legal.empty:
                return None
            matcher = StatementMatcher(self.session.ll_tokenizer(), statement_grammar(legal, tuple(rejected)))
            self.tally.mask_seconds += time.perf_counter() - started
            drawn = self._draw(matcher, legal)
            if self._accept(drawn.line, len(drawn.tokens)):
                self.pending += drawn.tokens[drawn.evaluated :]
                self.tally.count(len(drawn.tokens), drawn.forced)
                return drawn.line
            if drawn.base is not None:
                self.session.rewind(drawn.base)
            rejected.append(escape(drawn.line))
            self.tally.redraws += 1
        return None

    def _accept(self, line: str, count: int) -> bool:
        """Take the statement if the kernel can still be closed after it."""
        started = time.perf_counter()
        try:
            after = step(self.state, line)
            plan = plan_closing(after) if not after.closed else Plan()
        except NoWayHome:
            return False
        finally:
            self.tally.mask_seconds += time.perf_counter() - started
        if self.tally.tokens + count + self._cost(plan) > self.max_tokens:
            return False
        self.state, self.plan = after, plan
        return True

    def _draw(self, matcher: StatementMatcher, legal: AllowedStatements) -> _Drawn:
        """Tokens of one line. What is forced is not asked of the model; what has to be evaluated before the
        next choice goes in one batch."""
        drawn = _Drawn()
        heads: list[tuple[int, ...]] | None = None
        pieces = self.session.token_bytes
        while True:
            started = time.perf_counter()
            ahead = matcher.forced_tokens()
            if ahead:
                matcher.consume(ahead)
                drawn.tokens += ahead
                drawn.forced += len(ahead)
            if matcher.finished:
                self.tally.mask_seconds += time.perf_counter() - started
                drawn.line = b"".join(pieces[t] for t in drawn.tokens).decode()
                return drawn
            ids = allowed_ids(matcher.mask(), self.session.n_vocab)
            if not len(ids):
                raise MaskError("no token is legal here", why="the statement grammar and the vocabulary disagree")
            if heads is None:
                heads = self.canonical.heads(legal)
            ids = self.canonical.narrow(ids, heads, drawn.tokens, b"".join(pieces[t] for t in drawn.tokens))
            self.tally.mask_seconds += time.perf_counter() - started
            if len(ids) == 1:
                choice = int(ids[0])
                drawn.forced += 1
            else:
                self._catch_up(drawn)
                choice = self.sampler.choose(self.session.logits(), ids)
            matcher.consume([choice])
            drawn.tokens.append(choice)
            if len(drawn.tokens) > LONGEST_STATEMENT:
                raise MaskError("a statement grew beyond the longest possible one", where=repr(drawn.tokens))

    def _catch_up(self, drawn: _Drawn) -> None:
        """Evaluate all that was chosen and not yet evaluated, so that the logits are those of here."""
        if self.pending:
            self.session.evaluate(self.pending)
            self.pending = []
        if drawn.base is None:
            drawn.base = self.session.position
        if drawn.evaluated < len(drawn.tokens):
            self.session.evaluate(drawn.tokens[drawn.evaluated :])
            drawn.evaluated = len(drawn.tokens)
