"""Finds the expansions that a written opcode means, and explains why when there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from ptxgen.isa.model import Expansion, Kind, Mismatch, Operand
from ptxgen.isa.rows import Row, Slot

#: What most people mean where several words would do.
USUAL = ("rn", "rzi", "lo", "sync", "global", "gpu")
_LISTS: frozenset[Kind] = frozenset({"targets", "prototype"})
_NAMES: frozenset[Kind] = frozenset({"label", "symbol", "function"})
_WORDS = {
    "reg": "a register", "imm": "a constant", "special": "a special register", "address": "an address [...]",
    "vector": "a vector {...}", "pred": "a predicate register", "not-pred": "a negated predicate",
    "symbol": "the name of a variable", "label": "a label", "function": "a function", "prototype": "a prototype",
    "targets": "a list of targets", "arguments": "arguments (...)", "sink": "_", "pair": "a pair a|b",
}


def candidates(rows: Mapping[str, tuple[Row, ...]], opcode: str) -> tuple[Expansion, ...]:
    """Every expansion that these modifiers, in any order, spell; shortest operand lists first within a form."""
    name, *modifiers = opcode.split(".")
    found: list[Expansion] = []
    for row in rows.get(name, ()):
        choice = row.assign(modifiers)
        if choice is not None:
            found.extend(row.build(choice))
    return tuple(found)


def without_idle(
    rows: Mapping[str, tuple[Row, ...]], opcode: str, repeatable: frozenset[str], ignored: Sequence[frozenset[str]]
) -> str:
    """The opcode with each repeatable modifier once, where it stands first, and without a single ignored one of
    each sort that no form of the instruction knows."""
    name, *modifiers = opcode.split(".")
    own = frozenset().union(*(row.every_value for row in rows.get(name, ())))
    kept = [word for i, word in enumerate(modifiers) if word not in repeatable or word not in modifiers[:i]]
    for sort in ignored:
        if own.isdisjoint(sort) and sum(word in sort for word in kept) == 1:
            kept = [word for word in kept if word not in sort]
    return ".".join([name, *kept])


def fits(expansion: Expansion, shapes: Sequence[frozenset[Kind]]) -> bool:
    """As many operands, and each of a kind that may stand there."""
    return len(shapes) == len(expansion.operands) and all(
        fits_operand(operand, shape) for operand, shape in zip(expansion.operands, shapes, strict=True)
    )


def fits_operand(operand: Operand, shape: frozenset[Kind]) -> bool:
    """Without declarations `%p1` and `%r1` look alike, and so do labels, functions, prototypes and target lists."""
    if operand.kinds & shape:
        return True
    if "pred" in operand.kinds and "reg" in shape:
        return True
    return bool(operand.kinds & _LISTS and shape & _NAMES)


def explain_operands(found: Sequence[Expansion], shapes: Sequence[frozenset[Kind]], opcode: str) -> Mismatch:
    """Why no candidate of a known opcode takes these operands."""
    lists = tuple(f"{opcode} {', '.join(map(_written, e.operands))}".strip() for e in found)
    same = [e for e in found if len(e.operands) == len(shapes)]
    if not same:
        counts = sorted({len(e.operands) for e in found})
        wanted = " or ".join(str(n) for n in counts)
        return Mismatch(
            "operand-count",
            f"{opcode} takes {wanted} operand{'s' if counts != [1] else ''}, not {len(shapes)}",
            f"write {min(zip(found, lists, strict=True), key=lambda f: abs(len(f[0].operands) - len(shapes)))[1]}",
            None,
            lists,
        )

    def first_wrong(expansion: Expansion) -> int:
        pairs = zip(expansion.operands, shapes, strict=True)
        return next(i for i, (operand, shape) in enumerate(pairs) if not fits_operand(operand, shape))

    best = max(same, key=first_wrong)
    at = first_wrong(best)
    operand = best.operands[at]
    wanted = " or ".join(_WORDS[kind] for kind in _WORDS if kind in operand.kinds)
    got = " or ".join(_WORDS[kind] for kind in _WORDS if kind in shapes[at]) or "nothing known"
    hint = f"it must be {wanted}"
    if shapes[at] == {"special"} and "reg" in operand.kinds:
        hint = "read it into a register with mov first"
    return Mismatch("operand-kind", f"operand {at + 1} ({operand.name}) of {opcode} is {got}", hint, at, lists)


def _written(operand: Operand) -> str:
    """An operand as the manual writes it."""
    if "address" in operand.kinds:
        return f"[{', '.join([operand.name, *(f'{{{part.name}}}' for part in operand.parts)])}]"
    if operand.kinds == {"arguments"}:
        return f"({operand.name})"
    return operand.name


@dataclass(frozen=True, slots=True)
class Fit:
    """How far the written modifiers fill a row."""

    row: Row
    choice: tuple[str, ...]
    left_over: tuple[str, ...]                       # written, but without a place in the row
    unfilled: tuple[Slot, ...]                       # required by the row, but not written

    @property
    def distance(self) -> tuple[int, int]:
        """A missing modifier weighs more than one too many, and a wrong type more than another wrong word."""
        wrong_types = sum(1 for word in self.left_over if word in self.row.resolver.types)
        return 2 * len(self.left_over) + 3 * len(self.unfilled), wrong_types


def _fit(row: Row, modifiers: Sequence[str]) -> Fit:
    """Each modifier into the first free slot that takes it; types keep their order."""
    choice = [""] * len(row.slots)
    left_over: list[str] = []
    past_type = 0
    for word in modifiers:
        is_type = word in row.resolver.types
        places = range(past_type if is_type else 0, len(row.slots))
        index = next((i for i in places if not choice[i] and word in row.slots[i].values), None)
        if index is None:
            left_over.append(word)
            continue
        choice[index] = word
        if is_type:
            past_type = index + 1
    unfilled = tuple(slot for slot, value in zip(row.slots, choice, strict=True) if not value and not slot.optional)
    return Fit(row, tuple(choice), tuple(left_over), unfilled)


def nearest_fit(rows: Sequence[Row], modifiers: Sequence[str]) -> Fit:
    """The row that these modifiers fill best."""
    return min((_fit(row, modifiers) for row in rows), key=lambda fit: fit.distance)


def nearest(
    rows: Mapping[str, tuple[Row, ...]], meant: Mapping[str, str], opcode: str, limit: int = 5
) -> tuple[str, ...]:
    """Opcodes of the table that look most like this one, best first; canonical spelling.

    `meant` gives instructions by the names that other languages have for them.
    """
    name, *modifiers = opcode.split(".")
    if name not in rows:
        small = name.lower()
        known = [meant[small]] if meant.get(small) in rows else []
        similar = get_close_matches(small, rows, n=limit, cutoff=0.5)
        return tuple(dict.fromkeys([*known, *similar]))[:limit]
    found: list[str] = []
    for fit in sorted((_fit(row, modifiers) for row in rows[name]), key=lambda fit: fit.distance):
        choice = _completed(fit)
        if choice is not None:
            spelled = ".".join([name, *(value for value in choice if value)])
            if spelled not in found:
                found.append(spelled)
        if len(found) == limit:
            break
    return tuple(found)


def _completed(fit: Fit) -> tuple[str, ...] | None:
    """The choice with its required slots filled by what is most similar to what was left over."""
    choice = list(fit.choice)
    for index, slot in enumerate(fit.row.slots):
        if slot in fit.unfilled:
            similar = [m for word in fit.left_over for m in get_close_matches(word, slot.values, n=1, cutoff=0.5)]
            choice[index] = similar[0] if similar else next((v for v in USUAL if v in slot.values), slot.values[0])
    if fit.row.allows(choice):
        return tuple(choice)
    plain = [value if not slot.optional else "" for slot, value in zip(fit.row.slots, choice, strict=True)]
    return tuple(plain) if fit.row.allows(plain) else None
