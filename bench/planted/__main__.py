"""Planted faults: what the emulator finds, and what compute-sanitizer does on the same kernels.

    python -m bench.planted                          the emulator; needs no GPU
    python -m bench.planted --sanitizer --json F     also the four tools of compute-sanitizer, on a machine with a GPU

Exit status 1 where the emulator misses a fault, reports another or a wrong place, or reports something of a twin.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.planted.kernels import Planted, all_planted
from bench.planted.sanitizer import TOOLS, Job, Seen, examine, find_sanitizer
from ptxgen.errors import PtxgenError
from ptxgen.executing.emulator import Emulator
from ptxgen.executing.gpu import GpuExecutor
from ptxgen.executing.protocol import Fault

_STEP_LIMIT = 50_000


@dataclass(frozen=True)
class Verdict:
    """What the emulator says of one kernel. The fault counts as found when one of its kind is reported."""

    kernel: Planted
    faults: tuple[Fault, ...]
    of_twin: tuple[Fault, ...]

    @property
    def first(self) -> Fault | None:
        """The first fault of the kernel's kind."""
        return next((fault for fault in self.faults if fault.kind == self.kernel.kind), None)

    @property
    def found(self) -> bool:
        """Whether there is one."""
        return self.first is not None

    @property
    def right_line(self) -> bool:
        """Whether it is told at the marked line."""
        return self.first is not None and self.first.line == self.kernel.line

    @property
    def right_thread(self) -> bool:
        """Whether it is told of a marked thread."""
        return self.first is not None and self.kernel.is_right_place(self.first)

    @property
    def right(self) -> bool:
        """All of this, nothing else, and nothing of the twin."""
        return self.right_line and self.right_thread and len(self.faults) == 1 and not self.of_twin


def judge(kernel: Planted, emulator: Emulator) -> Verdict:
    """Run both variants."""
    faulty, twin = (
        emulator.run(text, None, kernel.launch, kernel.arguments) for text in (kernel.faulty, kernel.twin)
    )
    return Verdict(kernel, faulty.faults, twin.faults)


def _by_kind(verdicts: Sequence[Verdict]) -> dict[str, list[Verdict]]:
    kinds: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        kinds.setdefault(verdict.kernel.kind, []).append(verdict)
    return kinds | {"all": list(verdicts)}


