"""From a set of legal statements to a token mask: one regular grammar a statement, compiled by llguidance."""

from __future__ import annotations

from functools import cache, lru_cache
from string import Template
from typing import Any

import numpy as np
import numpy.typing as npt
from llguidance import LLMatcher

from ptxgen.data import data_folder
from ptxgen.errors import MaskError
from ptxgen.semantics.statements import AllowedStatements, alternation

#: Compiled grammars kept by text: states recur across candidates and after redraws.
CACHE = 256


def statement_grammar(allowed: AllowedStatements, rejected: tuple[str, ...] = ()) -> str:
    """The llguidance grammar (Lark dialect) of one statement: `grammar/statement.lark`, filled in. `rejected`
    are expressions of further lines to leave out.

    Raises MaskError when nothing is legal.
    """
    if allowed.empty:
        raise MaskError("no statement is legal here", why="the mask's rules leave nothing to write")
    terminals: dict[str, str] = {}

    def terminal(expression: str) -> str:
        return terminals.setdefault(expression, f"T{len(terminals)}")

    lines = [f"/{alternation(allowed.fixed)}/"] if allowed.fixed else []
    for opcodes, row in allowed.rows:
        parts = []
        guards = [g for g in row.guards if g]
        if guards:
            parts.append(terminal(alternation(guards)) + ("?" if "" in row.guards else ""))
        parts.append(f"/{alternation(opcodes)}{' ' if row.operands else ''}/")
        parts.append(' ", " '.join(terminal(alternation(o)) for o in row.operands))
        lines.append(f"/\\t/ {' '.join(parts)} /;\\n/")
    leave_out = "|".join(e for e in (allowed.exclude, *rejected) if e)
    taken_away = f" & ~/({leave_out})/" if leave_out else ""
    parts_named = "\n".join(f"{name}: /{expression}/" for expression, name in terminals.items())
    return _template().substitute({"parts": parts_named, "lines": " | ".join(lines), "except": taken_away})


@cache
def _template() -> Template:
    text = (data_folder("grammar") / "statement.lark").read_text(encoding="utf-8")
    return Template("".join(line for line in text.splitlines(keepends=True) if not line.startswith("//")))


class StatementMatcher:
    """Follows the tokens of one statement. Every call that llguidance answers with an error raises MaskError:
    it never goes on with a mask that was not computed."""

    def __init__(self, tokenizer: Any, grammar: str) -> None:
        self._matcher = _compiled(tokenizer, grammar).deep_copy()

    def copy(self) -> StatementMatcher:
        other = object.__new__(StatementMatcher)
        other._matcher = self._matcher.deep_copy()
        return other

    def forced_tokens(self) -> list[int]:
        """Tokens that every legal completion begins with, in the tokeniser's own split."""
        tokens = list(self._matcher.compute_ff_tokens())
        self._check()
        return tokens

    def mask(self) -> npt.NDArray[np.uint8]:
        """One bit a token, least significant first: uint8[ceil(n_vocab / 8)]."""
        packed = np.frombuffer(self._matcher.compute_bitmask(), dtype=np.uint8)
        self._check()
        return packed

    def consume(self, tokens: list[int]) -> None:
        if not self._matcher.consume_tokens(tokens):
            self._check()
            raise MaskError("the mask refused a token that it had offered")
        self._check()

    @property
    def finished(self) -> bool:
        return bool(self._matcher.is_stopped())

    def _check(self) -> None:
        if self._matcher.is_error():
            raise MaskError("the token mask failed", why=self._matcher.get_error())


@lru_cache(maxsize=CACHE)
def _compiled(tokenizer: Any, grammar: str) -> Any:
    matcher = LLMatcher(tokenizer, grammar)
    if matcher.is_error():
        raise MaskError("a statement grammar did not compile", why=matcher.get_error()[:500])
    return matcher


def allowed_ids(packed: npt.NDArray[np.uint8], n_vocab: int) -> npt.NDArray[np.int64]:
    """The token ids whose bits are set."""
    bytes_set = np.flatnonzero(packed)
    if not len(bytes_set):
        return np.empty(0, dtype=np.int64)
    bits = np.unpackbits(packed[bytes_set, None], axis=1, bitorder="little")
    rows, columns = np.nonzero(bits)
    ids = bytes_set[rows] * 8 + columns
    return np.asarray(ids[ids < n_vocab], dtype=np.int64)
