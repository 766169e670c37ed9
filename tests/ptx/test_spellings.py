"""What is PTX and what is not, one spelling a case; the verdicts are ptxas's."""

from __future__ import annotations

import pytest

from ptxgen.isa import load_table
from ptxgen.ptx import PtxSyntaxError, parse, print_module
from ptxgen.semantics import check_module
from tests.ptx.spelled import Spelling, spellings

CASES = tuple(spellings())
#: What ptxas lets pass, and we ask to be written properly: a declaration inside of a body.
STRICTER = (".entry k() { .extern .func",)


def _named(case: Spelling) -> str:
    return f"{case.place} {case.text[:60]}"


def _stricter(case: Spelling) -> bool:
    return any(part in case.text for part in STRICTER)


@pytest.mark.parametrize("case", [c for c in CASES if c.sign == "+" and not _stricter(c)], ids=_named)
def test_what_is_taken_is_read_and_printed(case: Spelling) -> None:
    module = parse(case.ptx)
    assert parse(print_module(module)) == module


@pytest.mark.parametrize("case", [c for c in CASES if c.sign == "-"], ids=_named)
def test_what_is_no_ptx_is_refused(case: Spelling) -> None:
    """By the grammar, or where that knows what was meant, by the check."""
    try:
        module = parse(case.ptx)
    except PtxSyntaxError:
        return
    assert [d for d in check_module(module, load_table()) if d.severity == "error"]


@pytest.mark.parametrize("case", [c for c in CASES if c.sign == "+" and _stricter(c)], ids=_named)
def test_what_we_are_stricter_about(case: Spelling) -> None:
    with pytest.raises(PtxSyntaxError):
        parse(case.ptx)


def test_there_are_enough_of_each() -> None:
    assert sum(c.sign == "+" for c in CASES) > 450
    assert sum(c.sign == "-" for c in CASES) > 200
