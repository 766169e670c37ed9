"""Operand notes: what an operand is where the names alone do not say it.

A note is words in any order, e.g. `"u32 reg|imm 0..31"`, `".type x.vec wider"`, `"b64 reg if .L2::cache_hint"`.
Several notes, `"b32 when .v2; b64"`, are tried in order. See docs/isa.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from math import ceil
from typing import cast, get_args

from ptxgen.isa.conditions import Condition, parse_condition
from ptxgen.isa.model import Access, Kind, Operand, Type
from ptxgen.isa.selectors import SELECTORS
from ptxgen.isa.syntax import OperandPattern

KINDS: frozenset[str] = frozenset(get_args(Kind))
ACCESSES: frozenset[str] = frozenset(get_args(Access))
#: Kinds of the operand names that carry a convention; `a`, `b`, `c` are sources.
SOURCES = ("a", "b", "c")
UNTYPED: frozenset[str] = frozenset({"label", "function", "prototype", "targets", "arguments"})

_RANGE = re.compile(r"(-?\d+)\.\.(-?\d+)")
_LISTED = re.compile(r"-?\d+(?:\|-?\d+)+")
_TYPE = re.compile(r"(\.?)([A-Za-z][A-Za-z0-9_:]*)(?:([*/])([248]))?")
_VECTOR = re.compile(r"x(\d+)|x\.([A-Za-z][A-Za-z0-9_:]*?)(?:\[([a-z])\])?(?:([*/])(\d+))?")


@dataclass(frozen=True, slots=True)
class TypeOf:
    """A concrete type, or the value of a slot, perhaps scaled (`.type*2` is twice as wide)."""

    name: str
    is_slot: bool = False
    scale: float = 1.0


@dataclass(frozen=True, slots=True)
class Note:
    """One alternative of a note. None and empty fields mean: as the convention has it."""

    type: TypeOf | None = None
    kinds: frozenset[str] = frozenset()
    access: str = ""
    wider: bool = False
    exact: bool = False
    vector: int = 0                                  # elements in braces; 0: a single register
    vector_slot: str = ""                            # or the number in this slot's value,
    vector_letter: str = ""                          # the one after this letter where there are several,
    vector_scale: float = 1.0                        # times this
    low: int | None = None
    high: int | None = None
    values: tuple[int, ...] = ()
    step: int = 1                                    # constants are multiples of it
    only: bool = False                               # `_` alone, not beside what usually may stand there
    selector: str = ""                               # parts of registers that may be named
    space: str = ""
    space_slot: str = ""
    when: Condition | None = None


@dataclass(frozen=True, slots=True)
class Notes:
    """All alternatives for one operand, and the condition under which it is written at all."""

    alternatives: tuple[Note, ...]
    present: Condition | None = None

    def choose(self, slots: Mapping[str, str]) -> Note | None:
        for note in self.alternatives:
            if note.when is None or note.when.holds(slots):
                return note
        return None


@cache
def parse_notes(text: str) -> Notes:
    """Raises ValueError for a word that is none of a note's."""
    body, _, present = text.partition(" if ")
    alternatives = tuple(_parse_note(part.strip()) for part in body.split(";"))
    return Notes(alternatives, parse_condition(present) if present else None)


def _parse_note(text: str) -> Note:
    body, _, when = text.partition(" when ")
    note = Note(when=parse_condition(when) if when else None)
    words = iter(body.split())
    for word in words:
        if word == "wider":
            note = replace(note, wider=True)
        elif word == "exact":
            note = replace(note, exact=True)
        elif word == "in":
            space = next(words, "")
            note = replace(note, space_slot=space[1:]) if space[:1] == "." else replace(note, space=space)
        elif word == "only":
            note = replace(note, only=True)
        elif word == "by":
            note = replace(note, step=int(next(words, "")))
        elif word in SELECTORS:
            note = replace(note, selector=word)
        elif word in ACCESSES:
            note = replace(note, access=word)
        elif match := _RANGE.fullmatch(word):
            note = replace(note, low=int(match.group(1)), high=int(match.group(2)))
        elif _LISTED.fullmatch(word):
            values = tuple(sorted(int(value) for value in word.split("|")))
            note = replace(note, values=values, low=values[0], high=values[-1])
        elif match := _VECTOR.fullmatch(word):
            count, slot, letter, sign, factor = match.groups()
            scale = 1.0 if not sign else float(factor) if sign == "*" else 1 / float(factor)
            note = replace(note, vector=int(count or 0), vector_slot=slot or "", vector_letter=letter or "",
                           vector_scale=scale)  # fmt: skip
        elif set(word.split("|")) <= KINDS and word != "pred":
            note = replace(note, kinds=frozenset(word.split("|")))
        elif match := _TYPE.fullmatch(word):
            dot, name, sign, factor = match.groups()
            scale = 1.0 if not sign else float(factor) if sign == "*" else 1 / float(factor)
            note = replace(note, type=TypeOf(name, bool(dot), scale))
        else:
            raise ValueError(f"{word!r} means nothing in the operand note {text!r}")
    return note


