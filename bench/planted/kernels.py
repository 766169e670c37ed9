"""Kernels with one fault each, and their correct twins, as they lie in `tests/executing/faults/KIND/NAME.ptx`.

A file begins with what it is about, its launch and its arguments, in comments:

    // The last thread has no place in the buffer.
    // launch: grid 2, block 32, shared 256
    // out: u32[63], unwritten
    // n: u32 = 5

An array holds 1, 2, 3, ... unless it says `zeros` or `unwritten`; `read-only` and `offset 4` (bytes) may follow. Two
marks at the ends of lines say the rest. `// fault: race, block 1, thread 3` stands where the fault is reported
(`3 to 7`: any of these is right; no block: block 0). `// twin: CODE` stands on the one line in which the
correct twin differs: it has CODE there (or nothing) and the rest alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast, get_args

import numpy as np

from ptxgen.executing import Argument, Buffer, Launch, Scalar
from ptxgen.executing.protocol import Fault, FaultKind

FOLDER = Path(__file__).resolve().parents[2] / "tests/executing/faults"
_FAULT = re.compile(r"// fault: ([a-z-]+)(?:, block (\d+)(?: to (\d+))?)?, thread (\d+)(?: to (\d+))?(?= //|$)")
_TWIN = re.compile(r"// twin: (.*)$")
_LAUNCH = re.compile(r"// launch: grid (\d+), block (\d+)(?:, shared (\d+))?$")
_ARRAY = re.compile(r"// (\w+): ([usbf]\d+)\[(\d+)\]((?:, [a-z0-9 -]+)*)$")
_SCALAR = re.compile(r"// (\w+): ([usbf]\d+) = (\S+)$")
_ENTRY = re.compile(r"\.entry (\w+)")


class Malformed(Exception):
    """A file that is not written as the head of this module says."""


@dataclass(frozen=True)
class Planted:
    """A kernel whose fault is of `kind`, at `line` (1-based), by one of `threads` of `blocks`."""

    name: str
    kind: FaultKind
    about: str
    faulty: str
    twin: str
    launch: Launch
    arguments: tuple[Argument, ...]
    line: int
    blocks: range
    threads: range

    @property
    def entry(self) -> str:
        """The entry's name. Raises Malformed where there is none."""
        found = _ENTRY.search(self.faulty)
        if found is None:
            raise Malformed(f"{self.name}: no .entry")
        return found.group(1)

    def is_right_place(self, fault: Fault) -> bool:
        """Whether the fault is reported of a right thread."""
        return (
            fault.block is not None and fault.block[0] in self.blocks
            and fault.thread is not None and fault.thread[0] in self.threads
        )


def _array(type_name: str, size: int, words: list[str]) -> Buffer:
    dtype = np.dtype({"s": "i", "u": "u", "b": "u", "f": "f"}[type_name[0]] + str(int(type_name[1:]) // 8))
    data = np.zeros(size, dtype) if "zeros" in words or "unwritten" in words else np.arange(1, size + 1, dtype=dtype)
    offset = next((int(word.split()[1]) for word in words if word.startswith("offset ")), 0)
    unknown = [w for w in words if w not in {"zeros", "unwritten", "read-only"} and not w.startswith("offset ")]
    if unknown:
        raise Malformed(f"no such word: {unknown[0]}")
    return Buffer(data, "unwritten" not in words, "read-only" in words, offset)


def head(name: str, lines: list[str]) -> tuple[str, Launch, tuple[Argument, ...]]:
    """(about, launch, arguments) of the comments at the beginning."""
    about: list[str] = []
    launch = None
    arguments: list[Argument] = []
    for text in lines:
        if not text.startswith("//"):
            break
        if found := _LAUNCH.match(text):
            grid, block, shared = (int(number or 0) for number in found.groups())
            launch = Launch((grid, 1, 1), (block, 1, 1), shared)
        elif found := _ARRAY.match(text):
            arguments.append(_array(found.group(2), int(found.group(3)), found.group(4).split(", ")[1:]))
        elif found := _SCALAR.match(text):
            value = found.group(3)
            arguments.append(Scalar(found.group(2), float(value) if found.group(2)[0] == "f" else int(value, 0)))
        elif launch is None:
            about.append(text.removeprefix("//").strip())
        else:
            raise Malformed(f"{name}: {text}")
    if launch is None:
        raise Malformed(f"{name}: no launch")
    return " ".join(about), launch, tuple(arguments)


def _numbers(first: str | None, last: str | None) -> range:
    begin = int(first or 0)
    return range(begin, int(last or begin) + 1)


def planted(text: str, name: str, kind: str) -> Planted:
    """Read one file. Raises Malformed where its head or its marks are missing, doubled or of another kind."""
    lines = text.splitlines()
    about, launch, arguments = head(name, lines)
    faults = [(number, found) for number, line in enumerate(lines, 1) if (found := _FAULT.search(line))]
    twins = [(number, found) for number, line in enumerate(lines) if (found := _TWIN.search(line))]
    if len(faults) != 1 or len(twins) != 1 or "// fault" in text.replace("// fault: ", "", 1):
        raise Malformed(f"{name}: {len(faults)} lines with a fault and {len(twins)} with a twin")
    line, mark = faults[0]
    number, replacement = twins[0]
    if mark.group(1) != kind or kind not in get_args(FaultKind):
        raise Malformed(f"{name}: a fault of kind {mark.group(1)} among those of {kind}")
    other = [*lines[:number], "\t" + replacement.group(1).replace("(nothing)", ""), *lines[number + 1 :]]
    return Planted(
        name, cast(FaultKind, kind), about, text, "\n".join(other) + "\n", launch, arguments, line,
        _numbers(mark.group(2), mark.group(3)), _numbers(mark.group(4), mark.group(5)),
    )


def all_planted(folder: Path = FOLDER) -> Iterator[Planted]:
    """Every kernel of the folder, by kind and name. Raises Malformed."""
    for path in sorted(folder.glob("*/*.ptx")):
        yield planted(path.read_text(encoding="ascii"), f"{path.parent.name}/{path.stem}", path.parent.name)
