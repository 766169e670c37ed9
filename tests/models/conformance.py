"""What every `Session` must do, whatever model is behind it."""

from __future__ import annotations

import llguidance
import llguidance.numpy
import numpy as np
import pytest

from ptxgen.models import ContextFull, Session

TEXT = b"\tfma.rn.f32 %f3, %f1, %f2, %f4;\n\t@%p1 bra $L_end;\n\tld.param.u64 %rd1, [param_x];\n$L_end:\n"


class SessionConformance:
    """Subclasses give the fixture `session`, with a context of 512 tokens, at position 0.

    `tolerance` is how far logits may lie apart when the same tokens came in other batches.
    """

    tolerance = 0.0

    def test_tokens_hold_the_text(self, session: Session) -> None:
        tokens = session.tokenize(TEXT)
        assert b"".join(session.token_bytes[token] for token in tokens) == TEXT
        assert len(session.token_bytes) == session.n_vocab
        assert session.tokenize(b"") == []

    def test_bytes_that_are_no_text_survive(self, session: Session) -> None:
        tokens = session.tokenize("µ→x\n".encode())
        assert b"".join(session.token_bytes[token] for token in tokens) == "µ→x\n".encode()

    def test_end_tokens_have_no_bytes(self, session: Session) -> None:
        assert session.eos_tokens
        assert all(session.token_bytes[token] == b"" for token in session.eos_tokens)

    def test_position_counts_and_rewinds(self, session: Session) -> None:
        tokens = session.tokenize(TEXT)
        session.evaluate(tokens)
        assert session.position == len(tokens)
        session.rewind(3)
        assert session.position == 3
        session.evaluate([])
        assert session.position == 3
        with pytest.raises(ValueError, match="rewind"):
            session.rewind(4)
        with pytest.raises(ValueError, match="rewind"):
            session.rewind(-1)

    def test_logits_depend_on_what_was_evaluated_not_on_how(self, session: Session) -> None:
        tokens = session.tokenize(TEXT)
        session.evaluate(tokens)
        whole = session.logits().copy()
        assert whole.shape == (session.n_vocab,)
        assert whole.dtype == np.float32
        assert np.isfinite(whole).all()
        session.rewind(0)
        for token in tokens:
            session.evaluate([token])
        self._alike(session.logits(), whole)

    def test_after_a_rewind_logits_are_those_of_the_shorter_text(self, session: Session) -> None:
        tokens = session.tokenize(TEXT)
        session.evaluate(tokens[:5])
        short = session.logits().copy()
        session.evaluate(tokens[5:])
        long = session.logits().copy()
        session.rewind(5)
        self._alike(session.logits(), short)
        assert np.abs(long - short).max() > 10 * self.tolerance
        session.evaluate(tokens[5:])
        self._alike(session.logits(), long)

    def test_rewinding_and_writing_something_else_leaves_no_trace(self, session: Session) -> None:
        tokens = session.tokenize(TEXT)
        session.evaluate(tokens[:8])
        expected = session.logits().copy()
        session.rewind(4)
        session.evaluate(list(reversed(tokens)))
        session.rewind(4)
        session.evaluate(tokens[4:8])
        self._alike(session.logits(), expected)

    def test_the_context_is_a_limit_and_refusing_changes_nothing(self, session: Session) -> None:
        token = session.tokenize(b"x")[0]
        session.evaluate([token] * (session.n_ctx - 1))
        with pytest.raises(ContextFull):
            session.evaluate([token, token])
        assert session.position == session.n_ctx - 1
        session.evaluate([token])
        assert session.position == session.n_ctx

    def test_a_conversation_holds_its_words_and_ends_where_the_answer_began(self, session: Session) -> None:
        tokens = session.chat_prompt(
            "Be brief.", [("user", "first"), ("assistant", "second"), ("user", "third")], "```ptx\n"
        )
        text = b"".join(session.token_bytes[token] for token in tokens)
        places = [text.index(word) for word in (b"Be brief.", b"first", b"second", b"third", b"```ptx\n")]
        assert places == sorted(places)
        assert text.endswith(b"```ptx\n")

    def test_the_guidance_tokeniser_agrees(self, session: Session) -> None:
        tokenizer = session.ll_tokenizer()
        assert tokenizer is session.ll_tokenizer()
        assert tokenizer.vocab_size == session.n_vocab
        assert tokenizer.tokenize_bytes(TEXT) == session.tokenize(TEXT)

    def test_masks_offer_the_tokens_that_the_bytes_say(self, session: Session) -> None:
        tokenizer = session.ll_tokenizer()
        grammar = llguidance.grammar_from("lark", r'start: /\t(add|sub)\.f32 %f[0-9]+;\n/')
        matcher = llguidance.LLMatcher(tokenizer, grammar)
        assert matcher.get_error() == ""
        bits = llguidance.numpy.allocate_token_bitmask(1, session.n_vocab)
        llguidance.numpy.fill_next_token_bitmask(matcher, bits, 0)
        allowed = np.unpackbits(bits[0].view(np.uint8), bitorder="little")[: session.n_vocab].nonzero()[0]
        texts = (b"\tadd.f32 %f", b"\tsub.f32 %f")
        starts = {text[:end] for text in texts for end in range(1, len(text) + 1)}
        assert {session.token_bytes[token] for token in allowed} == starts & set(session.token_bytes)
        for token in session.tokenize(b"\tadd.f32 %f12;\n"):
            assert matcher.consume_token(token)
        assert matcher.is_accepting()

    def _alike(self, found: object, expected: object) -> None:
        assert np.abs(np.asarray(found) - np.asarray(expected)).max() <= self.tolerance
