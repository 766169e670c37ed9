"""A row: one form of the table with its slots, conditions and notes, and the expansions it stands for."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from types import MappingProxyType

from ptxgen.isa.conditions import Condition, combine
from ptxgen.isa.model import Availability, Expansion, Form, Operand
from ptxgen.isa.notes import Notes, OperandResolver
from ptxgen.isa.syntax import OperandPattern

#: Their order says which matrix each is of.
_LAYOUTS = frozenset({"row", "col"})
#: Of two, the first is the primary one.
_PRIORITY = "L2::evict_"

@dataclass(frozen=True, slots=True)
class Slot:
    """A place in the opcode: its name, the values it takes (no dots), and the optional groups it stands in."""

    name: str
    values: tuple[str, ...]
    groups: tuple[int, ...]

    @property
    def optional(self) -> bool:
        return bool(self.groups)


@dataclass(frozen=True)
class Row:
    """One form, ready to be expanded or matched."""

    form: Form
    slots: tuple[Slot, ...]
    operand_lists: tuple[tuple[OperandPattern, ...], ...]
    notes: Mapping[str, Notes]
    needs: tuple[tuple[Condition, Availability], ...]
    needed_with: tuple[tuple[str, Availability], ...]    # what a form needs where an operand is written
    never: tuple[Condition, ...]
    commutative: bool
    resolver: OperandResolver
    leading: int = 0                                 # so many slots must stand first, in their order

    @cached_property
    def required_slots(self) -> tuple[Slot, ...]:
        return tuple(slot for slot in self.slots if not slot.optional)

    @cached_property
    def every_value(self) -> frozenset[str]:
        """Every modifier that this row knows."""
        return frozenset(value for slot in self.slots for value in slot.values)

    @cached_property
    def _has_linked_groups(self) -> bool:
        groups = [group for slot in self.slots for group in slot.groups]
        return len(groups) != len(set(groups))

    def choices(self) -> Iterator[tuple[str, ...]]:
        """Every allowed choice of modifiers, one value a slot, "" for an empty one, in the table's order."""
        for choice in product(*((("",) if s.optional else ()) + s.values for s in self.slots)):
            if self.allows(choice):
                yield choice

    def covering_choices(self, tries: int = 400) -> list[tuple[str, ...]]:
        """A few choices that show each value of each slot that some choice can show, the plainest first.

        The same choices every time; the search gives a value up after `tries` random fillings of the rest.
        """
        plain = next(self.choices())
        found = [plain]
        for index, slot in enumerate(self.slots):
            draw = random.Random(f"{self.form.syntax}/{index}")
            for value in slot.values:
                if any(choice[index] == value for choice in found):
                    continue
                choice = [*plain[:index], value, *plain[index + 1 :]]
                for _ in range(tries):
                    if self.allows(choice):
                        found.append(tuple(choice))
                        break
                    choice = [draw.choice((("",) if s.optional else ()) + s.values) for s in self.slots]
                    choice[index] = value
        return found

    def allows(self, choice: Sequence[str]) -> bool:
        """Optional groups are whole or absent, and no `never` holds."""
        if self._has_linked_groups and not self._groups_whole(choice):
            return False
        return not any(_holds(terms, choice) for terms in self._never_terms)

    @cached_property
    def _never_terms(self) -> tuple[_Terms, ...]:
        return tuple(self._by_index(condition) for condition in self.never)

    @cached_property
    def _needs_terms(self) -> tuple[tuple[_Terms, Availability], ...]:
        return tuple((self._by_index(condition), needed) for condition, needed in self.needs)

    def _by_index(self, condition: Condition) -> _Terms:
        """The condition over a choice rather than over names: some rows have ten thousands of choices."""
        return tuple(
            (tuple(i for i, slot in enumerate(self.slots) if term.slot in ("", slot.name)), term.values, term.negated)
            for term in condition.terms
        )

    def _groups_whole(self, choice: Sequence[str]) -> bool:
        inside: dict[int, bool] = {}
        for slot, value in zip(self.slots, choice, strict=True):
            if slot.groups and inside.setdefault(slot.groups[-1], bool(value)) != bool(value):
                return False
        return all(
            not value or all(inside.get(group, True) for group in slot.groups)
            for slot, value in zip(self.slots, choice, strict=True)
        )

    def named(self, choice: Sequence[str]) -> dict[str, str]:
        """The chosen modifiers by slot name, empty ones left out."""
        return {slot.name: value for slot, value in zip(self.slots, choice, strict=True) if value}

    def assign(self, modifiers: Sequence[str], anywhere: bool = False) -> tuple[str, ...] | None:
        """The choice that these modifiers, in any order, spell; None when they spell none.

        Modifiers that fit several slots fill them in the order written; types keep their order
        (`cvt.f32.f64` is not `cvt.f64.f32`), and so do state spaces and words that fit several slots
        (`.row.col`). Leading words stand first, unless `anywhere`.
        """
        if not self.every_value.issuperset(modifiers) or len(modifiers) < len(self.required_slots):
            return None
        choice = [""] * len(self.slots)

        past = dict.fromkeys(("type", "space", "shared", ""), 0)

        def place(at: int) -> bool:
            if at == len(modifiers):
                whole = all(c or s.optional for c, s in zip(choice, self.slots, strict=True))
                return whole and self.allows(choice) and (anywhere or self._leads(choice, modifiers))
            word = modifiers[at]
            order = self.order_of(word)
            before = past[order]
            for index in range(before, len(self.slots)):
                if not choice[index] and word in self.slots[index].values:
                    choice[index] = word
                    past[order] = index + 1 if order else 0
                    if place(at + 1):
                        return True
                    choice[index], past[order] = "", before
            return False

        return tuple(choice) if place(0) else None

    def order_of(self, word: str) -> str:
        """Among which words this one keeps its place, "" for none."""
        if word in self.resolver.types:
            return "type"
        if word in self.resolver.spaces:
            return "space"
        return "shared" if word in self._shared or word in _LAYOUTS else ""

    @cached_property
    def _shared(self) -> frozenset[str]:
        """Words of slots that have a value in common (two priorities): only order tells them apart."""
        return frozenset(
            value
            for slot in self.slots
            for other in self.slots
            if other is not slot and not set(slot.values).isdisjoint(other.values)
            for value in slot.values
        )

    def _leads(self, choice: Sequence[str], modifiers: Sequence[str]) -> bool:
        """Whether the leading words stand where assemblers take them for a part of the name."""
        first = [value for value in choice[: self.leading] if value]
        return list(modifiers[: len(first)]) == first

    def build(self, choice: Sequence[str]) -> tuple[Expansion, ...]:
        """The expansions of one choice: one for every operand list that it allows."""
        chosen = self.named(choice)
        slots = MappingProxyType(chosen)
        opcode = ".".join([self.form.instruction, *(value for value in choice if value)])
        availability = self.form.availability
        for terms, needed in self._needs_terms:
            if _holds(terms, choice):
                availability = combine(availability, needed)
        instruction_type = self.resolver.instruction_type(chosen)
        return tuple(
            Expansion(opcode, self.form.instruction, slots, operands, self.form, self._with(operands, availability),
                      instruction_type, self.commutative)
            for operands in self._operands(choice, chosen)
        )  # fmt: skip

    def _with(self, operands: Sequence[Operand], availability: Availability) -> Availability:
        """What the chosen modifiers need, and what the operands that are written need besides."""
        if not self.needed_with:
            return availability
        written = {part.name for operand in operands for part in (operand, *operand.parts)}
        for name, needed in self.needed_with:
            if name in written:
                availability = combine(availability, needed)
        return availability

    def _operands(self, choice: Sequence[str], chosen: dict[str, str]) -> tuple[tuple[Operand, ...], ...]:
        """The operand lists of a choice, made once for all choices that differ only in what operands do not see."""
        key = tuple(choice[index] for index in self._seen_by_operands)
        if key not in self._made:
            self._made[key] = tuple(self._resolve(chosen))
        return self._made[key]

    @cached_property
    def _made(self) -> dict[tuple[str, ...], tuple[tuple[Operand, ...], ...]]:
        return {}

    @cached_property
    def _seen_by_operands(self) -> tuple[int, ...]:
        """Slots that decide what operands are: types, state spaces, and whatever the notes speak of."""
        named = {"space"}
        values: set[str] = set()
        for notes in self.notes.values():
            conditions = [note.when for note in notes.alternatives] + [notes.present]
            for note in notes.alternatives:
                named |= {note.vector_slot, note.space_slot}
            for condition in conditions:
                for term in condition.terms if condition else ():
                    named.add(term.slot)
                    values |= term.values if not term.slot else set()
        return tuple(
            index
            for index, slot in enumerate(self.slots)
            if slot.name in named or not (values | self.resolver.types.keys()).isdisjoint(slot.values)
        )

    def _resolve(self, slots: dict[str, str]) -> Iterator[tuple[Operand, ...]]:
        every = frozenset(name for patterns in self.operand_lists for name in _names(patterns))
        for patterns in self.operand_lists:
            names = _names(patterns)
            if all(
                notes.present is None or notes.present.holds(slots) == (name in names)
                for name, notes in self.notes.items()
                if name in every
            ):
                yield tuple(
                    self.resolver.resolve(pattern, self.notes, slots, first=index == 0)
                    for index, pattern in enumerate(patterns)
                )


#: A condition compiled for choices: for each term the slots it looks at, its values, and whether it is turned round.
_Terms = tuple[tuple[tuple[int, ...], frozenset[str], bool], ...]


def _holds(terms: _Terms, choice: Sequence[str]) -> bool:
    return all(any(choice[i] in values for i in indices) != negated for indices, values, negated in terms)


def _names(patterns: Sequence[OperandPattern]) -> frozenset[str]:
    return frozenset(name for pattern in patterns for name in (pattern.name, *pattern.parts))
