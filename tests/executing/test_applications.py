"""Whole kernels as compilers make them: right results, and no fault where there is none.

One file of each kernel is run by default, in turn from compiler to compiler; `-m slow` runs all.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from bench.applications.__main__ import figures
from bench.applications.case import exact, ulps, within
from bench.applications.compiling import COMPILERS, RECORDED
from bench.applications.running import Job, Result, all_cases, jobs, run
from bench.corpus.recording import recorded
from ptxgen.executing.emulator import Emulator

EVERY = [job for name in COMPILERS if (RECORDED / f"{name}.tar.xz").exists()
         for job in jobs(recorded(name, RECORDED))]
EMULATOR = Emulator(time_limit=300.0, step_limit=4_000_000)


def _share() -> Iterator[Job]:
    """One file a kernel: the shortest half of its files take turns."""
    by_case: dict[str, list[Job]] = {}
    for job in EVERY:
        by_case.setdefault(job.case.title, []).append(job)
    for turn, some in enumerate(by_case.values()):
        short = sorted(some, key=lambda job: len(job.file.text))[: -(-len(some) // 2)]
        yield short[turn % len(short)]


#: File by file, as each is parsed once for all its kernels.
SHARE = sorted(_share(), key=lambda job: job.name)


@pytest.mark.parametrize("job", SHARE, ids=lambda job: job.name)
def test_one_file_of_each_kernel(job: Job) -> None:
    result = run(job, EMULATOR)
    assert result.faults == ()
    assert result.wrong is None


@pytest.mark.slow
@pytest.mark.parametrize("job", [job for job in EVERY if job not in SHARE], ids=lambda job: job.name)
def test_every_file_of_each_kernel(job: Job) -> None:
    result = run(job, EMULATOR)
    assert result.faults == ()
    assert result.wrong is None


def test_every_case_has_a_file() -> None:
    assert {case.title for case in all_cases()} == {job.case.title for job in EVERY}
    assert len({job.name for job in EVERY}) == len(EVERY)


def test_files_of_several_compilers_are_not_one() -> None:
    """Two compilers may name a file alike; the line of all has the sum of theirs."""
    results = [Result(job, (), None, 0, 0.0, {}) for job in EVERY]
    by_compiler = {name: [r for r in results if r.job.file.compiler == name] for name in COMPILERS}
    files = [figures(name, some)[1] for name, some in by_compiler.items()]
    assert figures("all", results)[1] == sum(files) == len({(job.file.compiler, job.file.name) for job in EVERY})


def test_what_is_wrong_is_told() -> None:
    assert exact([1, 2, 3]).fault(np.array([1, 2, 3])) is None
    assert exact([3, 1, 2], np.sort).fault(np.array([1, 2, 3])) is not None
    assert exact([1, 2, 3]).fault(np.array([1, 5, 4])) == "2 of 3 elements; [1] is 5, expected 2"
    assert exact([1.0]).fault(np.array([np.nan])) is not None
    assert exact([np.nan]).fault(np.array([np.nan])) is None
    assert within([1.0, np.inf], 0.5).fault(np.array([1.4, np.inf], "f4")) is None
    assert within([1.0, np.inf], 0.5).fault(np.array([1.4, 1e38], "f4")) is not None
    assert within([1.0], 0.5).fault(np.array([1.6], "f4")) is not None
    assert within([np.nan], 0.5).fault(np.array([1.0], "f4")) is not None
    one = np.array([1.0])
    assert ulps(one, 2, "f4").fault(np.array([1 + 2.0**-22], "f4")) is None
    assert ulps(one, 2, "f4").fault(np.array([1 + 2.0**-21], "f4")) is not None
