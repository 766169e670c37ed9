"""What a run makes, as values: candidates, and the whole of them with what they cost."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ptxgen.assembling import Assembly
from ptxgen.generating.options import Options
from ptxgen.models.session import ModelIdentity
from ptxgen.verifying import Verdict

#: verified: right on the search inputs and on those held out. failed: wrong somewhere. rejected: ptxas said
#: no. over-budget: assembles, but against the spec's constraints. miscompiled: right at -O0 or with another
#: ptxas only. incomplete: cut before its end. duplicate: the text of an earlier one. unfinished: interrupted.
Status = Literal[
    "verified", "miscompiled", "failed", "over-budget", "rejected", "incomplete", "duplicate", "unfinished"
]

#: How far a candidate came, best first; among equals the earlier one is better.
_RANK: tuple[Status, ...] = (
    "verified", "miscompiled", "failed", "over-budget", "unfinished", "rejected", "incomplete", "duplicate",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Recipe:
    """How one candidate is decoded: all that distinguishes it from the others of its run.

    At statement `turn` the second best line is taken. For a repair round `parent` is the index of the
    candidate that is repaired, `parent_ptx` its text and `report` what the model is told of it.
    """

    index: int
    seed: int
    temperature: float
    turn: int | None = None
    parent: int | None = None
    parent_ptx: str = ""
    report: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One kernel that a model wrote and what became of it. `trouble` says in a line why it is not right;
    `report` is the same at length, as the model is told in a repair round, "" where it must not be told."""

    recipe: Recipe
    status: Status
    ptx: str
    complete: bool = False
    tokens: int = 0
    forced_tokens: int = 0
    statements: int = 0
    gaps: tuple[float, ...] = ()
    decode_seconds: float = 0.0
    mask_seconds: float = 0.0
    judge_seconds: float = 0.0
    assemblies: tuple[Assembly, ...] = ()
    verdict: Verdict | None = None
    trouble: str = ""
    report: str = ""

    @property
    def index(self) -> int:
        return self.recipe.index


@dataclass(frozen=True, slots=True)
class Generation:
    """A run: `best` is the winner, or the one that came furthest; None where nothing was written."""

    status: Literal["verified", "failed", "unfinished"]
    best: Candidate | None
    candidates: tuple[Candidate, ...]
    options: Options
    kernel: str
    arch: str                      # the one the kernel is written for
    model: ModelIdentity | None
    prompt_sha256: str
    prompt_tokens: int
    prompt_seconds: float
    seconds: float
    executor: str
    ptxas: tuple[str, ...]         # versions, best first

    @property
    def tokens(self) -> int:
        """Tokens of all candidates."""
        return sum(candidate.tokens for candidate in self.candidates)


def best_of(candidates: Sequence[Candidate]) -> Candidate | None:
    """The one that came furthest, the earliest among equals."""
    return min(candidates, key=lambda c: (_RANK.index(c.status), -_tried(c), c.index), default=None)


def _tried(candidate: Candidate) -> int:
    return candidate.verdict.examples if candidate.verdict else 0


#: How many candidates differ from the first in one chosen place, before chance decides.
TURNS = 2
#: Added to the temperature for every copy so far.
HEAT = 0.3


def derived_seed(seed: int, index: int) -> int:
    """The sampling seed of candidate `index`: 31 bits, unrelated for neighbouring seeds and indices."""
    digest = hashlib.sha256(f"{seed}/{index}".encode()).digest()
    return int.from_bytes(digest[:4], "little") >> 1


def _turn(made: Sequence[Candidate], index: int) -> int | None:
    """The statement of the first candidate at which candidate `index` goes another way."""
    unsure = sorted((gap, n) for n, gap in enumerate(made[0].gaps) if gap < math.inf)
    return unsure[index - 1][1] if len(unsure) >= index else None


def next_recipe(options: Options, made: Sequence[Candidate], parent: Candidate | None = None) -> Recipe:
    """How the next candidate is decoded, from the prompt as it is or as a repair of `parent`.

    The first one greedily, which a small model does best. The next ones too, but each with a turn at one of
    the statements that the model was least sure of; the others at the temperature asked for, hotter for each
    that came out as a copy: under a strict mask little is left to chance.
    """
    index = len(made)
    if parent is None and 0 < index <= TURNS and (turn := _turn(made, index)) is not None:
        return Recipe(index, derived_seed(options.seed, index), 0.0, turn)
    copies = sum(candidate.status == "duplicate" for candidate in made)
    temperature = options.temperature + HEAT * copies if index else 0.0
    recipe = Recipe(index, derived_seed(options.seed, index), round(temperature, 6))
    if parent is None:
        return recipe
    return replace(recipe, parent=parent.index, parent_ptx=parent.ptx, report=parent.report)
