"""How fast PTX is read, beside other parsers on the same files, and how time and memory grow with the length.

    python -m bench.parsing
    python -m bench.parsing --sizes 100 1000 10000 100000 1000000 --rounds 5

Real files: a sample of every compiler's in `tests/ptx/compiled`; the parsers take turns, and each file counts with
its fastest round. A ratio is over those files only that both take. Made files: real statements with fresh names, only
such as every parser takes; each size in a fresh process, with the memory that the reading adds at its peak (Linux
only). Times are CPU time of the process, so that other load on the machine counts little.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.corpus.recording import Compiled, compilers, recorded
from bench.made_files import make, statements, suitable
from bench.parsers import Parser, missing, ours, peers

SIZES = (100, 1_000, 10_000, 100_000)
#: Memory of shorter files is lost in what the process has already.
_LEAST_MEASURED = 10_000


@dataclass
class Timed:
    """Seconds by parser, None where it does not take the file."""

    file: Compiled
    lines: int
    seconds: dict[str, float | None] = field(default_factory=dict)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--every", type=int, default=7, help="one real file in so many")
    parser.add_argument("--one", nargs=2, metavar=("PARSER", "FILE"), help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.one:
        print(json.dumps(_measure_once(*given.one)))
        return 0
    others = peers()
    parsers = [ours(), *others]
    if told := missing(others):
        print(told, file=sys.stderr)
    files = [file for name in compilers() for file in recorded(name)[:: given.every]]
    _print_real(_time_all(files, parsers, given.rounds), parsers)
    _print_made([file.text for file in files], parsers, given.sizes, given.rounds)
    return 0


# ---------------------------------------------------------------- real files


def _time_all(files: Sequence[Compiled], parsers: Sequence[Parser], rounds: int) -> list[Timed]:
    timed = []
    for number, file in enumerate(files):
        print(f"\r{number + 1} of {len(files)} files", end="", file=sys.stderr)
        one = Timed(file, file.text.count("\n"))
        taking = [p for p in parsers if p.takes(file.text)]
        one.seconds = {p.name: None for p in parsers}
        for _ in range(rounds):
            for p in taking:
                started = time.process_time()
                p.read(file.text)
                spent = time.process_time() - started
                one.seconds[p.name] = min(spent, one.seconds[p.name] or spent)
        timed.append(one)
    print(file=sys.stderr)
    return timed


def _print_real(timed: Sequence[Timed], parsers: Sequence[Parser]) -> None:
    heads = "".join(f" {p.name} {p.version}: files taken | lines a second |" for p in parsers)
    print(f"| compiler | files | lines |{heads}")
    print("|---|---:|---:|" + "---:|---:|" * len(parsers))
    for compiler in [*compilers(), "all"]:
        rows = [t for t in timed if compiler in (t.file.compiler, "all")]
        cells = [compiler, str(len(rows)), str(sum(t.lines for t in rows))]
        for p in parsers:
            cells += [str(sum(t.seconds[p.name] is not None for t in rows)), _rate(rows, p.name)]
        print(f"| {' | '.join(cells)} |")
    print()
    for p in parsers[1:]:
        both = [t for t in timed if t.seconds[p.name] is not None and t.seconds[parsers[0].name] is not None]
        if both:
            mine, theirs = (sum(t.seconds[name] or 0 for t in both) for name in (parsers[0].name, p.name))
            print(f"On the {len(both)} files that both take, ours reads {theirs / mine:.2f} lines "
                  f"for each that {p.name} reads.")
        else:
            print(f"{p.name} takes none of these files.")


def _rate(rows: Sequence[Timed], name: str) -> str:
    taken = [t for t in rows if t.seconds[name] is not None]
    return f"{sum(t.lines for t in taken) / sum(t.seconds[name] or 0 for t in taken):,.0f}" if taken else ""


# ---------------------------------------------------------------- made files


def _print_made(texts: Sequence[str], parsers: Sequence[Parser], sizes: Sequence[int], rounds: int) -> None:
    pool = statements(texts)
    for p in parsers:
        pool = suitable(pool, p.takes)
    print(f"\nMade files, of {len(pool)} different real statements:\n")
    print("| lines |" + "".join(f" {p.name}: s | lines a second | bytes a line |" for p in parsers) + " times ours |")
    print("|---:|" + "---:|---:|---:|" * len(parsers) + "---|")
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            path = Path(folder) / f"{size}.ptx"
            path.write_text(make(pool, size), encoding="ascii")
            lines = path.read_text(encoding="ascii").count("\n")
            best: dict[str, tuple[float, int]] = {}
            for _ in range(rounds):
                for p in parsers:
                    seconds, grown = _in_fresh_process(p.name, path)
                    best[p.name] = min((seconds, grown), best.get(p.name, (seconds, grown)))
            cells = [f"{lines:,}"]
            for seconds, grown in best.values():
                memory = f"{grown / lines:,.0f}" if lines >= _LEAST_MEASURED * 0.9 else ""
                cells += [f"{seconds:.4f}", f"{lines / seconds:,.0f}", memory]
            mine = best[parsers[0].name][0]
            cells.append(", ".join(f"{p.name} {best[p.name][0] / mine:.2f}" for p in parsers[1:]))
            print(f"| {' | '.join(cells)} |", flush=True)


def _in_fresh_process(name: str, path: Path) -> tuple[float, int]:
    command = [sys.executable, "-m", "bench.parsing", "--one", name, str(path)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    seconds, grown = json.loads(done.stdout)
    return seconds, grown


def _measure_once(name: str, path: str) -> tuple[float, int]:
    """Seconds, and by how many bytes the process grew at its most. A short file is read first, because parsers make
    their tables then."""
    parser = next(p for p in [ours(), *peers()] if p.name == name)
    text = Path(path).read_text(encoding="ascii")
    parser.read(make(["\tadd.s32 %r1, %r2, 3;"], 100))
    before = _peak_memory(afresh=True)
    started = time.process_time()
    kept = parser.read(text)
    spent = time.process_time() - started
    assert kept is not None
    return spent, _peak_memory() - before


def _peak_memory(*, afresh: bool = False) -> int:
    """The most bytes that were resident, since the last call with `afresh`; 0 where the system does not tell."""
    process = Path("/proc/self")
    if not (process / "clear_refs").exists():
        return 0
    if afresh:
        (process / "clear_refs").write_text("5")
    status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) * 1024


if __name__ == "__main__":
    raise SystemExit(main())
