"""Which choices of modifiers stand for a form: all where they are few, else every pair of values that can meet."""

from __future__ import annotations

import random
from itertools import combinations

from ptxgen.isa.rows import Row

#: Forms with fewer choices are tried whole.
FEW = 1000
_ENUMERATED = 50_000
_TRIES = 60


def tried_choices(row: Row) -> list[tuple[str, ...]]:
    """The choices of a form that are put before an assembler, the plainest first; the same ones every time."""
    every = []
    for choice in row.choices():
        every.append(choice)
        if len(every) > _ENUMERATED:
            return _drawn_pairs(row, every[0])
    return every if len(every) < FEW else _covering_pairs(every, row)


def _pairs(choice: tuple[str, ...]) -> set[tuple[int, str, int, str]]:
    return {(i, choice[i], j, choice[j]) for i, j in combinations(range(len(choice)), 2)}


def _covering_pairs(every: list[tuple[str, ...]], row: Row) -> list[tuple[str, ...]]:
    """Out of all choices some that show each pair of values: in a random order, those that show a new pair."""
    order = every[1:]
    random.Random(row.form.syntax).shuffle(order)
    found, seen = [every[0]], _pairs(every[0])
    for choice in order:
        pairs = _pairs(choice)
        if not pairs <= seen:
            seen |= pairs
            found.append(choice)
    return found


def _drawn_pairs(row: Row, plain: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Where there are too many choices to list: for each pair of values some filling of the rest that is allowed.

    A pair is given up after a number of random fillings; what is left of it is shown by others, if at all.
    """
    draw = random.Random(row.form.syntax)
    values = [(("",) if slot.optional else ()) + slot.values for slot in row.slots]
    found, seen = [plain], _pairs(plain)
    for i, j in combinations(range(len(values)), 2):
        for first in values[i]:
            for second in values[j]:
                if (i, first, j, second) in seen:
                    continue
                for attempt in range(_TRIES):
                    # the plainest filling is allowed most often
                    choice = list(plain) if attempt == 0 else [draw.choice(slot) for slot in values]
                    choice[i], choice[j] = first, second
                    if row.allows(choice):
                        found.append(tuple(choice))
                        seen |= _pairs(tuple(choice))
                        break
    return found
