"""Faults planted in correct kernels, one in each place where one fits, and what the emulator says.

    python -m bench.mutants                    patterns of threads that work together; about a minute
    python -m bench.mutants --source contract --source twins
    python -m bench.mutants --show same        which mutants change nothing and are not reported

A mutant is *refused* where it is no kernel any more (its state space or its operands do not fit), *reported*, *seen
in the result*, or *same*: nothing is reported and the result is the correct one. Exit status 1 where a correct kernel
itself is reported.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.mutants.changing import CHANGES, Mutant, mutants
from bench.mutants.kernels import SOURCES, Correct
from ptxgen.errors import PtxgenError
from ptxgen.executing import Outcome
from ptxgen.executing.emulator import Emulator

_STEP_LIMIT = 50_000
VERDICTS = ("refused", "reported", "changed", "same")


@dataclass(frozen=True)
class Judged:
    """What became of a mutant."""

    kernel: Correct
    mutant: Mutant
    verdict: str
    words: str


def judge(kernel: Correct, emulator: Emulator) -> list[Judged]:
    """All mutants of a kernel. Raises ValueError where the kernel itself is not clean."""
    right = emulator.run(kernel.text, None, kernel.launch, kernel.arguments)
    if not right.ok:
        raise ValueError(f"{kernel.name}: {right.faults}")
    judged = []
    for mutant in mutants(kernel.text):
        try:
            outcome = emulator.run(mutant.text, None, kernel.launch, kernel.arguments)
        except PtxgenError as error:
            judged.append(Judged(kernel, mutant, "refused", str(error)))
            continue
        judged.append(Judged(kernel, mutant, *_verdict(right, outcome)))
    return judged


def _verdict(right: Outcome, outcome: Outcome) -> tuple[str, str]:
    if any(fault.kind in {"unsupported", "launch"} for fault in outcome.faults):
        return "refused", str(outcome.faults[0].message)
    if outcome.faults:
        return "reported", "; ".join(f"{fault.kind} at {fault.line}" for fault in outcome.faults)
    same = all(
        one is None or other is None or np.array_equal(one.view(np.uint8), other.view(np.uint8))
        for one, other in zip(right.buffers, outcome.buffers, strict=True)
    )
    return ("same" if same and right.printed == outcome.printed else "changed"), ""


def table(judged: Sequence[Judged]) -> str:
    """By kind, in Markdown."""
    counts = Counter((one.mutant.kind, one.verdict) for one in judged)
    lines = ["| change | mutants | " + " | ".join(VERDICTS) + " |", "|---|---:|" + "---:|" * len(VERDICTS)]
    for kind in (*CHANGES, "all"):
        row = [sum(n for (k, v), n in counts.items() if kind in {k, "all"} and v == verdict) for verdict in VERDICTS]
        if sum(row):
            lines.append(f"| {kind} | {sum(row)} | " + " | ".join(str(number) for number in row) + " |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.mutants", description="Faults planted in correct kernels.")
    parser.add_argument("--source", action="append", choices=list(SOURCES), help="default: patterns")
    parser.add_argument("--only", default="", help="kernels whose name contains this")
    parser.add_argument("--show", action="append", choices=VERDICTS, default=[], help="list those of a verdict")
    given = parser.parse_args(arguments)
    emulator = Emulator(step_limit=_STEP_LIMIT, time_limit=10)
    judged: list[Judged] = []
    status = 0
    for source in given.source or ["patterns"]:
        for kernel in SOURCES[source]():
            if given.only not in kernel.name:
                continue
            try:
                judged += judge(kernel, emulator)
            except ValueError as error:
                print(error, file=sys.stderr)
                status = 1
    if not judged and not status:
        parser.error(f"no kernel's name contains {given.only!r}")
    print(table(judged), flush=True)
    for one in judged:
        if one.verdict in given.show:
            mutant = one.mutant
            print(f"{one.kernel.name}: {mutant.kind}: {mutant.line}: {mutant.was} {one.words}".rstrip(), flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
