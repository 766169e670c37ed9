"""Only the model's own tokenisation: which tokens begin, or go on with, the way the model would split a line.

A grammar over bytes also offers foreign splits (a lone tab before `max`). A model has rarely seen them, and
what it does after one is far from what it would have written. So at the head of a line only tokens of the
own split of some legal line are offered; within the operands a token is offered if the split of the text so
far agrees with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from ptxgen.decoding.vocabulary import Vocabulary
from ptxgen.semantics.statements import AllowedStatements, Pattern

#: What follows a head in most lines; tokenised along so that a token may reach over the head's end.
TAIL = " %r1, %r1;\n"


class Canonical:
    """The splits of one vocabulary, remembered across statements and candidates."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._heads: dict[str, tuple[int, ...]] = {}
        self._splits: dict[bytes, tuple[int, ...]] = {}

    def split(self, text: bytes) -> tuple[int, ...]:
        """The model's own tokens of a text."""
        found = self._splits.get(text)
        if found is None:
            if len(self._splits) > 50_000:
                self._splits.clear()
            found = self._splits[text] = tuple(self._vocabulary.tokenize(text))
        return found

    def heads(self, allowed: AllowedStatements) -> list[tuple[int, ...]]:
        """Token sequences that the legal lines begin with: tab and opcode, tab and guard, labels, brace."""
        heads: list[str] = []
        for opcodes, row in allowed.rows:
            if any(isinstance(o, Pattern) for o in opcodes):
                return []
            for guard in row.guards:
                if not guard:
                    tail = TAIL if row.operands else ";\n"
                    heads += [f"\t{o}{tail}" for o in opcodes]
                else:
                    heads.append(f"\t{guard.rstrip()} bra $L_1;\n")
        for line in allowed.fixed:
            if isinstance(line, Pattern):
                return []
            heads.append(line)
        return list({self._head(h): None for h in dict.fromkeys(heads)})

    def _head(self, line: str) -> tuple[int, ...]:
        """Tokens up to the one in which the first word of the line ends."""
        found = self._heads.get(line)
        if found is None:
            tokens = self.split(line.encode())
            word = len(line.split(" ", 1)[0].encode()) if " " in line else len(line.encode())
            length, kept = 0, 0
            for token in tokens:
                if length >= word:
                    break
                length += len(self._vocabulary.token_bytes[token])
                kept += 1
            found = self._heads[line] = tuple(tokens[:kept])
        return found

    def _word(self, text: bytes, tokens: tuple[int, ...]) -> tuple[int, int]:
        """Where the current word begins, as (byte, token): a space that a token starts with, for no split
        depends on what stands before it. (0, 0) if there is none: the whole line counts."""
        position = len(text)
        for index in range(len(tokens) - 1, 0, -1):
            piece = self._vocabulary.token_bytes[tokens[index]]
            position -= len(piece)
            if piece.startswith(b" "):
                return position, index
        return 0, 0

    def narrow(
        self,
        ids: npt.NDArray[np.int64],
        heads: Iterable[tuple[int, ...]],
        written: Sequence[int],
        text: bytes,
    ) -> npt.NDArray[np.int64]:
        """`ids` without foreign splits. `written` are the line's tokens so far, `text` their bytes.

        Where no token would be left the ids are returned as they are: legality comes first.
        """
        count = len(written)
        following: set[int] = set()
        inside = False
        done = tuple(written)
        for head in heads:
            if len(head) > count:
                if head[:count] == done:
                    following.add(head[count])
            elif done[: len(head)] == head:
                inside = True
        if following and not inside:
            kept = ids[np.isin(ids, np.fromiter(following, dtype=np.int64))]
            return kept if len(kept) else ids
        if len(ids) > 4096 or not inside:
            return ids
        pieces = self._vocabulary.token_bytes
        start, first = self._word(text, done)
        word, tokens = text[start:], done[first:]
        keep = [i for i in ids.tolist() if i in following or self.split(word + pieces[i]) == (*tokens, i)]
        return np.asarray(keep, dtype=np.int64) if keep else ids
