"""Whatever the text, parser and checker come back with diagnostics that point into it; `fuzz/parse_bytes.py` goes on
from here with bytes and coverage."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bench.recovery import texts
from ptxgen.isa import load_table
from ptxgen.ptx import Diagnostic, PtxSyntaxError, draw, parse, parse_tolerant, print_module
from ptxgen.ptx.diagnostics import MOST_FAULTS
from ptxgen.semantics.checking import check_module
from tests.ptx.mutations import JUNK, damaged

_TEXTS = [text for text in texts() if len(text) < 5000]
_MODULE = ".version 8.0\n.target sm_80\n.address_size 64\n"
_BODY = f"{_MODULE}.entry k()\n{{\n"


def _assert_sound(text: str) -> None:
    module, faults = parse_tolerant(text)
    findings = check_module(module, load_table())
    for diagnostic in (*faults, *findings):
        assert _in_text(diagnostic, text), diagnostic
        assert draw(diagnostic, text)
    assert bool(faults) >= bool(module.lost) >= any(f.code != "non-ascii" for f in faults)
    if faults:
        with pytest.raises(PtxSyntaxError):
            parse(text)
    else:
        assert parse(print_module(module)) == module


def _in_text(diagnostic: Diagnostic, text: str) -> bool:
    span, lines = diagnostic.span, text.split("\n")
    if not 1 <= span.line <= len(lines) or (span.line, span.column) > (span.end_line, span.end_column):
        return False
    return 1 <= span.column <= len(lines[span.line - 1]) + 1


@settings(max_examples=80, deadline=None)
@given(damaged(_TEXTS))
def test_damaged_files(text: str) -> None:
    _assert_sound(text)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=300), st.booleans())
@example(b"", False)
@example(b"\xef\xbb\xbf.version 8.0\r\n", False)
@example(b"\xff\xfe.\x00v\x00", False)
@example(b"\n\n\n", True)
@example(b"/*", True)
@example(b"}", True)
@example(b'"', True)
def test_bytes(data: bytes, inside: bool) -> None:
    text = data.decode("utf-8", errors="replace")
    _assert_sound(f"{_BODY}{text}" if inside else text)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(JUNK), max_size=8).map(" ".join), st.sampled_from([_BODY, _MODULE, ""]))
def test_junk(text: str, before: str) -> None:
    _assert_sound(before + text)


#: Each would take long, or overflow a stack, if any step were worse than linear or recursive in it.
_ENDLESS: dict[str, Callable[[int], str]] = {
    "statements on one line": lambda n: _BODY + "add.s32 %r1, %r2, %r3; " * n + "}",
    "labels": lambda n: _BODY + "".join(f"L{i}:\n" for i in range(n)) + "ret;\n}\n",
    "labels on one line": lambda n: _BODY + "".join(f"L{i}: " for i in range(n)) + "ret;\n}\n",
    "blocks": lambda n: _BODY + "{" * n + "}" * n + "}\n",
    "vectors": lambda n: _BODY + "mov.b32 %r1, " + "{" * n,
    "brackets": lambda n: _BODY + "ld.u32 %r1, " + "[" * n,
    "parentheses": lambda n: _BODY + "mov.u32 %r1, " + "(" * n + "1" + ")" * n + ";\n}\n",
    "signs": lambda n: _BODY + "mov.u32 %r1, " + "-" * n + "1;\n}\n",
    "choices": lambda n: _BODY + "mov.u32 %r1, " + "1?1:" * n + "1;\n}\n",
    "values": lambda n: f"{_MODULE}.global .b32 g[] = {{{', '.join('1' * n)}}};\n",
    "nested values": lambda n: _MODULE + ".global .b32 g = " + "{" * n + "1" + "}" * n + ";\n",
    "dimensions": lambda n: _MODULE + ".global .b32 g" + "[1]" * n + ";\n",
    "a comment": lambda n: f"{_MODULE}/*{'x' * n}*/\n",
    "unclosed comments": lambda n: _BODY + "/* \n" * n,
    "unclosed strings": lambda n: _BODY + '"\n' * n,
    "closing braces": lambda n: _BODY + "}\n" * n,
    "heads": lambda n: f"{_MODULE}" + ".entry " * n,
    "unclosed functions": lambda n: _MODULE + ".entry k() {\n ret;\n" * n,
    "linkage": lambda n: _MODULE + ".visible " * n,
    "constants that mean nothing": lambda n: _BODY + "mov.u32 %r1, 1/0;\n" * n + "}\n",
    "statements outside": lambda n: _MODULE + "add.s32 %r1, %r2, %r3;\n" * n,
    "a name": lambda n: _BODY + "a" * n + ";\n}\n",
    "an opcode": lambda n: _BODY + "mov" + ".u32" * n + " %r1, 1;\n}\n",
    "operands": lambda n: _BODY + "add.s32 " + "%r1, " * n + "%r1;\n}\n",
    "blanks": lambda n: _BODY + "ret" + " " * n + ";\n}\n",
    "guards": lambda n: _BODY + "@%p1 " * n,
    "sections": lambda n: _MODULE + ".section .debug_x {\n" * n,
    "an attribute": lambda n: _MODULE + ".global .attribute(" + "(a" * n + ") .b32 x;\n",
    "jumps backwards": lambda n: _BODY + "bra M;\n" + "".join(
        f"L{i}:\nbra {f'L{i - 1}' if i else 'end'};\n" for i in range(n // 10)
    ) + f"M: bra L{n // 10 - 1};\nend: ret;\n}}\n",
}  # fmt: skip


@pytest.mark.parametrize("kind", _ENDLESS)
def test_endless(kind: str) -> None:
    text = _ENDLESS[kind](4_000)
    module, faults = parse_tolerant(text)
    check_module(module, load_table())
    assert all(_in_text(fault, text) for fault in faults[: 2 * MOST_FAULTS])
    if faults:
        assert len(str(PtxSyntaxError(faults, text, "k.ptx"))) < 4 * len(text) * MOST_FAULTS
