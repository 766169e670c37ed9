"""The benchmark commands, at their smallest, with the random model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import closing, examples, gpu_check

RELU = Path(__file__).parents[2] / "examples" / "relu.toml"


def test_examples_prints_a_line_a_run_and_the_sums(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figures, kept = tmp_path / "rows.json", tmp_path / "kept"
    told = ["--model", "random", "--candidates", "1", "--repair", "0", "--max-tokens", "256"]
    assert examples.main([str(RELU), *told, "--json", str(figures), "--keep", str(kept)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("|")[1:3] for line in lines[2:]] == [
        [" relu ", " none "], [" relu ", " full "], [" **all** ", " none "], [" **all** ", " full "],
    ]  # fmt: skip
    rows = json.loads(figures.read_text())["rows"]
    assert [(row["kernel"], row["level"], row["candidates"]) for row in rows] == [
        ("relu", "none", 1),
        ("relu", "full", 1),
    ]
    assert rows[1]["finished"] == 1
    assert {"relu.none.0.ptx", "relu.full.0.log"} <= {path.name for path in kept.iterdir()}


def test_a_run_that_stops_with_an_error_is_a_row() -> None:
    spec = RELU.with_name("saxpy.toml")
    from ptxgen.generating import Flags
    from ptxgen.models import open_session

    row = examples.measure(spec, open_session("random"), Flags(level="full", max_tokens=64), None)
    assert row.status == "error"
    assert "max_tokens" in row.trouble


def test_closing_counts_what_does_not_close(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = [str(RELU), "--seeds", "2", "--max-tokens", "200", "--processes", "1", "--keep", str(tmp_path)]
    assert closing.main([*told, "--level", "none"]) == 1
    out, err = capsys.readouterr()
    assert "0 of 2 closed and were accepted" in out
    assert "relu, seed 1: " in err
    assert len(list(tmp_path.iterdir())) == 2


def test_every_kernel_of_the_project_has_its_spec(capsys: pytest.CaptureFixture[str]) -> None:
    found = list(gpu_check.kernels(gpu_check.OWN_FOLDERS))
    assert capsys.readouterr().err == ""
    assert len(found) > 40


def test_the_table_of_a_gpu_check_shows_what_is_wrong() -> None:
    checks = [
        gpu_check.Check("a.ptx", "gpu", True, 100, 1.0, ""),
        gpu_check.Check("b.ptx", "gpu", False, 3, 1.0, "out | index 3"),
    ]
    lines = gpu_check.table(checks).splitlines()
    assert lines[2].startswith("| a.ptx | gpu | yes | 100 |")
    assert "**no**" in lines[3]
    assert "out \\| index 3" in lines[3]
