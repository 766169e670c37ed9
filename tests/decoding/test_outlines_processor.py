"""The processor for Outlines: kernels through its interface, and what happens when something fails inside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ptxgen.decoding.outlines_processor import KernelProcessor
from ptxgen.errors import MaskError, PtxgenError, UsageError
from ptxgen.isa import load_table
from ptxgen.models import RandomSession, open_session
from ptxgen.semantics import Level, State, allowed, contract_of, step
from ptxgen.spec import Spec, load_spec

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PROMPT = [5, 6, 7]


def spec_of(name: str = "saxpy") -> Spec:
    return load_spec(EXAMPLES / f"{name}.toml")


def processor_of(level: str = "full", max_tokens: int = 500) -> KernelProcessor:
    return KernelProcessor(RandomSession(), spec_of(), load_table(), level, max_tokens=max_tokens)


class FakeEngine:
    """Samples like an engine that knows nothing of PTX: arrays of one dimension, the highest logit wins."""

    def __init__(self, seed: int) -> None:
        self.session = RandomSession(seed=seed)
        self.tokens = list(PROMPT)

    def run(self, processor: KernelProcessor, most: int) -> bool:
        """Whether it ended by itself, within that many tokens."""
        processor.reset()
        self.session.evaluate(self.tokens)
        for _ in range(most):
            logits = processor(np.array(self.tokens), self.session.logits())
            token = int(np.argmax(logits))
            self.tokens.append(token)
            self.session.evaluate([token])
            if token in self.session.eos_tokens:
                return True
        return False


@pytest.mark.parametrize("level", ["syntax", "typed", "scoped", "typestate", "full"])
def test_every_level_closes_within_its_budget(level: str) -> None:
    processor = processor_of(level)
    engine = FakeEngine(seed=3)
    assert engine.run(processor, most=501)
    processor.raise_if_failed()
    assert processor.complete
    body = b"".join(engine.session.token_bytes[t] for t in engine.tokens[len(PROMPT) : -1]).decode()
    header = spec_of().header("sm_80", load_table())
    assert processor.ptx == header + body
    state = State.start(contract_of(spec_of(), load_table(), "sm_80"), Level.parse(level))
    for line in body.splitlines(keepends=True):
        # the way home may leave a loop's label behind that nothing branches to
        left_open = line == "\tret;\n" and any(r.kind == "loop" for r in state.regions)
        assert left_open or allowed(state).contains(line), line
        state = step(state, line)
    assert state.closed


def test_it_serves_again_after_a_reset() -> None:
    processor = processor_of()
    first, second = FakeEngine(seed=1), FakeEngine(seed=1)
    assert first.run(processor, 501)
    assert second.run(processor, 501)
    assert first.tokens == second.tokens


def test_rows_of_two_dimensions_keep_their_shape() -> None:
    logits = processor_of()(np.array([PROMPT]), np.zeros((1, RandomSession().n_vocab), np.float32))
    assert logits.shape == (1, RandomSession().n_vocab)
    assert 0 < np.isfinite(logits).sum() < logits.size


# ---------------------------------------------------------------- fail closed


def only_end(logits: Any) -> bool:
    return set(np.flatnonzero(np.isfinite(logits)).tolist()) == set(RandomSession().eos_tokens)


def failing(self: Any) -> Any:
    raise ValueError("broken")


def test_an_error_inside_leaves_only_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    processor = processor_of()
    zeros = np.zeros(RandomSession().n_vocab, np.float32)
    assert not only_end(processor(np.array(PROMPT), zeros))
    monkeypatch.setattr(KernelProcessor, "_legal", failing)
    assert only_end(processor(np.array([*PROMPT]), zeros))
    monkeypatch.undo()
    assert only_end(processor(np.array([*PROMPT]), zeros)), "a failure lasts"
    assert not processor.complete
    with pytest.raises(ValueError, match="broken"):
        processor.raise_if_failed()


def test_shapes_that_do_not_fit_fail_closed_too() -> None:
    processor = processor_of()
    assert only_end(processor(np.array([PROMPT, PROMPT]), np.zeros(RandomSession().n_vocab, np.float32)))
    with pytest.raises(AssertionError):
        processor.raise_if_failed()


def test_several_sequences_at_once_are_refused() -> None:
    processor = processor_of()
    logits = processor(np.array([PROMPT, PROMPT]), np.zeros((2, RandomSession().n_vocab), np.float32))
    assert all(only_end(row) for row in logits)
    with pytest.raises(MaskError, match="one at a time"):
        processor.raise_if_failed()


def test_an_engine_that_ignores_the_mask_is_noticed() -> None:
    processor = processor_of()
    zeros = np.zeros(RandomSession().n_vocab, np.float32)
    forbidden = int(np.flatnonzero(~np.isfinite(processor(np.array(PROMPT), zeros)))[0])
    assert only_end(processor(np.array([*PROMPT, forbidden]), zeros))
    with pytest.raises(PtxgenError):
        processor.raise_if_failed()


def test_what_cannot_work_is_refused_at_once() -> None:
    with pytest.raises(UsageError):
        processor_of("none")
    with pytest.raises(MaskError, match="max_tokens"):
        processor_of("full", max_tokens=5)


# ---------------------------------------------------------------- a real engine


@pytest.mark.model
def test_a_kernel_through_outlines_and_llama_cpp(small_llama: Any) -> None:
    from outlines import Generator
    from outlines.models import LlamaCpp

    spec, table = spec_of(), load_table()
    vocabulary = open_session("smollm2", n_ctx=64)
    processor = KernelProcessor(vocabulary, spec, table, "scoped", max_tokens=200)
    generator = Generator(LlamaCpp(small_llama, chat_mode=False), processor=processor)
    text = generator(spec.header("sm_80", table), max_tokens=201, seed=1)
    processor.raise_if_failed()
    assert processor.complete
    assert processor.ptx == spec.header("sm_80", table) + text
    vocabulary.close()
