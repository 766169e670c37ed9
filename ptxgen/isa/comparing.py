"""What a PTX version brought, and what one target has that another lacks, form by form."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ptxgen.isa.conditions import combine
from ptxgen.isa.describing import condition_words
from ptxgen.isa.model import Availability, Feature, SpecialRegister, Target, Type, Version
from ptxgen.isa.rows import Row
from ptxgen.isa.table import Table


@dataclass(frozen=True, slots=True)
class Part:
    """A form of which something is meant: all of it (`only` is empty), or what these modifiers spell."""

    row: Row
    only: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Findings:
    """Forms, and what surrounds them; targets only for what is new."""

    parts: tuple[Part, ...]
    special_registers: tuple[SpecialRegister, ...] = ()
    types: tuple[Type, ...] = ()
    targets: tuple[Target, ...] = ()
    features: tuple[Feature, ...] = ()


def new_in(table: Table, version: Version, rows: Iterable[Row]) -> Findings:
    """What cannot be written before this version: whole forms, modifiers of older ones, registers, directives, …"""

    def is_new(availability: Availability) -> bool:
        return availability.ptx == version

    parts = []
    for row in rows:
        needs = tuple(condition_words(condition) for condition, needed in row.needs if is_new(needed))
        if is_new(row.form.availability):
            parts.append(Part(row))
        elif needs:
            parts.append(Part(row, needs))
    return Findings(
        tuple(parts),
        tuple(register for register in table.special_registers.values() if is_new(register.availability)),
        tuple(type_ for type_ in table.types.values() if is_new(type_.availability)),
        tuple(target for target in table.targets.values() if target.ptx == version),
        tuple(feature for feature in table.features.values() if is_new(feature.availability)),
    )


def missing_from(
    table: Table, lacking: str, having: str | None, version: Version | None, rows: Iterable[Row]
) -> Findings:
    """What the target `having` (None: some target) has and `lacking` has not, both at one version (None: the newest).

    Raises UsageError for an unknown target.
    """
    table.target(lacking)
    ptx = version or table.versions[-1]

    def only_there(availability: Availability) -> bool:
        return table.exists(availability, having, ptx) and not table.exists(availability, lacking, ptx)

    parts = []
    for row in rows:
        form = row.form.availability
        if only_there(form):
            parts.append(Part(row))
            continue
        only = tuple(condition_words(c) for c, needed in row.needs if only_there(combine(form, needed)))
        if only:
            parts.append(Part(row, only))
    registers = (r for r in table.special_registers.values() if only_there(r.availability))
    features = (feature for feature in table.features.values() if only_there(feature.availability))
    return Findings(tuple(parts), tuple(registers), features=tuple(features))
