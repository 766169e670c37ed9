"""Kernels broken at random: a verdict or an error in words, in time."""

from __future__ import annotations

import pytest

from fuzz.emulator_on_mutants import LIMIT, verdict, written_by_hand
from fuzz.kernels.making import make
from fuzz.kernels.mutating import damaged, mutated
from ptxgen.executing.emulator import Emulator

EMULATOR = Emulator(step_limit=5_000, time_limit=LIMIT)
OTHERS = written_by_hand()


@pytest.mark.parametrize("seed", range(0, 24, 8))
def test_broken_kernels_get_a_verdict(seed: int) -> None:
    found = [verdict(EMULATOR, one, OTHERS) for one in range(seed, seed + 8)]
    assert [word for word, right in found if not right] == []


def test_most_of_them_can_still_be_read() -> None:
    words = [verdict(EMULATOR, seed, OTHERS)[0] for seed in range(100, 112)]
    assert words.count("PtxSyntaxError") < 9


def test_what_is_no_verdict_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fails(*_: object) -> None:
        raise KeyError("somewhere inside")

    monkeypatch.setattr(EMULATOR, "run", fails)
    assert verdict(EMULATOR, 0, OTHERS) == ("KeyError is no verdict", False)
    assert "somewhere inside" in capsys.readouterr().err


@pytest.mark.parametrize("breaking", [mutated, damaged])
def test_breaking_depends_on_the_seed_alone(breaking) -> None:
    text = make(5).ptx
    assert breaking(text, 1) == breaking(text, 1)
    assert len({breaking(text, seed) for seed in range(20)} | {text}) > 15
