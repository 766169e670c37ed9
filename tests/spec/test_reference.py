"""docs/spec.md names every key, type and function, and its example is a spec."""

from __future__ import annotations

import re
from pathlib import Path

from ptxgen.spec import LEVELS, ORACLE_FUNCTIONS, TYPES, parse_spec
from ptxgen.spec.model import Spec

TEXT = (Path(__file__).parents[2] / "docs" / "spec.md").read_text()


def test_every_word_is_explained():
    words = set(re.findall(r"\w+", TEXT))
    keys = {name for field in Spec.model_fields for name in (field,)}
    for field in Spec.model_fields.values():
        inner = [field.annotation, *getattr(field.annotation, "__args__", ())]
        keys |= {name for model in inner for name in getattr(model, "model_fields", {})}
    for kind in (keys, ORACLE_FUNCTIONS, set(TYPES), set(LEVELS)):
        assert kind <= words, kind - words


def test_the_first_example_is_a_spec():
    example = re.search(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    assert example is not None
    assert parse_spec(example[1]).kernel.name == "saxpy"
