"""The course of one kernel being written: its state, the way home from there, and the tokens that are left.

Who writes (our own loop, or an engine that asks a logits processor) draws the tokens; what may be drawn and
what a drawn line does is decided here.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt

from ptxgen.decoding.canonical import Canonical
from ptxgen.decoding.grammars import StatementMatcher, allowed_ids, statement_grammar
from ptxgen.errors import MaskError
from ptxgen.semantics import NoWayHome, Plan, State, allowed, plan_closing, step
from ptxgen.semantics.statements import AllowedStatements

#: No statement is longer than this many bytes, and no token shorter than one.
LONGEST_STATEMENT = 96


class Course:
    """`tokens` counts those of the body so far, `max_tokens` bounds them.

    Raises MaskError where the spec has no kernel under this mask, or none within the budget.
    """

    def __init__(self, canonical: Canonical, state: State, max_tokens: int) -> None:
        self.canonical = canonical
        self.state = state
        self.max_tokens = max_tokens
        self.tokens = 0
        try:
            self.plan = plan_closing(state)
        except NoWayHome as error:
            raise MaskError(
                "this spec cannot be met by any kernel the mask can promise", why=str(error), fix=error.fix
            ) from None
        cost = self.cost(self.plan)
        if cost > max_tokens:
            raise MaskError(
                f"max_tokens is {max_tokens}, and the shortest kernel takes {cost}",
                fix=f"give --max-tokens {2 * cost} or more",
            )

    def cost(self, plan: Plan) -> int:
        """Tokens that a plan takes."""
        return sum(len(self.canonical.split(line.encode())) for line in plan.lines)

    def may_roam(self) -> bool:
        """Whether the budget holds one more statement of any kind and the way home after it."""
        return self.tokens + LONGEST_STATEMENT + self.cost(self.plan) <= self.max_tokens

    def legal(self) -> AllowedStatements:
        """What may come next while the way home stays open."""
        return allowed(self.state, self.plan.registers)

    def after(self, line: str, count: int) -> tuple[State, Plan] | None:
        """State and way home after a line of `count` tokens; None if the kernel could not be closed then."""
        try:
            after = step(self.state, line)
            plan = plan_closing(after) if not after.closed else Plan()
        except NoWayHome:
            return None
        if self.tokens + count + self.cost(plan) > self.max_tokens:
            return None
        return after, plan

    def accept(self, line: str, count: int) -> bool:
        """Take the line if the kernel can still be closed after it."""
        reached = self.after(line, count)
        if reached is None:
            return False
        self.state, self.plan = reached
        self.tokens += count
        return True

    def way_home(self) -> tuple[str, list[int]]:
        """Take the plan's next line: its text and its tokens."""
        line = self.plan.lines[0]
        tokens = list(self.canonical.split(line.encode()))
        self.state = step(self.state, line)
        self.plan = Plan(self.plan.lines[1:], self.plan.registers)
        self.tokens += len(tokens)
        return line, tokens


class Line:
    """One line being drawn under its mask. `rejected` are expressions of lines that are left out."""

    def __init__(
        self, tokenizer: Any, canonical: Canonical, legal: AllowedStatements, rejected: tuple[str, ...] = ()
    ) -> None:
        self._matcher = StatementMatcher(tokenizer, statement_grammar(legal, rejected))
        self._canonical = canonical
        self._legal = legal
        self._heads: list[tuple[int, ...]] | None = None
        self.tokens: list[int] = []

    def copy(self) -> Line:
        """The same line, to be gone on with another way."""
        other = copy(self)
        other._matcher = self._matcher.copy()
        other.tokens = list(self.tokens)
        return other

    @property
    def finished(self) -> bool:
        return self._matcher.finished

    def text(self, pieces: Any) -> bytes:
        """The bytes so far; `pieces` are those of each token."""
        return b"".join(pieces[t] for t in self.tokens)

    def take_forced(self) -> int:
        """Append the tokens that every legal line goes on with; how many they are."""
        ahead = self._matcher.forced_tokens()
        if ahead:
            self._matcher.consume(ahead)
            self.tokens += ahead
        return len(ahead)

    def choices(self, pieces: Any, n_vocab: int) -> npt.NDArray[np.int64]:
        """The ids that may come next, without foreign splits. Raises MaskError if there are none."""
        ids = allowed_ids(self._matcher.mask(), n_vocab)
        if not len(ids):
            raise MaskError("no token is legal here", why="the statement grammar and the vocabulary disagree")
        if self._heads is None:
            self._heads = self._canonical.heads(self._legal)
        return self._canonical.narrow(ids, self._heads, self.tokens, self.text(pieces))

    def take(self, token: int) -> None:
        """Append a token. Raises MaskError if it is not legal, or the line grew too long."""
        self._matcher.consume([token])
        self.tokens.append(token)
        if len(self.tokens) > LONGEST_STATEMENT:
            raise MaskError("a statement grew beyond the longest possible one", where=repr(self.tokens))
