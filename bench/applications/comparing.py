"""A kernel that the emulator has run, on a GPU: beside its oracle, and word for word beside the emulator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.applications.case import AnyArray
from bench.applications.running import Job, Result, run
from ptxgen.errors import PtxgenError
from ptxgen.executing import Executor


@dataclass(frozen=True, slots=True)
class Compared:
    """`ran` is None where the GPU does not take the file (`refused` says why). Integers and floats count words of
    the outputs, NaNs of any payload being equal."""

    emulated: Result
    ran: Result | None
    refused: str
    integers: int
    integers_same: int
    floats: int
    floats_same: int

    @property
    def unlike(self) -> str | None:
        """What is wrong, None where nothing is."""
        if self.ran is None:
            return None
        if not self.ran.right:
            return f"on the GPU: {[f.message for f in self.ran.faults] or self.ran.wrong}"
        if self.integers_same < self.integers and not self.emulated.job.case.loose:
            return f"{self.integers - self.integers_same} of {self.integers} integers differ from the emulator's"
        return None

    def described(self) -> dict[str, Any]:
        """For --json."""
        return {
            "right": self.ran is not None and self.ran.right, "refused": self.refused, "unlike": self.unlike,
            "integers": [self.integers_same, self.integers], "floats": [self.floats_same, self.floats],
            "seconds": round(self.ran.seconds, 4) if self.ran else None,
        }


def table_of(compared: Sequence[Compared]) -> str:
    """By compiler, in Markdown."""
    lines = [
        "| compiler | run | right | refused | integers | same to the bit | floats | same to the bit |",
        "|---|" + "---:|" * 7,
    ]
    for name in [*dict.fromkeys(one.emulated.job.file.compiler for one in compared), "all"]:
        some = [one for one in compared if name in {"all", one.emulated.job.file.compiler}]
        counts = (
            sum(one.ran is not None for one in some), sum(one.ran is not None and one.ran.right for one in some),
            sum(one.ran is None for one in some), sum(one.integers for one in some),
            sum(one.integers_same for one in some), sum(one.floats for one in some),
            sum(one.floats_same for one in some),
        )
        lines.append(f"| {name} | " + " | ".join(f"{count:,}" for count in counts) + " |")
    return "\n".join(lines)


def compare(emulated: Result, gpu: Executor) -> Compared:
    """Runs it on the GPU once."""
    try:
        ran = run(emulated.job, gpu)
    except PtxgenError as error:
        return Compared(emulated, None, str(error), 0, 0, 0, 0)
    counts = {"i": [0, 0], "f": [0, 0]}
    for index, found in ran.outputs.items():
        other = emulated.outputs.get(index)
        if other is None or other.shape != found.shape:
            continue
        kind = "f" if found.dtype.kind == "f" else "i"
        same = found == other
        if kind == "f":
            same |= np.isnan(found) & np.isnan(other)
        counts[kind][0] += found.size
        counts[kind][1] += int(same.sum())
    return Compared(emulated, ran, "", *counts["i"], *counts["f"])


def outputs_of(results: Sequence[Result]) -> dict[str, Any]:
    """The outputs of all by name and argument, to be kept."""
    return {f"{r.job.name}:{index}": found for r in results for index, found in r.outputs.items()}


def remembered(job: Job, known: Mapping[str, AnyArray]) -> Result:
    """What the emulator gave when these outputs were kept."""
    outputs = {index: known[f"{job.name}:{index}"] for index in job.case.expected if f"{job.name}:{index}" in known}
    return Result(job, (), None, 0, 0.0, outputs)
