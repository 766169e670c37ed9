"""Exceptions and records: what explains what, and what counts as worse."""

from __future__ import annotations

import pytest

from ptxgen.isa import Version
from ptxgen.isa.conformance import Disagreement
from ptxgen.isa.conformance_questions import Question
from ptxgen.isa.conformance_ratchet import (
    Judged,
    Line,
    read_exceptions,
    read_record,
    regressions,
    write_record,
)
from ptxgen.isa.problems import TableError

QUESTION = Question(
    "near", "operand-kind", "b: imm", "and.pred", "and.pred %p1, %p2, 1;", "sm_75", Version(6, 3), False
)
ACCEPTED = Disagreement(QUESTION, None, True)
REFUSED = Disagreement(QUESTION, "Arguments mismatch for instruction 'and'", True)


def written(tmp_path, text):
    path = tmp_path / "exceptions.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("entry", "tool", "found", "covers"),
    [
        ('what = "operand-kind"\nsays = "accepts"', "13.0.88", ACCEPTED, True),
        ('what = "operand-kind"\nsays = "accepts"', "13.0.88", REFUSED, False),
        ('what = "operand-kind"\nsays = "Arguments*"', "13.0.88", REFUSED, True),
        ('what = ["x", "operand-*"]\nsays = "*"\nopcode = "and.*"', "13.0.88", ACCEPTED, True),
        ('what = "register-type"\nsays = "accepts"', "13.0.88", ACCEPTED, False),
        ('what = "operand-kind"\nsays = "accepts"\nopcode = "or.*"', "13.0.88", ACCEPTED, False),
        ('what = "operand-kind"\nsays = "accepts"\ntried = "*: reg"', "13.0.88", ACCEPTED, False),
        ('what = "operand-kind"\nsays = "accepts"\nptxas = "13.5.*"', "13.0.88", ACCEPTED, False),
        ('what = "operand-kind"\nsays = "accepts"\nptxas = "13.5.*"', "13.5.37", ACCEPTED, True),
    ],
)
def test_what_an_exception_covers(tmp_path, entry, tool, found, covers):
    (exception,) = read_exceptions(written(tmp_path, f'[[exception]]\n{entry}\nreason = "because"\n'))
    assert exception.covers(tool, found) == covers


@pytest.mark.parametrize(
    ("entry", "said"),
    [('what = "x"\nsays = "y"', "reason"), ('what = "x"\nsays = "y"\nreason = "z"\nwhere = "w"', "where"), ("=", "")],
)
def test_an_exception_that_is_not_right_names_its_line(tmp_path, entry, said):
    with pytest.raises(TableError) as caught:
        read_exceptions(written(tmp_path, f"\n[[exception]]\n{entry}\n"))
    assert "exceptions.toml" in str(caught.value)
    assert said in str(caught.value)


LINE = Line((10, 10), (4, 5), (90, 92), 2)


def test_a_record_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "deeper" / "ptxas-13.0.88.txt"
    lines = {"integer: add.type d, a, b": LINE, "integer: add.type d, a, b #2": Line((1, 1), (0, 0), (0, 0), 0)}
    write_record(path, "13.0.88", lines)
    assert read_record(path) == lines
    assert read_record(tmp_path / "none.txt") == {}
    path.write_text("nonsense\n", encoding="utf-8")
    with pytest.raises(TableError):
        read_record(path)


@pytest.mark.parametrize(
    ("now", "recorded", "worse"),
    [
        (LINE, LINE, False),
        (Line((10, 10), (5, 5), (90, 92), 2), LINE, False),               # better
        (Line((9, 10), (4, 5), (90, 92), 2), LINE, True),                 # one more unexplained
        (Line((10, 10), (4, 5), (89, 92), 3), LINE, True),                # one more explained
        (Line((9, 9), (4, 5), (90, 92), 2), LINE, True),                  # asked less
        (Line((10, 10), (5, 5), (92, 92), 0), None, False),
        (LINE, None, True),                                               # nothing is recorded
    ],
)
def test_what_is_worse(now, recorded, worse):
    judged = Judged("13.0.88", {"form": now}, (), {})
    assert bool(regressions(judged, {"form": recorded} if recorded else {})) == worse
