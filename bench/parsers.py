"""The parsers that are compared: ours, and those of PyPI that are installed."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ptxgen.ptx import parse

#: Name on PyPI: module and function.
PEERS = {"pyptx": ("pyptx.parser.parser", "parse"), "ptx-parser": ("ptx_parser", "parse_ptx")}


@dataclass(frozen=True)
class Parser:
    """`read` raises for what the parser does not take."""

    name: str
    version: str
    read: Callable[[str], object]

    def takes(self, text: str) -> bool:
        """Whether it reads the text. A peer may raise anything; Rust's panics are no Exception."""
        try:
            with _silent():
                self.read(text)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:
            return False
        return True


@contextmanager
def _silent() -> Iterator[None]:
    """Nothing reaches standard error, not even from compiled code: a panic would print its stack."""
    kept = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def ours() -> Parser:
    """This project's."""
    return Parser("ptxgen", importlib.metadata.version("ptxgen-local"), parse)


def peers() -> list[Parser]:
    """Those of `PEERS` that are installed."""
    found = []
    for name, (module, function) in PEERS.items():
        try:
            read = getattr(importlib.import_module(module), function)
            found.append(Parser(name, importlib.metadata.version(name), read))
        except ImportError:
            continue
    return found


def missing(found: list[Parser]) -> str:
    """What is not installed, and how to get it; empty if nothing."""
    names = [name for name in PEERS if name not in {p.name for p in found}]
    return f"not compared: {', '.join(names)} (pip install {' '.join(names)})" if names else ""
