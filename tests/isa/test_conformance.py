"""What the table promises, ptxas accepts; what it does not promise is refused, or noticed."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations

import pytest

from ptxgen.assembling import ToolMissing, find_ptxas
from ptxgen.cli.app import run
from ptxgen.isa import Version, load_table
from ptxgen.isa.conformance import covering
from ptxgen.isa.conformance_asking import Memory, judge, remembered
from ptxgen.isa.conformance_choices import FEW, tried_choices
from ptxgen.isa.conformance_expecting import expected
from ptxgen.isa.conformance_questions import Knowledge, least, questions
from ptxgen.isa.probing import Statement, Written, module, probes, register

TABLE = load_table()
ORDERED = sorted(TABLE.targets.values(), key=lambda t: (t.number, t.variant))
KNOWLEDGE = Knowledge(tuple(t for t in ORDERED if t.number >= 75), TABLE.versions[-1])


def row_of(opcode, syntax=""):
    return next(row for row in TABLE.rows(opcode) if syntax in row.form.syntax)


@pytest.fixture(scope="module")
def ptxas():
    try:
        return find_ptxas()[0]
    except ToolMissing as missing:
        pytest.skip(f"{missing}")


def test_a_sample_agrees(ptxas, capsys):
    chapters = ["integer-arithmetic", "floating-point", "logic-shift", "comparison-selection", "half-precision"]
    options = ["--sample", "30", "--seed", "7", "--ptxas", ptxas.version, "--jobs", "1", "--json"]
    status = run(["isa", "conformance", *chapters, *options])
    (tool,) = json.loads(capsys.readouterr().out)["tools"]
    assert tool["regressions"] == []
    assert tool["forms"] > 20
    assert tool["statements"] > 1500
    assert tool["by_kind"]["accepted least"] >= tool["forms"]
    assert tool["by_kind"]["near register-type"] > 100
    assert status == 0


def test_bad_lines_are_found_among_good_ones(ptxas):
    def assemble(text, arch):
        result = ptxas.assemble(text, arch, optimise=0)
        return None if result.ok else [(m.line, m.text) for m in result.messages if m.severity != "warning"]

    good = "add.f32 %f1, %f2, %f3;"
    bad = ["add.f32 %f1, %f2, 1;", "and.s32 %r1, %r2, %r3;", "add.f32 %f1, (%f2), %f3;", "add.f32 %f1, %f2 %f3;"]
    batch = [good, bad[0], good, bad[2], good, bad[1], bad[3], good, bad[0]]
    verdicts = judge(batch, "sm_80", Version(7, 0), assemble)
    assert [said is None for said in verdicts] == [statement == good for statement in batch]


def test_messages_without_a_line_are_tracked_down():
    def crashing(text, arch):
        return [(0, "crash")] if "culprit" in text else None

    batch = ["ret;"] * 5 + ["culprit;"] + ["ret;"] * 3
    assert judge(batch, "sm_80", Version(7, 0), crashing) == [None] * 5 + ["crash"] + [None] * 3


def test_faults_that_others_hide_come_to_light():
    """An assembler that finds faults of a second kind only where there are none of the first."""

    def assemble(text, arch):
        for fault in ("syntax", "early", "late"):
            lines = [(n, fault) for n, line in enumerate(text.splitlines(), 1) if line == f"{fault};"]
            if lines:
                return [(lines[0][0], "Parsing error near")] if fault == "syntax" else lines
        return None

    batch = ["late;", "ret;", "syntax;", "early;", "ret;", "syntax;", "late;"]
    verdicts = judge(batch, "sm_80", Version(7, 0), assemble)
    assert [said is None for said in verdicts] == [statement == "ret;" for statement in batch]


def test_answers_are_remembered_by_text_and_tool(tmp_path):
    asked = []

    def assemble(text, arch):
        asked.append(arch)

    memory = Memory(tmp_path / "folder" / "memory.sqlite")
    for statements, tool in ((["ret;"], "13.0"), (["ret;"], "13.0"), (["ret;"], "13.5"), (["exit;"], "13.0")):
        assert remembered(statements, "sm_80", Version(7, 0), assemble, tool, memory) == [None]
    assert len(asked) == 3


def test_probes_try_every_kind_of_operand():
    written = {probe.statement for probe in probes(TABLE.candidates("mov.u32")[0], TABLE.types)}
    assert "mov.u32 %r1, %r2;" in written
    assert "mov.u32 %r1, 1;" in written
    assert "mov.u32 %r1, %tid.x;" in written
    assert any("in_shared" in text for text in written)


def test_the_least_target_and_version():
    target, version = least(TABLE.candidates("add.bf16")[0], KNOWLEDGE)
    assert (target.name, str(version)) == ("sm_90", "7.8")
    assert least(TABLE.candidates("ld.global.v8.f32")[0], replace(KNOWLEDGE, newest=Version(8, 0))) is None


def test_the_line_of_the_first_statement():
    text, first = module(["first;", "second;"], "sm_80", Version(7, 0))
    assert text.splitlines()[first - 1 : first + 1] == ["first;", "second;"]


def test_covering_shows_every_value():
    shown = {}
    for expansion in covering(TABLE, ["ld", "cvt"]):
        shown.setdefault(expansion.form.line, set()).update(expansion.slots.values())
    for row in (*TABLE.rows("ld"), *TABLE.rows("cvt")):
        assert row.every_value <= shown[row.form.line], row.form.syntax


@pytest.mark.parametrize("opcode", ["st.global.u32", "atom.global.add.u32", "fma.rn.f32"])
def test_every_pair_of_values_is_tried(opcode):
    def pairs(choices):
        return {(i, c[i], j, c[j]) for c in choices for i, j in combinations(range(len(c)), 2)}

    for row in TABLE.rows(opcode):
        every, tried = list(row.choices()), tried_choices(row)
        assert pairs(every) == pairs(tried), row.form.syntax
        assert len(every) >= FEW or every == tried
        assert len(set(tried)) == len(tried)


def asked_of(opcode, syntax=""):
    return {question.statement: question for question in questions(row_of(opcode, syntax), TABLE, KNOWLEDGE)}


def test_near_misses_of_every_kind():
    asked = asked_of("fma.rn.f32")
    near = {
        "fma.rn.f32 %f1, %ur12, %f3, %f4;": "register-type",
        "fma.rn.f32 %f1, [%rd30], %f3, %f4;": "operand-kind",
        "fma.rn.f32 %f1, 1, %f3, %f4;": "constant-type",
        "fma.rn.f32 %f1, %f2, %f3;": "operand-count",
        "fma.f32 %f1, %f2, %f3, %f4;": "missing-modifier",
        "fma.rn.rn.f32 %f1, %f2, %f3, %f4;": "doubled-modifier",
        "fma.rn.relu.f32 %f1, %f2, %f3, %f4;": "extra-modifier",
        "fma.rn.f16x2 %f1, %f2, %f3, %f4;": "foreign-modifier",
    }
    assert {text: asked[text].kind for text in near} == near
    assert not any(asked[text].takes for text in near)
    kinds = {question.kind for question in asked_of("st.global.v2.f32", "st{.weak}{.space}{.cop}").values()}
    assert kinds >= {"vector-width", "element-type", "address-base"}
    assert asked_of("bar.sync")["bar.sync 16;"].kind == "constant-range"


@pytest.mark.parametrize(
    ("elements", "takes"),
    [(["b32", "b32"], True), (["b32", "u32"], True), (["b64", "b64"], True), (["b32", "b64"], False),
     (["b32", "pred"], False), (["b32"], False)],
)
def test_vectors_hold_registers_of_one_size(elements, takes):
    """Wider registers may stand in a load's vector, but not beside others."""
    written = Written("{...}", "vector", parts=tuple(register(name, 1) for name in elements))
    statement = Statement("ld.global.v2.b32", (written, Written("[%rd1]", "address")))
    assert expected(TABLE, statement, "sm_80", Version(7, 0)) == takes


