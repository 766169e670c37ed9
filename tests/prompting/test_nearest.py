"""Which references a spec is shown: alike, each for something of its own, and never its own answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptxgen.prompting import all_references, features, nearest_references, similarity
from ptxgen.prompting.features import WEIGHTS
from ptxgen.prompting.oracle import normal_form
from ptxgen.prompting.patterns import memory_pattern
from ptxgen.prompting.references import same_task
from ptxgen.spec import load_spec, parse_spec

from .kernels import EXAMPLES, ROOT

NEAREST = {
    "block_sum": "block_max", "warp_sum": "warp_max", "half_add": "half_mul", "histogram": "bucket_count",
    "relu": "clip01", "softmax": "row_exp_over_sum",
}
SAXPY = (ROOT / "examples" / "saxpy.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_no_example_is_answered_by_the_library(path):
    spec = load_spec(path)
    for reference in all_references():
        assert not same_task(spec, reference), reference.name


@pytest.mark.parametrize(("name", "expected"), NEAREST.items())
def test_the_nearest_is_the_obvious_one(name, expected):
    assert nearest_references(load_spec(ROOT / "examples" / f"{name}.toml"), 1)[0].name == expected


@pytest.mark.parametrize("reference", all_references(), ids=lambda reference: reference.name)
def test_a_task_of_the_library_is_never_shown_itself(reference):
    shown = nearest_references(reference.spec, 3)
    assert shown
    assert all(r.name != reference.name and r.oracle != reference.oracle for r in shown)


def test_the_same_oracle_under_other_names_is_the_same_task():
    other = SAXPY.replace('"a * x + y"', '"q + p * scale"').replace('name = "saxpy"', 'name = "other"')
    for old, new in (('"x"', '"p"'), ('"y"', '"q"'), ('"a"', '"scale"')):
        other = other.replace(f"name = {old}", f"name = {new}")
    assert normal_form(parse_spec(other, ROOT / "s.toml")) == normal_form(parse_spec(SAXPY, ROOT / "s.toml"))


def test_another_type_is_another_task():
    half = SAXPY.replace("f32", "f16")
    assert normal_form(parse_spec(half, ROOT / "s.toml")) != normal_form(parse_spec(SAXPY, ROOT / "s.toml"))


def test_choice_does_not_depend_on_the_order_of_features():
    spec = load_spec(ROOT / "examples" / "softmax.toml")
    assert [r.name for r in nearest_references(spec, 3)] == [r.name for r in nearest_references(spec, 3)]
    assert [r.name for r in nearest_references(spec, 3)][:2] == [r.name for r in nearest_references(spec, 2)]


@pytest.mark.parametrize(
    ("name", "pattern"),
    [("saxpy", "map"), ("block_sum", "block-reduction"), ("warp_sum", "warp-reduction"), ("transpose", "tile"),
     ("histogram", "atomic"), ("softmax", "row-normalisation")],
)
def test_pattern(name, pattern):
    assert memory_pattern(load_spec(ROOT / "examples" / f"{name}.toml")) == pattern


FEATURES = st.frozensets(
    st.builds("{}:{}".format, st.sampled_from(sorted(WEIGHTS)), st.integers(0, 4)), min_size=1, max_size=12
)


@given(FEATURES, FEATURES)
def test_similarity_is_a_weighted_overlap(one, other):
    value = similarity(one, other)
    assert 0 <= value <= 1
    assert value == similarity(other, one)
    assert similarity(one, one) == 1
    assert (value == 0) == (not one & other)


def test_features_of_a_spec_are_of_known_kinds():
    for path in EXAMPLES:
        assert {feature.partition(":")[0] for feature in features(load_spec(path))} <= set(WEIGHTS)
