"""Kernels as they were, with the digests of a GPU's answers: a later generator makes others of the same seeds."""

from __future__ import annotations

import json
import lzma
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fuzz.kernels.making import Kernel
from ptxgen.executing import Launch

_INDEX = "kernels.json"


def write_record(path: Path, made_on: str, found: Sequence[tuple[Kernel, str]]) -> None:
    """One file: texts, launches and digests, compressed together; the same bytes for the same kernels."""
    entries = [
        {
            "seed": kernel.seed, "grid": kernel.launch.grid, "block": kernel.launch.block,
            "shared": kernel.launch.shared_bytes, "cells": kernel.cells, "statements": kernel.statements,
            "digest": digest, "ptx": kernel.ptx,
        }
        for kernel, digest in found
    ]  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        entry = zipfile.ZipInfo(_INDEX, (2000, 1, 1, 0, 0, 0))
        archive.writestr(entry, json.dumps({"made_on": made_on, "kernels": entries}), zipfile.ZIP_LZMA)


def read_record(path: Path) -> tuple[str, list[tuple[Kernel, str]]]:
    """Device and driver, and each kernel with its digest. Raises ValueError for what is no record."""
    try:
        with zipfile.ZipFile(path) as archive:
            index = json.loads(archive.read(_INDEX))
        return index["made_on"], [(_kernel(entry), entry["digest"]) for entry in index["kernels"]]
    except (OSError, EOFError, KeyError, TypeError, ValueError, lzma.LZMAError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path.name} is no record of kernels: {error}") from None


def _kernel(entry: dict[str, Any]) -> Kernel:
    launch = Launch(tuple(entry["grid"]), tuple(entry["block"]), entry["shared"])
    return Kernel(entry["seed"], entry["ptx"], launch, entry["cells"], entry["statements"])