def test_what_the_table_has_is_no_near_miss():
    for opcode in ("add.f32", "ld.global.f32", "shfl.sync.up.b32"):
        for row in TABLE.rows(opcode):
            for question in questions(row, TABLE, KNOWLEDGE, row.covering_choices()):
                if question.group == "near":
                    assert not question.takes, question


def test_boundaries():
    asked = questions(row_of("elect.sync"), TABLE, KNOWLEDGE)
    below = {(q.arch, str(q.version)) for q in asked if q.group == "below"}
    assert below >= {("sm_90", "7.8"), ("sm_89", "8.0"), ("sm_75", "8.0")}
    assert {arch for arch, version in below if version != "7.8"} == {f"sm_{n}" for n in (75, 80, 86, 87, 88, 89)}
    tensor_memory = TABLE.data.rows["tcgen05"][0]
    asked = list(questions(tensor_memory, TABLE, KNOWLEDGE))
    family = {q.arch: q.takes for q in asked if q.statement == asked[0].statement}
    assert family["sm_100a"]
    assert not family["sm_100"]
    assert not family["sm_90a"]
    assert not family["sm_120a"]
    old = [q for q in questions(row_of("shfl.up.b32", "shfl.mode"), TABLE, KNOWLEDGE) if q.kind == "removed"]
    assert [str(q.version) for q in old[:1]] == ["6.4"]


@pytest.mark.parametrize(
    ("operands", "takes"),
    [
        ([register("f32", 1), register("b32", 2), register("f32", 3)], True),
        ([register("f32", 1), register("u32", 2), register("f32", 3)], False),
        ([register("f32", 1), Written("1.0", "imm", value=1.0), register("f32", 3)], True),
        ([register("f32", 1), Written("1", "imm", value=1), register("f32", 3)], False),
        ([register("f32", 1), register("f32", 2)], False),
    ],
)
def test_what_the_table_expects(operands, takes):
    assert expected(TABLE, Statement("add.f32", tuple(operands)), "sm_80", Version(7, 0)) == takes
