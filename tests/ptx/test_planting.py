"""Faults of every kind, planted alone and together in good files: each is told at its place, and little else."""

from __future__ import annotations

import random

import pytest

from bench.recovery import is_fault, score, texts
from fuzz.planting import KINDS, plant
from ptxgen.ptx import parse_tolerant
from ptxgen.ptx.tree import Function, Instruction, Label

_TEXTS = [text for text in texts() if len(text) < 4500][:14]


def _planted_alone(kind: str, text: str, rng: random.Random) -> tuple[str, int] | None:
    lines = text.split("\n")
    places = [i for i, line in enumerate(lines) if KINDS[kind](line, random.Random(0)) is not None]
    if not places:
        return None
    at = rng.choice(places)
    new = KINDS[kind](lines[at], rng)
    damaged = "\n".join([*lines[:at], new or "", *lines[at + 1 :]])
    return (damaged, at + 1) if is_fault(damaged) else None


@pytest.mark.parametrize("kind", KINDS)
def test_a_fault_alone_is_told_once_and_in_its_place(kind: str) -> None:
    tried = 0
    for number, text in enumerate(_TEXTS):
        planted = _planted_alone(kind, text, random.Random(number))
        if planted is None:
            continue
        damaged, line = planted
        found = parse_tolerant(damaged)[1]
        tried += 1
        assert len(found) == 1, (line, found)
        # The other brace of a pair, or the end of a body, may be far from the one that is wrong.
        assert "'" in kind or abs(found[0].span.line - line) <= 1, (line, found)
    assert tried >= 2


def test_several_faults_are_all_told() -> None:
    total = missing = wrong = 0
    for number, text in enumerate(_TEXTS):
        for count in (2, 4, 6):
            damaged, planted = plant(text, count, random.Random(f"{number} {count}"), is_fault)
            missed, extra = score(planted, parse_tolerant(damaged)[1])
            total, missing, wrong = total + len(planted), missing + len(missed), wrong + len(extra)
    assert total > 100
    assert missing <= total * 0.01
    assert wrong <= total * 0.02


@pytest.mark.parametrize("seed", range(2))
def test_what_is_kept_stands_as_written(seed: int) -> None:
    """A statement of the tree outside every lost piece is the statement of that line in the good file."""
    for number, text in enumerate(_TEXTS):
        damaged, planted = plant(text, 4, random.Random(f"kept {seed} {number}"), is_fault)
        good, (module, _) = parse_tolerant(text)[0], parse_tolerant(damaged)
        written = {(s.span.line, s.span.column): s for s in _statements(good.items)}
        touched = {line for p in module.lost for line in range(p.span.line, p.span.end_line + 1)}
        touched |= {p.line for p in planted}
        for statement in _statements(module.items):
            if statement.span.line not in touched:
                assert written.get((statement.span.line, statement.span.column)) == statement


@pytest.mark.parametrize("seed", range(2))
def test_what_is_missing_is_said_to_be_lost(seed: int) -> None:
    """Each instruction and label of the good file is in the tree of the damaged one, or in a lost piece."""
    for number, text in enumerate(_TEXTS):
        damaged, planted = plant(text, 4, random.Random(f"lost {seed} {number}"), is_fault)
        good, (module, _) = parse_tolerant(text)[0], parse_tolerant(damaged)
        kept = {(s.span.line, s.span.column) for s in _statements(module.items)}
        told = {line for p in module.lost for line in range(p.span.line, p.span.end_line + 1)}
        changed = {p.line for p in planted}
        for statement in _statements(good.items):
            line = statement.span.line
            assert (line, statement.span.column) in kept or line in told or line in changed, (planted, statement)


def _statements(items: object) -> list[Instruction | Label]:
    out: list[Instruction | Label] = []
    for item in items if isinstance(items, tuple) else ():
        if isinstance(item, Instruction | Label):
            out.append(item)
        elif isinstance(item, Function):
            out.extend(_statements(item.body))
        else:
            out.extend(_statements(getattr(item, "statements", ())))
    return out
