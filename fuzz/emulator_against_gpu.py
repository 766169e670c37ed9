"""Random whole kernels on the emulator and on a GPU: one wrong bit anywhere shows.

    python -m fuzz.emulator_against_gpu --seed 1 --count 200               both, on a machine with a GPU
    python -m fuzz.emulator_against_gpu --seed 1 --count 3000 --write F    the emulator's answers only, into a file
    python -m fuzz.emulator_against_gpu --read F --seconds 80              a GPU beside the answers of a file

The driver compiles every kernel twice, with and without optimisation: where the two differ the kernel or the compiler
is wrong, where both differ from the emulator the emulator is. Each finding tells the first statement that gives
another value; the kernels of different statements are cut down to few lines. Both are written to `--keep`. Exit
status 1 where anything differs or the emulator reports a fault.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from fuzz.kernels.comparing import GUARDED, Answer, Finding, kernel_of
from fuzz.kernels.device import fingerprint
from fuzz.kernels.making import guarded_forms
from fuzz.kernels.running import run
from fuzz.kernels.working import spread
from ptxgen.executing.emulator import Emulator


def answers(seeds: Sequence[int], statements: int) -> Iterator[Answer | None]:
    """Of every seed; None where the emulator finds a fault, which is told on stderr."""
    emulator = Emulator(step_limit=200_000)
    for seed in seeds:
        kernel = kernel_of(seed, statements)
        result = run(kernel, emulator)
        for fault in result.faults:
            print(f"seed {seed}: {fault.kind} at line {fault.line}: {fault.message}", file=sys.stderr, flush=True)
        yield None if result.faults else Answer(seed, statements, fingerprint(kernel), result.digest)


def against_gpu(known: Sequence[Answer], *, seconds: float, keep: Path, workers: int) -> int:
    """Compare on the device for three fifths of the time, and cut down what differs; the number of findings."""
    keep.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    findings: list[Finding] = []
    tally: Counter[str] = Counter()
    with (keep / "findings.jsonl").open("w") as file:
        for task, how, value in spread([("compare", answer) for answer in known], workers, 0.6 * seconds):
            if task is None:
                tally["process did not start"] += 1
                continue
            if how != "done":
                value = Finding(task[1].seed, task[1].statements, "hang" if how == "hung" else "fault", how)
            tally[value.kind if value else "same"] += 1
            if value:
                findings.append(value)
                file.write(json.dumps(asdict(value)) + "\n")
                file.flush()
    print(f"{time.monotonic() - begun:.0f} s: {dict(tally)}", flush=True)
    for finding in findings:
        print(f"seed {finding.seed}: {finding.kind} {finding.detail} {finding.statement}")
    room = begun + seconds - time.monotonic()
    tasks = [("cut", finding, max(room - 12, 5)) for finding in _different(findings)]
    for task, _, text in spread(tasks, workers, room) if room > 15 else ():
        if task is not None and text:
            (keep / f"{task[1].seed}.ptx").write_text(text)
    return len(findings)


def _different(findings: Sequence[Finding]) -> list[Finding]:
    """One of each statement's opcode."""
    chosen: dict[tuple[str, str], Finding] = {}
    for finding in findings:
        if finding.kind in ("emulator", "optimisation"):
            statement = finding.statement.split(" ", 1 + finding.statement.startswith("@"))
            chosen.setdefault((finding.kind, statement[-2] if len(statement) > 1 else ""), finding)
    return list(chosen.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--statements", type=int, default=0, help="of each kernel; 0: the seed says how many")
    parser.add_argument("--write", type=Path, help="the emulator's answers go here; no GPU is needed")
    parser.add_argument("--read", type=Path, help="the emulator's answers, as --write left them")
    parser.add_argument("--seconds", type=float, default=80.0, help="how long a GPU may be kept busy")
    parser.add_argument("--minutes", type=float, default=60.0, help="how long the emulator may take")
    parser.add_argument("--keep", type=Path, default=Path("fuzz-findings"))
    parser.add_argument("--workers", type=int, default=max((os.cpu_count() or 2) - 1, 1))
    parser.add_argument(
        "--guards", action="store_true", help="each form under a guard that half the threads fail; no random kernels"
    )
    given = parser.parse_args()
    if given.guards:
        given.seed, given.count, given.statements = 0, len(guarded_forms()), GUARDED
    known = []
    faulty = 0
    if given.read:
        known = [Answer(**json.loads(line)) for line in given.read.read_text().splitlines()]
    else:
        begun = time.monotonic()
        for answer in answers(range(given.seed, given.seed + given.count), given.statements):
            if answer is None:
                faulty += 1
                continue
            known.append(answer)
            if given.write:
                with given.write.open("a") as file:
                    file.write(json.dumps(asdict(answer)) + "\n")
            if time.monotonic() - begun > 60 * given.minutes:
                break
        print(f"{len(known)} kernels on the emulator in {time.monotonic() - begun:.0f} s, {faulty} more with faults")
    if not given.write:
        faulty += against_gpu(known, seconds=given.seconds, keep=given.keep, workers=given.workers)
    return 1 if faulty else 0


if __name__ == "__main__":
    sys.exit(main())
