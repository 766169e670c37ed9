"""The turns that give a failed kernel back to the model, with what exactly was wrong with it."""

from __future__ import annotations

from dataclasses import replace

from ptxgen.prompting.conversation import Prompt, answer

#: More lines than this say nothing new.
MOST_LINES = 16


def repair_turns(prompt: Prompt, ptx: str, report: str) -> Prompt:
    """The prompt with the failed kernel and its error added, asking for a whole corrected kernel.

    `report` is what a person would read: the assembler's message with its lines, or the smallest counterexample.
    The earlier turns stay as they are, so that what a model has evaluated of them stays valid.
    """
    lines = [line.rstrip() for line in report.strip().splitlines() if line.strip()]
    shown = lines[:MOST_LINES]
    if len(lines) > MOST_LINES:
        shown.append(f"(and {len(lines) - MOST_LINES} more lines)")
    request = "\n".join([
        "This kernel is wrong:", *shown, "",
        "Write the whole kernel again, corrected. Keep what is right; change what this error shows.",
    ])
    return replace(prompt, turns=(*prompt.turns, ("assistant", answer(ptx)), ("user", request)))
