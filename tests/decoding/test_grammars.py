"""The grammar of a statement accepts exactly what `contains` does, and failures are never silent."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ptxgen.decoding import grammars
from ptxgen.decoding.grammars import StatementMatcher, allowed_ids, statement_grammar
from ptxgen.errors import MaskError
from ptxgen.models import RandomSession
from ptxgen.semantics.statements import AllowedStatements, Pattern, Row, escape
from tests.semantics.kernels_and_walks import LEVELS, allowed_here, draw, kernels, states

SESSION = RandomSession()
PLACES = st.tuples(st.sampled_from(kernels()), st.sampled_from(LEVELS), st.floats(0, 0.99), st.integers(0, 2**32))


def _takes(grammar: str, line: str) -> bool:
    """Whether the grammar takes the whole line, in the vocabulary's own split, and nothing after it."""
    matcher = StatementMatcher(SESSION.ll_tokenizer(), grammar)
    for token in SESSION.tokenize(line.encode()):
        if matcher.finished or not _offers(matcher, token):
            return False
        matcher.consume([token])
    return matcher.finished


def _offers(matcher: StatementMatcher, token: int) -> bool:
    return token in allowed_ids(matcher.mask(), SESSION.n_vocab)


def _mutant(line: str, random: Random) -> str:
    """The line with one character taken out, doubled, or replaced by one of its own."""
    at = random.randrange(len(line) - 1)
    middle = random.choice(["", line[at] * 2, random.choice(line)])
    return line[:at] + middle + line[at + 1 :]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(PLACES)
def test_grammar_and_contains_are_one(place: tuple) -> None:
    kernel, level, share, seed = place
    random = Random(seed)
    reached = states(kernel, level)
    at = int(share * (len(reached) - 1))
    legal = allowed_here(reached[at])
    grammar = statement_grammar(legal)
    drawn = draw(legal, random)
    lines = {kernel.lines()[at], drawn, *(random.choice(kernel.lines()) for _ in range(3))} - {""}
    for line in [*lines, *(_mutant(line, random) for line in lines for _ in range(4))]:
        assert _takes(grammar, line) == legal.contains(line), line


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(PLACES)
def test_rejected_lines_are_left_out(place: tuple) -> None:
    kernel, level, share, seed = place
    reached = states(kernel, level)
    legal = allowed_here(reached[int(share * (len(reached) - 1))])
    line = draw(legal, Random(seed))
    if line:
        assert _takes(statement_grammar(legal), line)
        try:
            taken = _takes(statement_grammar(legal, (escape(line),)), line)
        except MaskError:
            taken = False       # it was the only one: a grammar of nothing is refused as a whole
        assert not taken


def test_nothing_legal_is_an_error() -> None:
    with pytest.raises(MaskError, match="no statement is legal"):
        statement_grammar(AllowedStatements())


def test_a_grammar_that_does_not_compile_is_an_error() -> None:
    broken = statement_grammar(AllowedStatements(((("add",), Row(((Pattern("(unclosed"),),))),)))
    with pytest.raises(MaskError, match="did not compile"):
        StatementMatcher(SESSION.ll_tokenizer(), broken)


class _Failing:
    """A matcher that answers, and has failed."""

    def deep_copy(self) -> _Failing:
        return self

    def is_error(self) -> bool:
        return True

    def get_error(self) -> str:
        return "it broke"

    def is_stopped(self) -> bool:
        return False

    def compute_ff_tokens(self) -> list[int]:
        return []

    def compute_bitmask(self) -> bytes:
        return b"\xff" * ((SESSION.n_vocab + 7) // 8)

    def consume_tokens(self, tokens: list[int]) -> bool:
        return True


@pytest.mark.parametrize("call", ["forced_tokens", "mask", "consume"])
def test_a_matcher_in_error_is_never_obeyed(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grammars, "_compiled", lambda tokenizer, grammar: _Failing())
    matcher = StatementMatcher(SESSION.ll_tokenizer(), "start: S\nS: /a/\n")
    with pytest.raises(MaskError, match="mask failed") as failure:
        getattr(matcher, call)(*([[5]] if call == "consume" else []))
    assert "it broke" in str(failure.value) + failure.value.why


def test_a_refused_token_is_an_error() -> None:
    matcher = StatementMatcher(SESSION.ll_tokenizer(), statement_grammar(AllowedStatements((), ("}\n",))))
    with pytest.raises(MaskError):
        matcher.consume(SESSION.tokenize(b"x"))


@given(st.sets(st.integers(0, 199)))
def test_bits_of_a_mask_are_token_ids(wanted: set[int]) -> None:
    import numpy as np

    packed = np.zeros(25, np.uint8)
    for token in wanted:
        packed[token // 8] |= 1 << token % 8
    assert allowed_ids(packed, 200).tolist() == sorted(wanted)
    assert allowed_ids(packed, 100).tolist() == sorted(t for t in wanted if t < 100)
