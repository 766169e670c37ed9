"""Cases and the files that hold their kernels brought together, and one of them run."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from pkgutil import iter_modules

import numpy as np

from bench.applications import cases as topics
from bench.applications.case import AnyArray, Case
from bench.corpus.recording import Compiled
from ptxgen.executing import Executor, Fault

_LAUNCH = re.compile(r"// block (\d+), shared (\d+)\n")


@dataclass(frozen=True, slots=True)
class Job:
    """One kernel of one compiled file, with its launch as that compiler wants it."""

    file: Compiled
    case: Case

    @property
    def name(self) -> str:
        """Compiler, file and kernel."""
        return f"{self.file.compiler}/{self.file.name.removesuffix('.ptx')}/{self.case.name or self.case.entry}"


@dataclass(frozen=True, slots=True)
class Result:
    """What came of it. `wrong` is None where every output is as it must be; `outputs` what was compared, viewed so
    that runs can be compared with each other."""

    job: Job
    faults: tuple[Fault, ...]
    wrong: str | None
    instructions: int
    seconds: float
    outputs: dict[int, AnyArray]

    @property
    def right(self) -> bool:
        """No fault, and every output as it must be."""
        return not self.faults and self.wrong is None


def all_cases() -> Iterator[Case]:
    """Every case, by topic."""
    for topic in iter_modules(topics.__path__):
        yield from import_module(f"{topics.__name__}.{topic.name}").cases()


def jobs(files: Iterable[Compiled]) -> Iterator[Job]:
    """Every case with every file that has its kernel."""
    by_source: dict[str, list[Case]] = {}
    for case in all_cases():
        by_source.setdefault(case.source, []).append(case)
    for file in files:
        for case in by_source.get(file.source, ()):
            found = _LAUNCH.match(file.text)
            if found is None:
                yield Job(file, case)
            else:
                launch = replace(case.launch, block=(int(found[1]), 1, 1), shared_bytes=int(found[2]))
                yield Job(file, replace(case, launch=launch))


def run(job: Job, executor: Executor) -> Result:
    """Once on `executor`. Raises PtxgenError where that cannot work."""
    case = job.case
    started = time.perf_counter()
    outcome = executor.run(job.file.text, case.entry, case.launch, case.arguments)
    seconds = time.perf_counter() - started
    outputs: dict[int, AnyArray] = {}
    wrong = []
    if outcome.ok:
        for index, expected in case.expected.items():
            buffer = outcome.buffers[index]
            assert buffer is not None, f"{job.name}: argument {index} is no buffer"
            outputs[index] = np.ascontiguousarray(expected.view(buffer))
            fault = expected.fault(buffer)
            if fault is not None:
                wrong.append(f"argument {index}: {fault}")
        # A GPU prints in no order of threads.
        if case.printed is not None and sorted(outcome.printed.splitlines()) != sorted(case.printed.splitlines()):
            wrong.append(f"printed {outcome.printed!r}, expected {case.printed!r}")
    return Result(job, outcome.faults, "; ".join(wrong) or None, outcome.instructions, seconds, outputs)
