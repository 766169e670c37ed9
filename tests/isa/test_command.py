"""`ptxgen-local isa`."""

from __future__ import annotations

import json

import pytest

from ptxgen.cli.app import run


def test_all_instructions(capsys):
    assert run(["isa"]) == 0
    out = capsys.readouterr().out
    assert "fma" in out
    assert "shfl" in out


def test_one_instruction(capsys):
    assert run(["isa", "fma"]) == 0
    assert "fma.rnd{.ftz}{.sat}.f32 d, a, b, c" in capsys.readouterr().out


def test_json_follows_the_contract(capsys):
    assert run(["isa", "shfl.sync", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema_version"] == 1
    (shfl,) = document["instructions"]
    assert (shfl["name"], shfl["chapter"]) == ("shfl", "Data Movement and Conversion Instructions")
    (form,) = shfl["forms"]
    assert form["syntax"] == "shfl.sync.mode.b32 d[|p], a, b, c, membermask"
    assert (form["types"], form["ptx"], form["arch"]) == (["b32"], "6.0", "sm_30")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["exp"], "ex2"),
        (["add.b32"], "add.u32"),
        (["fma", "--arch", "sm_9"], "sm_90"),
        (["fma", "--ptx", "8.9"], "8.9"),
        (["setmaxnreg", "--arch", "sm_90"], "setmaxnreg does not exist for sm_90"),
    ],
)
def test_a_miss_names_the_nearest_and_ends_with_2(capsys, arguments, said):
    assert run(["isa", *arguments]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == ""


def test_filters(capsys):
    assert run(["isa", "--arch", "sm_80", "--json"]) == 0
    names = {entry["name"] for entry in json.loads(capsys.readouterr().out)["instructions"]}
    assert "elect" not in names
    assert "redux" in names
    assert run(["isa", "shfl", "--arch", "sm_80", "--ptx", "8.0", "--json"]) == 0
    (shfl,) = json.loads(capsys.readouterr().out)["instructions"]
    assert [form["syntax"].startswith("shfl.sync") for form in shfl["forms"]] == [True]


def test_conformance(capsys):
    assert run(["isa", "conformance", "--sample", "20"]) == 0
    assert "20 expansions" in capsys.readouterr().out
