"""`ptxgen-local doctor`: is everything there that a kernel needs to be written, assembled and tested?"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import typer

from ptxgen.cli.output import data, print_json
from ptxgen.errors import PtxgenError
from ptxgen.models import cache_folder, find_model
from ptxgen.models.find import chosen_model
from ptxgen.models.gguf import read_header

_PACKAGES = (
    "numpy", "lark", "llguidance", "outlines", "llama-cpp-python", "pydantic", "typer", "rich", "jinja2",
    "hypothesis", "platformdirs",
)  # fmt: skip
_LEAST_PYTHON = (3, 11)


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the report. A missing thing that is not `needed` costs a feature, not the main job."""

    name: str
    ok: bool
    detail: str
    fix: str = ""
    needed: bool = True


def register(app: typer.Typer) -> None:
    @app.command("doctor")
    def doctor(
        ptxas: str | None = typer.Option(None, help="A ptxas to look at first."),
        json: bool = typer.Option(False, "--json", help="Print one JSON document."),
    ) -> None:
        """Look whether everything needed is there.

        Exit status 0 when a kernel can be written, assembled and tested, 2 when something for that is missing.
        """
        checks = list(examine(ptxas))
        ready = all(check.ok for check in checks if check.needed)
        if json:
            print_json({"ok": ready, "checks": checks})
        else:
            _print(checks)
        raise typer.Exit(0 if ready else 2)


def examine(ptxas: str | None = None) -> Iterator[Check]:
    """Every check, in the order of the flow. None of them raises for what it finds missing."""
    yield _python()
    for package in _PACKAGES:
        yield _package(package)
    yield _guarded("llama.cpp", _llama, "pip install --force-reinstall --no-cache-dir llama-cpp-python")
    yield _guarded("instruction table", _table, "reinstall ptxgen-local")
    yield _guarded("grammar", _grammar, "reinstall ptxgen-local")
    yield _guarded("model", _model, "ptxgen-local models fetch")
    yield _guarded("model cache", _cache, "set PTXGEN_MODELS to a folder that can be written")
    yield from _assemblers(ptxas)
    yield _guarded("GPU", _gpu, "pip install 'ptxgen-local[gpu]' on a machine with an NVIDIA GPU", needed=False)


def _guarded(name: str, look: Callable[[], str], fix: str, *, needed: bool = True) -> Check:
    try:
        return Check(name, True, look(), needed=needed)
    except PtxgenError as error:
        detail = "; ".join(part for part in (error.what, error.why) if part)
        return Check(name, False, detail, error.fix or fix, needed)
    except (ImportError, OSError, RuntimeError) as error:
        return Check(name, False, f"{type(error).__name__}: {error}", fix, needed)


def _python() -> Check:
    found = ".".join(str(part) for part in sys.version_info[:3])
    least = ".".join(str(part) for part in _LEAST_PYTHON)
    return Check("Python", sys.version_info >= _LEAST_PYTHON, f"{found} ({sys.executable})", f"use Python {least}")


def _package(name: str) -> Check:
    try:
        return Check(name, True, version(name))
    except PackageNotFoundError:
        return Check(name, False, "not installed", f"pip install {name}")


def _llama() -> str:
    import llama_cpp

    from ptxgen.models.llama import built_with_amx, physical_cores

    features = llama_cpp.llama_print_system_info().decode("utf-8", errors="replace")
    names = [part.split("=")[0].strip() for part in features.replace("CPU :", "").split("|") if "= 1" in part]
    amx = "; AMX is left unused" if built_with_amx() else ""
    return f"{physical_cores()} cores; {' '.join(names)}{amx}"


def _table() -> str:
    from ptxgen.isa import load_table

    table = load_table()
    forms = sum(len(instruction.forms) for instruction in table.instructions.values())
    return f"{len(table.instructions)} instructions, {forms} forms, {len(table.targets)} targets"


def _grammar() -> str:
    from ptxgen.ptx import parse

    parse(".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry probe()\n{\n\tret;\n}\n")
    return "parses"


def _model() -> str:
    wanted, said_by = chosen_model()
    if wanted == "random":
        return f"random logits ({said_by})"
    path = find_model()
    header = read_header(path)
    return f"{header.architecture}, {header.file_bytes / 1e6:,.0f} MB ({said_by}): {path}"


def _cache() -> str:
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder):
        return f"writable: {folder}"


def _assemblers(named: str | None) -> Iterator[Check]:
    from ptxgen.assembling import find_ptxas

    try:
        found = find_ptxas(named)
    except PtxgenError as error:
        yield Check("ptxas", False, "; ".join(part for part in (error.what, error.where) if part), error.fix)
        return
    for tool in found:
        yield Check("ptxas", True, f"{tool.version} ({tool.origin}): {tool.path}")


def _gpu() -> str:
    from ptxgen.executing.gpu import Missing, first_device

    found = first_device()
    if isinstance(found, Missing):
        raise PtxgenError(f"{found.why}; kernels are tested by the emulator")
    return f"{found}, cuda-bindings {version('cuda-bindings')}"


def _print(checks: list[Check]) -> None:
    width = max(len(check.name) for check in checks)
    for check in checks:
        state, style = ("ok", "green") if check.ok else ("MISSING", "red") if check.needed else ("none", "yellow")
        data.print(f"{state:<8}", style=style, end="")
        data.print(f"{check.name:<{width}}  {_homely(check.detail)}")
        if not check.ok and check.fix:
            data.print(f"{'':<8}{'':<{width}}  fix: {check.fix}")


def _homely(text: str) -> str:
    """The user's own folder as `~`: reports get pasted into public places."""
    home = str(Path.home())
    return text.replace(home + os.sep, "~" + os.sep) if len(home) > 1 else text
