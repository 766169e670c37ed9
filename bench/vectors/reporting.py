"""What `replay` says, as Markdown: the table by instruction, the examples, and which forms are shown and why others
are not. `docs/vectors.md` is such a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from bench.vectors.kernels import NEWEST, Vector, form_key
from bench.vectors.unshown import UNSHOWN
from ptxgen.executing.emulator.instructions import needs_gpu
from ptxgen.isa import Expansion, Table
from ptxgen.isa.conformance import covering

SHOWN = "shown"
_HEADINGS = (
    "instruction", "forms", "vectors", "rows", "to the bit", "within bounds", "known deviations", "differing",
)  # fmt: skip


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

    def cells(self) -> tuple[int, ...]:
        """The numbers of a line of the table."""
        deviating = sum(self.deviating.values())
        near = self.rows - self.exact
        return (len(self.forms), self.vectors, self.rows, self.exact - deviating, near, deviating, self.differing)


@dataclass(frozen=True)
class ExampleTally:
    """Of the cases of one kernel: elements are those of its outputs."""

    cases: int
    same: int                                        # cases with the same bytes
    ours: int                                        # elements that the oracle refuses of the emulator
    theirs: int                                      # and of the GPU


def total(tallies: Iterable[Tally]) -> Tally:
    """All of them as one."""
    whole = Tally()
    for tally in tallies:
        whole.forms |= tally.forms
        whole.vectors += tally.vectors
        whole.rows += tally.rows
        whole.exact += tally.exact
        whole.differing += tally.differing
        whole.deviating |= tally.deviating
        whole.troubles += tally.troubles
    return whole


def instructions(tallies: Mapping[str, Tally]) -> str:
    """The table by instruction, and a last line for all of them."""
    lines = [f"| {' | '.join(_HEADINGS)} |", "|---|" + "---:|" * (len(_HEADINGS) - 1)]
    for name, tally in (*tallies.items(), ("all", total(tallies.values()))):
        lines.append(f"| {name} | {' | '.join(f'{number:,}' for number in tally.cells())} |")
    return "\n".join(lines)


def examples(tallies: Mapping[str, ExampleTally]) -> str:
    """The table of the kernels that have an oracle."""
    lines = ["| kernel | launches | the same to the bit | emulator: wrong elements | GPU: wrong elements |",
             "|---|---:|---:|---:|---:|"]  # fmt: skip
    for name, tally in tallies.items():
        lines.append(f"| {name} | {tally.cases} | {tally.same} | {tally.ours} | {tally.theirs} |")
    return "\n".join(lines)


def standing(table: Table, arch: str, every: Iterable[Vector]) -> dict[str, tuple[int, int]]:
    """By `SHOWN` or why not: rows of the ISA table, and of their covering expansions how many. A row counts as shown
    when one of its expansions is, and otherwise by what keeps most of them."""
    seen = {form_key(expansion) for vector in every for expansion in (vector.expansion, *vector.others)}
    by_row: dict[tuple[str, int], list[str]] = {}
    for expansion in covering(table):
        place = (expansion.form.file, expansion.form.line)
        by_row.setdefault(place, []).append(_why(table, arch, expansion, seen))
    expansions = Counter(why for reasons in by_row.values() for why in reasons)
    rows = Counter(
        SHOWN if SHOWN in reasons else Counter(reasons).most_common(1)[0][0] for reasons in by_row.values()
    )
    return {why: (rows[why], count) for why, count in expansions.most_common()}


def _why(table: Table, arch: str, expansion: Expansion, seen: set[tuple[str, str]]) -> str:
    key = form_key(expansion)
    if key in seen:
        return SHOWN
    if table.unavailable(expansion, arch, NEWEST) is not None:
        return f"{arch} or PTX {NEWEST} lacks it"
    what = needs_gpu(expansion.opcode)
    return f"the emulator does not run it: {what}" if what else UNSHOWN.get(key, "nothing shows it")


def report(
    tallies: Mapping[str, Tally], kernels: Mapping[str, ExampleTally], reasons: Mapping[str, tuple[int, int]],
    made_on: Sequence[str],
) -> str:
    """The whole page."""
    rows = sum(count for count, _ in reasons.values())
    lines = [
        "# The emulator beside an H200, instruction by instruction", "",
        "Written by `python -m bench.vectors replay -o docs/vectors.md`; what the vectors are is said in",
        "[the emulator's page](emulator.md#compared-with-a-gpu). A row is what one thread stored; forms are lines of",
        "the manual's syntax, some of which the ISA table has in several rows. Bounds are those that the manual",
        "gives approximate instructions.", "",
        f"Recorded on: {', '.join(made_on)}.", "", instructions(tallies), "", "## Kernels with an oracle", "",
        "The kernels of `tests/kernels/`, with inputs of their specs' schedules; what is wrong the oracle says.",
        "", examples(kernels), "", "## Which forms are shown", "",
        f"Of {rows:,} rows of the ISA table {reasons[SHOWN][0]:,} stand in a recorded kernel. Expansions are those",
        "that show each value of each modifier.", "", "| | rows | expansions |", "|---|---:|---:|",
    ]  # fmt: skip
    lines += [f"| {why} | {count:,} | {expansions:,} |" for why, (count, expansions) in reasons.items()]
    return "\n".join(lines) + "\n"
