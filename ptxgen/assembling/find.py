"""Finding ptxas: what the user names, then the pip package, then a CUDA toolkit."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from ptxgen.assembling.ptxas import Ptxas, ToolCrashed, run_tool
from ptxgen.errors import PtxgenError

_VERSION = re.compile(r"\bV(\d+\.\d+(?:\.\d+)?)")
_ASKING_LIMIT = 20.0
_TOOLKITS = Path("/usr/local")


class ToolMissing(PtxgenError):
    """No ptxas was found, or the one that was named cannot be run."""


def find_ptxas(path: str | None = None) -> tuple[Ptxas, ...]:
    """Every ptxas that runs, best first, each version once.

    In order: `path`, PTXGEN_PTXAS, the package nvidia-cuda-nvcc, CUDA_HOME and CUDA_PATH, PATH,
    /usr/local/cuda*. The first two are the user's word: if that file does not run, ToolMissing is raised
    rather than another one taken. Raises ToolMissing too when there is none at all.
    """
    found: dict[str, Ptxas] = {}
    for named, origin in ((path, "--ptxas"), (os.environ.get("PTXGEN_PTXAS"), "PTXGEN_PTXAS")):
        if named:
            tool = _named(Path(named).expanduser(), origin)
            found.setdefault(tool.version, tool)
    for candidate, origin in _installed():
        try:
            tool = _ask(candidate, origin)
            found.setdefault(tool.version, tool)
        except (OSError, ToolCrashed, ToolMissing):
            # A damaged toolkit lying about is not the user's choice: pass over it.
            continue
    if not found:
        raise ToolMissing(
            "no ptxas was found",
            why="looked in the Python package nvidia-cuda-nvcc, CUDA_HOME, CUDA_PATH, PATH and /usr/local",
            fix="pip install nvidia-cuda-nvcc, or set PTXGEN_PTXAS to a ptxas",
        )
    return tuple(found.values())


def _named(path: Path, origin: str) -> Ptxas:
    tool = path / "ptxas" if path.is_dir() else path
    fix = f"correct {origin}, or leave it out to use the one that is found"
    if tool.exists() and not tool.is_file():
        raise ToolMissing("the ptxas that was named is no file", where=f"{origin} = {path}", fix=fix)
    if not tool.exists():
        raise ToolMissing("the ptxas that was named does not exist", where=f"{origin} = {path}", fix=fix)
    if not os.access(tool, os.X_OK):
        raise ToolMissing(
            "the ptxas that was named may not be executed", where=f"{origin} = {path}", fix=f"chmod +x {tool}"
        )
    try:
        return _ask(tool, origin)
    except OSError as error:
        raise ToolMissing(
            "the ptxas that was named cannot be run",
            where=f"{origin} = {path}", why=error.strerror or str(error), fix=fix,
        ) from error  # fmt: skip


def _ask(tool: Path, origin: str) -> Ptxas:
    status, output = run_tool([str(tool), "--version"], _ASKING_LIMIT)
    version = _VERSION.search(output)
    if status != 0 or version is None:
        raise ToolMissing(
            "this file does not answer like a ptxas",
            where=f"{origin}: {tool}",
            why=f"`--version` ended with status {status} and named no version",
            fix="name another one with --ptxas or PTXGEN_PTXAS",
        )
    return Ptxas(tool, version[1], origin)


def _installed() -> Iterator[tuple[Path, str]]:
    for folder in _package_folders():
        for tool in sorted(folder.glob("*/bin/ptxas"), reverse=True):
            yield tool, "package nvidia-cuda-nvcc"
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if home := os.environ.get(variable):
            yield Path(home, "bin", "ptxas"), variable
    if on_path := shutil.which("ptxas"):
        yield Path(on_path), "PATH"
    for toolkit in sorted(_TOOLKITS.glob("cuda*"), reverse=True):
        yield toolkit / "bin" / "ptxas", "/usr/local"


def _package_folders() -> tuple[Path, ...]:
    """The `nvidia` namespace package: wheels put tools at `nvidia/cu13/bin` or `nvidia/cuda_nvcc/bin`."""
    found = importlib.util.find_spec("nvidia")
    if found is None or found.submodule_search_locations is None:
        return ()
    return tuple(Path(place) for place in found.submodule_search_locations)
