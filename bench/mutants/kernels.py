"""The correct kernels that are changed: patterns of threads that work together, contract cases, twins of faults."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.planted.kernels import all_planted, head
from ptxgen.executing import Argument, Launch
from ptxgen.ptx import parse, print_module

TESTS = Path(__file__).resolve().parents[2] / "tests/executing"
PATTERNS = TESTS / "patterns"


@dataclass(frozen=True)
class Correct:
    """A kernel that is right, one statement a line, and a launch of it."""

    name: str
    text: str
    launch: Launch
    arguments: Sequence[Argument]


def patterns(folder: Path = PATTERNS) -> Iterator[Correct]:
    """The kernels of `tests/executing/patterns/`, whose heads are those of planted faults."""
    for path in sorted(folder.glob("*.ptx")):
        text = path.read_text(encoding="ascii")
        _, launch, arguments = head(path.stem, text.splitlines())
        yield Correct(f"patterns/{path.stem}", print_module(parse(text)), launch, arguments)


def twins() -> Iterator[Correct]:
    """The correct twins of the planted faults."""
    for kernel in all_planted():
        text = print_module(parse(kernel.twin))
        yield Correct(f"twins/{kernel.name}", text, kernel.launch, kernel.arguments)


def contract() -> Iterator[Correct]:
    """The cases that every executor must pass."""
    sys.path.insert(0, str(TESTS))
    from executor_contract import CASES

    for case in CASES:
        if not case.printed:
            yield Correct(f"contract/{case.name}", print_module(parse(case.ptx)), case.launch, case.arguments)


SOURCES = {"patterns": patterns, "contract": contract, "twins": twins}
