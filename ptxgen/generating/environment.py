"""What a kernel's bytes depend on besides its spec and its options: versions, and hashes of data."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

from ptxgen.data import data_folder
from ptxgen.isa import load_table

#: Packages whose version can change what is decoded.
_PACKAGES = {
    "ptxgen": "ptxgen-local", "llama.cpp": "llama-cpp-python", "llguidance": "llguidance", "numpy": "numpy",
}  # fmt: skip


def environment() -> dict[str, str]:
    """Name to version or hash, "" for a package that is not installed."""
    found = {name: _version(package) for name, package in _PACKAGES.items()}
    found["python"] = platform.python_version()
    # The number of threads and the processor decide in which order llama.cpp adds.
    found["machine"] = f"{platform.machine()}, {os.cpu_count()} CPUs"
    found["table"] = load_table().version
    found["grammar"] = grammar_hash()
    return found


def grammar_hash() -> str:
    """sha256 over the grammar files, by name and content."""
    digest = hashlib.sha256()
    for path in sorted(data_folder("grammar").rglob("*")):
        if path.is_file():
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def differences(then: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """What is different now, a line each: "llama.cpp was 0.3.36, is 0.3.40"."""
    names = [name for name in then if then[name] != now.get(name, "")]
    return [f"{name} was {_short(then[name])}, is {_short(now.get(name, ''))}" for name in names]


def _short(value: str) -> str:
    return (value[:12] if len(value) == 64 else value) or "missing"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
