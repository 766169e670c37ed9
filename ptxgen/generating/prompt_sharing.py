"""One prompt in the KV cache, read once, from which every candidate of a run starts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ptxgen.models.session import ModelIdentity, Session

#: Part of a prompt is shared in whole blocks of tokens, a multiple of every session's batch, so that the
#: rest is evaluated in the same batches, and gives the same numbers, as if the whole were.
BLOCK = 128


class SharedPrompt:
    """A `Session` that keeps a prompt in the cache: beginning anew with the same tokens costs one of them.

    A candidate's logits do not depend on which candidates came before it: its prompt is in the cache as if
    it had been read from the start. So a replay can make one candidate alone.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self.identity: ModelIdentity = session.identity
        self.n_vocab = session.n_vocab
        self.n_ctx = session.n_ctx
        self.eos_tokens = session.eos_tokens
        self.token_bytes: Sequence[bytes] = session.token_bytes
        self._prompt: list[int] = []
        #: how many tokens of the prompt are in the cache, from the first one on; never its last
        self._kept = 0
        #: rewound to the start, which the session below was not told, so that it forgets nothing
        self._at_start = False
        self._prompt_end = 0
        #: how often logits were asked for since the prompt
        self._asked = 0

    @property
    def pace(self) -> tuple[int, int]:
        """Tokens evaluated since the prompt, and how many of them the model was not asked for: figures for
        the eye, since a decoder may hold back some tokens and draw others twice."""
        tokens = max(0, self.position - self._prompt_end)
        return tokens, max(0, tokens - self._asked)

    def hold(self, prompt: Sequence[int]) -> None:
        """Read a prompt of at least one token and keep it. Raises ContextFull."""
        self._prompt, self._kept = list(prompt), 0
        self._read_prompt()

    @property
    def position(self) -> int:
        return 0 if self._at_start else self._session.position

    def tokenize(self, text: bytes, *, special: bool = False) -> list[int]:
        return self._session.tokenize(text, special=special)

    def chat_prompt(self, system: str, turns: Sequence[tuple[str, str]], answer_start: str = "") -> list[int]:
        return self._session.chat_prompt(system, turns, answer_start)

    def evaluate(self, tokens: Sequence[int]) -> None:
        if not self._at_start:
            self._session.evaluate(tokens)
        elif list(tokens) == self._prompt:
            self._read_prompt()
        else:
            shared = _common(tokens, self._prompt[: self._kept]) // BLOCK * BLOCK
            self._forget(shared)
            self._session.evaluate(tokens[shared:])
            self._prompt_end, self._asked = self._session.position, 0

    def evaluate_scored(self, tokens: Sequence[int], following: Sequence[int]) -> float:
        return self._session.evaluate_scored(tokens, following)

    def logits(self) -> npt.NDArray[np.float32]:
        self._asked += 1
        return self._session.logits()

    def rewind(self, position: int) -> None:
        if position == 0 and self._kept:
            self._at_start = True
        else:
            self._forget(position)

    def ll_tokenizer(self) -> Any:
        return self._session.ll_tokenizer()

    def close(self) -> None:
        self._session.close()

    def _read_prompt(self) -> None:
        self._forget(self._kept)
        last = len(self._prompt) - 1
        if self._kept < last:
            self._session.evaluate(self._prompt[self._kept : last])
            self._kept = last
        # Always alone and last, for the first candidate as for the others: a batch of another size may
        # round its logits otherwise.
        self._session.evaluate(self._prompt[last:])
        self._prompt_end, self._asked = self._session.position, 0

    def _forget(self, position: int) -> None:
        self._session.rewind(position)
        self._kept = min(self._kept, position)
        self._at_start = False


def _common(left: Sequence[int], right: Sequence[int]) -> int:
    """Length of the common beginning."""
    length = 0
    for a, b in zip(left, right, strict=False):
        if a != b:
            break
        length += 1
    return length
