"""Run other projects' tests of kernels on the emulator: `python -m bench.peers zluda CHECKOUT [--history]`.

`python -m bench.peers files FOLDER` reads, checks and decodes every `.ptx` file below a folder, beside ptxas.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from bench.peers import files, zluda
from bench.peers.cases import Case, Result, run, table
from ptxgen.errors import PtxgenError
from ptxgen.executing.emulator import Emulator


def _read(checkout: Path, history: bool) -> dict[str, list[Case]]:
    found = zluda.read_checkout(checkout)
    suites = {
        "ZLUDA": [case for case in found if not case.refused],
        "ZLUDA, 32-bit copies": [case for case in found if case.refused],
    }
    if history:
        suites["ZLUDA, older versions"] = zluda.read_history(checkout)
    return suites


def _files(folder: Path, details: bool) -> int:
    found = files.readings(folder)
    for reading in found:
        if reading.differs:
            verdict = "ptxas takes it" if reading.taken else f"ptxas: {reading.told}"
            print(f"{reading.path.relative_to(folder)}: {verdict}; {'; '.join(reading.alarms[:3]) or 'nothing here'}",
                  file=sys.stderr)
        for reason in reading.refused if details else ():
            print(f"{reading.path.relative_to(folder)}: {reason}", file=sys.stderr)
    print(files.table(found))
    return 0


def _told(results: list[Result]) -> None:
    for result in results:
        if result.verdict in {"failed", "explained"}:
            seen = f" [{result.reported}]" if result.reported else ""
            print(f"{result.verdict}: {result.case.name}: {result.why}{seen}", file=sys.stderr)


def main() -> int:
    """Exit status 1 if a test failed."""
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument("suite", choices=["zluda", "files"])
    parser.add_argument("checkout", type=Path, help="the project's checkout, or with files any folder")
    parser.add_argument("--history", action="store_true", help="zluda: older versions of the tests too, from git")
    parser.add_argument("--only", default="", help="zluda: only tests whose name has this in it")
    parser.add_argument("--details", action="store_true",
                        help="zluda: what was reported beside right values, too; files: why kernels are not decoded")
    parser.add_argument("--json", type=Path, help="zluda: write every test's verdict there")
    asked = parser.parse_args()
    try:
        if asked.suite == "files":
            return _files(asked.checkout, asked.details)
        suites = _read(asked.checkout, asked.history)
    except PtxgenError as error:
        print(error, file=sys.stderr)
        return 2
    emulator = Emulator(time_limit=20)
    begun = time.monotonic()
    results = {
        name: [run(case, emulator) for case in cases if asked.only in case.name] for name, cases in suites.items()
    }
    for found in results.values():
        _told(found)
        if asked.details:
            for result in found:
                for line in (*result.alarms, *([result.reported] if result.reported else [])):
                    print(f"{result.case.name}: {line}", file=sys.stderr)
    print(table(results))
    print(f"{time.monotonic() - begun:.1f} s", file=sys.stderr)
    if asked.json:
        asked.json.write_text(json.dumps({
            name: [{"test": r.case.name, "verdict": r.verdict, "why": r.why, "reported": r.reported,
                    "check": r.alarms} for r in found] for name, found in results.items()
        }, indent=1) + "\n")
    return int(any(result.verdict == "failed" for found in results.values() for result in found))


if __name__ == "__main__":
    sys.exit(main())
