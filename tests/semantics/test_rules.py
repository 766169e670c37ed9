"""The rules of the masks, one file a rule: what each accepts and rejects.

A file of `rules/` names an example `spec`, the `level` whose rule it is, and statements that come `before`;
each case may come `after` some more, and lists statements `accepted` and `rejected` there. What is rejected must be
legal one level below (unless `below` is false), so that it is this rule that rejects it.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from ptxgen.semantics import Level, State, step
from tests.semantics.kernels_and_walks import allowed_here, example

RULES = Path(__file__).parent / "rules"


@dataclass(frozen=True)
class Case:
    rule: str
    why: str
    spec: str
    level: Level
    before: tuple[str, ...]
    accepted: tuple[str, ...]
    rejected: tuple[str, ...]
    below: bool


def _lines(text: str) -> tuple[str, ...]:
    return tuple(_line(line) for line in text.splitlines() if line.strip())


def _line(text: str) -> str:
    """Instructions are indented, labels and the brace are not."""
    return text + "\n" if text.endswith((":", "}")) else f"\t{text}\n"


def _cases() -> list[Case]:
    found = []
    for path in sorted(RULES.glob("*.toml")):
        rule = tomllib.loads(path.read_text(encoding="utf-8"))
        for case in rule["case"]:
            whole = {"level": "typestate", "before": "", "below": True, **rule, **case}
            found.append(
                Case(
                    path.stem,
                    whole.get("why", ""),
                    whole["spec"],
                    Level.parse(whole["level"]),
                    _lines(whole["before"] + whole.get("after", "")),
                    tuple(map(_line, whole.get("accepted", ()))),
                    tuple(map(_line, whole.get("rejected", ()))),
                    whole["below"],
                )
            )
    return found


def _reach(case: Case, level: Level) -> State:
    state = example(case.spec, level)
    for line in case.before:
        assert allowed_here(state).contains(line), f"on the way: {line}"
        state = step(state, line)
    return state


@pytest.mark.parametrize("case", _cases(), ids=lambda case: f"{case.rule}: {case.why}")
def test_rule(case: Case) -> None:
    assert case.accepted or case.rejected
    state = _reach(case, case.level)
    legal = allowed_here(state)
    assert [line for line in case.accepted if not legal.contains(line)] == []
    assert [line for line in case.rejected if legal.contains(line)] == []
    if case.below:
        lower = allowed_here(_reach(case, Level(case.level - 1)))
        assert [line for line in case.rejected if not lower.contains(line)] == []
