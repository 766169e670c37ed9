"""Compare the checker with ptxas over statements near every row of the table.

    python -m fuzz.statements_against_ptxas add fma ld --thin 0.2
    python -m fuzz.statements_against_ptxas --minutes 10 --seed 7 --target sm_90 --version 9.0

Prints how many statements both take, both refuse, and on how many they differ (in either direction), by kind of
change, and the statements on which they differ, grouped. Exit status 1 where there is any.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence

from fuzz.statement_trials import HEAD, TAIL, Trial, trials
from ptxgen.assembling import Ptxas, ToolCrashed, find_ptxas
from ptxgen.isa import Table, Version, load_table
from ptxgen.isa.conformance import covering
from ptxgen.ptx import parse_tolerant
from ptxgen.semantics.checking import check_module

_BATCH = 300
_NAMED_LINE = re.compile(r"(?:on line '|Line No: )(\d+)(?:' which|:)")


def main() -> int:
    options = _options()
    table = load_table()
    tools = find_ptxas()[: 1 if options.newest else 2]
    draw = random.Random(options.seed)
    started = time.monotonic()
    names = options.names or list(table.instructions)
    if options.minutes:
        draw.shuffle(names)
    counts: Counter[tuple[str, str]] = Counter()
    differing: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for name in names:
        if options.minutes and time.monotonic() - started > 60 * options.minutes:
            break
        for trial, ours, theirs in _compare(_of(name, table, options, draw), tools, table, options):
            verdict = "same+" if theirs else "same-"
            if ours != theirs:
                verdict = "we refuse" if theirs else "we take"
                differing[name, trial.kind, verdict].append(trial.statement)
            counts[trial.kind, verdict] += 1
    _print(counts, differing, options.show)
    return int(bool(differing))


def _of(name: str, table: Table, options: argparse.Namespace, draw: random.Random) -> list[Trial]:
    version = Version.parse(options.version)
    found: dict[str, Trial] = {}
    for expansion in covering(table, [name]):
        if table.unavailable(expansion, options.target, version) is None:
            for trial in trials(expansion, table, draw, options.thin):
                found.setdefault(trial.statement, trial)
    listed = list(found.values())
    if options.most and len(listed) > options.most:
        listed = draw.sample(listed, options.most)
    return [t for t in listed if not options.kinds or any(k in t.kind for k in options.kinds)]


def _compare(
    listed: Sequence[Trial], tools: Sequence[Ptxas], table: Table, options: argparse.Namespace
) -> list[tuple[Trial, bool, bool]]:
    """Each trial with our verdict and the newest ptxas's; where another ptxas says otherwise it is left out."""
    where = (options.version, options.target)
    out = []
    for start in range(0, len(listed), _BATCH):
        batch = listed[start : start + _BATCH]
        statements = [trial.statement for trial in batch]
        mine = taken_by_us(statements, table, *where)
        said = [taken_by_ptxas(statements, tool, *where) for tool in tools]
        for index, trial in enumerate(batch):
            verdicts = {each[index] for each in said}
            if verdicts != {mine[index]}:
                # in company a statement can fall with its neighbours: what counts is what is said of it alone
                verdicts = {taken_by_ptxas([trial.statement], tool, *where)[0] for tool in tools}
            if len(verdicts) == 1:
                out.append((trial, mine[index], verdicts.pop()))
    return out


def text_of(statements: Sequence[str], version: str, target: str) -> tuple[str, int]:
    """A module with one statement a line, and the 1-based line of the first."""
    packed = ""
    number = int(target[3:].rstrip("af"))
    if Version.parse(version) >= Version(8, 3) and number >= 70:
        packed += " .reg .b128 %rq<8>;"
    if number >= 53:
        packed += " .reg .f16x2 %hh<8>;"
    head = HEAD.format(version=version, target=target, packed=packed)
    return "\n".join([head, *statements, TAIL]), head.count("\n") + 2


def taken_by_us(statements: Sequence[str], table: Table, version: str, target: str) -> list[bool]:
    """Whether the checker has no error for each; those that do not parse are taken out before the rest is checked."""
    taken = [True] * len(statements)
    left = list(range(len(statements)))
    while left:
        text, first = text_of([statements[i] for i in left], version, target)
        module, faults = parse_tolerant(text)
        found = faults or check_module(module, table, target)
        lines = {d.span.line - first for d in found if d.severity == "error"}
        wrong = {left[line] for line in lines if 0 <= line < len(left)}
        for index in wrong:
            taken[index] = False
        if not faults:
            break
        if not wrong:
            raise RuntimeError(f"a fault outside the statements: {faults[0]}")
        left = [index for index in left if index not in wrong]
    return taken


def taken_by_ptxas(statements: Sequence[str], tool: Ptxas, version: str, target: str) -> list[bool]:
    """Whether ptxas takes each; what it complains of is taken out and the rest asked again."""
    taken = [True] * len(statements)

    def ask(left: list[int]) -> None:
        while left:
            text, first = text_of([statements[i] for i in left], version, target)
            try:
                said = tool.assemble(text, target, optimise=0)
            except ToolCrashed:
                lines: set[int] = set()
            else:
                if said.ok:
                    return
                lines = {m.line - first for m in said.messages if m.severity != "warning" and m.line}
                # what a message without a line of its own speaks of is named in its text, or in a warning's
                lines = lines or {int(n) - first for m in said.messages for n in _NAMED_LINE.findall(m.text)}
            wrong = {left[line] for line in lines if 0 <= line < len(left)}
            if wrong:
                for index in wrong:
                    taken[index] = False
                left = [index for index in left if index not in wrong]
            elif len(left) == 1:
                taken[left[0]] = False
                return
            else:
                ask(left[: len(left) // 2])
                left = left[len(left) // 2 :]

    ask(list(range(len(statements))))
    return taken


def _print(
    counts: Counter[tuple[str, str]], differing: dict[tuple[str, str, str], list[str]], show: int
) -> None:
    kinds = sorted({kind for kind, _ in counts})
    print("| change | statements | both take | both refuse | we refuse | we take |\n|---|---|---|---|---|---|")
    for kind in (*kinds, "all"):
        row = [sum(n for (k, v), n in counts.items() if v == verdict and kind in (k, "all"))
               for verdict in ("same+", "same-", "we refuse", "we take")]  # fmt: skip
        print(f"| {kind} | {sum(row)} | {' | '.join(map(str, row))} |")
    for (name, kind, verdict), statements in sorted(differing.items()):
        print(f"\n{verdict}: {name}, {kind} ({len(statements)})", file=sys.stderr)
        for statement in statements[:show]:
            print(f"    {statement}", file=sys.stderr)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare the checker with ptxas, statement by statement.")
    parser.add_argument("names", nargs="*", help="instructions; all by default")
    parser.add_argument("--kinds", nargs="*", help="only changes whose kind holds one of these words")
    parser.add_argument("--thin", type=float, default=0.1, help="fraction of the neighbours that is tried")
    parser.add_argument("--most", type=int, default=0, help="at most so many statements an instruction")
    parser.add_argument("--minutes", type=float, default=0, help="stop after so many; instructions in random order")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target", default="sm_90a")
    parser.add_argument("--version", default="9.0")
    parser.add_argument("--newest", action="store_true", help="ask the newest ptxas only")
    parser.add_argument("--show", type=int, default=12, help="statements shown of each group")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
