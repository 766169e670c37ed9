"""Candidates, repair, duplicates, interruption: the loop with scripted rooms around it."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from ptxgen.generating import Generation, Options, Silence, generate, judging, loop
from ptxgen.spec import Spec, parse_spec

from .workshop import SPEC, Heard, Workshop


def statuses(generation: Generation) -> list[str]:
    return [candidate.status for candidate in generation.candidates]


def test_the_first_right_candidate_wins(workshop: Workshop, spec: Spec, options: Options) -> None:
    workshop.script = ["wrong", "refused", "right", "right 2"]
    made = generate(spec, options, Silence())
    assert made.status == "verified"
    assert statuses(made) == ["failed", "rejected", "verified"]
    assert made.best is not None
    assert made.best.index == 2
    assert workshop.verified == [("wrong", False), ("right", False), ("right", True)]
    assert workshop.closed == 1


def test_the_first_candidate_is_greedy_and_seeds_differ(
    workshop: Workshop, spec: Spec, options: Options
) -> None:
    workshop.script = [f"wrong {i}" for i in range(9)]
    generate(spec, replace(options, repair=0, temperature=0.7), Silence())
    assert [d["temperature"] for d in workshop.decodes] == [0.0, 0.7, 0.7, 0.7]
    assert len({d["seed"] for d in workshop.decodes}) == 4
    first = [d["seed"] for d in workshop.decodes]
    generate(spec, replace(options, repair=0, seed=1), Silence())
    assert not set(first) & {d["seed"] for d in workshop.decodes[4:]}


def test_copies_make_it_hotter(workshop: Workshop, spec: Spec, options: Options) -> None:
    workshop.script = ["wrong", "wrong", "wrong", "wrong 2", "wrong 2", "right"]
    made = generate(spec, options, Silence())
    assert [d["temperature"] for d in workshop.decodes] == [0.0, 0.2, 0.5, 0.8, 0.8, 1.1]
    assert [c.recipe.temperature for c in made.candidates] == [d["temperature"] for d in workshop.decodes]


def test_the_prompt_is_read_once(
    workshop: Workshop, spec: Spec, options: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    workshop.script = ["wrong 1", "wrong 2", "wrong 3", "wrong 4", "right"]
    evaluated: list[int] = []
    session = loop.open_session("random", seed=0)
    below = session.evaluate
    monkeypatch.setattr(session, "evaluate", lambda tokens: (evaluated.append(len(tokens)), below(tokens)))
    made = generate(spec, options, Silence(), session=session)
    length = made.prompt_tokens
    # the prompt without its last token and that token; then the last token alone for each candidate
    assert evaluated[:6] == [length - 1, 1, 1, 1, 1, 1]
    # the repair's prompt shares all whole blocks of the first one
    assert evaluated[6] < workshop.decodes[4]["position"] - length + 128 + 1
    assert {d["position"] for d in workshop.decodes[:4]} == {length}


def test_wrong_on_inputs_held_out_is_wrong_and_never_told(
    workshop: Workshop, spec: Spec, options: Options
) -> None:
    workshop.script = ["held"]
    made = generate(spec, options, Silence())
    assert made.status == "failed"
    assert statuses(made) == ["failed", "duplicate", "duplicate", "duplicate"]
    assert "held out" in made.candidates[0].trouble
    assert made.candidates[0].report == ""
    assert workshop.verified == [("held", False), ("held", True)], "duplicates are not verified again"


def test_repair_shows_the_best_failure_with_the_exact_error(
    workshop: Workshop, spec: Spec, options: Options
) -> None:
    workshop.script = ["refused", "cut", "wrong", "refused", "right"]
    made = generate(spec, options, Silence())
    assert statuses(made) == ["rejected", "incomplete", "failed", "duplicate", "verified"]
    assert made.candidates[4].recipe.parent == 2
    told = workshop.decodes[4]["prompt"].turns
    assert told[1] == ("assistant", made.candidates[2].ptx)
    assert told[2] == ("user", "wrong: output `out`, index 3")


def test_repair_rounds_are_limited_and_take_another_parent_each(
    workshop: Workshop, spec: Spec, options: Options
) -> None:
    workshop.script = ["refused", "cut", "cut", "cut", "wrong", "fat"]
    made = generate(parse_spec(SPEC + "[constraints]\nregisters = 32\n", spec.path), options, Silence())
    assert statuses(made)[4:] == ["failed", "over-budget"]
    assert [c.recipe.parent for c in made.candidates[4:]] == [0, 4]
    assert made.status == "failed"
    assert made.best is not None
    assert made.best.index == 4
    report = workshop.decodes[4]["prompt"].turns[-1][1]
    assert "Unknown symbol '%q'" in report
    assert "ret;" in report, "the line itself is shown"


def test_repair_shows_the_same_parent_again_when_there_is_no_other(
    workshop: Workshop, spec: Spec, options: Options
) -> None:
    workshop.script = ["wrong", "wrong", "right"]
    made = generate(spec, replace(options, candidates=1), Silence())
    assert statuses(made) == ["failed", "duplicate", "verified"]
    assert [c.recipe.parent for c in made.candidates] == [None, 0, 0]
    assert [c.recipe.temperature for c in made.candidates] == [0.0, 0.2, 0.5]


@pytest.mark.parametrize(
    ("constraint", "words"),
    [
        ("registers = 8", "12 registers a thread, 8 allowed"),
        ('require = ["fma"]', "fma is required and missing"),
        ('forbid = ["ret"]', "ret is forbidden"),
    ],
)
def test_constraints_are_held(
    workshop: Workshop, spec: Spec, options: Options, constraint: str, words: str
) -> None:
    bound = parse_spec(SPEC + f"[constraints]\n{constraint}\n", spec.path)
    made = generate(bound, replace(options, candidates=1, repair=0), Silence())
    assert statuses(made) == ["over-budget"]
    assert words in made.candidates[0].trouble
    assert workshop.verified == []


def test_every_target_is_assembled_the_oldest_is_written_for(
    workshop: Workshop, spec: Spec, options: Options
) -> None:
    made = generate(spec, replace(options, arch=("sm_90", "sm_80")), Silence())
    assert made.arch == "sm_80"
    assert [a.arch for a in made.candidates[0].assemblies] == ["sm_80", "sm_90"]
    assert workshop.decodes[0]["arch"] == "sm_80"


def test_a_miscompiled_kernel_is_not_blamed(
    workshop: Workshop, spec: Spec, options: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    workshop.script = ["wrong"]
    trials = []

    def recompiled(ptxas: object, level: int) -> SimpleNamespace:
        trials.append(level)
        return SimpleNamespace(name="gpu", forgiving=True, close=lambda: None)

    gpu = SimpleNamespace(name="gpu", close=lambda: None)
    monkeypatch.setattr(loop, "make_executor", lambda name, arch, assemble: gpu)
    monkeypatch.setattr(judging.Judge.__init__, "__defaults__", (0, recompiled))
    made = generate(spec, replace(options, candidates=1), Silence())
    assert statuses(made) == ["miscompiled"]
    assert trials == [0]
    assert "-O0" in made.candidates[0].trouble
    assert made.status == "failed"


def test_a_context_that_is_full_ends_repair_only(
    workshop: Workshop, spec: Spec, options: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    workshop.script = ["wrong"]
    session = loop.open_session("random", seed=0)
    session.n_ctx = len(session.chat_prompt("you write PTX", (("user", spec.kernel.task * 40),))) + 20
    made = generate(spec, replace(options, candidates=1), Silence(), session=session)
    assert statuses(made) == ["failed"]


@pytest.mark.parametrize("stage", ["oracle", "prompt"])
def test_interrupted_before_the_first_candidate(
    workshop: Workshop, spec: Spec, options: Options, stage: str
) -> None:
    workshop.interrupt = stage
    made = generate(spec, options, Silence())
    assert (made.status, made.best) == ("unfinished", None)


@pytest.mark.parametrize("event", ["model_ready", "prompt_started", "prompt_ready"])
def test_interrupted_while_the_prompt_is_read(
    workshop: Workshop, spec: Spec, options: Options, heard: Heard, event: str
) -> None:
    heard.stop_at = event
    made = generate(spec, options, heard)
    assert (made.status, made.best) == ("unfinished", None)
    assert workshop.closed == 1, "the executor is closed"


@pytest.mark.parametrize(
    ("stage", "beginning", "whole"),
    [("decoding", ".version", False), ("assembling", "// right", True), ("verifying", "// right", True)],
)
def test_interrupted_with_a_candidate_at_work(
    workshop: Workshop, spec: Spec, options: Options, stage: str, beginning: str, whole: bool
) -> None:
    workshop.interrupt = stage
    made = generate(spec, options, Silence())
    assert made.status == "unfinished"
    assert made.best is not None
    assert made.best.status == "unfinished"
    assert made.best.ptx.startswith(beginning)
    assert made.best.complete == whole
    assert made.best.ptx.endswith("begun;\n") != whole
    assert workshop.closed == 1


def test_interrupted_after_a_failure_keeps_the_better_one(
    workshop: Workshop, spec: Spec, options: Options, heard: Heard
) -> None:
    workshop.script = ["wrong", "right"]
    heard.stop_at = "candidate_finished"
    made = generate(spec, options, heard)
    assert statuses(made) == ["failed"]
    assert made.best is not None
    assert made.best.index == 0


def test_events_come_in_order(workshop: Workshop, spec: Spec, options: Options, heard: Heard) -> None:
    workshop.script = ["wrong", "right"]
    generate(spec, replace(options, candidates=1), heard)
    one = ["candidate_started", "text", "text", "candidate_decoded", "progress", "progress"]
    assert heard.names == [
        "model_ready", "prompt_started", "prompt_ready",
        *one, "candidate_finished", "repair_started", *one, "progress", "candidate_finished", "finished",
    ]  # fmt: skip
