"""What the table promises, ptxas accepts; and what it does not promise is noticed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ptxgen.assembling import ToolCrashed, ToolMissing, find_ptxas
from ptxgen.isa import Version, load_table
from ptxgen.isa.conformance import conform, covering, judge, newest_version, probe_target, sample
from ptxgen.isa.probing import Probe, module, probes

TABLE = load_table()


@pytest.fixture(scope="module")
def assemble():
    try:
        tool = find_ptxas()[0]
    except ToolMissing as missing:
        pytest.skip(f"{missing}")

    def run(text, arch):
        try:
            result = tool.assemble(text, arch, optimise=0)
        except ToolCrashed as crash:
            return [(0, crash.why)]
        return None if result.ok else [(m.line, m.text) for m in result.messages if m.severity != "warning"]

    return run


def test_a_sample_is_accepted(assemble):
    newest = newest_version(TABLE, assemble)
    report = conform(TABLE, sample(TABLE, 150, seed=1), assemble, newest)
    assert report.expansions == 150
    assert report.probes > 150
    assert [(probe.statement, message) for probe, message in report.rejected] == []


def test_bad_lines_are_found_among_good_ones(assemble):
    good = probes(TABLE.candidates("add.f32")[0], TABLE.types)
    bad = [replace(good[0], statement=text) for text in ("add.f32 %f1, %f2, 1;", "and.s32 %r1, %r2, %r3;")]
    batch = [*good, bad[0], *good, bad[1], *good]
    assert [probe for probe, _ in judge(batch, "sm_80", Version(7, 0), assemble)] == bad


def test_messages_without_a_line_are_tracked_down():
    culprit = Probe(TABLE.candidates("ret")[0], "culprit;", "")
    innocent = replace(culprit, statement="ret;")

    def crashing(text, arch):
        return [(0, "crash")] if "culprit" in text else None

    batch = [innocent] * 5 + [culprit] + [innocent] * 3
    assert judge(batch, "sm_80", Version(7, 0), crashing) == [(culprit, "crash")]


def test_probes_try_every_kind_of_operand():
    written = {probe.statement for probe in probes(TABLE.candidates("mov.u32")[0], TABLE.types)}
    assert "mov.u32 %r1, %r2;" in written
    assert "mov.u32 %r1, 1;" in written
    assert "mov.u32 %r1, %tid.x;" in written
    assert any("in_shared" in text for text in written)


def test_targets_of_probes():
    where = probe_target(TABLE, TABLE.candidates("add.bf16")[0])
    assert where is not None
    assert (where[0].name, str(where[1])) == ("sm_90", "7.8")
    assert probe_target(TABLE, TABLE.candidates("ld.global.v8.f32")[0], newest=Version(8, 0)) is None


def test_the_line_of_the_first_statement():
    text, first = module(["first;", "second;"], "sm_80", Version(7, 0))
    assert text.splitlines()[first - 1 : first + 1] == ["first;", "second;"]


def test_covering_shows_every_value():
    shown = {}
    for expansion in covering(TABLE, ["ld", "cvt"]):
        shown.setdefault(expansion.form.line, set()).update(expansion.slots.values())
    for row in (*TABLE.rows("ld"), *TABLE.rows("cvt")):
        assert row.every_value <= shown[row.form.line], row.form.syntax
