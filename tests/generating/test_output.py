"""Files: whole or not at all, and errors that say what to do."""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from pathlib import Path

import pytest

from ptxgen.generating import Options, OutputError, Silence, check_writable, generate, keep_candidate, kernel_text
from ptxgen.generating.output import write_file
from ptxgen.spec import Spec

from .workshop import Workshop


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "k.ptx"
    write_file(path, "old")

    def full(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OutputError) as caught:
        write_file(path, "new")
    assert caught.value.exit_code == 2
    assert "disk is full" in str(caught.value)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["k.ptx"]


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot write") as caught:
        check_writable(tmp_path / "none" / "k.ptx")
    assert "does not exist" in caught.value.why
    with pytest.raises(OutputError) as caught:
        check_writable(tmp_path)
    assert "folder" in caught.value.why
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError):
        check_writable(tmp_path / "file" / "k.ptx")
    check_writable(tmp_path / "k.ptx")
    assert sorted(os.listdir(tmp_path)) == ["file"]


def test_what_a_result_must_not_replace(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OutputError) as caught:
        check_writable(tmp_path / "pipe")
    assert "device or a pipe" in caught.value.why
    (tmp_path / "spec.toml").write_text("spec")
    (tmp_path / "link.ptx").symlink_to("spec.toml")
    for path in (tmp_path / "spec.toml", tmp_path / "link.ptx"):
        with pytest.raises(OutputError) as caught:
            check_writable(path, tmp_path / "spec.toml")
        assert "reads that file" in caught.value.why
    check_writable(tmp_path / "k.ptx", tmp_path / "spec.toml")


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link.ptx").symlink_to("k.ptx")
    write_file(tmp_path / "link.ptx", "x")
    assert (tmp_path / "link.ptx").is_symlink()
    assert (tmp_path / "k.ptx").read_text() == "x"


def test_files_have_the_usual_mode(tmp_path: Path) -> None:
    write_file(tmp_path / "k.ptx", "x")
    (tmp_path / "other").write_text("x")
    assert (tmp_path / "k.ptx").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_an_unfinished_kernel_is_marked(workshop: Workshop, spec: Spec, options: Options) -> None:
    workshop.interrupt = "decoding"
    text = kernel_text(generate(spec, options, Silence()))
    assert text.startswith("// unfinished\n.version")
    assert kernel_text(generate(spec, replace(options, candidates=1), Silence())) == text


def test_every_candidate_is_kept_with_its_log(
    workshop: Workshop, spec: Spec, options: Options, tmp_path: Path
) -> None:
    workshop.script = ["refused", "wrong", "right"]
    for candidate in generate(spec, options, Silence()).candidates:
        keep_candidate(tmp_path / "kept", "saxpy", candidate)
    assert sorted(os.listdir(tmp_path / "kept")) == [
        f"saxpy.{i}.{ending}" for i in range(3) for ending in ("log", "ptx")
    ]
    log = (tmp_path / "kept" / "saxpy.0.log").read_text()
    assert "rejected" in log
    assert "line 7: error: Unknown symbol" in log
    assert "index 3" in (tmp_path / "kept" / "saxpy.1.log").read_text()
