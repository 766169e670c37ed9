"""Fixtures: the spec, the options, and the workshop put in the place of the rooms around the loop."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ptxgen.generating import Options, judging, loop, replaying, writing_candidates
from ptxgen.models import RandomSession
from ptxgen.prompting import Prompt
from ptxgen.spec import Spec, parse_spec

from .workshop import SPEC, Heard, Workshop


@pytest.fixture
def spec() -> Spec:
    return parse_spec(SPEC, Path("saxpy.toml"))


@pytest.fixture
def workshop(monkeypatch: pytest.MonkeyPatch) -> Workshop:
    made = Workshop()
    tool = SimpleNamespace(version="13.0.88", assemble=made.assemble)
    made.ptxas = (tool,)
    executor = SimpleNamespace(name="emulator", close=made.close)

    def oracle(spec: Spec) -> None:
        made.stop("oracle")

    def prompt(spec: Spec, table: Any, arch: str) -> Prompt:
        made.stop("prompt")
        return Prompt("you write PTX", (("user", spec.kernel.task * 40),), "")

    def repaired(before: Prompt, text: str, report: str) -> Prompt:
        turns = (*before.turns, ("assistant", text), ("user", report))
        return Prompt(before.system, turns, before.answer_start)

    monkeypatch.setattr(loop, "check_oracle", oracle)
    monkeypatch.setattr(loop, "find_ptxas", lambda path: made.ptxas)
    monkeypatch.setattr(loop, "make_executor", lambda name, arch, assemble: executor)
    monkeypatch.setattr(loop, "open_session", lambda *a, **k: RandomSession(seed=k["seed"]))
    monkeypatch.setattr(judging, "verify", made.verify)
    monkeypatch.setattr(writing_candidates, "decode", made.decode)
    monkeypatch.setattr(writing_candidates, "repair_turns", repaired)
    for module in (loop, replaying):
        monkeypatch.setattr(module, "build_prompt", prompt)
    return made


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def options() -> Options:
    return Options(model="random", arch=("sm_80",))
