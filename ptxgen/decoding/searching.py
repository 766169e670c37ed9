"""Choosing a whole statement: best-first search over the legal lines, by the model's own probabilities.

Under a mask the most likely first token need not begin the most likely legal line: the model may want `add`
of a register that is not there yet, and the mask leaves it an `add` it never meant. So the statement is the
unit of choice. Its probability is the product over all its tokens, forced ones included, under the unmasked
distribution; the line that is popped first from the queue is the most likely one (Dijkstra over negative log
probabilities). With a temperature every choice is disturbed by Gumbel noise of that scale, which for a single
choice is sampling at that temperature (Gumbel-max).
"""

from __future__ import annotations

import math
import re
import time
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count

import numpy as np
import numpy.typing as npt

from ptxgen.decoding.course import Line
from ptxgen.decoding.result import Tally
from ptxgen.decoding.sampling import Sampler
from ptxgen.models.session import Session

_TYPE = re.compile(r"\.[sub](?=[0-9]|$)")
#: Another token is worth following from this share of the model's belief on.
WORTHWHILE = 0.003
#: Branches kept at a choice, and evaluations spent on one line before the best branch is followed to its end.
BRANCHES = 4
PATIENCE = 16


@dataclass(order=True)
class Branch:
    """A line begun: `cost` is its negative log probability, `scored` how many of its tokens that covers."""

    cost: float
    order: int
    line: Line = field(compare=False)
    scored: int = field(compare=False, default=0)
    forced: int = field(compare=False, default=0)
    whole: bool = field(compare=False, default=False)


def signless(text: str) -> str:
    """A line, or the beginning of one, without the signedness of its types."""
    return _TYPE.sub(".i", text)


class LineSearch:
    """Finds one line. Afterwards the session holds the first `evaluated` of its tokens, from `base` on
    (None: it was not asked). `pending` are earlier tokens that it has yet to evaluate; they are taken."""

    def __init__(self, session: Session, sampler: Sampler, tally: Tally, pending: list[int]) -> None:
        self._session = session
        self._sampler = sampler
        self._tally = tally
        self._pending = pending
        self._held: list[int] = []
        self._queue: list[Branch] = []
        self.base: int | None = None

    @property
    def evaluated(self) -> int:
        return len(self._held)

    def gap(self, chosen: Branch) -> float:
        """By how much the chosen line beats the next best branch, infinity if none was left. Branches that
        differ in signedness only are the same choice."""
        text = signless(chosen.line.text(self._session.token_bytes).decode())
        costs = [
            b.cost
            for b in self._queue
            if not text.startswith(signless(b.line.text(self._session.token_bytes).decode(errors="replace")))
        ]
        return min(costs, default=math.inf) - chosen.cost

    def find(self, line: Line) -> Branch:
        """The chosen line. Raises MaskError as `Line` does, ContextFull."""
        order = count()
        branch = Branch(0.0, next(order), line)
        for evaluations in count():
            ids = self._run_ahead(branch)
            if branch.line.finished and not self._queue:
                self._forget_beyond(branch.line.tokens)
                return branch
            self._score(branch)
            if evaluations >= PATIENCE:
                self._queue.clear()
            if branch.line.finished:
                branch.whole = True
                heappush(self._queue, branch)
            else:
                for cost, child in self._children(branch, ids):
                    heappush(self._queue, Branch(cost, next(order), child, len(child.tokens), branch.forced))
            branch = heappop(self._queue)
            if branch.whole:
                self._forget_beyond(branch.line.tokens)
                return branch
        raise AssertionError("unreachable: the loop is endless but for its returns")

    def _run_ahead(self, branch: Branch) -> npt.NDArray[np.int64]:
        """Take what is forced, by the grammar or because only one token is left; what may come after it."""
        started = time.perf_counter()
        line = branch.line
        ids = np.empty(0, dtype=np.int64)
        while True:
            branch.forced += line.take_forced()
            if line.finished:
                break
            ids = line.choices(self._session.token_bytes, self._session.n_vocab)
            if len(ids) > 1:
                break
            line.take(int(ids[0]))
            branch.forced += 1
        self._tally.mask_seconds += time.perf_counter() - started
        return ids

    def _score(self, branch: Branch) -> None:
        """Bring the session to the branch's end, and add what its forced tokens cost. Those that all branches
        begin with cost nothing; the last token of a whole line need not be evaluated to be scored."""
        tokens = branch.line.tokens
        if self._pending:
            self._session.evaluate(self._pending)
            self._pending.clear()
        if self.base is None:
            self.base = self._session.position
        self._forget_beyond(tokens)
        known = max(branch.scored - 1, 0)
        if len(self._held) < known:
            self._extend(tokens[len(self._held) : known])
        if branch.scored == 0:
            self._extend(tokens[len(self._held) :])
        else:
            end = len(tokens) - int(branch.line.finished)
            fed = tokens[known:end]
            if fed:
                branch.cost -= self._session.evaluate_scored(fed, tokens[branch.scored :])
                self._held += fed
        branch.scored = len(tokens)

    def _extend(self, tokens: list[int]) -> None:
        if tokens:
            self._session.evaluate(tokens)
            self._held += tokens

    def _forget_beyond(self, tokens: list[int]) -> None:
        """Go back to where the session and this line part."""
        shared = 0
        for one, other in zip(self._held, tokens, strict=False):
            if one != other:
                break
            shared += 1
        if shared < len(self._held) and self.base is not None:
            self._session.rewind(self.base + shared)
            del self._held[shared:]

    def _children(self, branch: Branch, ids: npt.NDArray[np.int64]) -> list[tuple[float, Line]]:
        """The branch with each token worth following, and its cost then."""
        ranked = self._sampler.rank(self._session.logits(), ids, BRANCHES, WORTHWHILE)
        children = []
        for position, (token, cost) in enumerate(ranked):
            line = branch.line if position == len(ranked) - 1 else branch.line.copy()
            line.take(token)
            children.append((branch.cost + cost, line))
        return children
