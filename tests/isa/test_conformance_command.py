"""`ptxgen-local isa conformance`: it fails when the table is wrong, and says why it cannot run."""

from __future__ import annotations

import json
import shutil

import pytest

from ptxgen.assembling import ToolMissing, find_ptxas
from ptxgen.cli.app import run
from ptxgen.data import data_folder
from ptxgen.isa import load_table

BREV = 'syntax = "brev.type d, a"\ntype = ".b32'
ELECT = (
    'syntax = "elect.sync d|p, membermask"\n'
    'section = "parallel-synchronization-and-communication-instructions-elect-sync"\nsince = "'
)


@pytest.fixture(scope="module")
def version():
    try:
        return find_ptxas()[0].version
    except ToolMissing as missing:
        pytest.skip(f"{missing}")


@pytest.fixture
def copied(tmp_path, monkeypatch):
    """A copy of the table that the command reads, and answers of its own."""
    folder = tmp_path / "isa"
    shutil.copytree(data_folder("isa"), folder)
    monkeypatch.setenv("PTXGEN_MODELS", str(tmp_path / "models"))
    monkeypatch.setattr("ptxgen.cli.isa_conformance.data_folder", lambda name: folder)
    for module in ("ptxgen.cli.isa_conformance", "ptxgen.isa.conformance"):
        monkeypatch.setattr(f"{module}.load_table", lambda: load_table(folder))
    return folder


def ask(capsys, version, *words):
    status = run(["isa", "conformance", *words, "--ptxas", version, "--jobs", "1", "--no-checker", "--json"])
    return status, json.loads(capsys.readouterr().out)["tools"][0]


@pytest.mark.parametrize(
    ("file", "right", "wrong", "opcode", "what"),
    [
        ("integer-arithmetic", f'{BREV} .b64"', f'{BREV} .b64 .u32"', "brev", "least"),
        ("integer-arithmetic", f'{BREV} .b64"', f'{BREV}"', "brev", None),    # fewer questions than recorded
        ("synchronization", f"{ELECT}8.0 sm_90", f"{ELECT}8.1 sm_90", "elect", "version"),
        ("synchronization", f"{ELECT}8.0 sm_90", f"{ELECT}8.0 sm_89", "elect", "least"),
    ],
)  # fmt: skip
def test_a_wrong_row_fails_the_run(copied, capsys, version, file, right, wrong, opcode, what):
    path = copied / "instructions" / f"{file}.toml"
    text = path.read_text(encoding="utf-8")
    assert text.count(right) == 1
    path.write_text(text.replace(right, wrong), encoding="utf-8")
    load_table.cache_clear()
    status, tool = ask(capsys, version, opcode)
    assert status == 1
    assert tool["regressions"]
    assert what is None or what in {found["what"] for found in tool["disagreements"]}


def test_the_right_rows_pass_and_are_recorded(copied, capsys, version):
    record = copied / "conformance" / f"ptxas-{version}.txt"
    status, tool = ask(capsys, version, "brev")
    assert (status, tool["regressions"], tool["unexplained"]) == (0, [], 0)
    record.unlink(missing_ok=True)
    assert ask(capsys, version, "brev", "--update")[0] == 0
    assert "brev.type d, a" in record.read_text(encoding="utf-8")


def test_a_cache_that_is_broken_begins_anew(copied, capsys, version, tmp_path):
    (tmp_path / "conformance.sqlite").write_text("no database\n" * 100, encoding="utf-8")
    assert ask(capsys, version, "brev")[0] == 0


@pytest.mark.parametrize("name", ["exceptions.toml", "ptxas-{version}.txt"])
def test_a_broken_file_is_named_before_anything_is_asked(copied, capsys, version, name, monkeypatch):
    name = name.format(version=version)
    (copied / "conformance" / name).write_text("nonsense", encoding="utf-8")
    monkeypatch.setattr("ptxgen.cli.isa_conformance.conform", lambda *_, **__: pytest.fail("asked"))
    assert run(["isa", "conformance", "brev", "--ptxas", version]) == 2
    assert name in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [(["nosuch"], "nosuch"), (["brev", "--sample", "-1"], "--sample"), (["brev", "--form", "???"], "???"),
     (["brev", "--ptxas", "1.0"], "1.0"), (["brev", "--sample", "3", "--update"], "sample")],
)  # fmt: skip
def test_what_cannot_be_asked_is_said(capsys, version, words, said):
    assert run(["isa", "conformance", *words]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert "Traceback" not in told


def test_without_any_ptxas(capsys, monkeypatch):
    def none(named=None):
        raise ToolMissing("no ptxas was found", fix="install one")

    monkeypatch.setattr("ptxgen.cli.isa_conformance.find_ptxas", none)
    assert run(["isa", "conformance", "brev"]) != 0
    assert "no ptxas" in capsys.readouterr().err
