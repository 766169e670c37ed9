"""The prompt as a value: a system text, earlier turns, and how the answer begins."""

from __future__ import annotations

import re
from dataclasses import dataclass

#: How a tokeniser for code cuts a text, near enough: words with the sign before them, single digits, other signs.
_PIECE = re.compile(r"[^\r\nA-Za-z\d]?[A-Za-z]+|\d| ?[^\sA-Za-z\d]+\n*|\s+")
FENCE = "```ptx\n"
FENCE_END = "```"


@dataclass(frozen=True, slots=True)
class Prompt:
    """`turns` are (role, text) with role "user" or "assistant", the last one the user's.

    The assistant's answer has already begun with `answer_start`: the fence and the module's header.
    `references` names the kernels shown.
    """

    system: str
    turns: tuple[tuple[str, str], ...]
    answer_start: str
    references: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """All of it in one text, for hashes and reports."""
        parts = [f"[{role}]\n{text}" for role, text in (("system", self.system), *self.turns)]
        return "\n\n".join([*parts, f"[assistant]\n{self.answer_start}"])


def estimated_tokens(text: str) -> int:
    """About how many tokens a model for code makes of the text (within a tenth for Qwen2.5's vocabulary)."""
    return sum(1 for _ in _PIECE.finditer(text))


def answer(ptx: str) -> str:
    """A kernel as an assistant's turn holds it."""
    return f"{FENCE}{ptx.rstrip()}\n{FENCE_END}"
