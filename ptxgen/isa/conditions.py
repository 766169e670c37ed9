"""Conditions over chosen modifiers (`".v4 .b64|.f64"`) and availability strings (`"8.8 sm_100"`).

A condition is a space-separated list of terms that must all hold. A term is a list of alternatives
joined by `|`; `slot=.a|.b` looks at one slot only, and a leading `!` turns a term round.
`slot=` alone holds when the slot is empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from ptxgen.isa.model import Availability, Version


@dataclass(frozen=True, slots=True)
class Term:
    """One term: `slot` is "" when any slot may hold a value."""

    values: frozenset[str]
    slot: str = ""
    negated: bool = False

    def holds(self, slots: Mapping[str, str]) -> bool:
        looked_at = {slots.get(self.slot, "")} if self.slot else slots.values()
        return self.values.isdisjoint(looked_at) == self.negated


@dataclass(frozen=True, slots=True)
class Condition:
    """All terms together; an empty condition always holds."""

    text: str
    terms: tuple[Term, ...]

    def holds(self, slots: Mapping[str, str]) -> bool:
        return all(term.holds(slots) for term in self.terms)


@cache
def parse_condition(text: str) -> Condition:
    """Raises ValueError for a term that is not `[!][slot=].value[|.value…]`."""
    terms = []
    for word in text.split():
        negated = word.startswith("!")
        slot, equals, listed = word.lstrip("!").rpartition("=")
        values = []
        for value in listed.split("|"):
            if not value and equals:
                values.append("")
            elif value.startswith(".") and len(value) > 1:
                values.append(value[1:])
            else:
                raise ValueError(f"{word!r} in the condition {text!r} is no list of values like `.f16|.bf16`")
        terms.append(Term(frozenset(values), slot, negated))
    return Condition(text, tuple(terms))


@cache
def parse_availability(text: str) -> Availability:
    """`"1.0"`, `"8.0 sm_90"`, `"8.6 sm_100a sm_120f"`: a version, then the least target or the only ones.

    Raises ValueError.
    """
    version, *targets = text.split()
    if not all(target.startswith("sm_") for target in targets):
        raise ValueError(f"{text!r} is no availability like `8.0 sm_90`")
    if len(targets) == 1 and targets[0][3:].isdigit():
        return Availability(Version.parse(version), int(targets[0][3:]))
    numbers = [int(target[3:].rstrip("af")) for target in targets]
    return Availability(Version.parse(version), min(numbers, default=0), tuple(targets))


def combine(first: Availability, second: Availability) -> Availability:
    """What holds when both must: the later version, the newer target, the named targets of the second if any."""
    return Availability(
        max(first.ptx, second.ptx),
        max(first.sm, second.sm),
        second.targets or first.targets,
        second.removed_ptx or first.removed_ptx,
        second.removed_sm or first.removed_sm,
    )
