"""`ptxgen-local fuzz`: random kernels under the mask, with ptxas as the judge of what the mask promises."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ptxgen.assembling import find_ptxas
from ptxgen.cli.fuzz_samples import Sample, forms_of, write_sample
from ptxgen.cli.output import data, print_json, talk
from ptxgen.errors import UsageError
from ptxgen.isa import load_table
from ptxgen.semantics import Level
from ptxgen.spec import LEVELS

#: More than this is not read by anyone; JSON holds all.
_MOST_SHOWN = 5


def register(app: typer.Typer) -> None:
    """Add the command to the app."""
    app.command("fuzz")(fuzz_command)


def fuzz_command(
    samples: Annotated[int, typer.Option(min=1, help="Kernels to write.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Of the first; each next one is one higher.")] = 0,
    level: Annotated[str, typer.Option(help=f"{', '.join(LEVELS[:-1])} or {LEVELS[-1]}.")] = "full",
    arch: Annotated[str, typer.Option(help="The target.")] = "sm_80",
    ptxas: Annotated[str | None, typer.Option(help="The ptxas to ask [default: the best that is found].")] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Write random kernels for random specs, and let ptxas judge them.

    From the level scoped on the mask promises that ptxas accepts: exit status 0 if every kernel was finished and
    accepted, else 1. Below it refusals are expected, and only an unfinished kernel makes the status 1.
    """
    if level not in LEVELS:
        raise UsageError(f"there is no level {level!r}", fix=f"one of {', '.join(LEVELS)}")
    chosen = Level.parse(level)
    table = load_table()
    table.target(arch)
    tool = find_ptxas(ptxas)[0]
    written = [write_sample(s, arch, chosen, table, tool) for s in _counted(seed, samples)]
    forms = forms_of(table.profile(arch))
    kernels = [s for s in written if not s.refused]
    covered = frozenset().union(*(s.forms for s in kernels)) & forms
    rejected = [s for s in kernels if not s.accepted]
    complete = sum(s.complete for s in kernels)
    if json_:
        print_json(
            {
                "samples": len(kernels),
                "complete": complete,
                "ptxas_accepted": len(kernels) - len(rejected),
                "forms_total": len(forms),
                "forms_covered": len(covered),
                "rejected": [{"seed": s.seed, "ptx": s.ptx, "message": s.message} for s in rejected],
                "level": level,
                "arch": arch,
                "ptxas": tool.version,
                "statements": sum(s.statements for s in kernels),
                "refused_specs": [{"seed": s.seed, "message": s.message} for s in written if s.refused],
                "uncovered": sorted({opcode for opcode, _ in forms - covered}),
            }
        )
    else:
        _print(kernels, rejected, level, arch, tool.version)
        data.print(f"{len(covered)} of {len(forms)} forms of the profile written")
        data.print(f"{len(written) - len(kernels)} of {len(written)} specs refused: no kernel could meet them")
    done = complete == len(kernels)
    raise typer.Exit(0 if done and (not rejected or chosen < Level.SCOPED) else 1)


def _counted(first: int, samples: int) -> Iterator[int]:
    """The seeds, with progress on stderr where that is a terminal."""
    columns = (TextColumn("kernels"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=talk, transient=True, disable=not talk.is_terminal) as progress:
        yield from progress.track(range(first, first + samples))


def _print(kernels: list[Sample], rejected: list[Sample], level: str, arch: str, version: str) -> None:
    for sample in rejected[:_MOST_SHOWN]:
        print(f"seed {sample.seed}: {sample.message}\n\n{sample.ptx}\n")
    if len(rejected) > _MOST_SHOWN:
        data.print(f"... and {len(rejected) - _MOST_SHOWN} more\n")
    statements = sum(s.statements for s in kernels)
    data.print(f"{len(kernels)} kernels at level {level} for {arch}, {statements} statements")
    data.print(f"{sum(s.complete for s in kernels)} complete")
    data.print(f"{len(kernels) - len(rejected)} accepted by ptxas {version}")