class OperandResolver:
    """Turns an operand pattern, its notes and the chosen modifiers into an `Operand`."""

    def __init__(self, types: Mapping[str, Type], spaces: frozenset[str]) -> None:
        self.types = types
        self.spaces = spaces

    def instruction_type(self, slots: dict[str, str]) -> str:
        """The last type among the chosen modifiers (in opcode order), "" where there is none."""
        return next((value for value in reversed(slots.values()) if value in self.types), "")

    def resolve(
        self, pattern: OperandPattern, notes: Mapping[str, Notes], slots: dict[str, str], first: bool
    ) -> Operand:
        """Raises ValueError where neither the convention nor a note says what the operand is."""
        operand = self._plain(pattern.name, pattern, notes, slots, first)
        if pattern.shape == "pair":
            second = self._plain(pattern.parts[0], OperandPattern(pattern.parts[0]), notes, slots, first)
            parts: tuple[Operand, ...] = (operand, second)
            if all(part.type == "pred" for part in parts):
                parts = tuple(replace(part, kinds=part.kinds | {"sink"}) for part in parts)
            return replace(
                operand, name=f"{operand.name}|{second.name}", kinds=frozenset({"pair"}), parts=parts
            )
        if pattern.shape == "address":
            return replace(
                operand, parts=tuple(self._plain(n, OperandPattern(n), notes, slots, False) for n in pattern.parts)
            )
        return operand

    def _plain(
        self,
        name: str,
        pattern: OperandPattern,
        notes: Mapping[str, Notes],
        slots: dict[str, str],
        first: bool,
    ) -> Operand:
        note = notes[name].choose(slots) if name in notes else Note()
        if note is None:
            raise ValueError(f"no note of operand {name!r} fits {dict(slots)}")
        if name not in notes and not _has_convention(name, first):
            raise ValueError(f"operand {name!r} needs a note")
        access = cast(Access, note.access or ("write" if name == "d" or (first and name in "pq") else "read"))
        kinds = note.kinds
        type_name = self._type(name, note, slots, kinds, pattern)
        if not kinds - {"sink"} and not note.only:
            kinds |= self._usual_kinds(pattern, access, type_name)
        vector = note.vector
        if note.vector_slot in slots:
            number = re.search(rf"{note.vector_letter}(\d+)", slots[note.vector_slot])
            vector = ceil(int(number.group(1)) * note.vector_scale) if number else 0
        if pattern.shape == "vector":
            vector = 1 + len(pattern.parts)
        if vector and pattern.shape != "address":
            kinds = frozenset({"vector"}) | (kinds & {"special"})
        if pattern.negatable:
            kinds |= {"not-pred"}
        return Operand(
            name,
            access,
            type_name,
            frozenset(cast(Kind, kind) for kind in kinds),
            max(vector, 1),
            self._space(pattern, note, slots),
            note.wider,
            note.low,
            note.high,
            values=note.values,
            selector=note.selector,
            step=note.step,
            exact=note.exact,
        )

    def _type(
        self, name: str, note: Note, slots: dict[str, str], kinds: frozenset[str], pattern: OperandPattern
    ) -> str:
        if note.type is None:
            if (kinds and kinds <= UNTYPED) or pattern.shape == "arguments":
                return ""
            if name in ("p", "q"):
                return "pred"
            last = self.instruction_type(slots)
            if not last:
                raise ValueError(f"operand {name!r} has no type: the opcode has none, so a note must say it")
            return last
        base = slots.get(note.type.name, "") if note.type.is_slot else note.type.name
        if base not in self.types:
            raise ValueError(f"the type {base or note.type.name!r} of operand {name!r} does not exist")
        if note.type.scale == 1.0:
            return base
        letters = base.rstrip("0123456789")
        scaled = f"{letters}{int(int(base[len(letters):]) * note.type.scale)}"
        if scaled not in self.types:
            raise ValueError(f"the type {scaled!r} of operand {name!r} does not exist")
        return scaled

    def _usual_kinds(self, pattern: OperandPattern, access: str, type_name: str) -> frozenset[str]:
        """Sources may be constants where the type has constants: integers and bits up to 64, f32 and f64."""
        if pattern.shape == "address":
            return frozenset({"address"})
        if pattern.shape == "arguments":
            return frozenset({"arguments"})
        if type_name == "pred":
            return frozenset({"pred"})
        kind, bits = self.types[type_name].kind, self.types[type_name].bits
        constants = bits <= 64 and (kind not in ("float", "packed") or type_name in ("f32", "f64"))
        return frozenset({"reg", "imm"}) if access == "read" and constants else frozenset({"reg"})

    def _space(self, pattern: OperandPattern, note: Note, slots: Mapping[str, str]) -> str | None:
        if pattern.shape != "address":
            return None
        if note.space:
            return note.space
        if note.space_slot:
            return slots.get(note.space_slot, "")
        return slots.get("space", "")


def _has_convention(name: str, first: bool) -> bool:
    return name == "d" or name in SOURCES or (name in ("p", "q"))
