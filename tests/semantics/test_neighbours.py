"""The checker says of statements near every form what ptxas said, those listed as disagreements apart."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fuzz.statements_against_ptxas import taken_by_us
from ptxgen.isa import load_table
from tests.semantics.recorded import FOLDER
from tests.semantics.recorded_neighbours import Group, groups

TABLE = load_table()


def _known() -> set[str]:
    listed = (FOLDER / "disagreements_of_neighbours.txt").read_text(encoding="utf-8").splitlines()
    return {line for line in listed if line and not line.startswith("#")}


def _groups() -> Iterator[object]:
    """The first always, the others when asked."""
    for index, group in enumerate(groups()):
        yield pytest.param(group, id=group.target, marks=[pytest.mark.slow] if index else [])


@pytest.mark.parametrize("group", list(_groups()))
def test_recorded_neighbours(group: Group) -> None:
    statements = list(group.verdicts)
    taken = taken_by_us(statements, TABLE, group.version, group.target)
    differing = {s for s, ours in zip(statements, taken, strict=True) if ours != group.verdicts[s]}
    known = _known() & set(statements)
    assert differing - known == set(), "the checker and ptxas differ"
    assert known - differing == set(), "no longer a difference: take it off disagreements_of_neighbours.txt"
