"""A kernel before an executor: its arguments, and what is kept of what it gives."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from bench.vectors.inputs import column
from fuzz.kernels.making import WORDS, Kernel
from fuzz.kernels.memory import ACCUMULATORS, SECTION, SECTIONS
from ptxgen.executing import Argument, Buffer, Executor, Fault, Outcome

Words = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Result:
    """`words`: of each thread `WORDS` words, then the accumulators of the grid. Empty where there are faults."""

    words: Words
    faults: tuple[Fault, ...] = ()
    instructions: int = 0

    @property
    def digest(self) -> str:
        """Of the words."""
        return digest(self.words)


def digest(words: Words) -> str:
    """A short hash of words."""
    return hashlib.sha256(np.ascontiguousarray(words).tobytes()).hexdigest()[:16]


@cache
def values() -> Words:
    """The table that kernels take their values from."""
    return np.concatenate([column(f"values/{kind}", kind, SECTION) for kind in SECTIONS])


def arguments(kernel: Kernel, words: int = WORDS) -> list[Argument]:
    """The table of values, and zeros where the kernel stores: so many words a thread."""
    out = np.zeros(kernel.threads * words, np.uint64)
    cells, sums = np.zeros(kernel.cells, np.uint8), np.zeros(len(ACCUMULATORS), np.uint64)
    return [Buffer(values(), read_only=True), Buffer(out), Buffer(cells), Buffer(sums)]


def result_of(outcome: Outcome) -> Result:
    """What is kept of a launch."""
    if not outcome.ok:
        return Result(np.zeros(0, np.uint64), outcome.faults, outcome.instructions)
    words = [np.asarray(outcome.buffers[number], np.uint64) for number in (1, 3)]
    return Result(np.concatenate(words), (), outcome.instructions)


def run(kernel: Kernel, executor: Executor, ptx: str = "", words: int = WORDS) -> Result:
    """One launch, of another text in the kernel's place if one is given, which may store more words a thread."""
    return result_of(executor.run(ptx or kernel.ptx, "k", kernel.launch, arguments(kernel, words)))
