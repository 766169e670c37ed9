"""Every recorded file parsed, matched against the table, checked, printed again and assembled, by compiler.

    python -m bench.corpus                        parsing, recognition, check, round trip of trees
    python -m bench.corpus --assemble all         also ptxas: its verdicts, and machine code after printing
    python -m bench.corpus --compile              compile the sources anew (pip install 'ptxgen-local[corpus]')

Prints a Markdown table. `--report FOLDER` writes unknown instructions and false alarms, one a line.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.corpus import compiling
from bench.corpus.assembled import Assembled, assemble
from bench.corpus.measuring import Outcome, counted, measure
from bench.corpus.recording import about, compilers, recorded
from ptxgen.assembling import find_ptxas
from ptxgen.isa import load_table

COLUMNS = (
    "compiler", "files", "parsed", "same tree", "lines", "instructions", "in the table", "refused by check",
    "ptxas takes", "false alarms", "missed", "same code", "seconds",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Figures:
    """One compiler's files and what came of them."""

    compiler: str
    outcomes: tuple[Outcome, ...]
    assembled: tuple[Assembled, ...]
    seconds: float                              # parsing, matching, checking, printing; not ptxas

    def row(self) -> dict[str, object]:
        """The line of the table, by column."""
        outs = self.outcomes
        total = sum(o.instructions for o in outs)
        unknown = sum(len(o.unknown) for o in outs)
        row: dict[str, object] = {
            "compiler": about(self.compiler), "files": len(outs), "parsed": sum(o.parsed for o in outs),
            "same tree": sum(bool(o.round_trip) for o in outs), "lines": sum(o.file.text.count("\n") for o in outs),
            "instructions": total, "in the table": f"{100 * (total - unknown) / max(1, total):.3f}%",
            "refused by check": sum(o.refused for o in outs), "seconds": round(self.seconds, 1),
        }  # fmt: skip
        done = self.assembled
        if done:
            row |= {
                "ptxas takes": f"{sum(a.accepted for a in done)} of {len(done)}",
                "false alarms": sum(len(a.false_alarms) for a in done), "missed": sum(a.missed for a in done),
                "same code": f"{sum(a.same_code is True for a in done)} of "
                             f"{sum(a.same_code is not None for a in done)}",
            }  # fmt: skip
        return row


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.corpus", description=__doc__.splitlines()[0])
    parser.add_argument("--compiler", action="append", choices=tuple(compiling.COMPILERS), help="only this one")
    parser.add_argument("--compile", action="store_true", help="compile the sources anew, and record the texts")
    parser.add_argument("--assemble", default="0", metavar="N", help="how many files a compiler go to ptxas, or all")
    parser.add_argument("--report", type=Path, metavar="FOLDER", help="unknown.txt and false-alarms.txt go there")
    parser.add_argument("--json", type=Path, metavar="FILE", help="the table's figures")
    given = parser.parse_args(arguments)
    if given.compile:
        for compiler in given.compiler or compiling.COMPILERS:
            print(compiling.compile_and_record(compiler), file=sys.stderr)
    figures = [_figures(c, given.assemble) for c in given.compiler or compilers()]
    rows = [f.row() for f in figures]
    print(_table(rows))
    for outcome in (o for f in figures for o in f.outcomes if o.syntax or o.round_trip is False):
        first = outcome.syntax[0] if outcome.syntax else "another tree after printing"
        print(f"{outcome.file.compiler} {outcome.file.name}: {first}", file=sys.stderr)
    if given.report:
        _report(figures, given.report)
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0


def _figures(compiler: str, share: str) -> Figures:
    table = load_table()
    started = time.perf_counter()
    outcomes = []
    files = recorded(compiler)
    for number, file in enumerate(files, 1):
        outcomes.append(measure(file, table))
        _progress(f"{compiler} {number}/{len(files)}")
    seconds = time.perf_counter() - started
    chosen = outcomes if share == "all" else outcomes[:: max(1, len(outcomes) // int(share))] if int(share) else []
    assembled = []
    ptxas = find_ptxas()[0] if chosen else None
    for number, outcome in enumerate(chosen, 1):
        assert ptxas is not None
        assembled.append(assemble(outcome, ptxas))
        _progress(f"{compiler} ptxas {number}/{len(chosen)}")
    return Figures(compiler, tuple(outcomes), tuple(assembled), seconds)


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="\r", file=sys.stderr, flush=True)


def _table(rows: Sequence[dict[str, object]]) -> str:
    columns = [c for c in COLUMNS if any(c in row for row in rows)]
    lines = [f"| {' | '.join(columns)} |", f"|---|{'---:|' * (len(columns) - 1)}"]
    lines += [f"| {' | '.join(str(row.get(c, '')) for c in columns)} |" for row in rows]
    return "\n".join(lines)


def _report(figures: Sequence[Figures], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    everything = [o for f in figures for o in f.outcomes]
    unknown = [f"{n:6} {opcode}  {message}" for (opcode, message), n in counted(everything).most_common()]
    (folder / "unknown.txt").write_text("\n".join(unknown) + "\n", encoding="utf-8")
    alarms = [
        f"{a.outcome.file.compiler} {a.outcome.file.name}:{d.span.line}: {d.code}: {d.message}"
        for f in figures for a in f.assembled for d in a.false_alarms
    ]  # fmt: skip
    differing = [f"{a.outcome.file.compiler} {a.outcome.file.name}: other machine code after printing"
                 for f in figures for a in f.assembled if a.same_code is False]  # fmt: skip
    missed = [f"{a.outcome.file.compiler} {a.outcome.file.name}: ptxas refuses: {a.message}"
              for f in figures for a in f.assembled if not a.accepted]  # fmt: skip
    (folder / "false-alarms.txt").write_text("\n".join(alarms + differing + missed) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
