"""Random whole kernels on the emulator and on a GPU: one wrong bit anywhere shows.

    python -m fuzz.emulator_against_gpu --seed 1 --count 200               both, on a machine with a GPU
    python -m fuzz.emulator_against_gpu --seed 1 --count 3000 --write F    the emulator's answers only, into a file
    python -m fuzz.emulator_against_gpu --read F --seconds 80              a GPU beside the answers of a file

The driver compiles every kernel twice, with and without optimisation: where the two differ the kernel or the compiler
is wrong, where both differ from the emulator the emulator is. What differs is cut down to few lines on the spot and
written to `--keep`. Exit status 1 where anything differs or the emulator reports a fault.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.kernels.device import LEVELS, Device, fingerprint
from fuzz.kernels.making import WORDS, make
from fuzz.kernels.running import Words, digest, run
from fuzz.kernels.shrinking import shrink
from ptxgen.errors import PtxgenError
from ptxgen.executing.emulator import Emulator

#: A kernel that takes a GPU longer than this hangs.
_PATIENCE = 10.0


@dataclass(frozen=True)
class Answer:
    """The emulator's: the digest of what the kernel of a seed stores, and which text that was."""

    seed: int
    kernel: str
    digest: str


@dataclass
class Finding:
    """A kernel on which somebody differs. `where`: thread and word of the first difference to the emulator."""

    seed: int
    kind: str                                        # "emulator", "optimisation", "fault", "hang", "other text"
    detail: str = ""
    where: list[int] = field(default_factory=list)
    level: int = 0
    shrunk: str = ""


def answers(seeds: Sequence[int]) -> Iterator[Answer]:
    """Of every seed on which the emulator finds no fault; faults are told on stderr."""
    emulator = Emulator(step_limit=200_000)
    for seed in seeds:
        kernel = make(seed)
        result = run(kernel, emulator)
        for fault in result.faults:
            print(f"seed {seed}: {fault.kind} at line {fault.line}: {fault.message}", file=sys.stderr)
        if not result.faults:
            yield Answer(seed, fingerprint(kernel), result.digest)


