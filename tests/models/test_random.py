"""The random model."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptxgen.models import RandomSession, open_session
from ptxgen.models.random import tokenize
from ptxgen.models.random_vocabulary import END, vocabulary

from .conformance import SessionConformance


class TestRandom(SessionConformance):
    @pytest.fixture
    def session(self) -> RandomSession:
        return RandomSession(seed=7, n_ctx=512)


def test_seed_and_position_decide() -> None:
    first, same, other = RandomSession(seed=1), RandomSession(seed=1), RandomSession(seed=2)
    assert (first.logits() == same.logits()).all()
    assert (first.logits() != other.logits()).any()
    same.evaluate([5])
    assert (first.logits() != same.logits()).any()


@pytest.mark.parametrize("seed", [0, -1, 2**63, 2**64 + 3])
def test_any_whole_number_is_a_seed(seed: int) -> None:
    logits = RandomSession(seed=seed).logits()
    assert 0.4 < float(logits.mean()) < 0.6


def test_every_token_is_as_likely_as_any_other() -> None:
    session = RandomSession(seed=3)
    best = np.zeros(session.n_vocab)
    for _ in range(4000):
        best[int(session.logits().argmax())] += 1
        session.evaluate([0])
    # 4000 draws over some 2000 tokens: about 15% of them are never drawn, none often
    assert best.max() <= 12
    assert (best > 0).mean() > 0.75


def test_the_vocabulary_is_sound() -> None:
    words = vocabulary()
    assert words[:256] == tuple(bytes((value,)) for value in range(256))
    assert len(set(words)) == len(words)
    assert words[-1] == END
    assert 1000 < len(words) < 3000


@given(st.binary(max_size=60) | st.text(alphabet="\t\n;.%rfd[]@$_,+0123abcdelopst {}", max_size=80).map(str.encode))
def test_any_bytes_are_tokenised_longest_first(text: bytes) -> None:
    words = vocabulary()
    tokens = tokenize(text)
    assert b"".join(words[token] for token in tokens) == text
    at = 0
    for token in tokens:
        assert not any(
            len(word) > len(words[token]) and text.startswith(word, at) for word in words[256:-1]
        )
        at += len(words[token])


def test_the_end_token_is_read_only_where_asked() -> None:
    assert tokenize(b"a" + END, special=True)[-1] == len(vocabulary()) - 1
    assert len(vocabulary()) - 1 not in tokenize(b"a" + END)


def test_it_is_opened_by_name_and_needs_no_llama() -> None:
    assert open_session("random", seed=1, n_ctx=99).n_ctx == 99
    code = "import sys; from ptxgen.models import open_session; open_session('random').logits(); "
    code += "sys.exit('llama_cpp' in sys.modules or 'llguidance' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
