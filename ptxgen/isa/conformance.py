"""Asks an assembler whether it accepts what the table promises.

Every expansion is tried at its least version and target (of those that assemblers still know), once with
registers everywhere and once more for every other kind of operand that the table allows. Lines that are
complained of are taken out and the rest is tried again, so that no bad line hides another.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ptxgen.isa.model import Expansion, Target, Version
from ptxgen.isa.probing import Probe, module, probes
from ptxgen.isa.table import Table

#: Assembles a text for a target: None when it is accepted, else (line or 0, message) pairs, never empty.
Assemble = Callable[[str, str], Sequence[tuple[int, str]] | None]

#: The oldest target that assemblers of CUDA 13 know.
OLDEST = 75
_BATCH = 400


@dataclass(frozen=True, slots=True)
class Report:
    """What the assembler said: how much was asked, and what it rejected, with its messages."""

    expansions: int
    probes: int
    untested: tuple[Expansion, ...]                  # no target that assemblers know can run them
    rejected: tuple[tuple[Probe, str], ...]


def newest_version(table: Table, assemble: Assemble) -> Version:
    """The newest PTX version that the assembler takes."""
    target = next(target for target in table.targets.values() if target.number == OLDEST)
    for version in reversed(table.versions):
        if assemble(module([], target.name, version)[0], target.name) is None:
            return version
    return table.versions[0]


def probe_target(table: Table, expansion: Expansion, newest: Version | None = None) -> tuple[Target, Version] | None:
    """The least target and version where the expansion exists; None where there is none up to `newest`."""
    for target in sorted(table.targets.values(), key=lambda t: (t.number, t.variant)):
        version = max(expansion.availability.ptx, target.ptx)
        known = target.number >= OLDEST and (newest is None or version <= newest)
        if known and table.unavailable(expansion, target.name, version) is None:
            return target, version
    return None


def covering(table: Table, names: Iterable[str] | None = None) -> tuple[Expansion, ...]:
    """For every form a few expansions that together show each value of each slot."""
    return tuple(
        expansion
        for name in names or table.instructions
        for row in table.data.rows[name]
        for choice in row.covering_choices()
        for expansion in row.build(choice)
    )


def sample(table: Table, count: int, seed: int = 0) -> tuple[Expansion, ...]:
    """The profile and the covering expansions; `count` of them drawn by `seed`, or all for 0."""
    every = (*table.offered(), *covering(table))
    return tuple(random.Random(seed).sample(every, min(count, len(every)))) if count else every


def conform(
    table: Table, expansions: Iterable[Expansion], assemble: Assemble, newest: Version | None = None
) -> Report:
    """Puts every probe of every expansion before the assembler, which knows PTX up to `newest`."""
    groups: dict[tuple[str, Version], list[Probe]] = defaultdict(list)
    untested: list[Expansion] = []
    asked = 0
    for expansion in expansions:
        asked += 1
        where = probe_target(table, expansion, newest)
        if where is None:
            untested.append(expansion)
        else:
            groups[where[0].name, where[1]].extend(probes(expansion, table.types))
    rejected: list[tuple[Probe, str]] = []
    for (arch, version), group in groups.items():
        for start in range(0, len(group), _BATCH):
            rejected += judge(group[start : start + _BATCH], arch, version, assemble)
    return Report(asked, sum(map(len, groups.values())), tuple(untested), tuple(rejected))


def judge(batch: Sequence[Probe], arch: str, version: Version, assemble: Assemble) -> list[tuple[Probe, str]]:
    """The probes that are rejected. Where no message names the line of a probe, the batch is halved."""
    rejected: list[tuple[Probe, str]] = []
    while batch:
        text, first = module([probe.statement for probe in batch], arch, version)
        messages = assemble(text, arch)
        if messages is None:
            break
        lines = {line - first: message for line, message in reversed(messages) if 0 <= line - first < len(batch)}
        if lines:
            rejected += [(batch[index], message) for index, message in sorted(lines.items())]
            batch = [probe for index, probe in enumerate(batch) if index not in lines]
        elif len(batch) == 1:
            rejected.append((batch[0], messages[0][1]))
            break
        else:
            half = len(batch) // 2
            rejected += judge(batch[:half], arch, version, assemble)
            batch = batch[half:]
    return rejected
