"""The shared prompt: what is evaluated, and that the session below is where it would be without sharing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ptxgen.generating.prompt_sharing import BLOCK, SharedPrompt
from ptxgen.models import RandomSession


class Counting(RandomSession):
    """Remembers the tokens it holds and in which batches they came."""

    def __init__(self) -> None:
        super().__init__(seed=1)
        self.held: list[int] = []
        self.work = 0

    def evaluate(self, tokens: list[int]) -> None:
        super().evaluate(tokens)
        self.held += tokens
        self.work += len(tokens)

    def rewind(self, position: int) -> None:
        super().rewind(position)
        del self.held[position:]


tokens = st.lists(st.integers(0, 3), max_size=300)


@given(prompt=tokens.filter(len), others=st.lists(st.tuples(st.booleans(), tokens, tokens), max_size=6))
def test_the_cache_holds_what_was_evaluated(
    prompt: list[int], others: list[tuple[bool, list[int], list[int]]]
) -> None:
    below = Counting()
    shared = SharedPrompt(below)
    shared.hold(prompt)
    assert below.held == prompt
    for the_same, changed, answer in others:
        told = prompt if the_same else [*prompt[: len(prompt) // 2], *changed]
        shared.rewind(0)
        assert shared.position == 0
        shared.evaluate(told)
        assert below.held == told
        assert shared.position == len(told)
        shared.evaluate(answer)
        assert below.held == told + answer
        shared.rewind(len(told))
        assert below.held == told


def test_the_same_prompt_costs_one_token_and_a_changed_end_its_blocks() -> None:
    below = Counting()
    shared = SharedPrompt(below)
    prompt = [i % 5 for i in range(3 * BLOCK + 10)]
    shared.hold(prompt)
    below.work = 0
    shared.rewind(0)
    shared.evaluate(prompt)
    assert below.work == 1
    below.work = 0
    shared.rewind(0)
    shared.evaluate([*prompt[:-5], 9, 9, 9])
    assert below.work == len(prompt) - 2 - 3 * BLOCK
    below.work = 0
    shared.rewind(0)
    shared.evaluate(prompt)
    assert below.work == 10, "what the other prompt displaced is read again"
