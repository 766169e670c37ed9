"""A model that knows nothing: seeded random logits. It needs no file, and writes whatever a mask allows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ptxgen.models.failures import ContextFull
from ptxgen.models.random_vocabulary import END, vocabulary
from ptxgen.models.session import ModelIdentity, log_probability

DEFAULT_CONTEXT = 65536


class RandomSession:
    """Implements `Session`. Logits depend on seed and position alone: after a rewind they come again."""

    def __init__(self, *, seed: int = 0, n_ctx: int = 0) -> None:
        tokens = vocabulary()
        self.identity = ModelIdentity(name="random", path="", sha256="")
        self.n_vocab = len(tokens)
        self.n_ctx = n_ctx or DEFAULT_CONTEXT
        self._end = self.n_vocab - 1
        self.eos_tokens = frozenset({self._end})
        self.token_bytes: Sequence[bytes] = (*tokens[:-1], b"")
        # Philox takes a key of two unsigned 64-bit words; the second one is the position.
        self._seed = seed % 2**64
        self._position = 0

    @property
    def position(self) -> int:
        return self._position

    def tokenize(self, text: bytes, *, special: bool = False) -> list[int]:
        return tokenize(text, special=special)

    def chat_prompt(self, system: str, turns: Sequence[tuple[str, str]], answer_start: str = "") -> list[int]:
        """Plain concatenation: there is no template to obey."""
        parts = [f"{role}: {text}\n\n" for role, text in (("system", system), *turns) if text]
        return tokenize(("".join(parts) + "assistant: " + answer_start).encode())

    def evaluate(self, tokens: Sequence[int]) -> None:
        if self._position + len(tokens) > self.n_ctx:
            raise ContextFull(self._position, len(tokens), self.n_ctx)
        self._position += len(tokens)

    def evaluate_scored(self, tokens: Sequence[int], following: Sequence[int]) -> float:
        total = 0.0
        for index, token in enumerate(tokens):
            self.evaluate([token])
            if index < len(following):
                total += log_probability(self.logits(), following[index])
        return total

    def logits(self) -> npt.NDArray[np.float32]:
        key = np.array([self._seed, self._position], np.uint64)
        generator = np.random.Generator(np.random.Philox(key=key))
        return generator.random(self.n_vocab, dtype=np.float32)

    def rewind(self, position: int) -> None:
        if not 0 <= position <= self._position:
            raise ValueError(f"cannot rewind from {self._position} to {position}")
        self._position = position

    def ll_tokenizer(self) -> Any:
        return _ll_tokenizer()

    def close(self) -> None:
        """Nothing is held."""


def tokenize(text: bytes, *, special: bool = False) -> list[int]:
    """Longest match first: this vocabulary's own tokenisation. Never fails, for every byte is a token."""
    ids = _ids()
    longest = _longest()
    tokens: list[int] = []
    at = 0
    while at < len(text):
        if special and text.startswith(END, at):
            tokens.append(len(vocabulary()) - 1)
            at += len(END)
            continue
        for length in range(min(longest[text[at]], len(text) - at), 0, -1):
            found = ids.get(text[at : at + length])
            if found is not None:
                tokens.append(found)
                at += length
                break
    return tokens


@cache
def _ids() -> dict[bytes, int]:
    return {piece: index for index, piece in enumerate(vocabulary()[:-1])}


@cache
def _longest() -> tuple[int, ...]:
    """By first byte, the length of the longest piece."""
    lengths = [1] * 256
    for piece in vocabulary()[:-1]:
        lengths[piece[0]] = max(lengths[piece[0]], len(piece))
    return tuple(lengths)


class _Vocabulary:
    """What llguidance asks of a foreign tokeniser."""

    def __init__(self) -> None:
        self.tokens = vocabulary()
        self.eos_token_id = len(self.tokens) - 1
        self.bos_token_id = None
        self.special_token_ids = (self.eos_token_id,)

    def __call__(self, text: bytes) -> list[int]:
        return tokenize(text)


@cache
def _ll_tokenizer() -> Any:
    from llguidance import LLTokenizer, TokenizerWrapper

    wrapped = TokenizerWrapper(_Vocabulary())
    return LLTokenizer(wrapped, n_vocab=len(vocabulary()), eos_token=len(vocabulary()) - 1)
