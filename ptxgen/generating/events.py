"""What a run tells while it goes on."""

from __future__ import annotations

from typing import Protocol

from ptxgen.generating.candidates import Candidate, Generation, Recipe
from ptxgen.models.session import ModelIdentity


class Events(Protocol):
    """Called from the thread that generates, in this order; every call returns soon."""

    def model_ready(self, model: ModelIdentity, seconds: float) -> None:
        """The model is loaded."""

    def prompt_started(self, tokens: int) -> None:
        """The model begins to read the prompt of `tokens` tokens."""

    def prompt_ready(self, tokens: int, seconds: float) -> None:
        """It has been read; all candidates share it."""

    def candidate_started(self, recipe: Recipe) -> None:
        """Decoding begins. For a repair round, after `repair_started`."""

    def text(self, piece: str, tokens: int, forced: int) -> None:
        """More of the current candidate's PTX; about how many tokens it has and how many were forced."""

    def candidate_decoded(self, candidate: Candidate) -> None:
        """Its text is whole; assembling and verifying begin. `status` is not yet known."""

    def progress(self, stage: str) -> None:
        """What is being done to the current candidate: "assembling", "verifying", ..."""

    def candidate_finished(self, candidate: Candidate) -> None:
        """It has been judged."""

    def repair_started(self, parent: Candidate, attempt: int) -> None:
        """The model is shown what is wrong with `parent`; `attempt` counts from 1."""

    def finished(self, generation: Generation) -> None:
        """The end, interrupted or not."""


class Silence:
    """Events that nobody hears."""

    def model_ready(self, model: ModelIdentity, seconds: float) -> None: ...
    def prompt_started(self, tokens: int) -> None: ...
    def prompt_ready(self, tokens: int, seconds: float) -> None: ...
    def candidate_started(self, recipe: Recipe) -> None: ...
    def text(self, piece: str, tokens: int, forced: int) -> None: ...
    def candidate_decoded(self, candidate: Candidate) -> None: ...
    def progress(self, stage: str) -> None: ...
    def candidate_finished(self, candidate: Candidate) -> None: ...
    def repair_started(self, parent: Candidate, attempt: int) -> None: ...
    def finished(self, generation: Generation) -> None: ...
