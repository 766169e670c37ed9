"""Finds the expansions that a written opcode means, and explains why when there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from ptxgen.isa.model import Expansion, Kind, Mismatch, Operand
from ptxgen.isa.rows import Row, Slot

_ROUNDING = frozenset({"rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi", "rna", "rs", "approx", "full"})
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
    lists = tuple(f"{opcode} {', '.join(o.name for o in e.operands)}".strip() for e in found)
    same = [e for e in found if len(e.operands) == len(shapes)]
    if not same:
        counts = sorted({len(e.operands) for e in found})
        wanted = " or ".join(str(n) for n in counts)
        return Mismatch(
            "operand-count",
            f"{opcode} takes {wanted} operand{'s' if counts != [1] else ''}, not {len(shapes)}",
            f"write {lists[0]}",
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
    return Mismatch(
        "operand-kind", f"operand {at + 1} ({operand.name}) of {opcode} is {got}", f"it must be {wanted}", at, lists
    )


def explain_opcode(rows: Mapping[str, tuple[Row, ...]], opcode: str, names: Sequence[str]) -> Mismatch:
    """Why an opcode is no row of the table: the nearest form decides what is said."""
    name, *modifiers = opcode.split(".")
    if name not in rows:
        near = tuple(names)
        hint = f"did you mean {near[0]}?" if near else ""
        return Mismatch("unknown-opcode", f"there is no instruction {name!r}", hint, None, near)
    row = min(rows[name], key=lambda r: _distance(r, modifiers))
    every = frozenset().union(*(r.every_value for r in rows[name]))
    near = tuple(names)
    hint = f"did you mean {near[0]}?" if near else f"the form is {row.form.syntax}"
    for modifier in modifiers:
        if modifier not in every:
            return Mismatch("bad-modifier", f"{name} has no modifier .{modifier}", hint, None, near)
    for modifier in modifiers:
        if modifier not in row.every_value:
            rest = ".".join([name, *(m for m in modifiers if m != modifier)])
            return Mismatch("bad-modifier", f".{modifier} does not go with {rest}", hint, None, near)
    missing = _missing(row, modifiers)
    if missing is not None:
        if _ROUNDING & set(missing.values):
            near_rows = [r for r in rows[name] if _distance(r, modifiers) == (0, 1, 0)] or [row]
            roundings = [slot for r in near_rows if (slot := _missing(r, modifiers)) is not None]
            listed = _listed([value for slot in roundings for value in slot.values])
            rounded = f"{opcode} needs a rounding modifier: one of {listed}"
            return Mismatch("missing-rounding", rounded, hint, None, near)
        listed = _listed(missing.values)
        if missing.values == row.form.types or missing.name in ("type", "size") or missing.name.endswith("type"):
            return Mismatch("missing-type", f"{opcode} needs a type: one of {listed}", hint, None, near)
        return Mismatch("missing-modifier", f"{opcode} needs one of {listed}", hint, None, near)
    return Mismatch("bad-modifier", f"{opcode}: these modifiers do not go together", hint, None, near)


def _listed(values: Sequence[str]) -> str:
    return " ".join(f".{value}" for value in dict.fromkeys(values))


def _distance(row: Row, modifiers: Sequence[str]) -> tuple[int, int, int]:
    """Unknown modifiers first, then slots that stay empty though they must not; a wrong type weighs most."""
    unknown = [modifier for modifier in modifiers if modifier not in row.every_value]
    return len(unknown), _unfilled(row, modifiers), sum(1 for word in unknown if word in row.resolver.types)


def _unfilled(row: Row, modifiers: Sequence[str]) -> int:
    rest = list(modifiers)
    empty = 0
    for slot in row.required_slots:
        taken = next((m for m in rest if m in slot.values), None)
        if taken is None:
            empty += 1
        else:
            rest.remove(taken)
    return empty


def _missing(row: Row, modifiers: Sequence[str]) -> Slot | None:
    rest = list(modifiers)
    for slot in row.required_slots:
        taken = next((m for m in rest if m in slot.values), None)
        if taken is None:
            return slot
        rest.remove(taken)
    return None


def nearest(rows: Mapping[str, tuple[Row, ...]], opcode: str, limit: int = 5) -> tuple[str, ...]:
    """Opcodes of the table that look most like this one, best first; canonical spelling."""
    name, *modifiers = opcode.split(".")
    if name not in rows:
        return tuple(get_close_matches(name, rows, n=limit, cutoff=0.5))
    found: list[str] = []
    for row in sorted(rows[name], key=lambda r: _distance(r, modifiers)):
        choice = _closest_choice(row, modifiers)
        if choice is not None:
            spelled = ".".join([name, *(value for value in choice if value)])
            if spelled not in found:
                found.append(spelled)
        if len(found) == limit:
            break
    return tuple(found)


def _closest_choice(row: Row, modifiers: Sequence[str]) -> tuple[str, ...] | None:
    """The written modifiers kept where they fit, required slots filled with their most similar value."""
    rest = list(modifiers)
    choice: list[str] = []
    for slot in row.slots:
        taken = next((m for m in rest if m in slot.values), "")
        if taken:
            rest.remove(taken)
        choice.append(taken)
    for index, slot in enumerate(row.slots):
        if not choice[index] and not slot.optional:
            similar = [m for word in rest for m in get_close_matches(word, slot.values, n=1, cutoff=0.5)]
            choice[index] = similar[0] if similar else slot.values[0]
    if row.allows(choice):
        return tuple(choice)
    plain = [value if not slot.optional else "" for slot, value in zip(row.slots, choice, strict=True)]
    return tuple(plain) if row.allows(plain) else None
