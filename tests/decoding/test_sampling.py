"""Choosing among the allowed tokens."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptxgen.decoding.sampling import Sampler

LOGITS = np.array([0.0, 3.0, 1.0, 3.0, 2.0], np.float32)
ALL = np.arange(5)


def test_greedy_takes_the_likeliest_and_the_lowest_of_equals() -> None:
    assert Sampler(0, 1, 0).choose(LOGITS, None) == 1
    assert Sampler(0, 1, 0).choose(LOGITS, np.array([2, 3, 4])) == 3
    assert Sampler(0, 1, 0).choose(LOGITS, np.array([0, 2])) == 2


@given(st.lists(st.integers(0, 4), min_size=1, unique=True), st.floats(0, 3), st.floats(0.05, 1), st.integers(0, 99))
def test_only_what_is_allowed(allowed: list[int], temperature: float, top_p: float, seed: int) -> None:
    assert Sampler(temperature, top_p, seed).choose(LOGITS, np.array(sorted(allowed))) in allowed


def test_seeds_repeat_and_differ() -> None:
    draws = [[Sampler(1.5, 1, seed).choose(LOGITS, ALL) for _ in range(1)] for seed in (1, 1, 2)]
    one, same = (Sampler(1.5, 0.95, 1) for _ in range(2))
    assert [one.choose(LOGITS, ALL) for _ in range(50)] == [same.choose(LOGITS, ALL) for _ in range(50)]
    assert draws[0] == draws[1]
    assert len({Sampler(1.5, 1, seed).choose(LOGITS, ALL) for seed in range(50)}) > 2


def test_frequencies_follow_the_weights() -> None:
    sampler = Sampler(1.0, 1.0, 7)
    drawn = np.bincount([sampler.choose(LOGITS, ALL) for _ in range(4000)], minlength=5) / 4000
    weights = np.exp(LOGITS) / np.exp(LOGITS).sum()
    assert np.abs(drawn - weights).max() < 0.03


def test_the_nucleus_is_the_smallest_set_that_reaches_top_p() -> None:
    logits = np.log(np.array([0.5, 0.3, 0.15, 0.05], np.float32))
    ids = np.arange(4)
    for top_p, reached in ((0.4, {0}), (0.6, {0, 1}), (0.9, {0, 1, 2}), (1.0, {0, 1, 2, 3})):
        sampler = Sampler(1.0, top_p, 3)
        assert {sampler.choose(logits, ids) for _ in range(400)} == reached


def test_extreme_logits_do_not_overflow() -> None:
    logits = np.array([1e4, -1e4, 9.99e3], np.float32)
    assert Sampler(0.01, 0.9, 0).choose(logits, None) == 0
    assert Sampler(1e-9, 1.0, 0).choose(logits, None) == 0


@pytest.mark.parametrize("top_p", [0.0, 1e-9])
def test_the_likeliest_is_always_in_the_nucleus(top_p: float) -> None:
    assert Sampler(1.0, top_p, 0).choose(np.log(np.array([0.2, 0.8], np.float32)), None) == 1