def table(verdicts: Sequence[Verdict]) -> str:
    """By kind, in Markdown."""
    lines = [
        "| kind | planted | found | right line | right thread | something else too | false alarms of twins |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for kind, some in _by_kind(verdicts).items():
        counts = (
            len(some), sum(v.found for v in some), sum(v.right_line for v in some), sum(v.right_thread for v in some),
            sum(len(v.faults) > v.found for v in some), sum(bool(v.of_twin) for v in some),
        )
        lines.append(f"| {kind} | " + " | ".join(str(number) for number in counts) + " |")
    return "\n".join(lines)


# ---------------------------------------------------------------- compute-sanitizer


def _reported(seen: Mapping[tuple[str, str], Seen], job: Job, tool: str) -> bool:
    found = seen.get((job.entry, tool))
    return found is not None and bool(found.reports)


def _in_lines(seen: Mapping[tuple[str, str], Seen], job: Job) -> bool:
    """Whether a report names the line where the fault is."""
    return any(
        job.kernel.line in report.lines
        for tool in TOOLS if (job.entry, tool) in seen for report in seen[job.entry, tool].reports
    )


def _stopped(seen: Mapping[tuple[str, str], Seen], job: Job) -> bool:
    """Whether the GPU itself stopped the kernel, or it did not end, where no tool reports anything."""
    return any(seen[job.entry, tool].status not in {"done", "not run"} for tool in TOOLS if (job.entry, tool) in seen)


def sanitizer_table(verdicts: Sequence[Verdict], seen: Mapping[tuple[str, str], Seen]) -> str:
    """By kind: faults that the emulator finds, that each tool reports, that any does, and that show otherwise."""
    lines = [
        "| kind | planted | emulator | " + " | ".join(TOOLS) + " | any tool | names the line "
        "| none, but fails or hangs | twins that a tool reports | not run |",
        "|---|" + "---:|" * (7 + len(TOOLS)),
    ]
    for kind, some in _by_kind(verdicts).items():
        faulty = [Job(v.kernel, False) for v in some]
        twins = [Job(v.kernel, True) for v in some]
        reported = [job for job in faulty if any(_reported(seen, job, tool) for tool in TOOLS)]
        names = {job.entry for job in reported}
        quiet = [job for job in faulty if job.entry not in names and _stopped(seen, job)]
        counts = [
            len(some), sum(v.found for v in some),
            *(sum(_reported(seen, job, tool) for job in faulty) for tool in TOOLS),
            len(reported), sum(_in_lines(seen, job) for job in reported), len(quiet),
            sum(any(_reported(seen, job, tool) for tool in TOOLS) for job in twins),
            sum(seen[job.entry, tool].status == "not run" for job in (*faulty, *twins) for tool in TOOLS
                if (job.entry, tool) in seen),
        ]
        lines.append(f"| {kind} | " + " | ".join(str(number) for number in counts) + " |")
    return "\n".join(lines)


def about_twins(verdicts: Sequence[Verdict], seen: Mapping[tuple[str, str], Seen]) -> list[str]:
    """What is said of correct twins, or went wrong with them, a line each."""
    lines = []
    for job in (Job(verdict.kernel, True) for verdict in verdicts):
        for tool in TOOLS:
            found = seen.get((job.entry, tool))
            if found is not None and (found.reports or found.status != "done"):
                words = found.reports[0].words if found.reports else ""
                lines.append(f"twin of {job.kernel.name}, {tool}: {found.status} {words}".rstrip())
    return lines


def document(verdicts: Sequence[Verdict], seen: Mapping[tuple[str, str], Seen]) -> dict[str, Any]:
    """Everything, kernel by kernel, for --json."""
    kernels = {}
    for verdict in verdicts:
        kernel = verdict.kernel
        kernels[kernel.name] = {
            "kind": kernel.kind, "line": kernel.line, "found": verdict.found, "right": verdict.right,
            "faults": [asdict(fault) for fault in verdict.faults],
            "faults of the twin": [asdict(fault) for fault in verdict.of_twin],
            "sanitizer": {
                variant: {
                    tool: asdict(seen[job.entry, tool]) for tool in TOOLS if (job.entry, tool) in seen
                }
                for variant, job in (("faulty", Job(kernel, False)), ("twin", Job(kernel, True)))
            } if seen else None,
        }
    return {"kernels": kernels}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.planted", description="Planted faults: who finds them.")
    parser.add_argument("--sanitizer", action="store_true", help="also under compute-sanitizer; needs a GPU")
    parser.add_argument("--only", action="append", help="kernels whose KIND/NAME contains this, or another --only")
    parser.add_argument("--json", type=Path, help="write every verdict there")
    given = parser.parse_args(arguments)
    kernels = [kernel for kernel in all_planted() if any(part in kernel.name for part in given.only or [""])]
    if not kernels:
        parser.error(f"no kernel's KIND/NAME contains {' or '.join(given.only or [])}")
    emulator = Emulator(step_limit=_STEP_LIMIT)
    verdicts = [judge(kernel, emulator) for kernel in kernels]
    print(table(verdicts), flush=True)
    for verdict in verdicts:
        if not verdict.right:
            print(f"{verdict.kernel.name}: {verdict.faults} twin: {verdict.of_twin}", flush=True)
    seen: dict[tuple[str, str], Seen] = {}
    status = 0 if all(verdict.right for verdict in verdicts) else 1
    if given.sanitizer:
        try:
            find_sanitizer()
            with closing(GpuExecutor()) as executor:
                arch, device = executor.arch, executor.device
            started = time.monotonic()
            seen = examine(kernels, arch)
            print(f"\ncompute-sanitizer on {device} ({arch}), {time.monotonic() - started:.0f} s\n")
            print(sanitizer_table(verdicts, seen), flush=True)
            print("\n".join(about_twins(verdicts, seen)))
        except PtxgenError as error:
            print(f"error: {error}", file=sys.stderr)
            status = error.exit_code
    if given.json is not None:
        given.json.write_text(json.dumps(document(verdicts, seen), indent=1) + "\n", encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main())
