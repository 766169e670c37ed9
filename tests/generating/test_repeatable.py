"""The same recipe makes the same bytes, whatever was decoded before it: with a real model."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from ptxgen.errors import PtxgenError
from ptxgen.generating import Options, Recipe
from ptxgen.generating.prompt_sharing import SharedPrompt
from ptxgen.generating.writing_candidates import Writer, read_prompt
from ptxgen.isa import load_table
from ptxgen.models import open_session
from ptxgen.prompting import Prompt
from ptxgen.spec import load_spec

SAXPY = Path(__file__).parents[2] / "examples" / "saxpy.toml"


def written(model: str, recipes: list[Recipe], level: str, max_tokens: int) -> list[str]:
    """The texts of these recipes, one after the other in one session."""
    spec, table = load_spec(SAXPY), load_table()
    options = Options(model=model, level=level, max_tokens=max_tokens, arch=("sm_80",))
    # Shorter than a real prompt, but of more than one block.
    task = " ".join([spec.kernel.task] * 8)
    prompt = Prompt("You write PTX.", (("user", task),), "```ptx\n" + spec.header("sm_80", table))
    try:
        session = open_session(model, n_ctx=8192)
    except PtxgenError as error:
        pytest.skip(f"{model} is not here: {error.fix}")
    with closing(session):
        shared = SharedPrompt(session)
        read_prompt(shared, prompt, lambda tokens: None)
        writer = Writer(shared, prompt, spec, table, options)
        return [writer.write(recipe).ptx for recipe in recipes]


def recipes() -> list[Recipe]:
    """Two plain ones and two repairs, whose prompts share different lengths with the first."""
    wrong = ".version 7.0\n.target sm_80\n{\n\tret;\n}\n"
    return [
        Recipe(0, 1, 0.0),
        Recipe(1, 2, 0.9),
        Recipe(2, 3, 0.9, parent=0, parent_ptx=wrong, report="The result is wrong."),
        Recipe(3, 4, 0.9, parent=1, parent_ptx=wrong * 2, report="line 3: an error"),
    ]


def test_random_logits_repeat() -> None:
    every = written("random", recipes(), "none", 200)
    assert len(set(every)) == 4
    for recipe, text in zip(recipes(), every, strict=True):
        assert written("random", [recipe], "none", 200) == [text]


@pytest.mark.model
@pytest.mark.slow
def test_a_candidate_is_the_same_alone_and_after_others() -> None:
    every = written("smollm2", recipes(), "none", 40)
    assert len(set(every)) == 4
    assert written("smollm2", recipes()[:1:-1], "none", 40) == every[:1:-1]
    assert written("smollm2", recipes()[1:2], "none", 40) == every[1:2]
