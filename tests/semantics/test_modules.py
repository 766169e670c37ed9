"""Whole modules: the checker gives the verdict that both versions of ptxas gave."""

from __future__ import annotations

from collections import defaultdict

import pytest

from ptxgen.isa import load_table
from ptxgen.ptx import parse_tolerant
from ptxgen.semantics.checking import check_module
from tests.semantics.recorded_modules import FOLDER, ModuleCase, module_cases

TABLE = load_table()
FAMILIES = sorted(path.stem for path in FOLDER.glob("*.txt"))
#: Left as it is: see `disagreements_of_modules.txt`, which says why for each.
KNOWN = FOLDER.parent / "disagreements_of_modules.txt"


def _accepted(case: ModuleCase) -> bool:
    module, faults = parse_tolerant(case.ptx)
    found = [*faults, *check_module(module, TABLE, case.arch)]
    assert all(d.message and d.code and d.span.line >= 1 for d in found)
    return not any(d.severity == "error" for d in found)


def _known() -> dict[str, set[str]]:
    known: dict[str, set[str]] = defaultdict(set)
    for line in KNOWN.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name = line.partition("  #")[0]
            known[name.partition(":")[0]].add(name)
    return known


@pytest.mark.parametrize("family", FAMILIES)
def test_recorded_modules(family: str) -> None:
    judged = [case for case in module_cases((family,)) if case.accepted is not None]
    assert judged
    differing = {case.name for case in judged if _accepted(case) != case.accepted}
    known = _known()[family]
    assert differing - known == set(), "the checker and ptxas differ"
    assert known - differing == set(), "no longer a difference: take it off disagreements_of_modules.txt"


def test_every_case_has_been_asked() -> None:
    assert [case.name for case in module_cases() if "?" in case.signs] == []
