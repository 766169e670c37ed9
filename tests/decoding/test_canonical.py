"""Statements come in the vocabulary's own split."""

from __future__ import annotations

from itertools import accumulate
from random import Random

import numpy as np
import pytest

from ptxgen.decoding.canonical import Canonical
from ptxgen.decoding.grammars import StatementMatcher, allowed_ids, statement_grammar
from ptxgen.models import RandomSession
from ptxgen.semantics import Level
from tests.semantics.kernels_and_walks import Kernel, allowed_here, kernels, states

SESSION = RandomSession()
SOME = kernels()[::7]


def _random_statement(legal: object, canonical: Canonical, random: Random) -> list[int]:
    """Tokens drawn uniformly from the mask, narrowed to the own split."""
    matcher = StatementMatcher(SESSION.ll_tokenizer(), statement_grammar(legal))
    heads = canonical.heads(legal)
    tokens: list[int] = []
    while True:
        ahead = matcher.forced_tokens()
        if ahead:
            matcher.consume(ahead)
            tokens += ahead
        if matcher.finished:
            return tokens
        ids = allowed_ids(matcher.mask(), SESSION.n_vocab)
        narrowed = canonical.narrow(ids, heads, tokens, b"".join(SESSION.token_bytes[t] for t in tokens))
        assert set(narrowed.tolist()) <= set(ids.tolist())
        token = random.choice(narrowed.tolist())
        matcher.consume([token])
        tokens.append(token)


def _ends(tokens: list[int]) -> set[int]:
    return set(accumulate(len(SESSION.token_bytes[t]) for t in tokens))


def test_random_statements_are_split_as_the_vocabulary_splits() -> None:
    """Heads exactly; within operands this vocabulary has tokens (`4, %`) that reach over what had been decided
    before, so the rest agrees mostly."""
    random = Random(4)
    canonical = Canonical(SESSION)
    agreeing = total = 0
    for kernel in SOME:
        for state in states(kernel, Level.FULL)[:-1:4]:
            tokens = _random_statement(allowed_here(state), canonical, random)
            text = b"".join(SESSION.token_bytes[t] for t in tokens)
            own = SESSION.tokenize(text)
            head = len(text.split(b" ", 1)[0]) if b" " in text else len(text)
            ends = accumulate(len(SESSION.token_bytes[t]) for t in own)
            count = next(i + 1 for i, end in enumerate(ends) if end >= head)
            assert tokens[:count] == own[:count], text
            agreeing += len(_ends(tokens) & _ends(own))
            total += len(_ends(tokens) | _ends(own))
    assert agreeing >= 0.7 * total


@pytest.mark.parametrize("kernel", SOME, ids=lambda kernel: kernel.name)
def test_the_own_split_of_a_legal_line_is_never_narrowed_away(kernel: Kernel) -> None:
    canonical = Canonical(SESSION)
    for state, line in zip(states(kernel, Level.FULL), kernel.lines(), strict=False):
        legal = allowed_here(state)
        heads = canonical.heads(legal)
        matcher = StatementMatcher(SESSION.ll_tokenizer(), statement_grammar(legal))
        written: list[int] = []
        for token in SESSION.tokenize(line.encode()):
            ids = allowed_ids(matcher.mask(), SESSION.n_vocab)
            text = b"".join(SESSION.token_bytes[t] for t in written)
            assert token in canonical.narrow(ids, heads, written, text), (line, text)
            matcher.consume([token])
            written.append(token)


def test_legality_comes_first() -> None:
    """Where only foreign splits are legal, they are offered."""
    ids = np.array([5, 9])
    assert Canonical(SESSION).narrow(ids, [(1, 2, 3)], [1, 2], b"xy").tolist() == [5, 9]
