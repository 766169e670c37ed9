"""After a fault the parser goes on: several faults in one reading, each where it stands; never a crash."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxgen.ptx import Diagnostic, PtxSyntaxError, draw, parse, parse_tolerant, print_module
from ptxgen.ptx.balancing import DEEPEST_NESTING
from ptxgen.ptx.diagnostics import MOST_FAULTS
from ptxgen.ptx.tree import Block, Instruction, Statement

_HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n.entry k(.param .u64 a)\n{\n"
_CORPUS = [p.read_text() for p in sorted((Path(__file__).parent / "corpus").glob("*.ptx"))]
_SMALL = [text for text in _CORPUS if len(text) < 6000]


def _faults(body: str) -> list[tuple[int, int, str]]:
    """Line and column within the body, and the code, of every fault."""
    found = parse_tolerant(f"{_HEAD}{body}\n}}\n")[1]
    return [(d.span.line - 5, d.span.column, d.code) for d in found]


@pytest.mark.parametrize(
    ("body", "expected", "hint"),
    [
        ("mov.u32 %r1, 1\nret;", [(1, 15, "missing-semicolon")], ""),
        ("mov.u32 %r1, 1 // one\nret;", [(1, 15, "missing-semicolon")], ""),
        ("mov.u32 %r1, 1", [(1, 15, "missing-semicolon")], ""),
        ("ret\nmov.u32 %r1, 1;", [(1, 4, "missing-semicolon")], ""),
        ("bar.sync 0 // one\nmov.u32 %r1, 1.0f;", [(1, 11, "missing-semicolon"), (2, 17, "syntax")], ""),
        ("mov.f32 %f1, 1.0f;", [(1, 17, "syntax")], "no suffix"),
        ("mov.f32 %f1, 0f3f8;", [(1, 15, "syntax")], "8 hexadecimal"),
        ("mov.u32 %r1, 5u;", [(1, 15, "syntax")], "single U"),
        ("mov.u32 %r1, 08;", [(1, 15, "syntax")], "octal"),
        ("ld.u32 %r1, [%rd1-4];", [(1, 18, "syntax")], "[name+-4]"),
        ("ld.u32 %r1, [%rd1+%rd2];", [(1, 19, "syntax")], "one register"),
        ("@%p1 @%p2 ret;", [(1, 6, "syntax")], "one guard"),
        ("add.s32 %r1, %r2, -%r3;", [(1, 20, "syntax")], "neg or sub"),
        (".end", [(1, 1, "syntax")], "no directive closes"),
        ("mov.u32 %r1, 1/0;", [(1, 14, "bad-constant")], ""),
        ("/* open", [(1, 1, "unclosed-comment")], "*/"),
        ("ret; // é", [(1, 9, "non-ascii")], "13.5"),
    ],
)
def test_one_fault(body: str, expected: list[tuple[int, int, str]], hint: str) -> None:
    found = parse_tolerant(f"{_HEAD}{body}\n}}\n")[1]
    assert [(d.span.line - 5, d.span.column, d.code) for d in found][: len(expected)] == expected
    assert hint in found[0].hint


def test_several_faults_in_one_reading() -> None:
    body = "mov.u32 %r1, ;\nadd.u32 %r1, %r2, 3;\nfoo bar baz;\nmov.u32 %r3, 1.0f;\nret;"
    assert [line for line, _, _ in _faults(body)] == [1, 3, 4]
    module, _ = parse_tolerant(f"{_HEAD}{body}\n}}\n")
    kept = [s.opcode for s in module.entries()[0].body or () if isinstance(s, Instruction)]
    assert kept == ["add.u32", "ret"]


def test_a_faulty_function_does_not_hide_the_next() -> None:
    text = f"{_HEAD}mov.u32 ,;\nret;\n}}\n.entry two(.param u64 b)\n{{ ret; }}\n.entry three() {{ ret; }}\n"
    module, found = parse_tolerant(text)
    assert [d.span.line for d in found] == [6, 9]
    assert [f.name for f in module.entries()] == ["k", "two", "three"]
    assert module.lost[1].function is None
    assert {"two", "b"} <= module.lost[1].names


def test_an_unfinished_file_keeps_what_it_has() -> None:
    module, found = parse_tolerant(f"{_HEAD}ret;\n{{ bar.sync 0;\n")
    assert [d.code for d in found] == ["missing-brace", "missing-brace"]
    assert [f.name for f in module.entries()] == ["k"]
    assert len(module.entries()[0].body or ()) == 2


def test_faults_are_limited() -> None:
    assert len(_faults("mov , ;\n" * 500)) == MOST_FAULTS


def test_deep_nesting_is_refused_not_crashed_on() -> None:
    deep = "{" * 5000 + "}" * 5000
    assert _faults(deep)[0][2] == "nested-too-deeply"
    # Neither can anything hide that much nesting from the look that is taken beforehand, and bring it back later.
    for hidden in (f"é{deep}", f"/* {deep}", f"/* ; /* \n{deep} */ \nx y", f'"//" {deep}', f'"\n{deep}', f"# {deep}",
                   "{ }\n" * 90 + "} ret;\n" + "{ ret;\n" * 300, "x y\n" + "{\nret;\n}\n}\n" * 200,
                   "{ mov.u32 %r1, }\n" * 300, "{ ret }\n" * 300, "{ add %r1 {, }\n" * 300, "{ (}\n" * 300):
        module, found = parse_tolerant(f"{_HEAD}{hidden}")
        assert found
        assert _depth(module.entries()[0].body or () if module.entries() else ()) <= DEEPEST_NESTING
    parse(_HEAD + "{" * (DEEPEST_NESTING - 1) + "}" * (DEEPEST_NESTING - 1) + "}")


def _depth(statements: tuple[Statement, ...]) -> int:
    deepest, level = 0, list(statements)
    while level:
        deepest, level = deepest + 1, [s for b in level if isinstance(b, Block) for s in b.statements]
    return deepest


def test_long_expressions_are_refused_not_crashed_on() -> None:
    for expression in ("(" * 5000 + "1" + ")" * 5000, "1+" * 5000 + "1"):
        assert _faults(f"mov.u32 %r1, {expression};")[0][2] == "bad-constant"


def test_the_error_draws_every_fault() -> None:
    with pytest.raises(PtxSyntaxError) as caught:
        parse(f"{_HEAD}mov.u32 %r1, ;\nmov.u32 %r2, ;\n}}\n", "k.ptx")
    assert len(caught.value.diagnostics) == 2
    assert "k.ptx:6:14: error: unexpected ';'" in str(caught.value)
    assert "^" in str(caught.value)


_EDITS = st.lists(
    st.tuples(
        st.floats(0, 1), st.integers(0, 12),
        st.sampled_from(["", ";", "{", "}", "(", ")", "[", "]", ",", "@", "%r1", ".reg", "\n", "\"", "/*", "1.0f",
                         "é",
                         ".section x {", ".entry", "\0", "0f", ":", "<", "=", "|", ".attribute(", "\\", "'"]),
    ),
    min_size=1, max_size=6,
)  # fmt: skip


def _edited(text: str, edits: list[tuple[float, int, str]]) -> str:
    for where, removed, inserted in edits:
        at = int(where * len(text))
        text = text[:at] + inserted + text[at + removed :]
    return text


def _well_formed(diagnostic: Diagnostic, text: str) -> bool:
    return 1 <= diagnostic.span.line <= text.count("\n") + 2 and diagnostic.span.column >= 1


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(_SMALL), _EDITS)
def test_edited_files_never_crash(text: str, edits: list[tuple[float, int, str]]) -> None:
    damaged = _edited(text, edits)
    module, found = parse_tolerant(damaged)
    for diagnostic in found:
        assert _well_formed(diagnostic, damaged)
        assert draw(diagnostic, damaged)
    if not found:
        assert parse(print_module(module)) == module


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200))
def test_any_text_never_crashes(text: str) -> None:
    parse_tolerant(text)
    parse_tolerant(_HEAD + text)
