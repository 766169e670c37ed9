"""What a GPU gave for every instruction form, recorded, and the emulator beside it.

    python -m bench.vectors record --executor gpu     on a machine with a GPU: writes tests/executing/vectors
    python -m bench.vectors replay [NAME ...]         the emulator on the records; exit status 1 where it differs
    python -m bench.vectors replay -o docs/vectors.md the same, and the page about it
    python -m bench.vectors list                      which forms have vectors

`replay` prints a table by instruction: forms, vectors, rows, and how many agree to the bit or within the bounds
that the manual gives approximate instructions. NAME is an instruction, or `examples`: the kernels with an oracle.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from bench.vectors import examples
from bench.vectors.families import every_vector
from bench.vectors.kernels import NEWEST, Vector, run
from bench.vectors.recording import Record, fingerprint, read_record, write_outputs, write_record
from bench.vectors.replaying import replay, replay_examples
from bench.vectors.reporting import ExampleTally, instructions, report, standing, total
from bench.vectors.reporting import examples as examples_table
from ptxgen.executing import Executor, make_executor
from ptxgen.isa import load_table

FOLDER = Path(__file__).resolve().parents[2] / "tests/executing/vectors"
#: The target of the machine that records.
ARCH = "sm_90a"
EXAMPLES = "examples"


def by_instruction(names: Sequence[str] = ()) -> dict[str, list[Vector]]:
    """Every vector of the recording target, by instruction."""
    found: dict[str, list[Vector]] = defaultdict(list)
    for vector in every_vector(load_table(), ARCH):
        if not names or vector.expansion.name in names:
            found[vector.expansion.name].append(vector)
    return found


def examples_record(folder: Path) -> Path:
    """Where the record of the examples lies."""
    return folder / EXAMPLES / f"{EXAMPLES}.zip"


def known(path: Path) -> Record:
    """What is recorded there; nothing where there is no file."""
    return read_record(path) if path.exists() else Record("", {}, {})


def _record(executor: Executor, folder: Path, names: Sequence[str], made_on: str) -> int:
    """Runs what is not recorded yet as it is now; records of forms that are gone are dropped."""
    failed = 0
    for name, every in by_instruction(names).items():
        before = known(folder / f"{name}.zip")
        found = []
        for vector in every:
            if before.inputs.get(vector.name) == fingerprint(vector):
                found.append((vector, before.outputs[vector.name]))
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
    if not names or EXAMPLES in names:
        failed += _record_examples(executor, folder, made_on)
    print(f"{failed} could not be recorded")
    return 1 if failed else 0


def _record_examples(executor: Executor, folder: Path, made_on: str) -> int:
    """Gives how many could not be recorded."""
    outputs, failed = [], 0
    for example in examples.examples():
        output, why = examples.run(example, executor)
        if output is None:
            failed += 1
            print(f"{example.name}: {why}", file=sys.stderr)
        else:
            outputs.append((example.name, example.fingerprint, output))
    write_outputs(examples_record(folder), made_on, outputs)
    return failed


def _replay(folder: Path, names: Sequence[str], page: Path | None) -> int:
    executor = make_executor("emulator", ARCH)
    every = by_instruction(names)
    tallies = {name: replay(some, known(folder / f"{name}.zip"), executor) for name, some in sorted(every.items())}
    print(instructions(tallies))
    kernels: dict[str, ExampleTally] = {}
    troubles = total(tallies.values()).troubles
    if not names or EXAMPLES in names:
        kernels, more = replay_examples(examples.examples(), known(examples_record(folder)), executor)
        print(f"\n{examples_table(kernels)}")
        troubles += more
    if page is not None:
        vectors = [vector for some in every.values() for vector in some]
        made_on = sorted({known(path).made_on for path in folder.glob("**/*.zip")})
        page.write_text(report(tallies, kernels, standing(load_table(), ARCH, vectors), made_on), encoding="utf-8")
    for trouble in troubles:
        print(trouble)
    return 1 if troubles else 0


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.vectors", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("action", choices=["record", "replay", "list"])
    parser.add_argument("names", nargs="*", help="instructions; all by default")
    parser.add_argument("--executor", choices=["emulator", "gpu"], default="gpu", help="with record")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="the record, in place of this checkout's")
    parser.add_argument("--made-on", default="", help="with record: device and driver, kept in the record")
    parser.add_argument("-o", "--output", type=Path, help="with replay of everything: the page to write")
    given = parser.parse_intermixed_args()
    if given.output is not None and (given.names or given.action != "replay"):
        parser.error("-o goes with `replay` of everything")
    found = by_instruction(given.names) if given.names or given.action == "list" else {}
    for name in given.names:
        if name not in found and name != EXAMPLES:
            parser.error(f"no vectors are made of {name!r}; `list` has those that are")
    if given.action == "list":
        for name, every in found.items():
            print(f"{name}: {len(every)} vectors of {len({v.expansion.form.syntax for v in every})} forms")
        return 0
    if given.action == "replay":
        return _replay(given.folder, given.names, given.output)
    executor = make_executor(given.executor, ARCH)
    try:
        return _record(executor, given.folder, given.names, given.made_on or f"{executor.name}, PTX {NEWEST}")
    finally:
        executor.close()


if __name__ == "__main__":
    sys.exit(main())
