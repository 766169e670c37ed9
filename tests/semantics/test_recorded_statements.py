"""Statements that move and convert data, near misses among them, judged as ptxas judges them."""

from __future__ import annotations

import pytest

from ptxgen.isa import load_table
from ptxgen.ptx import parse
from ptxgen.semantics import check_module
from tests.semantics.recorded_statements import Group, groups, module

TABLE = load_table()


@pytest.mark.parametrize("group", list(groups()), ids=lambda g: f"{g.arch}-{g.version}")
def test_recorded_statements(group: Group) -> None:
    text, first = module(group, group.statements)
    found = check_module(parse(text), TABLE, group.arch)
    refused = {d.span.line - first for d in found if d.severity == "error"}
    assert refused <= set(range(len(group.statements))), "something is wrong outside of the statements"
    differing = [s for i, s in enumerate(group.statements) if group.accepted[i] == (i in refused)]
    assert differing == []
