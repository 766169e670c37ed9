"""Decoding one candidate from its recipe: the part of a run that a replay repeats."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ptxgen.decoding import decode
from ptxgen.generating.candidates import Candidate, Recipe
from ptxgen.generating.options import Options
from ptxgen.generating.prompt_sharing import SharedPrompt
from ptxgen.isa import Table
from ptxgen.prompting import Prompt, repair_turns
from ptxgen.spec import Spec


def main_arch(names: Sequence[str], table: Table) -> str:
    """The target that one kernel for all of `names` is written for: the first, unless a later one is older,
    for ptxas refuses a `.target` above the one it assembles for."""
    return min(names, key=lambda name: table.target(name).number)


def prompt_hash(prompt: Prompt) -> str:
    """sha256 over all that the model is told, in the order it is told."""
    told = json.dumps([prompt.system, [list(turn) for turn in prompt.turns], prompt.answer_start])
    return hashlib.sha256(told.encode()).hexdigest()


def read_prompt(shared: SharedPrompt, prompt: Prompt, started: Callable[[int], None]) -> int:
    """Let the model read the prompt, once for all candidates. Calls `started` with the number of tokens,
    and returns it. Raises ContextFull."""
    tokens = shared.chat_prompt(prompt.system, prompt.turns, prompt.answer_start)
    started(len(tokens))
    shared.hold(tokens)
    return len(tokens)


@dataclass(frozen=True, slots=True)
class Writer:
    """What all candidates of a run have in common."""

    shared: SharedPrompt
    prompt: Prompt
    spec: Spec
    table: Table
    options: Options

    def write(self, recipe: Recipe, on_text: Callable[[str], None] | None = None) -> Candidate:
        """The candidate of that recipe, not yet judged. `on_text` hears its body, line by line, after the
        header that the spec gives. Raises MaskError, ContextFull."""
        prompt = self.prompt
        if recipe.parent is not None:
            prompt = repair_turns(prompt, recipe.parent_ptx, recipe.report)
        decoded = decode(
            self.shared,
            prompt,
            self.spec,
            self.table,
            self.options.level,
            temperature=recipe.temperature,
            top_p=self.options.top_p,
            seed=recipe.seed,
            max_tokens=self.options.max_tokens,
            on_text=on_text,
            arch=self.options.arch[0],
            turn=recipe.turn,
        )
        return Candidate(
            recipe,
            "unfinished",
            decoded.ptx,
            complete=decoded.complete,
            tokens=decoded.tokens,
            forced_tokens=decoded.forced_tokens,
            statements=decoded.statements,
            gaps=decoded.gaps,
            decode_seconds=decoded.decode_seconds,
            mask_seconds=decoded.mask_seconds,
        )
