"""The checker says what ptxas says, explains it, and warns of what ptxas lets pass."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxgen.errors import UsageError
from ptxgen.isa import load_table
from ptxgen.ptx import Diagnostic, parse, parse_tolerant
from ptxgen.semantics.checking import check_module
from tests.semantics.recorded import ARCH, FOLDER, cases

TABLE = load_table()
ROOT = FOLDER.parents[1]
KERNELS = sorted(
    (*(ROOT / "tests/ptx/corpus").glob("*.ptx"), *(ROOT / "tests/kernels").rglob("*.ptx"),
     *(ROOT / "ptxgen/prompting/references").glob("*.ptx"))
)  # fmt: skip
_REGISTERS = ".reg .pred %p<4>; .reg .b16 %rs<4>; .reg .b32 %r<8>; .reg .f32 %f<8>; .reg .b64 %rd<8>;\n"


def _check(text: str, arch: str | None = None) -> list[Diagnostic]:
    module, faults = parse_tolerant(text)
    return list(faults) or check_module(module, TABLE, arch)


def _kernel(body: str, before: str = "", head: str = ".version 8.0\n.target sm_90\n.address_size 64\n") -> str:
    return f"{head}{before}\n.entry k(.param .u64 a, .param .u32 n)\n{{\n{_REGISTERS}{body}\n}}\n"


def _found(body: str, before: str = "") -> list[Diagnostic]:
    return _check(_kernel(body, before))


def _codes(body: str, before: str = "") -> list[str]:
    return [d.code for d in _found(body, before)]


# ---------------------------------------------------------------- what ptxas says


def test_recorded_statements() -> None:
    listed = (FOLDER / "disagreements.txt").read_text().splitlines()
    known = {line.partition("  #")[0] for line in listed if line and not line.startswith("#")}
    differing = set()
    for case in cases():
        found = _check(case.ptx, ARCH)
        beyond_the_table = any(d.code == "unknown-instruction" for d in found)
        if not beyond_the_table and case.accepted == any(d.severity == "error" for d in found):
            differing.add(case.name)
    assert differing - known == set(), "the checker and ptxas differ"
    assert known - differing == set(), "no longer a difference: take it off disagreements.txt"


def _files() -> list[dict[str, object]]:
    lines = (FOLDER / "ptxas_verdicts.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("case", _files(), ids=lambda case: f"{case['id']}-{case['arch']}")
def test_recorded_files(case: dict[str, object]) -> None:
    found = _check(str(case["ptx"]), str(case["arch"]))
    if any(d.code == "unknown-instruction" for d in found):
        pytest.skip("the instruction's chapter is not in the table")
    assert any(d.severity == "error" for d in found) != case["accepted"]


@pytest.mark.parametrize("path", KERNELS, ids=lambda p: p.stem)
def test_no_false_alarms(path: Path) -> None:
    assert check_module(parse(path.read_text()), TABLE) == []


# ---------------------------------------------------------------- what ptxas leaves unsaid


@pytest.mark.parametrize(
    ("body", "before", "code"),
    [
        ("ld.param.u32 %r1, [a];\nret;", "", "parameter-size"),
        ("ld.param.u64 %rd1, [n];\nret;", "", "parameter-size"),
        ("mov.u32 %r1, 0x1FFFFFFFFF;\nret;", "", "truncated-immediate"),
        ("mov.u32 %r1, 1;\nlop3.b32 %r1, %r1, %r1, %r1, 256;\nret;", "", "immediate-range"),
        ("ld.shared.u32 %r1, [s+64];\nret;", ".shared .u32 s[16];", "out-of-bounds"),
        ("ld.shared.u32 %r1, [s+-4];\nret;", ".shared .u32 s[16];", "out-of-bounds"),
        ("ld.shared.v4.u32 {%r1,%r2,%r3,%r4}, [s+56];\nret;", ".shared .align 16 .b8 s[64];", "out-of-bounds"),
        ("ld.shared.u32 %r1, [s+2];\nret;", ".shared .u32 s[16];", "misaligned"),
        ("mov.u32 %r1, 5;", "", "missing-return"),
        ("", "", "missing-return"),
        ("add.u32 %r1, %r2, 1;\nret;", "", "uninitialised-register"),
        ("@%p1 ret;\nret;", "", "uninitialised-register"),
        ("ld.u32 %r1, [%rd1];\nret;", "", "uninitialised-register"),
        ("st.global.u32 [%rs1], 1;\nret;", "", "address-width"),
    ],
)
def test_warned_of(body: str, before: str, code: str) -> None:
    found = _found(body, before)
    assert code in [d.code for d in found]
    assert {d.severity for d in found} == {"warning"}


def test_threads_of_a_block_are_counted() -> None:
    text = ".version 8.0\n.target sm_90\n.entry k() .reqntid 64, 32 { ret; }\n"
    assert [(d.code, d.severity) for d in _check(text)] == [("too-many-threads", "warning")]
    assert _check(text.replace("64, 32", "32, 32")) == []


@pytest.mark.parametrize(
    "body",
    [
        # written on both sides of a branch, by a loop's first round, under the same guard, under both
        "mov.u32 %r1, 1;\nsetp.eq.u32 %p1, %r1, 1;\n@%p1 bra A;\nmov.u32 %r2, 1;\nbra B;\nA: mov.u32 %r2, 2;\n"
        "B: add.u32 %r3, %r2, 1;\nret;",
        "mov.u32 %r1, 0;\nL: add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 9;\n@%p1 bra L;\nret;",
        "mov.u32 %r1, 1;\nsetp.eq.u32 %p1, %r1, 1;\n@%p1 mov.u32 %r2, 1;\n@%p1 add.u32 %r3, %r2, 1;\nret;",
        "mov.u32 %r1, 1;\nsetp.eq.u32 %p1, %r1, 1;\n@%p1 mov.u32 %r2, 1;\n@!%p1 mov.u32 %r2, 2;\n"
        "add.u32 %r3, %r2, 1;\nret;",
        "bra END;\nret;\nEND: ret;",
        "L: bra L;",
        "trap;",
        "mov.u32 %r1, 1;\n{ .reg .b32 %r<4>;\nmov.u32 %r1, 2;\nadd.u32 %r2, %r1, 1; }\nret;",
        "ld.param.u64 %rd1, [a];\nld.global.v2.u32 {%r1, _}, [%rd1+8];\nmov.b64 %rd2, {%r1, %r1};\nret;",
    ],
)
def test_no_warning_where_every_path_writes(body: str) -> None:
    assert _found(body) == []


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("add.u32 %r1, %r2, 1;\nret;", "nothing writes it"),
        ("add.u32 %r1, %r2, 1;\nmov.u32 %r2, 1;\nret;", "before anything writes it"),
        ("mov.u32 %r1, 1;\nsetp.eq.u32 %p1, %r1, 1;\n@%p1 bra L;\nmov.u32 %r2, 1;\nL: add.u32 %r1, %r2, 1;\nret;",
         "not every path"),
        ("mov.u32 %r1, 1;\nsetp.eq.u32 %p1, %r1, 1;\n@%p1 mov.u32 %r2, 1;\nadd.u32 %r3, %r2, 1;\nret;",
         "not every path"),
        ("mov.u32 %r1, 1;\nsetp.eq.u32 %p1, %r1, 1;\n@%p1 mov.u32 %r2, 1;\nsetp.ne.u32 %p1, %r1, 3;\n"
         "@%p1 add.u32 %r3, %r2, 1;\nret;", "not every path"),
        ("mov.u32 %r1, 1;\n{ .reg .b32 %r<4>;\nadd.u32 %r2, %r1, 1; }\nret;", "nothing writes it"),
    ],
)  # fmt: skip
def test_uninitialised_registers(body: str, told: str) -> None:
    found = _found(body)
    assert [d.code for d in found] == ["uninitialised-register"]
    assert told in found[0].message


# ---------------------------------------------------------------- what it says, and where


@pytest.mark.parametrize(
    ("body", "code", "message", "hint"),
    [
        ("fma.f32 %f1, %f2, %f3, %f1;", "missing-rounding", ".rn", "fma.rn.f32"),
        ("max.f32 %f1, %f2, 0;", "immediate-type", "integer constant 0", "0.0"),
        ("mov.u32 %r1, 1.5;", "immediate-type", "float constant", ""),
        ("add.u32 %f1, %r2, %r3;", "operand-type", "%f1 is .f32, but .u32", "mov.b32"),
        ("add.u64 %rd1, %r2, %rd3;", "operand-type", "%r2 is .b32, but .u64", "cvt"),
        ("add.u32 %r1, %tid.x, 1;", "operand-kind", "special register", "register"),
        ("mov.u32 %r1, %tid;", "operand-vector", "vector of four", "%tid.x"),
        ("mov.u32 %r1, %clock64;", "operand-type", "%clock64 is .u64", "mov.u64"),
        ("add.u32 %r8, %r1, 1;", "undeclared-name", "%r8 is not declared", "%r0 to %r7"),
        ("mov.f64 %fd1, 1.0;", "undeclared-name", "%fd1", ".reg .f64 %fd<N>;"),
        ("@%r1 ret;", "guard-type", "a guard is a predicate", "setp"),
        ("bra NOWHERE;", "undeclared-name", "NOWHERE", ""),
        ("ld.global.f32 %f1, [%r1];", "address-width", "64", "mad.wide"),
        ("ld.global.f32 %f1, [%f2];", "address-type", "an address is an integer", ""),
        ("ld.global.f32 %f1, [a];", "state-space", "a is in .param", "ld.param"),
        ("st.param.u32 [n], %r1;", "parameter-access", "can only be read", ""),
        ("ld.shared.u32 %r1, [16];", "address-base", "local memory only", "register"),
        ("bar.sync 16;", "immediate-range", "16 is outside 0 to 15", ""),
        ("bar.sync 0, 33;", "barrier-count", "multiple of 32", ""),
        ("mul.u32.lo %r1, %r2, %r3;", "modifier-order", ".lo", "mul.lo.u32"),
        ("add.bf16 %rs1, %rs2, %rs3;", "unavailable", "add.bf16", ".version 7.0 and .target sm_80"),
        ("frob.s32 %r1, %r2;", "unknown-opcode", "frob", ""),
        (".reg .b32 %r<4>;", "duplicate-name", "%r<…>", ""),
        (".reg .b32 %r3;", "duplicate-name", "%r3", ""),
        ("L: bar.sync 0; L:", "duplicate-label", "L", ""),
        (".reg .bf16 h;", "register-type", ".bf16", ".b16"),
        (".shared .b8 s[50000];", "shared-size", "50000", ".extern .shared"),
        ("call f, (%r1);", "undeclared-name", "f is not declared", ""),
        ("call k, (%r1);", "call-target", "only .func", ""),
    ],
)
def test_messages(body: str, code: str, message: str, hint: str) -> None:
    head = ".version 7.0\n.target sm_80\n.address_size 64\n"
    found = [d for d in _check(_kernel(f"{body}\nret;", "", head)) if d.severity == "error"]
    assert [d.code for d in found] == [code]
    assert message in found[0].message
    assert hint in found[0].hint
    assert found[0].span.line == (5 if code == "shared-size" else 8)


@pytest.mark.parametrize(
    ("text", "code", "told"),
    [
        ("", "missing-version", ".version"),
        (".version 8.0\n", "missing-target", ".target"),
        (".version 6.3\n.target sm_80\n", "version-target", "came with PTX 7.0"),
        (".version 99.0\n.target sm_80\n", "unknown-version", "no PTX 99.0"),
        (".version 8.0\n.target sm_91\n", "unknown-target", "no target sm_91"),
        (".version 8.0\n.target sm_80\n.address_size 32\n", "address-size", "32-bit"),
    ],
)
def test_headings(text: str, code: str, told: str) -> None:
    found = _check(text)
    assert code in [d.code for d in found]
    assert told in next(d for d in found if d.code == code).message


@pytest.mark.parametrize(
    ("target", "arch", "runs"),
    [
        ("sm_80", "sm_90", True), ("sm_90", "sm_80", False), ("sm_90a", "sm_90a", True), ("sm_90a", "sm_100", False),
        ("sm_100f", "sm_103", True), ("sm_100f", "sm_120", False), ("sm_90a", "sm_90", False),
    ],
)  # fmt: skip
def test_target_and_architecture(target: str, arch: str, runs: bool) -> None:
    found = _check(f".version 9.0\n.target {target}\n.entry k() {{ ret; }}\n", arch)
    assert [d.code for d in found] == ([] if runs else ["target-arch"])


def test_an_unknown_architecture_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="sm_91"):
        _check(".version 9.0\n.target sm_80\n", "sm_91")


@pytest.mark.parametrize("body", ["fma.rz.bf16 %rs1, %rs2, %rs3, %rs1;", "fma.relu.rm.bf16x2 %r1, %r1, %r1, %r1;"])
def test_what_only_ptxas_knows_is_warned_of(body: str) -> None:
    found = [d for d in _found(f"{body}\nret;") if d.code != "uninitialised-register"]
    assert [(d.severity, d.code) for d in found] == [("warning", "undocumented")]


_CALLEE = ".func (.param .b32 r) f(.param .b32 x, .param .b8 y[8]) {{ {} ret; }}\n"


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("call (%r1), f, (%r1);", "2 arguments, 1 are given"),
        ("call f, (%r1, y);", "1 result, 0 are given"),
        ("call (%r1), f, (%rd1, y);", "8 bytes are given where 4"),
        ("call (%r1), f, (1.0, y);", ""),
        ("call (%r1), f, (%tid.x, y);", "moved into a register"),
        ("call (%r1), f, (%r1, z);", "16 bytes are given where 8"),
        ("call (%r1), f, (%r1, y);", ""),
        ("call (_), f, (%r1, y);", ""),
    ],
)
def test_calls(call: str, told: str) -> None:
    body = f"mov.u32 %r1, 1; mov.u64 %rd1, 1;\n.param .b8 y[8]; .param .b8 z[16];\n{call}\nret;"
    found = [d for d in _found(body, _CALLEE.format("")) if d.severity == "error"]
    assert [d.code for d in found] == (["call-arguments"] if told else [])
    assert all(told in d.message for d in found)


def test_a_reserved_word_beyond_the_table_is_only_a_warning() -> None:
    missing = sorted(TABLE.reserved_words - set(TABLE.instructions) - {"WARP_SZ"})
    for word in missing[:1]:
        assert [(d.code, d.severity) for d in _found(f"{word}.b32 %r1, %r2;\nret;")] == [
            ("unknown-instruction", "warning")
        ]


def test_diagnostics_come_in_the_order_of_the_text() -> None:
    found = _found("mov.u32 %r9, 1;\nfrob;\nfma.f32 %f1, %f1, %f1, %f1;\nret;")
    places = [(d.span.line, d.span.column) for d in found]
    assert places == sorted(places)
    assert len(places) >= 3


_TEXTS = [path.read_text() for path in KERNELS if path.stat().st_size < 3000]
_TOKENS = st.sampled_from(
    ["%r1", "%rd1", "%p1", "%tid.x", "_", "1", "1.0", "[%rd1]", "{%r1,%r2}", "%p1|%p2", "!%p1", "f32", ".u64", "ld",
     "bra", "ret", "call", "(%r1)", "$L_end", "smem", "", ";", "}", ".reg .b32 %r<2>;", "L:", "\n", ",",
     "0x7fffffffffffffff"]
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(_TEXTS), st.lists(st.tuples(st.floats(0, 1), _TOKENS), min_size=1, max_size=5))
def test_edited_kernels_never_crash(text: str, edits: list[tuple[float, str]]) -> None:
    for where, token in edits:
        words = text.split(" ")
        words[int(where * (len(words) - 1))] = token
        text = " ".join(words)
    module, _ = parse_tolerant(text)
    for diagnostic in check_module(module, TABLE, "sm_90"):
        assert diagnostic.message
        assert diagnostic.span.line >= 1


# ---------------------------------------------------------------- modules and functions


_HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"


@pytest.mark.parametrize(
    ("text", "code", "message", "hint"),
    [
        (".entry k() .maxntid 0 { ret; }", "directive-value", ".maxntid wants numbers above 0", ""),
        (".entry k() .maxntid 1, 1, 1, 1 { ret; }", "directive-value", "1 to 3 numbers, 4 are given", ""),
        (".entry k() .maxnctapersm 2 { ret; }", "removed", "gone since PTX 2.1", ".minnctapersm"),
        (".func f() .maxnreg 32 { ret; }", "function-directive", "belongs to kernels", ""),
        (".entry k(.param .b32 a[]) { ret; }", "incomplete-type", "needs its extent", ""),
        (".entry k(.param .v2 .b32 a) { ret; }", "parameter-type", "no vector", ".align 8 .b8"),
        (".entry k(.reg .b32 a) { ret; }", "parameter-space", "in .param", ""),
        (".entry (.param .b32 r) k() { ret; }", "kernel-result", "returns nothing", "pointer"),
        (".func f(.param .u64 .ptr .global a) { ret; }", "pointer-attribute", "kernels only", ""),
        (".func f();\n.visible .func f() { ret; }", "linkage", "without linkage", "same linkage"),
        (".func f(.param .u32 a);\n.func f(.param .s32 a) { ret; }", "signature-mismatch", ".u32, not .s32", ""),
        (".func f();", "unresolved-function", "no body", "link"),
        (".extern .entry k() { ret; }", "linkage", "defined elsewhere", ".visible"),
        (".global .bf16 g;", "instruction-type", ".bf16", ".b16"),
        (".global .v4 .f64 g;", "bad-vector", "128 bits", ""),
        (".global .v8 .f32 g;", "bad-vector", ".v8", ".v4"),
        (".common .shared .u32 s;", "linkage", ".shared variable cannot be .common", ".global"),
        (".global .u32 g = {1};", "bad-initialiser", "without braces", ""),
        (".global .u32 g[2] = {1, 2, 3};", "bad-initialiser", "3 values where 2 fit", ""),
        (".global .f32 g = 1;", "bad-initialiser", "wants a float", "1.0"),
        (".global .s64 g = h;\n", "undeclared-name", "h is not declared", ""),
        (".global .u32 h;\n.global .s64 g = h;", "bad-initialiser", "is .u64, not .s64", ""),
        (".global .samplerref s;", "texture-mode", "independent", "texmode_independent"),
        (".tex .u32 t;", "removed", "gone since PTX 1.5", ".texref"),
        (".global .u32 %tid;", "reserved-name", "special register", "another name"),
        (".pragma \"unroll\";", "unknown-pragma", "unroll", ""),
        (".loc 1 1 1", "misplaced-directive", "belongs into a function", ""),
        (".file 1 \"a\"\n.file 1 \"b\"", "duplicate-directive", "file 1 is named twice", ""),
        (".func f() .abi_preserve 8 { ret; }", "unavailable", ".abi_preserve needs .version 9.0", ".version 8.0"),
        (".func g();\n.alias g, f;", "undeclared-name", "f is not declared", ""),
    ],
)
def test_messages_of_modules(text: str, code: str, message: str, hint: str) -> None:
    found = [d for d in _check(f"{_HEAD}{text}\n") if d.severity == "error" and d.code == code]
    assert found, [(d.code, d.message) for d in _check(f"{_HEAD}{text}\n")]
    assert message in found[0].message
    assert hint in found[0].hint
    assert found[0].span.line >= 4


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("ret;\nmov.u32 %r1, 1;", True), ("bra L;\nadd.u32 %r1, %r2, 1;\nL: ret;", True),
        ("L: bra L;\nadd.u32 %r1, 1, 1;", True),
        ("ret;\nret;", False), ("bra L;\nbra L;\nL: ret;", False),
        ("mov.u32 %r1, 1;\nsetp.eq.u32 %p1, %r1, 1;\n@%p1 ret;\nmov.u32 %r1, 1;\nret;", False),
    ],
)  # fmt: skip
def test_code_that_no_path_reaches(body: str, told: bool) -> None:
    assert ("unreachable-code" in _codes(body)) == told


def _examined(body: str, before: str = "") -> list[tuple[int, str]]:
    module, faults = parse_tolerant(_kernel(body, before))
    return [(d.span.line, d.code) for d in [*faults, *check_module(module, TABLE)]]


def test_what_else_is_wrong_is_found_beside_a_syntax_fault() -> None:
    """One fault in every second line; each is told once, and nothing follows from them."""
    found = _examined(
        "mov.u32 %r1, 1\nfma.f32 %f1, %f1, %f1, %f1;\nmov.u32 %r2 = 2;\nadd.u32 %r3, %r2, %q;\n@%p1 @%p2 ret;\nret;"
    )
    assert "missing-rounding" in [code for _, code in found]
    assert "undeclared-name" in [code for _, code in found]
    assert len({line for line, code in found if code != "uninitialised-register"}) >= 5


@pytest.mark.parametrize(
    "body",
    [
        ".reg .b32 %x<4>\nmov.u32 %x1, 1;\nret;", ".reg .b32 %x<4\nmov.u32 %x1, 1;\nret;",
        "mov.u32 %r1 1;\nadd.u32 %r2, %r1, 1;\nret;", "L : : mov.u32 %r1, 1;\nbra L;",
        ".reg .b32 one two;\nmov.u32 one, 1;\nret;",
    ],
)  # fmt: skip
def test_nothing_follows_from_a_lost_declaration(body: str) -> None:
    lines = {line for line, _ in _examined(body)}
    assert len(lines) == 1


@pytest.mark.parametrize(
    ("written", "meant"),
    [("threadIdx.x", "%tid.x"), ("%threadIdx.y", "%tid.y"), ("%blockIdx.x", "%ctaid.x"), ("blockDim.z", "%ntid.z"),
     ("gridDim.x", "%nctaid.x"), ("warpSize", "WARP_SZ")],
)
def test_names_that_cuda_gives_are_translated(written: str, meant: str) -> None:
    told = [d for d in _found(f"mov.u32 %r1, {written};") if d.severity == "error"]
    assert any(meant in d.hint for d in told), told


def test_instructions_that_were_removed_name_what_took_their_place() -> None:
    load = "wmma.load.a.sync.m16n16k16.row.f16 {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, [%rd1];"
    assert any("wmma.load.a.sync.aligned" in d.hint for d in _found(load))
