"""An executor's outputs beside the recorded ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from bench.vectors.comparing import DEVIATIONS, deviation, differences, explain, is_exact
from bench.vectors.examples import Example, wrong
from bench.vectors.examples import run as run_example
from bench.vectors.kernels import Vector, run
from bench.vectors.recording import Record, fingerprint
from bench.vectors.reporting import ExampleTally, Tally
from ptxgen.executing import Executor

_SHOWN = 3


def replay(every: Sequence[Vector], record: Record, executor: Executor) -> Tally:
    """The executor's outputs beside the recorded ones. A vector that has no record of its kernel is trouble,
    and so is a cause for differences that none of its vectors shows any more."""
    tally = Tally()
    for vector in every:
        tally.forms |= {expansion.form.syntax for expansion in (vector.expansion, *vector.others)}
        tally.vectors += 1
        if record.inputs.get(vector.name) != fingerprint(vector):
            tally.troubles.append(f"{vector.name}: not recorded as it is now")
            continue
        ours, why = run(vector, executor)
        if ours is None:
            tally.troubles.append(f"{vector.name}: {why}")
            continue
        theirs = record.outputs[vector.name]
        if ours.shape != theirs.shape:
            tally.troubles.append(f"{vector.name}: {ours.tobytes()[:200]!r}, recorded {theirs.tobytes()[:200]!r}")
            continue
        apart = differences(vector, ours, theirs)
        tally.rows += len(ours)
        tally.exact += len(ours) if is_exact(vector) else 0
        if deviation(vector):
            tally.deviating[vector.name] = len(apart)
        elif len(apart):
            tally.differing += len(apart)
            tally.troubles.append(f"{vector.name}: {len(apart)} of {len(ours)} rows differ")
            tally.troubles += ["    " + explain(vector, int(row), ours, theirs) for row in apart[:_SHOWN]]
    for name, cause in DEVIATIONS.items():
        rows = [count for known, count in tally.deviating.items() if known.startswith(name)]
        if rows and not any(rows):
            tally.troubles.append(f"{name}: agrees everywhere, though it is said to differ ({cause})")
    return tally


def replay_examples(
    every: Iterable[Example], record: Record, executor: Executor
) -> tuple[dict[str, ExampleTally], list[str]]:
    """By kernel, the executor's outputs and the recorded ones, both beside the oracle; and what is wrong. Bytes must
    be the same but where a kernel approximates."""
    found: dict[str, list[tuple[bool, int, int]]] = {}
    troubles = []
    for example in every:
        if record.inputs.get(example.name) != example.fingerprint:
            troubles.append(f"{example.name}: not recorded as it is now")
            continue
        ours, why = run_example(example, executor)
        if ours is None:
            troubles.append(f"{example.name}: {why}")
            continue
        theirs = record.outputs[example.name]
        same = bool(np.array_equal(ours, theirs))
        refused = wrong(example, ours), wrong(example, theirs)
        found.setdefault(example.name.rpartition(" ")[0], []).append((same, *refused))
        if any(refused) or not (same or example.approximate):
            said = f"the oracle refuses {refused[0]} elements, and {refused[1]} of those recorded"
            troubles.append(f"{example.name}: {said if any(refused) else 'other bytes than recorded'}")
    return {
        kernel: ExampleTally(len(cases), sum(c[0] for c in cases), sum(c[1] for c in cases), sum(c[2] for c in cases))
        for kernel, cases in found.items()
    }, troubles  # fmt: skip
