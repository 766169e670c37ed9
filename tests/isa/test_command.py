"""`ptxgen-local isa`."""

from __future__ import annotations

import json
from pathlib import Path

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
        (["FMA"], "did you mean fma"),
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


def test_an_opcode_is_shown_as_it_is_spelled(capsys):
    assert run(["isa", "ld.global.v4.f32", "--arch", "sm_80"]) == 0
    out = capsys.readouterr().out
    assert "\nld.global.v4.f32 d, a\n" in out
    assert "d is written: vector of 4, .f32, or wider" in out
    assert "example: ld.global.v4.f32 {" in out


def test_an_opcode_that_a_target_lacks_says_what_it_needs(capsys):
    assert run(["isa", "ld.global.v8.f32", "--arch", "sm_80"]) == 2
    assert "PTX 8.8, sm_100" in capsys.readouterr().err


def test_undocumented_spellings_are_marked(capsys):
    assert run(["isa", "fma.rz.bf16"]) == 0
    assert "undocumented" in capsys.readouterr().out
    assert run(["isa", "fma"]) == 0
    assert "undocumented" not in capsys.readouterr().out


def test_what_a_version_brought(capsys):
    assert run(["isa", "--new-in", "6.0", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    by_syntax = {form["syntax"]: form for entry in document["instructions"] for form in entry["forms"]}
    assert by_syntax["shfl.sync.mode.b32 d[|p], a, b, c, membermask"]["only"] == []
    assert document["targets"] == ["sm_70"]
    assert document["directives"] == [".branchtargets"]
    partly = [form for form in by_syntax.values() if form["only"]]
    assert partly
    assert all(form["ptx"] != "6.0" for form in partly)


@pytest.mark.parametrize("question", [["--new-in", "7.8"], ["--arch", "sm_90", "--missing-from", "sm_80"]])
def test_of_an_instruction_nothing_else_is_told(capsys, question):
    def document(*arguments):
        assert run(["isa", *arguments, *question, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    assert document()["special_registers"]
    ld = document("ld")
    assert [entry["name"] for entry in ld["instructions"]] == ["ld"]
    assert not ld["special_registers"] + ld["types"] + ld["targets"]


def test_what_a_target_lacks(capsys):
    assert run(["isa", "--arch", "sm_90a", "--missing-from", "sm_90", "--json"]) == 0
    names = {entry["name"] for entry in json.loads(capsys.readouterr().out)["instructions"]}
    assert {"wgmma", "setmaxnreg"} <= names
    assert "fma" not in names
    assert run(["isa", "mma", "--arch", "sm_90", "--missing-from", "sm_90"]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "arguments",
    [["--new-in", "9.99"], ["--missing-from", "sm_1"], ["--new-in", "9.0", "--missing-from", "sm_90"],
     ["frob", "--new-in", "9.0"], ["fma", "--check"], ["fma", "-o", "folder"], ["pages", "--json"],
     ["pages", "--arch", "sm_80"], ["pages", "--new-in", "9.0"]],
)  # fmt: skip
def test_wrong_questions_end_with_2(capsys, arguments):
    assert run(["isa", *arguments]) == 2
    captured = capsys.readouterr()
    assert "fix:" in captured.err
    assert captured.out == ""


@pytest.mark.parametrize("content", [b"my own notes", b"\xff\xfe\x00", b""])
def test_pages_leave_the_files_of_others_alone(tmp_path, capsys, content):
    own = tmp_path / "notes.md"
    own.write_bytes(content)
    assert run(["isa", "pages", "-o", str(tmp_path)]) == 0
    assert own.read_bytes() == content
    readme = tmp_path / "other" / "README.md"
    readme.parent.mkdir()
    readme.write_bytes(content)
    assert run(["isa", "pages", "-o", str(readme.parent)]) == 2
    assert [path.name for path in readme.parent.iterdir()] == ["README.md"]
    assert readme.read_bytes() == content
    assert run(["isa", "pages", "-o", str(own)]) == 2
    assert "fix:" in capsys.readouterr().err


def test_pages_go_on_after_an_interruption(tmp_path, monkeypatch, capsys):
    real, written = Path.write_text, []

    def interrupted(path, text, **options):
        written.append(path)
        if len(written) == 5:
            real(path, text[:100], **options)
            raise KeyboardInterrupt
        return real(path, text, **options)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_text", interrupted)
        assert run(["isa", "pages", "-o", str(tmp_path)]) == 130
    assert run(["isa", "pages", "-o", str(tmp_path)]) == 0
    assert run(["isa", "pages", "--check", "-o", str(tmp_path)]) == 0
    assert not list(tmp_path.glob(".*"))
    capsys.readouterr()


def test_pages_are_written_checked_and_mended(tmp_path, capsys):
    folder = ["-o", str(tmp_path / "isa")]
    assert run(["isa", "pages", "--check", *folder]) == 1
    assert run(["isa", "pages", *folder]) == 0
    assert run(["isa", "pages", "--check", *folder]) == 0
    made = (tmp_path / "isa" / "fma.md").read_text()
    (tmp_path / "isa" / "fma.md").write_text(made + "edited")
    (tmp_path / "isa" / "gone.md").write_text(made)
    capsys.readouterr()
    assert run(["isa", "pages", "--check", *folder]) == 1
    assert {line.rpartition("/")[2] for line in capsys.readouterr().out.split()} >= {"fma.md", "gone.md"}
    assert run(["isa", "pages", *folder]) == 0
    assert not (tmp_path / "isa" / "gone.md").exists()
    assert run(["isa", "pages", "--check", *folder]) == 0
