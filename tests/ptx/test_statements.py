"""The fast reading of statements gives what the grammar gives, spans included, and refuses what it refuses."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ptxgen.ptx import PtxSyntaxError, parse_statement, print_statement
from ptxgen.ptx.parsing import parse_statement_with_grammar
from ptxgen.ptx.statements import parse_plain
from ptxgen.ptx.tree import Instruction, Label, Statement
from tests.ptx.strategies import flat_statements

_PIECES = st.sampled_from(
    ["%r1", "add", ".f32", ",", ";", ":", "[", "]", "{", "}", "+", "-", "|", "!", "@", "_", "1", "1.0", "f", "0x1F",
     "0f3F800000", "0f3F", "08", "U", "5U", " ", "\t", "%tid", ".x", "$L_1", "call", "call.uni", "WARP_SZ", "::cta",
     "(", ")", "4", "*", "/", "//", ".5", "e5", "%", "$"]
)  # fmt: skip


def _outcome(parse: object, text: str) -> str:
    try:
        return repr(parse(text))  # type: ignore[operator]
    except PtxSyntaxError:
        return "refused"


@settings(max_examples=300, deadline=None)
@given(flat_statements, st.booleans())
def test_same_nodes_and_spans(statement: Statement, spread: bool) -> None:
    text = print_statement(statement)
    if spread:
        text = text.replace(",", " ,\t").replace("+", " + ").replace("[", "[ ").replace("|", " | ")
    assert _outcome(parse_statement, text) == _outcome(parse_statement_with_grammar, text)


@settings(max_examples=500, deadline=None)
@given(st.lists(_PIECES, max_size=12).map("".join))
@example("mov.f32 %f1, 1.0f;")
@example("add.s32 %r1,%r2,-%r3;")
@example("x:y:")
@example("@%p1bra;")
@example("call .foo;")
@example("ld.u32 %r1, [WARP_SZ];")
@example("call (r), f, (a);")
@example("@%p1 @%p2 ret;")
@example("mov.u32 %r1, 08;")
@example("mov.f32 %f1, -0f3F800000;")
@example("mov.f32 %f1, 0f3f8000000;")
@example("mov.u32 %r1, 99999999999999999999999;")
@example("ld.global.u32 %r1, [%rd1+99999999999999999999999];")
@example("ld.global.u32 %r1, [%rd1-4];")
@example("ld.global.u32 %r1, [%rd1+0x10U];")
@example("ret;;")
@example(";")
@example("")
@example("ret")
@example("add %r1, é;")
def test_same_verdict_on_anything(text: str) -> None:
    assert _outcome(parse_statement, text) == _outcome(parse_statement_with_grammar, text)


@pytest.mark.parametrize(
    "text",
    [
        "add.f32 %f3, %f1, %f2;",
        "@!%p1 bra $L_end;",
        "@%p1 ld.global.v4.f32 {%f1, %f2, _, %f3}, [%rd1+-16];",
        "setp.lt.and.s32 %p1|%p2, -5, 0x1U, !%p3;",
        "mov.u32 %r1, %tid.x;",
        "bar.sync 0;",
        "ret;",
    ],
)
def test_common_statements_do_not_need_the_grammar(text: str) -> None:
    assert isinstance(parse_plain(text), Instruction)
    assert parse_plain("$L_1:") == Label("$L_1")
    assert parse_plain("call f;") is None


def test_a_label_a_declaration_and_a_block() -> None:
    assert parse_statement("$L_1:") == Label("$L_1")
    assert dataclasses.asdict(parse_statement(".reg .b32 %r<4>;"))["count"] == 4
    assert len(parse_statement("{ ret; bar.sync 0; }").statements) == 2  # type: ignore[union-attr]
    with pytest.raises(PtxSyntaxError, match="one declared name"):
        parse_statement(".reg .b32 a, b;")


def test_spans_count_from_one() -> None:
    statement = parse_statement("\t@%p1 mov.u32 %r1, 5;\n")
    assert isinstance(statement, Instruction)
    assert (statement.span.line, statement.span.column, statement.span.end_column) == (1, 2, 22)
    assert statement.operands[1].span.column == 20
