"""Real kernels, compiled by real compilers, run and held against oracles.

    python -m bench.applications                    every recorded kernel on the emulator
    python -m bench.applications --only scans       those whose name contains that
    python -m bench.applications --compile          compile the sources anew (pip install 'ptxgen-local[corpus]')
    python -m bench.applications --executor gpu     on a GPU, each beside the emulator

Prints a Markdown table; exit status 1 where a result is wrong or a fault is reported.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from bench.applications.comparing import Compared, compare, outputs_of, remembered, table_of
from bench.applications.compiling import COMPILERS, RECORDED, compile_and_record, compiled
from bench.applications.running import Result, jobs, run
from bench.corpus.recording import about, recorded
from ptxgen.executing.emulator import Emulator
from ptxgen.executing.gpu import GpuExecutor

#: A grid may take this long on the emulator, and its batches so many steps.
_SECONDS, _STEPS = 120.0, 4_000_000


def figures(name: str, results: Sequence[Result]) -> list[object]:
    """A line of the table."""
    files = {(r.job.file.compiler, r.job.file.name) for r in results}
    kernels = {(r.job.case.source, r.job.case.name or r.job.case.entry) for r in results}
    seconds = sum(r.seconds for r in results)
    return [
        name, len(files), len(kernels), len(results), sum(r.right for r in results),
        sum(bool(r.faults) for r in results), f"{sum(r.instructions for r in results):,}", f"{seconds:.1f}",
    ]


def table(head: str, rows: Sequence[Sequence[object]]) -> str:
    """In Markdown; `head` is the columns' names between bars."""
    lines = [f"| {head} |", f"|---|{'---:|' * head.count(' | ')}"]
    return "\n".join([*lines, *(f"| {' | '.join(map(str, row))} |" for row in rows)])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.applications", description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="kernels whose COMPILER/FILE/NAME contains this")
    parser.add_argument("--compiler", action="append", choices=tuple(COMPILERS), help="only this one")
    parser.add_argument("--compile", action="store_true", help="compile the sources anew, and record the texts")
    parser.add_argument("--fresh", metavar="SOURCE", help="compile the sources of that name anew, and record nothing")
    parser.add_argument("--executor", choices=("emulator", "gpu"), default="emulator")
    parser.add_argument("--json", type=Path, metavar="FILE", help="every kernel's result")
    parser.add_argument("--outputs", type=Path, metavar="FILE", help="write the emulator's outputs there (.npz), or, "
                        "with --executor gpu, take them from there and do not run the emulator")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no kernel after so long")
    given = parser.parse_args(arguments)
    chosen = given.compiler or list(COMPILERS)
    if given.compile:
        for compiler in chosen:
            print(compile_and_record(compiler), file=sys.stderr)
    files = {
        name: compiled(name, given.fresh) if given.fresh is not None else recorded(name, RECORDED)
        for name in chosen if given.fresh is not None or (RECORDED / f"{name}.tar.xz").exists()
    }
    emulator = Emulator(time_limit=_SECONDS, step_limit=_STEPS)
    known = np.load(given.outputs) if given.outputs is not None and given.executor == "gpu" else None
    started = time.monotonic()
    results: dict[str, list[Result]] = {}
    compared: list[Compared] = []
    with closing(GpuExecutor()) if given.executor == "gpu" else nullcontext() as gpu:
        for name, some in files.items():
            for job in jobs(some):
                if given.only in job.name and time.monotonic() - started < given.seconds:
                    result = run(job, emulator) if known is None else remembered(job, known)
                    _tell(result)
                    results.setdefault(name, []).append(result)
                    if gpu is not None:
                        compared.append(compare(result, gpu))
    if not results and given.seconds > 0:
        parser.error(f"no kernel's COMPILER/FILE/NAME contains {given.only!r}")
    rows = [figures(name if given.fresh is not None else about(name, RECORDED), some)
            for name, some in results.items()]
    every = [result for some in results.values() for result in some]
    if len(rows) > 1:
        rows.append(figures("all", every))
    print(table("compiler | files | kernels | run | right | false alarms | thread-instructions | seconds", rows))
    document: dict[str, Any] = {"emulator": {r.job.name: _described(r) for r in every}}
    status = 0 if every and all(r.right for r in every) else 1
    if gpu is not None:
        print(f"\n{gpu.device}\n\n{table_of(compared)}")
        for one in compared:
            if one.unlike:
                print(f"{one.emulated.job.name}: {one.unlike}")
        document["gpu"] = {one.emulated.job.name: one.described() for one in compared}
        status = max(status, int(any(one.unlike for one in compared)))
    if given.outputs is not None and known is None:
        np.savez_compressed(given.outputs, **outputs_of(every))
    if given.json is not None:
        given.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return status


def _tell(result: Result) -> None:
    if not result.right:
        said = "; ".join(f"{f.kind} line {f.line}, {f.block} {f.thread}: {f.message}" for f in result.faults)
        print(f"{result.job.name}: {said or result.wrong}", file=sys.stderr, flush=True)
    elif sys.stderr.isatty():
        print(f"\r\x1b[K{result.job.name}", end="\r", file=sys.stderr, flush=True)


def _described(result: Result) -> dict[str, Any]:
    return {
        "right": result.right, "wrong": result.wrong, "instructions": result.instructions,
        "seconds": round(result.seconds, 4), "faults": [f"{f.kind} {f.line}: {f.message}" for f in result.faults],
    }


if __name__ == "__main__":
    sys.exit(main())
