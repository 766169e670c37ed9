"""Which ptxas is taken, and what is said where none can be."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ptxgen.assembling import ToolMissing, find, find_ptxas

Pretend = Callable[..., Path]


@pytest.fixture(autouse=True)
def bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No ptxas anywhere but where a test puts one."""
    for variable in ("PTXGEN_PTXAS", "CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setattr(find, "_package_folders", lambda: (tmp_path / "package",))
    monkeypatch.setattr(find, "_TOOLKITS", tmp_path / "toolkits")


def test_none_at_all_says_how_to_get_one() -> None:
    with pytest.raises(ToolMissing) as caught:
        find_ptxas()
    assert "pip install nvidia-cuda-nvcc" in caught.value.fix


def test_the_order_is_flag_variable_package_toolkit_path(
    pretend: Pretend, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    flag = pretend("", version="1.0", name="flag/mine")
    monkeypatch.setenv("PTXGEN_PTXAS", str(pretend("", version="2.0", name="variable/ptxas")))
    pretend("", version="3.0", name="package/cu13/bin/ptxas")
    pretend("", version="4.0", name="home/bin/ptxas")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(pretend("", version="5.0", name="path/ptxas").parent), prepend=":")
    pretend("", version="6.0", name="toolkits/cuda-13.0/bin/ptxas")
    found = find_ptxas(str(flag))
    assert [tool.version for tool in found] == ["1.0", "2.0", "3.0", "4.0", "5.0", "6.0"]
    assert found[0].path == flag


def test_a_version_is_listed_once(pretend: Pretend, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pretend("", version="3.0", name="package/cu13/bin/ptxas")
    pretend("", version="3.0", name="home/bin/ptxas")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "home"))
    assert [tool.origin for tool in find_ptxas()] == ["package nvidia-cuda-nvcc"]


def test_a_folder_may_be_named(pretend: Pretend) -> None:
    tool = pretend("", name="bin/ptxas")
    assert find_ptxas(str(tool.parent))[0].path == tool


def test_a_damaged_one_lying_about_is_passed_over(pretend: Pretend, tmp_path: Path) -> None:
    damaged = tmp_path / "package" / "cu12" / "bin" / "ptxas"
    damaged.parent.mkdir(parents=True)
    damaged.write_bytes(b"\x7fELF nothing more")
    damaged.chmod(0o755)
    pretend("", version="3.0", name="package/cu11/bin/ptxas")
    assert [tool.version for tool in find_ptxas()] == ["3.0"]


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda path: None, "does not exist"),
        (lambda path: path.mkdir(), "does not exist"),
        (lambda path: (path.mkdir(), (path / "ptxas").mkdir()), "is no file"),
        (os.mkfifo, "is no file"),
        (lambda path: path.write_text("#!/bin/sh\n"), "may not be executed"),
        (lambda path: (path.write_bytes(b"\0\1\2"), path.chmod(0o755)), "cannot be run"),
        (lambda path: (path.write_text("#!/bin/sh\nexit 0\n"), path.chmod(0o755)), "does not answer like"),
        (lambda path: (path.write_text("#!/bin/sh\nkill -SEGV $$\n"), path.chmod(0o755)), "does not answer like"),
    ],
    ids=["missing", "empty folder", "folder", "pipe", "not executable", "no program", "silent", "crashing"],
)
@pytest.mark.parametrize("through", ["flag", "variable"])
def test_a_named_one_that_does_not_run_is_an_error_not_passed_over(
    make: object, complaint: str, through: str, pretend: Pretend, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pretend("", version="3.0", name="package/cu13/bin/ptxas")
    named = tmp_path / "named"
    assert callable(make)
    make(named)
    if through == "variable":
        monkeypatch.setenv("PTXGEN_PTXAS", str(named))
    with pytest.raises(ToolMissing) as caught:
        find_ptxas(str(named) if through == "flag" else None)
    assert complaint in caught.value.what
    assert str(named) in caught.value.where
    assert caught.value.exit_code == 2
