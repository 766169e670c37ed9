"""What a GPU gave for every instruction form, recorded, and the emulator beside it.

    python -m bench.vectors record --executor gpu     on a machine with a GPU: writes tests/executing/vectors
    python -m bench.vectors replay [NAME ...]         the emulator on the records; exit status 1 where it differs
    python -m bench.vectors list                      which forms have vectors

`replay` prints a table by instruction: forms, vectors, rows, and how many agree to the bit or within the bounds
that the manual gives approximate instructions.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.vectors.comparing import DEVIATIONS, deviation, differences, explain, is_exact
from bench.vectors.families import every_vector
from bench.vectors.kernels import NEWEST, Vector, run
from bench.vectors.recording import Record, fingerprint, read_record, write_record
from ptxgen.executing import Executor, make_executor
from ptxgen.isa import load_table

FOLDER = Path(__file__).resolve().parents[2] / "tests/executing/vectors"
#: The target of the machine that records.
ARCH = "sm_90a"
_SHOWN = 3


@dataclass
class Tally:
    """Of one instruction."""

    forms: set[str] = field(default_factory=set)
    vectors: int = 0
    rows: int = 0
    exact: int = 0                                   # rows of vectors that must agree to the bit
    differing: int = 0
    deviating: dict[str, int] = field(default_factory=dict)    # rows that differ for a known cause, by vector
    troubles: list[str] = field(default_factory=list)


def by_instruction(names: Sequence[str] = ()) -> dict[str, list[Vector]]:
    """Every vector of the recording target, by instruction."""
    found: dict[str, list[Vector]] = defaultdict(list)
    for vector in every_vector(load_table(), ARCH):
        if not names or vector.expansion.name in names:
            found[vector.expansion.name].append(vector)
    return found


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
        apart = differences(vector, ours, theirs)
        tally.rows += vector.rows
        tally.exact += vector.rows if is_exact(vector) else 0
        if deviation(vector):
            tally.deviating[vector.name] = len(apart)
        elif len(apart):
            tally.differing += len(apart)
            tally.troubles.append(f"{vector.name}: {len(apart)} of {vector.rows} rows differ")
            tally.troubles += ["    " + explain(vector, int(row), ours, theirs) for row in apart[:_SHOWN]]
    for name, cause in DEVIATIONS.items():
        rows = [count for known, count in tally.deviating.items() if known.startswith(name)]
        if rows and not any(rows):
            tally.troubles.append(f"{name}: agrees everywhere, though it is said to differ ({cause})")
    return tally


def _record(executor: Executor, folder: Path, names: Sequence[str], made_on: str) -> int:
    """Runs what is not recorded yet as it is now; records of forms that are gone are dropped."""
    failed = 0
    for name, every in by_instruction(names).items():
        known = _known(folder, name)
        found = []
        for vector in every:
            if known.inputs.get(vector.name) == fingerprint(vector):
                found.append((vector, known.outputs[vector.name]))
                continue
            output, why = run(vector, executor)
            if output is None:
                failed += 1
                print(f"{vector.name}: {why}", file=sys.stderr)
            else:
                found.append((vector, output))
        if found:
            path = write_record(folder, name, made_on, found)
            print(f"{name}: {len(found)} vectors, {path.stat().st_size} bytes", flush=True)
    print(f"{failed} could not be recorded")
    return 1 if failed else 0


def _known(folder: Path, name: str) -> Record:
    path = folder / f"{name}.zip"
    return read_record(path) if path.exists() else Record("", {}, {})


def _replay(folder: Path, names: Sequence[str]) -> int:
    executor = make_executor("emulator", ARCH)
    tallies = {}
    for name, every in by_instruction(names).items():
        tallies[name] = replay(every, _known(folder, name), executor)
    print("| instruction | forms | vectors | rows | to the bit | within bounds | known deviations | differing |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for name, tally in tallies.items():
        print(_line(name, tally))
    total = Tally()
    for tally in tallies.values():
        total.forms |= tally.forms
        for count in ("vectors", "rows", "exact", "differing"):
            setattr(total, count, getattr(total, count) + getattr(tally, count))
        total.deviating |= tally.deviating
        total.troubles += tally.troubles
    print(_line("all", total))
    for trouble in total.troubles:
        print(trouble)
    return 1 if total.troubles else 0


def _line(name: str, tally: Tally) -> str:
    deviating = sum(tally.deviating.values())
    near = tally.rows - tally.exact
    counts = (len(tally.forms), tally.vectors, tally.rows, tally.exact - deviating, near, deviating, tally.differing)
    return f"| {name} | {' | '.join(map(str, counts))} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["record", "replay", "list"])
    parser.add_argument("names", nargs="*", help="instructions; all by default")
    parser.add_argument("--executor", choices=["emulator", "gpu"], default="gpu", help="with record")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--made-on", default="", help="with record: device and driver, kept in the record")
    given = parser.parse_intermixed_args()
    if given.action == "list":
        for name, every in by_instruction(given.names).items():
            print(f"{name}: {len(every)} vectors of {len({v.expansion.form.syntax for v in every})} forms")
        return 0
    if given.action == "replay":
        return _replay(given.folder, given.names)
    executor = make_executor(given.executor, ARCH)
    try:
        return _record(executor, given.folder, given.names, given.made_on or f"{executor.name}, PTX {NEWEST}")
    finally:
        executor.close()


if __name__ == "__main__":
    sys.exit(main())
