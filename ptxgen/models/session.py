"""What decoding needs of a model: token bytes, a tokeniser, logits, and a position that can be rewound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """What the manifest records: where the model came from and which bytes it is."""

    name: str
    path: str        # "" for the random model
    sha256: str      # "" for the random model


def log_probability(logits: npt.NDArray[np.float32], token: int) -> float:
    """Natural logarithm of one token's share under softmax over float32[n_vocab]."""
    top = logits.max()
    return float(logits[token] - top) - float(np.log(np.exp(logits - top).sum(dtype=np.float64)))


class Session(Protocol):
    """One loaded model with one KV cache. Token ids index the vocabulary, 0 to `n_vocab` - 1."""

    identity: ModelIdentity
    n_vocab: int
    n_ctx: int
    eos_tokens: frozenset[int]
    #: bytes of each token; b"" for control tokens
    token_bytes: Sequence[bytes]

    @property
    def position(self) -> int:
        """How many tokens the KV cache holds."""
        ...

    def tokenize(self, text: bytes, *, special: bool = False) -> list[int]:
        """The model's own tokenisation, without BOS; `special` lets control tokens be parsed from text."""
        ...

    def chat_prompt(self, system: str, turns: Sequence[tuple[str, str]], answer_start: str = "") -> list[int]:
        """Tokens of a conversation in the model's own chat template, ending where the assistant's
        answer has already begun with `answer_start`. `turns` are (role, text), role "user" or "assistant"."""
        ...

    def evaluate(self, tokens: Sequence[int]) -> None:
        """Append tokens to the KV cache, in batches. Raises ContextFull when they do not fit `n_ctx`."""
        ...

    def evaluate_scored(self, tokens: Sequence[int], following: Sequence[int]) -> float:
        """`evaluate(tokens)`, and the log probability (natural) of `following`: of each `following[i]` right
        after `tokens[i]`, added up. At most as many as `tokens`, of which there is at least one."""
        ...

    def logits(self) -> npt.NDArray[np.float32]:
        """float32[n_vocab] after the last evaluated token; valid until the next call of any method."""
        ...

    def rewind(self, position: int) -> None:
        """Forget everything from `position` on. The last token before it is evaluated again so that
        `logits` is right."""
        ...

    def ll_tokenizer(self) -> Any:
        """The llguidance.LLTokenizer of this vocabulary, built once."""
        ...

    def close(self) -> None: ...
