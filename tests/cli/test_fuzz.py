"""`fuzz`: valid random specs, honest figures, and a judge that is heard."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ptxgen.assembling import Assembly, Message, Ptxas, ToolMissing, find_ptxas
from ptxgen.cli import fuzz_samples
from ptxgen.cli.app import run
from ptxgen.cli.fuzz_samples import BONUS, FAVOURED, TasteSession, favoured, forms_in, forms_of, write_sample
from ptxgen.cli.fuzz_specs import random_spec
from ptxgen.errors import MaskError
from ptxgen.isa import load_table
from ptxgen.models import RandomSession
from ptxgen.semantics import Level

TABLE = load_table()


@pytest.fixture
def tool() -> Ptxas:
    try:
        return find_ptxas()[0]
    except ToolMissing:
        pytest.skip("no ptxas: pip install nvidia-cuda-nvcc")


def documents(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    status = run(["fuzz", "--json", *arguments])
    return status, json.loads(capsys.readouterr().out)


# ---------------------------------------------------------------- specs


def test_random_specs_are_valid_and_differ() -> None:
    specs = [random_spec(seed, "sm_90", TABLE) for seed in range(60)]
    assert len({s.text for s in specs}) == 60
    assert {p.element for s in specs for p in s.kernel.params} >= {"u8", "f16", "bf16", "f32", "f64", "s64"}
    assert {len(s.launch.block) for s in specs} == {1, 2, 3}
    assert any(s.constraints.require for s in specs)
    assert any(s.constraints.forbid for s in specs)
    assert random_spec(7, "sm_90", TABLE).text == specs[7].text


# ---------------------------------------------------------------- coverage


def test_seeds_share_out_all_opcodes() -> None:
    forms = forms_of(TABLE.profile("sm_80"))
    opcodes = {opcode for opcode, _ in forms}
    turns = -(-len(opcodes) // FAVOURED)
    assert set().union(*(favoured(seed, forms) for seed in range(turns))) == opcodes
    assert favoured(3, forms) != favoured(3 + turns, forms)


def test_the_taste_lifts_only_beginnings_of_its_opcodes() -> None:
    session, plain = TasteSession(seed=1, opcodes=["max.f32"]), RandomSession(seed=1)
    tokens = session.tokenize(b"\n\tma")
    session.evaluate(tokens)
    plain.evaluate(tokens)
    lifted = (session.logits() - plain.logits()).nonzero()[0].tolist()
    assert lifted
    assert all(b"\tmax.f32 ".startswith(b"\tma" + session.token_bytes[i]) for i in lifted)
    assert session.logits()[lifted[0]] == pytest.approx(plain.logits()[lifted[0]] + BONUS)
    session.rewind(1)
    session.evaluate(session.tokenize(b"\tadd."))
    plain.rewind(1)
    plain.evaluate(plain.tokenize(b"\tadd."))
    assert not (session.logits() - plain.logits()).any()


def test_forms_tell_vectors_and_pairs_apart() -> None:
    ptx = random_spec(0, "sm_80", TABLE).header("sm_80", TABLE)
    body = "\tld.global.v2.f32 {%f1, %f2}, [%rd1];\n\tsetp.eq.s32 %p1|%p2, %r1, 0;\n\tret;\n}\n"
    assert forms_in(ptx + body) == {
        ("ld.global.v2.f32", ("v2", "")),
        ("setp.eq.s32", ("pair", "", "")),
        ("ret", ()),
    }
    assert forms_in(ptx + "\tno ptx\n") == frozenset()


# ---------------------------------------------------------------- the judge


@pytest.mark.parametrize("level", [Level.SCOPED, Level.TYPESTATE, Level.FULL])
@pytest.mark.parametrize("seed", range(2))
def test_what_the_mask_lets_through_assembles(level: Level, seed: int, tool: Ptxas) -> None:
    sample = write_sample(seed, "sm_80", level, TABLE, tool)
    assert sample.refused or (sample.complete and sample.accepted), sample.message


def test_a_kernel_depends_on_its_seed_alone(tool: Ptxas) -> None:
    one, again = (write_sample(5, "sm_80", Level.SCOPED, TABLE, tool) for _ in range(2))
    assert one == again


def test_figures(capsys: pytest.CaptureFixture[str], tool: Ptxas) -> None:
    status, document = documents(["--samples", "2", "--seed", "4", "--level", "typestate"], capsys)
    assert status == 0
    assert document["samples"] == document["complete"] == document["ptxas_accepted"] == 2
    assert document["rejected"] == []
    assert document["forms_total"] == len(forms_of(TABLE.profile("sm_80")))
    assert 0 < document["forms_covered"] < document["forms_total"]


@pytest.mark.parametrize(("level", "status"), [("scoped", 1), ("typed", 0)])
def test_refusals(
    level: str, status: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tool: Ptxas
) -> None:
    def refuse(self: Ptxas, ptx: str, arch: str, **_: object) -> Assembly:
        return Assembly(arch, False, None, None, None, (Message(9, "error", "no"),), None)

    monkeypatch.setattr(Ptxas, "assemble", refuse)
    found, document = documents(["--samples", "1", "--seed", "4", "--level", level], capsys)
    assert found == status
    assert document["ptxas_accepted"] == 0
    assert document["rejected"][0]["seed"] == 4
    assert document["rejected"][0]["message"] == "line 9: no"
    assert ".target sm_80" in document["rejected"][0]["ptx"]


def test_a_mask_that_fails_is_a_finding(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tool: Ptxas
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MaskError("the mask broke")

    monkeypatch.setattr(fuzz_samples, "decode", fail)
    status, document = documents(["--samples", "1", "--seed", "4", "--level", "typed"], capsys)
    assert status == 1
    assert document["complete"] == 0
    assert "the mask broke" in document["rejected"][0]["message"]


def test_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fuzz", "--level", "best"]) == 2
    assert run(["fuzz", "--arch", "sm_0"]) == 2
    assert "sm_" in capsys.readouterr().err
