"""What masks need of a model's vocabulary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol


class Vocabulary(Protocol):
    """A part of `Session`, so any session on the model that is steered will do."""

    n_vocab: int
    eos_tokens: frozenset[int]
    token_bytes: Sequence[bytes]

    def tokenize(self, text: bytes, *, special: bool = False) -> list[int]:
        """The model's own tokenisation."""
        ...

    def ll_tokenizer(self) -> Any:
        """The llguidance.LLTokenizer of this vocabulary."""
        ...
