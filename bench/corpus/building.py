"""Where the compilers run: a folder of its own, so that debug information names no folder of this machine."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from bench.corpus.sources import Source

#: The folder of installed packages, as compilers of Python name it in `.file`.
_PACKAGES = re.compile(r"/[^\s\"]*/site-packages")


class Failure(Exception):
    """A compiler that refused a source: `what` it was asked, and its `log`."""

    def __init__(self, what: str, log: str) -> None:
        super().__init__(f"{what}\n{log}")


def build_folder() -> Path:
    """The folder, always the same, made when first asked for."""
    folder = Path(tempfile.gettempdir()) / "ptxgen-corpus"
    folder.mkdir(exist_ok=True)
    return folder


def installed(module: str) -> Any:
    """A module of the extra `corpus`. Raises Failure where it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise Failure(module, "not installed: pip install 'ptxgen-local[corpus]'") from error


def folder_of(package: str) -> Path:
    """Where an installed package's files are. Raises Failure where it is not installed."""
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise Failure(package, "not installed: pip install 'ptxgen-local[corpus]'")
    return Path(next(iter(found.submodule_search_locations)))


def imported(source: Source) -> ModuleType:
    """A Python source as a module, run from a copy in the build folder."""
    path = build_folder() / f"{source.name}.py"
    path.write_text(source.text, encoding="ascii")
    spec = importlib.util.spec_from_file_location(source.name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[source.name] = module
    spec.loader.exec_module(module)
    return module


def without_packages(text: str) -> str:
    """The text with `/python` for the folder where packages are installed."""
    return _PACKAGES.sub("/python", text)