def compare(device: Device, answer: Answer) -> Finding | None:
    """One kernel at every level."""
    kernel = make(answer.seed)
    if fingerprint(kernel) != answer.kernel:
        return Finding(answer.seed, "other text")
    try:
        found = {level: device.run(kernel, level) for level in LEVELS}
    except RuntimeError as error:
        return Finding(answer.seed, "fault", str(error))
    wrong = [level for level, words in found.items() if digest(words) != answer.digest]
    if not wrong:
        return None
    ours = run(kernel, Emulator()).words
    apart = found[wrong[-1]] != ours
    places = np.flatnonzero(apart)
    where = [int(places[0]) // WORDS, int(places[0]) % WORDS, int(places.size)] if places.size else []
    kind = "emulator" if len(wrong) == len(LEVELS) else "optimisation"
    return Finding(answer.seed, kind, f"levels {wrong} differ", where, wrong[-1])


def cut(device: Device, finding: Finding, seconds: float) -> str:
    """The finding's kernel, cut down on emulator and device: no fault there, and another answer here."""
    kernel = make(finding.seed)
    emulator = Emulator(step_limit=50_000, time_limit=5)
    others = [level for level in LEVELS if level != finding.level and finding.kind == "optimisation"]

    def still(text: str) -> bool:
        try:
            ours = run(kernel, emulator, text)
            if ours.faults:
                return False
            theirs: Words = device.run(kernel, finding.level, text)
            if any(digest(device.run(kernel, level, text)) != ours.digest for level in others):
                return False
        except (PtxgenError, RuntimeError):
            return False
        return digest(theirs) != ours.digest

    return shrink(kernel.ptx, still, seconds=seconds)


def _work(pipe: Connection) -> None:
    """A process with a GPU of its own: ("compare", answer) or ("cut", finding, seconds) in, findings out."""
    device = Device()
    pipe.send(("ready", device.name))
    while True:
        task = pipe.recv()
        if task is None:
            os._exit(0)
        result: Any = compare(device, task[1]) if task[0] == "compare" else cut(device, task[1], task[2])
        pipe.send(("done", result))
        if isinstance(result, Finding) and result.kind == "fault":
            os._exit(0)


class _Worker:
    def __init__(self) -> None:
        self._context = multiprocessing.get_context("spawn")
        self.start()

    def start(self) -> None:
        self.pipe, theirs = self._context.Pipe()
        self.process = self._context.Process(target=_work, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()
        self.task: Any = None
        self.ready = False
        self.since = time.monotonic()

    def give(self, task: Any) -> None:
        self.task, self.since = task, time.monotonic()
        self.pipe.send(task)

    def stop(self) -> None:
        self.process.kill()
        self.process.join()


def _spread(tasks: list[Any], workers: list[_Worker], deadline: float) -> Iterator[tuple[Any, Any]]:
    """Every task with its result, in no order; a result of None for a process that died or hung over its task."""
    left = list(reversed(tasks))
    while time.monotonic() < deadline:
        for worker in workers:
            if worker.ready and worker.task is None and left:
                worker.give(left.pop())
        busy = [worker for worker in workers if worker.task is not None or not worker.ready]
        if not left and not any(worker.task is not None for worker in workers):
            return
        for connection in wait([worker.pipe for worker in busy], timeout=0.5):
            worker = next(w for w in busy if w.pipe is connection)
            try:
                what, value = worker.pipe.recv()
            except (EOFError, OSError):
                yield worker.task, ("died", None)
                worker.start()
                continue
            if what == "ready":
                worker.ready = True
                continue
            task, worker.task = worker.task, None
            if isinstance(value, Finding) and value.kind == "fault":
                worker.stop()
                worker.start()
            yield task, ("done", value)
        for worker in busy:
            limit = _PATIENCE + (worker.task[2] if worker.task and worker.task[0] == "cut" else 0)
            if time.monotonic() - worker.since > limit:
                yield worker.task, ("hung", None)
                worker.stop()
                worker.start()


def against_gpu(known: Sequence[Answer], *, seconds: float, keep: Path, workers: int) -> int:
    """Compare on the device; findings are written to `keep`. The number of findings."""
    begun = time.monotonic()
    team = [_Worker() for _ in range(workers)]
    findings = []
    tally: Counter[str] = Counter()
    for task, (how, value) in _spread([("compare", a) for a in known], team, begun + 0.7 * seconds):
        if task is None:
            tally["process did not start"] += 1
            continue
        if how != "done":
            value = Finding(task[1].seed, "hang" if how == "hung" else "fault", f"the process {how}")
        tally[value.kind if value else "same"] += 1
        if value:
            findings.append(value)
    print(f"{time.monotonic() - begun:.0f} s: {dict(tally)}", flush=True)
    keep.mkdir(parents=True, exist_ok=True)
    wrong = [f for f in findings if f.kind in ("emulator", "optimisation")][: 2 * workers]
    room = max((begun + seconds - time.monotonic() - 3) / 2, 1)
    for task, (_, text) in _spread([("cut", f, room) for f in wrong], team, begun + seconds):
        if task is not None and text:
            task[1].shrunk = text
            (keep / f"{task[1].seed}.ptx").write_text(text)
    (keep / "findings.json").write_text(
        json.dumps({"compared": dict(tally), "findings": [asdict(finding) for finding in findings]}, indent=1)
    )
    for finding in findings:
        print(f"seed {finding.seed}: {finding.kind} {finding.detail} {finding.where}")
    for worker in team:
        worker.stop()
    return len(findings)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--write", type=Path, help="the emulator's answers go here; no GPU is needed")
    parser.add_argument("--read", type=Path, help="the emulator's answers, as --write left them")
    parser.add_argument("--seconds", type=float, default=80.0, help="how long a GPU may be kept busy")
    parser.add_argument("--minutes", type=float, default=60.0, help="how long the emulator may take")
    parser.add_argument("--keep", type=Path, default=Path("fuzz-findings"))
    parser.add_argument("--workers", type=int, default=max((os.cpu_count() or 2) - 1, 1))
    given = parser.parse_args()
    if given.read:
        known = [Answer(**json.loads(line)) for line in given.read.read_text().splitlines()]
    else:
        known = []
        begun = time.monotonic()
        for answer in answers(range(given.seed, given.seed + given.count)):
            known.append(answer)
            if given.write:
                with given.write.open("a") as file:
                    file.write(json.dumps(asdict(answer)) + "\n")
            if time.monotonic() - begun > 60 * given.minutes:
                break
        print(f"{len(known)} kernels on the emulator in {time.monotonic() - begun:.0f} s", flush=True)
    if given.write:
        return 0
    return 1 if against_gpu(known, seconds=given.seconds, keep=given.keep, workers=given.workers) else 0


if __name__ == "__main__":
    sys.exit(main())
