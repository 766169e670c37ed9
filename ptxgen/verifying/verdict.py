"""The differential test as a whole: scheduled cases, cases that Hypothesis draws, and the smallest failure."""

from __future__ import annotations

import math
import os
import random
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis.configuration import set_hypothesis_home_dir
from hypothesis.errors import HypothesisException

from ptxgen.executing.protocol import Executor
from ptxgen.spec import Spec
from ptxgen.verifying.adequacy import check_oracle
from ptxgen.verifying.checks import Failure, Subject, check_case
from ptxgen.verifying.inputs import Case, cases, every_half, schedule

#: Launches that looking for a smaller failure may cost, and a limit for kernels that run into step limits.
SHRINKING_RUNS = 120
SHRINKING_SECONDS = 20.0
#: Scheduled cases before a half type's values are gone through.
_FIRST = 16
#: Seeds from here on are kept for the final verdict.
_HELD_OUT = 2**32


@dataclass(frozen=True, slots=True)
class Verdict:
    """`examples`: how many were run. `sizes_tried`: the different sizes among them. `failures` is empty or
    holds the smallest failure that was found."""

    ok: bool
    executor: str
    examples: int
    sizes_tried: tuple[Mapping[str, int], ...]
    failures: tuple[Failure, ...]


def verify(
    spec: Spec,
    ptx: str,
    executor: Executor,
    *,
    examples: int | None = None,
    seed: int = 0,
    held_out: bool = False,
    arch: str | None = None,
) -> Verdict:
    """Test a kernel against its spec's oracle; the same seed gives the same cases.

    `held_out` draws from other seeds, for a verdict on inputs that no repair has seen. Raises SpecError when
    the spec is too weak or its oracle fails, and PtxgenError from an executor that cannot work.
    """
    check_oracle(spec)
    count = examples if examples is not None else spec.verify.examples
    tester = _Tester(Subject(spec, ptx, executor, arch or spec.target.arch[0]))
    stream = seed + _HELD_OUT if held_out else seed
    failing = tester.scheduled(stream, max(1, min(count, max(count // 2, _FIRST + len(every_half(spec))))))
    if failing is None:
        failing = tester.drawn(stream, count - tester.runs)
    if failing is None:
        failing = tester.scheduled(stream + 1, count - tester.runs)
    tried = tuple(dict(sizes) for sizes in tester.sizes)
    if failing is None:
        return Verdict(True, executor.name, tester.runs, tried, ())
    ran = tester.runs
    smallest = tester.shrunk(stream, failing)
    return Verdict(False, executor.name, ran, tried, (tester.failure(smallest),))


class _Tester:
    """Runs cases and remembers what came of each, so that shrinking never runs one twice."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        # By text, because a NaN among the scalars would make a case differ from itself.
        self.results: dict[str, Failure | None] = {}
        self.sizes: dict[tuple[tuple[str, int], ...], None] = {}

    @property
    def runs(self) -> int:
        return len(self.results)

    def check(self, case: Case) -> Failure | None:
        key = repr(case)
        if key not in self.results:
            self.results[key] = check_case(self.subject, case)
            self.sizes[case.sizes] = None
        return self.results[key]

    def failure(self, case: Case) -> Failure:
        failure = self.results[repr(case)]
        assert failure is not None
        return failure

    def scheduled(self, stream: int, count: int) -> Case | None:
        """The first case of the schedule that fails."""
        spec = self.subject.spec
        planned = schedule(spec, stream)
        for case in islice(chain(islice(planned, _FIRST), every_half(spec), planned), count):
            if self.check(case) is not None:
                return case
        return None

    def drawn(self, stream: int, count: int) -> Case | None:
        """The first failing case that Hypothesis draws."""
        failing: list[Case] = []

        def fails(case: Case) -> bool:
            if self.check(case) is not None:
                failing.append(case)
            return bool(failing)

        if count > 0:
            self._find(stream, fails, count, (Phase.generate,))
        return failing[0] if failing else None

    def shrunk(self, stream: int, failing: Case) -> Case:
        """The smallest failing case that a bounded search finds; `failing` itself if none is smaller."""
        until = self.runs + SHRINKING_RUNS
        deadline = time.monotonic() + SHRINKING_SECONDS
        check = self.failure(failing).check

        alike = [failing]

        def fails_alike(case: Case) -> bool:
            if repr(case) not in self.results and (self.runs >= until or time.monotonic() > deadline):
                return False
            failure = self.check(case)
            if failure is None or failure.check != check:
                return False
            alike.append(case)
            return True

        found = self._find(stream, fails_alike, SHRINKING_RUNS // 2, (Phase.generate, Phase.shrink))
        smallest = min(alike, key=_size)
        # Hypothesis knows better which of two cases of the same size is simpler.
        return found if found is not None and _size(found)[0] <= _size(smallest)[0] else smallest

    def _find(
        self, stream: int, condition: Callable[[Case], bool], count: int, phases: tuple[Phase, ...]
    ) -> Case | None:
        """What Hypothesis finds within `count` cases. Raises whatever the condition raised first."""
        raised: list[Exception] = []

        def guarded(case: Case) -> bool:
            # Hypothesis would take an error for a discovery of its own, and run on to shrink it.
            if not raised:
                try:
                    return condition(case)
                except Exception as error:
                    raised.append(error)
            return True

        _keep_hypothesis_out_of_the_working_folder()
        options = settings(
            max_examples=count, database=None, deadline=None, derandomize=False, phases=phases,
            suppress_health_check=list(HealthCheck), print_blob=False,
        )  # fmt: skip
        seeds = (_HELD_OUT, _HELD_OUT + 2**31) if stream >= _HELD_OUT else (0, 2**31)
        strategy = cases(self.subject.spec, seeds)
        found = None
        # A search that ran out of its budget of launches ends as "flaky"; what it saw is remembered.
        with suppress(HypothesisException):
            found = find(strategy, guarded, settings=options, random=random.Random(stream))
        if raised:
            raise raised[0]
        return found


def _size(case: Case) -> tuple[int, int]:
    return math.prod(value + 1 for _, value in case.sizes), len(repr(case))


def _keep_hypothesis_out_of_the_working_folder() -> None:
    """Hypothesis writes tables into `.hypothesis` where it is run; a user's folder is not the place."""
    if "HYPOTHESIS_STORAGE_DIRECTORY" not in os.environ:
        user = getattr(os, "getuid", int)()  # a folder for each, as /tmp is everybody's
        set_hypothesis_home_dir(Path(tempfile.gettempdir()) / f"ptxgen-local-{user}")
