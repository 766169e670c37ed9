"""Files read with runs of plain statements are read as lark alone reads them: nodes, spans, faults, what is lost."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bench.recovery import texts
from ptxgen.ptx import lexing, parse_tolerant, plain
from ptxgen.ptx.plain import Run
from ptxgen.ptx.tree import Instruction
from tests.ptx.mutations import damaged

_TEXTS = texts()
_HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
_PIECES = st.sampled_from(
    ["ret;", "add.s32 %r1, %r2, 5;", "x:", "$L_1:", " ", "\n", "\t", "// c\n", "/* c */", "/*", "#", "\n#\n",
     ".loc 1 2 3", ",", " function_name a, inlined_at 1 2 3", "@%p1 bra $L_1;", "@%p1bra;", "{", "}", ";", "call",
     " .uni", " f;", "call.uni (r), f, (a);", "p: .callprototype _ (.param .b32 a);", "t: .branchtargets x, y;",
     ".reg .b32 %r<4>;", ".pragma \"nounroll\";", "mov.b64 {%r1, %r2}, %rd1;", "ld.u32 %r1, [%rd1+-4];",
     "mov.u32 %r1, WARP_SZ;", "ld.u32 %r1, [WARP_SZ];", "setp.eq.s32 %p1|%p2, %r1, -1;", "mov.f32 %f1, 0f3F800000;",
     "1.0f", "\r\n", "\f", "\x1c", "é", "\0", ".entry k() {", ".func f;", ".global .b32 g = 1;",
     ".global .b32 g[3] = {1, -2,\n 0x3};",
     ".global .f32 g[2][2] = {{1.0, 0f3F800000}, {2.0, -.5}};", ".global .b32 g[] = {1, x, 1+2};",
     ".global .b32 g[] = {1, /* c */ 2};", ".global .b32 g[] = {1,, 2", ".global .b8 g[] = {1 2};",
     ".section .debug_str { .b8 1\n }", "bra", "bra $L_1", "! %p1;"]
)  # fmt: skip


@contextmanager
def _lark_alone() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lexing, "takes", lambda *_: False)
        yield


def _assert_same(text: str) -> None:
    fast = parse_tolerant(text)
    with _lark_alone():
        slow = parse_tolerant(text)
    # Spans do not count in comparing nodes, but do in what they look like. Nesting takes a deep stack to be shown.
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10 * limit)
    try:
        assert repr(fast) == repr(slow)
    finally:
        sys.setrecursionlimit(limit)


@pytest.mark.parametrize("number", range(len(_TEXTS)))
def test_same_files(number: int) -> None:
    _assert_same(_TEXTS[number])
    _assert_same(_TEXTS[number].replace("\n", "\r\n"))


@settings(max_examples=80, deadline=None)
@given(damaged([text for text in _TEXTS if len(text) < 5000]))
def test_same_damaged_files(text: str) -> None:
    _assert_same(text)


@settings(max_examples=300, deadline=None)
@given(st.lists(_PIECES, max_size=14).map("".join), st.booleans())
@example("call .foo;", True)
@example("ret\n:", True)
@example("ret;\n.loc 1 2 3\n, function_name a, inlined_at 1 2 3\nret;", True)
@example("x: p: .callprototype _ (.param .b32 a);", True)
@example("ret;", False)
@example(".global .b32 g[2] = {1,\r\n 2\n};", False)
@example(".global .b32 g[2] = {1, 99999999999999999999};", False)
@example(".global .b32 g; ret; .global .b32 h;", False)
def test_same_pieces(body: str, inside: bool) -> None:
    _assert_same(f"{_HEAD}.entry k()\n{{\n{body}\n}}\n" if inside else f"{_HEAD}{body}\n")


def test_most_statements_of_real_files_are_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise reading would be slow, and nothing else would tell."""
    plain_ones = 0

    def counting(*where: object) -> tuple[Run | None, int, int, int]:
        nonlocal plain_ones
        result = plain.read_run(*where)  # type: ignore[arg-type]
        plain_ones += sum(isinstance(s, Instruction) for s in result[0] or ())
        return result

    monkeypatch.setattr(lexing, "READERS", ((counting, Run.type),))
    written = sum(repr(parse_tolerant(text)[0]).count("Instruction(") for text in _TEXTS)
    assert plain_ones > 0.93 * written
