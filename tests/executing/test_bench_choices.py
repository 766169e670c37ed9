"""Benchmarks that were asked for what there is not say so, with exit status 2, and print no empty table."""

from __future__ import annotations

import sys
from importlib import import_module

import pytest


@pytest.mark.parametrize(("module", "words", "told"), [
    ("bench.applications.__main__", ["--only", "nothing so called"], "'nothing so called'"),
    ("bench.emulator", ["--largest", "1023"], "1024"),
    ("bench.emulator_coverage", ["--absent"], "--absent"),
    ("bench.mutants.__main__", ["--only", "nothing so called"], "'nothing so called'"),
    ("bench.planted.__main__", ["--only", "no such", "--only", "nor such"], "no such or nor such"),
    ("bench.vectors.__main__", ["replay", "fma", "fmma"], "'fmma'"),
    ("bench.vectors.__main__", ["list", "fmma"], "'fmma'"),
])
def test_what_there_is_not(
    module: str, words: list[str], told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [module, *words])
    with pytest.raises(SystemExit) as left:
        import_module(module).main()
    assert left.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert told in captured.err
    assert f"python -m {module.removesuffix('.__main__')}" in captured.err
