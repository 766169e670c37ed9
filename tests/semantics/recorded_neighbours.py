"""What ptxas said of statements near every form, and recording it anew.

`neighbours.txt` has a line `@ TARGET VERSION` before the statements that were judged for it, and one statement a line
with a sign: `+` (accepted) or `-`. Only what every ptxas found says alike is kept.
`python -m tests.semantics.recorded_neighbours` asks again; with `--draw SEED` it draws other statements first, a few
of each instruction and kind of change.
"""

from __future__ import annotations

import random
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

NEIGHBOURS = Path(__file__).parent / "neighbours.txt"
_WHERE = (("sm_90a", "9.0"), ("sm_80", "8.0"))
#: Of the neighbours of a form this fraction is drawn, and of each instruction and kind of change so many are kept.
_THIN = 0.02
_KEPT = 1
_LONGEST = 200


@dataclass(frozen=True)
class Group:
    """Statements judged for one target and version, and what was said of each."""

    target: str
    version: str
    verdicts: dict[str, bool]


def groups() -> Iterator[Group]:
    """As the file has them."""
    for text in f"\n{NEIGHBOURS.read_text(encoding='utf-8')}".split("\n@ ")[1:]:
        where, *lines = text.splitlines()
        target, version = where.split()
        yield Group(target, version, {line[2:]: line[0] == "+" for line in lines})


def _draw(seed: int) -> Iterator[tuple[str, str, list[str]]]:
    from fuzz.statement_trials import trials
    from ptxgen.isa import load_table
    from ptxgen.isa.conformance import covering

    table, draw = load_table(), random.Random(seed)
    for target, version in _WHERE:
        found: dict[tuple[str, str], list[str]] = defaultdict(list)
        for name in table.instructions:
            for expansion in covering(table, [name]):
                if table.unavailable(expansion, target, version) is None:
                    for trial in trials(expansion, table, draw, _THIN):
                        if len(trial.statement) < _LONGEST and trial.statement.count("@") < 2:
                            found[name, trial.kind].append(trial.statement)
        drawn = (draw.sample(each, min(_KEPT, len(each))) for each in found.values())
        yield target, version, list(dict.fromkeys(statement for each in drawn for statement in each))


def record(drawn: Sequence[tuple[str, str, list[str]]]) -> None:
    """Ask every ptxas found and write the file anew."""
    from fuzz.statements_against_ptxas import taken_by_ptxas, taken_by_us
    from ptxgen.assembling import find_ptxas
    from ptxgen.isa import load_table

    lines = []
    for target, version, statements in drawn:
        said = [taken_by_ptxas(statements, tool, version, target) for tool in find_ptxas()]
        expected = taken_by_us(statements, load_table(), version, target)
        lines.append(f"@ {target} {version}")
        for statement, ours, *verdicts in zip(statements, expected, *said, strict=True):
            if set(verdicts) != {ours}:
                # in company a statement can fall with its neighbours
                verdicts = [taken_by_ptxas([statement], tool, version, target)[0] for tool in find_ptxas()]
            if len(set(verdicts)) == 1:
                lines.append(f"{'+' if verdicts[0] else '-'} {statement}")
    NEIGHBOURS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--draw"]:
        record(list(_draw(int(sys.argv[2]))))
    else:
        record([(group.target, group.version, list(group.verdicts)) for group in groups()])
