"""Rows in words: every row has them, and they say what the row says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ptxgen.isa import load_table
from ptxgen.isa.conditions import parse_availability, parse_condition
from ptxgen.isa.describing import condition_words, describe, operand_words, since
from ptxgen.isa.pages import pages, stale

TABLE = load_table()
ROWS = [row for name in TABLE.instructions for row in TABLE.rows(name)]


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (".v8", ".v8"),
        ("!.v8", "without .v8"),
        (".f64|.f16 .ftz", ".f16 or .f64, .ftz"),
        ("stype=.f64", ".stype is .f64"),
        ("!stype=.f64", ".stype is not .f64"),
        ("vec=", "without .vec"),
        ("!vec=", "with .vec"),
        ("vec=|.v2", ".vec is .v2 or absent"),
    ],
)
def test_conditions(condition, words):
    assert condition_words(parse_condition(condition)) == words


@pytest.mark.parametrize(
    ("availability", "words"),
    [
        ("1.0", "PTX 1.0"),
        ("1.4 sm_13", "PTX 1.4, sm_13"),
        ("7.0 sm_80", "PTX 7.0, sm_80"),
        ("8.6 sm_100a sm_120f", "PTX 8.6, sm_100a sm_120f"),
    ],
)
def test_since_when(availability, words):
    assert since(parse_availability(availability)) == words


def test_every_row_is_described_whole():
    for row in ROWS:
        form = describe(TABLE, row)
        opcode, _, operands = form.syntax.partition(" ")
        written = set(re.findall(r"[A-Za-z_][A-Za-z0-9_:-]*", operands))
        inside = set(re.findall(r"[\w-]+", " ".join(re.findall(r"\{[\w-]+(,[^}\[]*)\}", operands))))
        described = {operand.name for operand in form.operands}
        assert written - inside <= described <= written, form.syntax
        assert all(operand.what and " or , " not in operand.what for operand in form.operands), form.syntax
        assert form.example.startswith(row.form.instruction), form.syntax
        for name, values in form.slots:
            assert f".{name}" in opcode
            assert values


def test_relations_of_types_are_found():
    def said(syntax, operand):
        (row,) = (row for row in ROWS if row.form.syntax == syntax)
        return next(o.what for o in describe(TABLE, row).operands if o.name == operand)

    assert said("mul.wide.type d, a, b", "d") == "register, twice as wide as .type"
    assert said("cvt.irnd.dtype.bf16 d, a", "a").endswith(".bf16")
    assert said("ldmatrix.sync.aligned.m8n8.num{.trans}{.space}.b16 r, [p]", "r") == "vector of .num, .b32"


def test_what_an_operand_may_be_is_told_whole():
    """Constants, parts of registers and registers of one type: none of it is only in the table."""
    for row in ROWS:
        words = {operand.name: operand.what for operand in describe(TABLE, row).operands}
        for expansion in (each for choice in row.covering_choices() for each in row.build(choice)):
            for operand in (each for outer in expansion.operands for each in (*outer.parts, outer)):
                if operand.name not in words:        # a pair is told by its parts
                    continue
                what = words[operand.name]
                if "imm" in operand.kinds and operand.low is not None:
                    told = [str(value) for value in operand.values] or [f"{operand.low}..{operand.high}"]
                    assert all(each in what for each in told), (row.form.syntax, what)
                    assert operand.values or operand.step == 1 or f"multiples of {operand.step}" in what
                assert not operand.exact or "declared as that" in what, (row.form.syntax, what)
                assert not operand.selector or "may be named" in what, (row.form.syntax, what)


def test_operands_of_one_spelling():
    (expansion, *_) = TABLE.candidates("atom.global.add.u32")
    words = {operand.name: operand for operand in operand_words(TABLE, [expansion])}
    assert words["a"].access == "memory read and written"
    assert words["a"].what == "an address in global, .u32"


def test_pages_link_to_each_other_only_where_there_are_pages():
    made = pages(TABLE)
    for text in made.values():
        assert set(re.findall(r"\]\(([^):#]+\.md)\)", text)) <= made.keys()
    assert all(f"{name}.md" in made for name in TABLE.instructions)


def test_examples_are_shown_as_code():
    """After a list an indented line would be a paragraph of its last item."""
    for text in pages(TABLE).values():
        assert not re.search(r"^ +", text, re.MULTILINE)
        blocks = text.split("```")
        assert len(blocks) % 2 == 1
        assert all(block.startswith("ptx\n") and block.endswith(";\n") for block in blocks[1::2])


def test_the_pages_in_the_docs_are_current():
    changed = stale(Path(__file__).parents[2] / "docs/isa", pages(TABLE))
    assert not changed, "ptxgen-local isa pages writes them anew"
