"""The commands `models` and `doctor`, over an empty cache and one with a small file in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ptxgen.cli import app as cli
from ptxgen.cli import doctor
from ptxgen.models import CATALOGUE

Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    variables = "PTXGEN_MODEL PTXGEN_PTXAS HF_HOME HF_HUB_CACHE OLLAMA_MODELS XDG_CACHE_HOME XDG_CONFIG_HOME"
    for variable in variables.split():
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PTXGEN_MODELS", str(tmp_path / "models"))
    return tmp_path


def put_default(home: Path) -> Path:
    path = home / "models" / CATALOGUE["qwen"].filename
    path.parent.mkdir()
    path.write_bytes(b"GGUF")
    return path


def test_an_empty_cache_lists_what_can_be_fetched(capsys: Captured) -> None:
    assert cli.run(["models"]) == 0
    captured = capsys.readouterr()
    assert "random" in captured.out
    assert "models fetch qwen" in captured.err
    assert "\x1b" not in captured.out + captured.err


def test_models_as_json(home: Path, capsys: Captured) -> None:
    path = put_default(home)
    assert cli.run(["models", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["default"] == str(path)
    assert document["models"] == [{"name": path.stem, "path": str(path), "size": 4, "origin": "ptxgen-local"}]
    assert {entry["name"]: entry["fetched"] for entry in document["fetchable"]} == {"qwen": True, "smollm2": False}


def test_fetching_an_unknown_model_is_an_error(capsys: Captured) -> None:
    assert cli.run(["models", "fetch", "qven"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "qwen" in captured.err


def report(capsys: Captured, *arguments: str) -> dict[str, dict[str, object]]:
    status = cli.run(["doctor", "--json", *arguments])
    document = json.loads(capsys.readouterr().out)
    assert status == (0 if document["ok"] else 2)
    checks = {check["name"]: check for check in document["checks"]}
    assert document["ok"] == all(check["ok"] for check in checks.values() if check["needed"])
    return checks


def test_doctor_names_what_is_missing_and_how_to_get_it(capsys: Captured) -> None:
    checks = report(capsys)
    assert not checks["model"]["ok"]
    assert "models fetch qwen" in str(checks["model"]["fix"])
    for name in ("Python", "numpy", "llama.cpp", "instruction table", "grammar", "model cache", "ptxas"):
        assert checks[name]["ok"], checks[name]


def test_doctors_status_says_whether_the_main_job_can_run(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    assert cli.run(["doctor"]) == 2
    assert "MISSING model " in capsys.readouterr().out.replace("  ", " ")
    monkeypatch.setenv("PTXGEN_MODEL", "random")
    assert cli.run(["doctor"]) == 0


def test_doctor_sees_a_damaged_model_and_a_dead_ptxas(home: Path, capsys: Captured) -> None:
    put_default(home)
    checks = report(capsys, "--ptxas", "/none/ptxas")
    assert "damaged" in str(checks["model"]["detail"])
    assert "does not exist" in str(checks["ptxas"]["detail"])


def test_doctor_sees_a_cache_that_cannot_be_written(home: Path, capsys: Captured) -> None:
    (home / "models").write_text("a file")
    checks = report(capsys)
    assert not checks["model cache"]["ok"]
    assert "PTXGEN_MODELS" in str(checks["model cache"]["fix"])


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_PACKAGES", ("numpy", "no-such-package"))
    found = {check.name: check for check in doctor.examine()}
    assert found["numpy"].ok
    assert found["no-such-package"].fix == "pip install no-such-package"
