"""Whole modules: what compilers emit, what people write, what is no PTX."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from ptxgen.ptx import PtxSyntaxError, parse, parse_tolerant, print_module
from ptxgen.ptx.tree import Address, Block, Directive, Function, Immediate, Instruction, Module, Name, Variable

CORPUS = sorted((Path(__file__).parent / "corpus").glob("*.ptx"))


def _body(text: str) -> tuple[object, ...]:
    module = parse(f".version 8.0\n.target sm_90\n.entry k()\n{{\n{text}\n}}\n")
    body = module.entries()[0].body
    assert body is not None
    return body


def _constant(text: str) -> Immediate:
    instruction = _body(f"mov.b64 %rd1, {text};")[0]
    assert isinstance(instruction, Instruction)
    constant = instruction.operands[1]
    assert isinstance(constant, Immediate)
    return constant


@pytest.mark.parametrize("path", CORPUS, ids=lambda p: p.stem)
def test_corpus_round_trip(path: Path) -> None:
    module = parse(path.read_text(), path.name)
    assert module.version
    assert module.address_size == 64
    printed = print_module(module)
    assert parse(printed) == module
    assert print_module(parse(printed)) == printed


def test_the_corpus_is_there() -> None:
    assert len(CORPUS) >= 6


def _named(stem: str) -> Module:
    return parse(next(p for p in CORPUS if p.stem == stem).read_text())


def test_what_the_tree_holds_of_compiled_code() -> None:
    module = _named("calls")
    functions = {i.name: i for i in module.items if isinstance(i, Function) and i.body is not None}
    entry = module.entries()[0]
    assert [d.text for d in entry.directives] == [".maxntid 128, 1, 1", ".minnctapersm 2"]
    assert [p.dimensions for p in entry.params][-1] == (24,)
    assert any(isinstance(s, Block) for s in entry.body or ())
    blocks = [s for s in entry.body or () if isinstance(s, Block)]
    prototypes = [s for b in blocks for s in b.statements if isinstance(s, Directive) and s.name == "callprototype"]
    assert prototypes[0].label == "prototype_0"
    assert prototypes[0].text == ".callprototype (.param .b32 _) _ (.param .b32 _);"
    variables = {i.name: i for i in module.items if isinstance(i, Variable)}
    assert variables["shared_counter"].attributes == ("managed",)
    inside = variables["inside"].initialiser
    assert inside == (Address(Name("generic(table)"), 8, (), False),)
    assert any(f.kind == "func" and f.returns for f in functions.values())


def test_what_the_tree_holds_of_handwritten_code() -> None:
    module = _named("handwritten")
    variables = {i.name: i for i in module.items if isinstance(i, Variable)}
    assert [v.value for v in variables["limits"].initialiser or () if isinstance(v, Immediate)] == [
        -1, 0x7FFFFFFF, 0o777, 11, 12, 19, 5, 2**64 - 1, 5,
    ]  # fmt: skip
    assert len(variables["grid_values"].initialiser or ()) == 5
    assert variables["grid_values"].dimensions == (2, 3)
    entry = module.entries()[0]
    assert entry.params[0].attributes == ("ptr .global .align 16",)
    declared = [s for s in entry.body or () if isinstance(s, Variable)]
    assert [(v.name, v.count) for v in declared[:3]] == [("i", None), ("n", None), ("t", 4)]
    assert next(v for v in declared if v.name == "v").vector == 4


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("4*(2+1)", 12), ("-7/2", -3), ("-7% 2", 1), ("1<<63", -(1 << 63)), ("0xFFFFFFFFFFFFFFFF", 2**64 - 1),
        ("~0", 2**64 - 1), ("!3", 0), ("18446744073709551617", 1), ("0x1FFFFFFFFFFFFFFFF", 2**64 - 1),
        ("-18446744073709551616", 0),
        ("3==3", 1), ("1?2:3", 2), ("(.s64)0xFFFFFFFFFFFFFFFF", -1), ("(.u64)-1", 2**64 - 1),
        ("6|1&3^2", 7), ("2&&0||1", 1), ("WARP_SZ*2", 64), ("0x10U", 16), ("1.5+2.0", 3.5), ("-1.5", -1.5),
        ("0f3F800000", 1.0), ("0D3FF8000000000000", 1.5), (".5", 0.5), ("1.", 1.0), ("1e5", 1e5), ("1.5<2.0", 1),
        ("0f7F800000", math.inf),
    ],
)  # fmt: skip
def test_constants(text: str, value: float) -> None:
    constant = _constant(text)
    assert constant.value == value
    assert constant.text == text
    assert isinstance(constant.value, type(value))


def test_integer_expressions_are_what_ptxas_makes_of_them() -> None:
    """`constants.txt`: expressions, and the 64 bits that ptxas 13.0 and 13.5 store for them."""
    for line in (Path(__file__).parent / "constants.txt").read_text(encoding="utf-8").splitlines():
        text, _, bits = line.partition(" => ")
        if not line.startswith("#"):
            assert int(_constant(text).value) % 2**64 == int(bits, 16), line


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("ld.param.u64 /* a */ %rd1, [o]; w: /* b */ .branchtargets A; A:",
         "ld.param.u64 %rd1, [o]; w: .branchtargets A; A:"),
        ("add.u32/**/ %r1, %r2, 1; /* x */ .reg .u32 y;", "add.u32 %r1, %r2, 1; .reg .u32 y;"),
        ("add /* .s64 */ .u32 %r1, %r2, 1; // .rn", "add.u32 %r1, %r2, 1;"),
        ("add/*;*/.sat/***/.s32 %r1, %r2, 1;", "add.sat.s32 %r1, %r2, 1;"),
        ("bra L; L // :\n : ret;", "bra L; L: ret;"), ("L /* : */ /* \n */ : ret;", "L: ret;"),
        ("L/**/:M:ret;", "L: M: ret;"), ("p /* x */ : .callprototype _ ();", "p: .callprototype _ ();"),
    ],
)
def test_comments_are_blanks(text: str, plain: str) -> None:
    assert _body(text) == _body(plain)


def test_a_nan_equals_itself() -> None:
    assert math.isnan(float(_constant("0f7FC00001").value))
    assert _constant("0f7FC00001") == _constant("0f7FC00001")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1/0", "division by zero"), ("1.0 % 2.0", "takes integers"), ("1e400", "overflows"), ("~1.0", "integer"),
        ("0xFFFFFFFFFFFFFFFFFF", "64 bits"), ("99999999999999999999", "64 bits"), ("0b1" + "0" * 64, "64 bits"),
        ("-0f3F800000", "sign bit"), ("9" * 5000, "64 bits"),
        ("0f3F800000*2.0", "bits"), ("1+2.0", "two integers"), ("7%2", "unexpected"),
    ],
)  # fmt: skip
def test_constants_that_denote_nothing(text: str, told: str) -> None:
    with pytest.raises(PtxSyntaxError, match=told):
        _constant(text)


@pytest.mark.parametrize(
    "text",
    [
        "add .s32 %r1, %r2, 3;", "L: M: ret;", "L :ret;", "{ }", ".reg.b32 x;", ".reg .b32 t<2>, v;",
        "setp.lt.s32 p|q, %r1, %r2;", "mov.b64 {_, %r2}, %rd1;", "mov.b64 %rd1, {%r1, 2};", "# 1 \"file\"\nret;",
        ".pragma \"nounroll\";", "L: .pragma \"nounroll\";", "ld.global.u32 %r1, [%rd1+4+4];",
        "tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}|p, [t, s, {%f1, %f2}];", "mov.u32 add, 1;",
        "vadd.s32.u32.s32 d, a.b0, b.h1;",
        "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2}], [%r3];",
        "/* a\n b */ ret; // c", "call f;", "call (a, b), f, (c, 1.0);", "call %rd1, (), proto;", ".loc 1 2 3",
    ],
)  # fmt: skip
def test_accepted(text: str) -> None:
    assert _body(text)


@pytest.mark.parametrize(
    "text",
    [
        "{ ret }", ";", "ret;;", "@%p1 @%p2 ret;", "@%p1 L: ret;", "@p { ret; }", ".reg .b32 a.b;", ".reg .b32 _;",
        ".reg .b32 $;", ".reg .b32 1x;", "mov.u32 %r1, %r2 ,;", "mov.u32 %r1 %r2;", "mov . u32 %r1, 1;",
        "mov.f32 %f1, 1.0f;", "mov.u32 %r1, 5u;", "mov.u32 %r1, 'a';", "mov.u32 %r1, 08;", "/* never closed",
        "ld.global.u32 %r1, [%rd1-4];", "ld.global.u32 %r1, [%rd1+%rd2];", "add.s32 %r1, %r2, -%r3;",
        ".pragma \"x\"", "mov.f32 %f1, 0f3f8;", ".global .b8 s[4] = \"abc\";", ".maxntid 5;", "[%r1];", "}",
    ],
)  # fmt: skip
def test_refused(text: str) -> None:
    with pytest.raises(PtxSyntaxError):
        _body(text)


def test_headings_in_the_wrong_place() -> None:
    found = parse_tolerant(".target sm_80\n.version 8.0\n.version 8.0\n")[1]
    assert [d.code for d in found] == ["misplaced-directive", "duplicate-directive"]


def test_initialisers_are_flat() -> None:
    module = parse(".version 8.0\n.target sm_90\n.global .u32 g[2][3] = {{1}, {2, 3}};\n")
    variable = module.items[0]
    assert isinstance(variable, Variable)
    assert [v.value for v in variable.initialiser or () if isinstance(v, Immediate)] == [1, 2, 3]
    for wrong in ("{1, 2}", "{{1,2,3,4}, {1}}", "{{{1}}}", "{{1}, {2}, {3}}"):
        with pytest.raises(PtxSyntaxError):
            parse(f".version 8.0\n.target sm_90\n.global .u32 g[2][3] = {wrong};\n")


def test_an_empty_text_is_an_empty_module() -> None:
    assert parse("") == Module("", (), None, ())


def test_spans_point_into_the_text() -> None:
    text = next(p for p in CORPUS if p.stem == "handwritten").read_text()
    lines = text.splitlines()
    entry = parse(text).entries()[0]
    for statement in entry.body or ():
        if isinstance(statement, Instruction) and statement.guard is None:
            span = statement.span
            assert lines[span.line - 1][span.column - 1 :].startswith(statement.opcode.partition(".")[0])
