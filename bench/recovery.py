"""How well the parser goes on after faults: several are planted in good files, and each must be told at its place.

    python -m bench.recovery
    python -m bench.recovery --rounds 20 --seed 3 --show 10

Prints two Markdown tables: by the number of faults in a file, and by their kind. A fault counts as found when a
diagnostic stands within one line of it; a diagnostic beside no fault is extra. `--show` prints cases that went wrong.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from fuzz.planting import KINDS, Planted, plant
from ptxgen.ptx import Diagnostic, parse_tolerant

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = (ROOT / "tests/ptx/corpus", ROOT / "tests/kernels")
#: Larger files only take longer.
LARGEST = 60_000
MOST_PLANTED = 6


def texts() -> list[str]:
    """Good files: the corpus of compilers' output and the project's kernels."""
    paths = [p for folder in FOLDERS for p in sorted(folder.rglob("*.ptx")) if p.stat().st_size <= LARGEST]
    return [p.read_text(encoding="ascii") for p in paths]


def score(planted: Sequence[Planted], found: Sequence[Diagnostic]) -> tuple[list[Planted], list[Diagnostic]]:
    """The faults that no diagnostic tells, and the diagnostics beside no fault."""
    missed = [p for p in planted if not any(p.told_by(d.span.line) for d in found)]
    extra = [d for d in found if not any(p.told_by(d.span.line) for p in planted)]
    return missed, extra


def is_fault(text: str) -> bool:
    """Whether there is anything wrong at all."""
    return bool(parse_tolerant(text)[1])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="how often each number of faults is planted in a file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=0, help="so many cases that went wrong are printed")
    given = parser.parse_args(arguments)
    by_count: dict[int, Counter[str]] = {k: Counter() for k in range(1, MOST_PLANTED + 1)}
    by_kind: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    shown = 0
    for number, text in enumerate(texts()):
        for turn in range(given.rounds):
            for count in by_count:
                rng = random.Random(f"{given.seed} {number} {turn} {count}")
                damaged, planted = plant(text, count, rng, is_fault)
                found = parse_tolerant(damaged)[1]
                missed, extra = score(planted, found)
                by_count[count].update(
                    files=1, planted=len(planted), found=len(planted) - len(missed), extra=len(extra),
                    exact=not missed and not extra,
                )
                for fault in planted:
                    by_kind[fault.kind].update(planted=1, found=fault not in missed)
                if count == 1 and planted:
                    by_kind[planted[0].kind].update(alone=1, extra=len(extra))
                if (missed or extra) and shown < given.show:
                    shown += 1
                    _show(damaged, planted, missed, extra)
    _print(by_count, by_kind)
    return 0


def _show(damaged: str, planted: Sequence[Planted], missed: Sequence[Planted], extra: Sequence[Diagnostic]) -> None:
    print("planted", [(p.kind, p.line, p.also) for p in planted])
    for fault in missed:
        print("MISSED", fault)
    for diagnostic in extra:
        print("EXTRA", diagnostic.span.line, diagnostic.message, diagnostic.hint)
    wanted = {line for p in planted for line in range(p.line - 1, p.line + 2)}
    wanted |= {line for d in extra for line in range(d.span.line - 1, d.span.line + 2)}
    for number, line in enumerate(damaged.split("\n"), 1):
        if number in wanted:
            print(f"{number:5} | {line}")
    print()


def _print(by_count: dict[int, Counter[str]], by_kind: dict[str, Counter[str]]) -> None:
    print("| faults in a file | files | planted | found | extra diagnostics | files with exactly the faults |")
    print("|---:|---:|---:|---:|---:|---:|")
    for count, c in by_count.items():
        print(f"| {count} | {c['files']} | {c['planted']} | {_share(c['found'], c['planted'])} | {c['extra']} "
              f"| {_share(c['exact'], c['files'])} |")
    total: Counter[str] = sum(by_count.values(), Counter())
    print(f"| all | {total['files']} | {total['planted']} | {_share(total['found'], total['planted'])} "
          f"| {total['extra']} | {_share(total['exact'], total['files'])} |")
    print("\n| kind | planted | found | alone in a file | extra diagnostics then |\n|---|---:|---:|---:|---:|")
    for kind, c in by_kind.items():
        print(f"| {kind} | {c['planted']} | {_share(c['found'], c['planted'])} | {c['alone']} | {c['extra']} |")


def _share(part: int, whole: int) -> str:
    return f"{part} ({100 * part / whole:.1f}%)" if whole else "0"


if __name__ == "__main__":
    raise SystemExit(main())
