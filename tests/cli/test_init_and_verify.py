"""The commands `init` and `verify`: output, JSON and exit status."""

from __future__ import annotations

import errno
import io
import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from ptxgen.cli import init, verify
from ptxgen.cli.init import write_spec
from ptxgen.errors import PtxgenError, UsageError
from ptxgen.spec import SpecError, load_spec
from ptxgen.verifying import check_oracle

ROOT = Path(__file__).parents[2]
SAXPY, KERNEL = str(ROOT / "examples" / "saxpy.toml"), ROOT / "tests" / "kernels" / "saxpy.ptx"


def run(command, *arguments: str):
    app = typer.Typer()
    app.callback()(lambda: None)
    command.register(app)
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def document(result) -> dict:
    return json.loads(result.stdout)


# ---------------------------------------------------------------- init


def test_init_writes_a_spec_that_works(tmp_path):
    path = tmp_path / "new.toml"
    result = run(init, "init", "scale", "-o", path)
    assert result.exit_code == 0
    assert result.stdout.strip() == str(path)
    spec = load_spec(path)
    assert spec.kernel.name == "scale"
    check_oracle(spec)


def test_init_names_the_file_after_the_kernel(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(init, "init", "scale").exit_code == 0
    assert (tmp_path / "scale.toml").is_file()


def test_init_never_overwrites(tmp_path):
    path = tmp_path / "there.toml"
    path.write_text("mine")
    result = run(init, "init", "scale", "-o", path)
    assert isinstance(result.exception, PtxgenError)
    assert result.exception.exit_code == 2
    assert path.read_text() == "mine"


@pytest.mark.parametrize("name", ["", "9lives", 'a"b', "a\\b", "a\nb", "smem", "x/y", "{file}"])
def test_init_refuses_names_that_no_kernel_can_have(name, tmp_path):
    with pytest.raises(SpecError):
        init.write_spec(name, tmp_path / "spec.toml")
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------- verify


def test_verify_says_right():
    result = run(verify, "verify", SAXPY, KERNEL, "--examples", "20", "--executor", "emulator")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("right: 20 examples at ")


def test_verify_json_has_the_shape_of_the_contract():
    result = run(verify, "verify", SAXPY, KERNEL, "--examples", "20", "--executor", "emulator", "--json")
    told = document(result)
    assert set(told) == {"schema_version", "ok", "executor", "examples", "sizes_tried", "failures"}
    assert (told["ok"], told["executor"], told["examples"], told["failures"]) == (True, "emulator", 20, [])
    assert {"n": 0} in told["sizes_tried"]


def test_verify_tells_the_counterexample(tmp_path):
    wrong = tmp_path / "wrong.ptx"
    wrong.write_text(KERNEL.read_text().replace("setp.ge.u32", "setp.gt.u32"))
    result = run(verify, "verify", SAXPY, wrong, "--executor", "emulator", "--json")
    assert result.exit_code == 1
    (failure,) = document(result)["failures"]
    assert {"check", "sizes", "output", "index", "expected", "actual", "message"} <= set(failure)
    assert " at n = " in failure["message"]


def test_verify_asks_ptxas_first(tmp_path):
    wrong = tmp_path / "wrong.ptx"
    wrong.write_text(KERNEL.read_text().replace("ret;", "retour;"))
    result = run(verify, "verify", SAXPY, wrong, "--json")
    assert result.exit_code == 1
    (failure,) = document(result)["failures"]
    assert failure["check"] == "ptxas"
    assert "retour" in failure["message"]


def test_verify_asks_ptxas_for_every_target(tmp_path):
    spec, kernel = tmp_path / "saxpy.toml", tmp_path / "k.ptx"
    text = Path(SAXPY).read_text()
    assert 'arch = "sm_80"' in text
    spec.write_text(text.replace('arch = "sm_80"', 'arch = ["sm_90", "sm_80"]'))
    kernel.write_text(KERNEL.read_text().replace("sm_80", "sm_90").replace(".version 7.0", ".version 7.8"))
    result = run(verify, "verify", spec, kernel, "--json")
    (failure,) = document(result)["failures"]
    assert failure["check"] == "ptxas"
    assert "rejects it for sm_80" in failure["message"]


def test_verify_refuses_what_it_cannot_read(tmp_path):
    result = run(verify, "verify", SAXPY, tmp_path / "absent.ptx")
    assert isinstance(result.exception, PtxgenError)
    assert result.exception.exit_code == 2
    result = run(verify, "verify", tmp_path / "absent.toml", KERNEL)
    assert isinstance(result.exception, SpecError)


def test_a_disk_that_is_full_leaves_no_half_a_spec(tmp_path, monkeypatch):
    def full(self, text):
        raise OSError(errno.ENOSPC, "No space left on device")

    class Full(io.TextIOWrapper):
        write = full

    opened = Path.open
    monkeypatch.setattr(Path, "open", lambda path, mode, **options: Full(opened(path, "xb")))
    with pytest.raises(UsageError, match="cannot write"):
        write_spec("scale", tmp_path / "scale.toml")
    assert not list(tmp_path.iterdir())
