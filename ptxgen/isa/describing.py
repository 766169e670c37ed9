"""Says in words what a row of the table holds: where it exists, its modifiers, its operands, an example.

The words come from the row and its covering expansions alone; terminal and Markdown pages print the same ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ptxgen.isa.conditions import Condition, Term
from ptxgen.isa.model import Availability, Expansion, Operand
from ptxgen.isa.probing import probes
from ptxgen.isa.rows import Row
from ptxgen.isa.table import Table

#: The manual's page; a section's link name follows.
MANUAL = "https://docs.nvidia.com/cuda/parallel-thread-execution/#"
_OLDEST = 10                                         # the number of the first target
_WORDS = re.compile(r"\.[A-Za-z0-9_:]+")
_LISTED = 8                                          # types named one by one, before "…"
_KINDS = {
    "reg": "register", "imm": "constant", "special": "special register", "pred": "predicate",
    "not-pred": "negated predicate", "symbol": "variable's name", "label": "label", "function": "function's name",
    "prototype": "prototype", "targets": "list of targets", "arguments": "list of arguments", "sink": "_",
}  # fmt: skip
_PARTS = {                                           # by the selectors of `ptxgen.isa.selectors`
    "part": "a byte or a half (`.b0`, `.h1`)", "mask2": "some halves (`.h10`)", "mask4": "some bytes (`.b310`)",
    "pick2": "two halves of both sources (`.h20`)", "pick4": "four bytes of both sources (`.b7410`)",
}  # fmt: skip
_ACCESS = {"read": "read", "write": "written", "update": "read and written"}


@dataclass(frozen=True, slots=True)
class OperandWords:
    """One operand of a form: `name`, what happens to it (or to the memory it names), and what may stand there."""

    name: str
    access: str
    what: str


@dataclass(frozen=True, slots=True)
class FormWords:
    """One form, said in words. `slots` are the words of the syntax that stand for others; values carry their dot."""

    syntax: str
    since: str
    section: str                                     # the manual's link name
    slots: tuple[tuple[str, tuple[str, ...]], ...]
    needs: tuple[tuple[str, str], ...]               # which modifiers, and since when
    never: tuple[str, ...]                           # modifiers that do not go together
    operands: tuple[OperandWords, ...]
    example: str
    at: str                                          # file:line


def describe(table: Table, row: Row) -> FormWords:
    """A row in words, with the plainest statement that uses it."""
    expansions = [expansion for choice in row.covering_choices() for expansion in row.build(choice)]
    return FormWords(
        row.form.syntax,
        since(row.form.availability),
        row.form.section,
        tuple(
            (slot.name, tuple("." + value for value in slot.values))
            for slot in row.slots
            if slot.values != (slot.name,) and f".{slot.name}" in _WORDS.findall(row.form.syntax)
        ),
        tuple((condition_words(condition), since(needed)) for condition, needed in row.needs),
        tuple(condition_words(condition) for condition in row.never),
        operand_words(table, expansions),
        example(table, expansions[0]),
        f"{row.form.file}:{row.form.line}",
    )


def example(table: Table, expansion: Expansion) -> str:
    """A statement as `isa conformance` puts it before ptxas."""
    return probes(expansion, table.types)[0].statement.removeprefix("@%p9 ")


def targets(availability: Availability) -> str:
    """`sm_80`: this target and newer. Several names: only these (and newer ones of the family for `f`)."""
    return " ".join(availability.targets) or f"sm_{availability.sm or _OLDEST}"


def since(availability: Availability) -> str:
    """`PTX 7.0, sm_80`, and when it went away; `PTX 1.0` where every target has it."""
    words = f"PTX {availability.ptx}"
    if availability.sm or availability.targets:
        words += f", {targets(availability)}"
    if availability.removed_ptx is None:
        return words
    return f"{words}; gone from PTX {availability.removed_ptx} on for sm_{availability.removed_sm} and newer"


def condition_words(condition: Condition) -> str:
    """`.and|.or type=.b32 !.ftz` is `.and or .or, .type is .b32, without .ftz`."""
    return ", ".join(_term(term) for term in condition.terms)


def _term(term: Term) -> str:
    values = " or ".join(f".{value}" for value in sorted(term.values, key=_by_number) if value)
    if not values:
        return f"with .{term.slot}" if term.negated else f"without .{term.slot}"
    if not term.slot:
        return f"without {values}" if term.negated else values
    either = f"{values} or absent" if "" in term.values else values
    return f".{term.slot} is {'not ' if term.negated else ''}{either}"


def operand_words(table: Table, expansions: Sequence[Expansion]) -> tuple[OperandWords, ...]:
    """Each operand once, in the order of the longest list, with whatever the expansions show of it."""
    seen: dict[str, list[tuple[Expansion, Operand]]] = {}
    for expansion in sorted(expansions, key=lambda e: -len(e.operands)):
        for operand in expansion.operands:
            inner = () if operand.parts and "pair" in operand.kinds else (operand,)
            for each in (*inner, *operand.parts):
                seen.setdefault(each.name, []).append((expansion, each))
    return tuple(_operand(table, name, found) for name, found in seen.items())


def _operand(table: Table, name: str, found: Sequence[tuple[Expansion, Operand]]) -> OperandWords:
    kinds = frozenset[str]().union(*(operand.kinds for _, operand in found))
    type_words = _types(table, found)
    access = _ACCESS[found[0][1].access]
    if "address" in kinds:
        space = _relation(found, lambda o: o.space or "", _slot_of)
        where = "a generic address" if space == "" else f"an address in {space}"
        if space.startswith(".") and any(not operand.space for _, operand in found):
            where += " (generic where that is absent)"
        return OperandWords(name, f"memory {access}", f"{where}{f', {type_words}' if type_words else ''}")
    words = [_KINDS[kind] for kind in _KINDS if kind in kinds and not (kind == "reg" and kinds >= {"reg", "pred"})]
    if "vector" in kinds:
        vectors = [(expansion, operand) for expansion, operand in found if "vector" in operand.kinds]
        count = _relation(vectors, lambda o: f"{o.vector}", _slot_of_width)
        words.append(f"vector of {count}")
    what = " or ".join(words).replace("constant", f"constant{_bounds(found)}")
    if type_words:
        what += f", {type_words}"
        what += ", or wider" if any(operand.wider for _, operand in found) else ""
        what += ", declared as that" if all(operand.exact for _, operand in found) else ""
    if found[0][1].selector:
        what += f"; {_PARTS[found[0][1].selector]} may be named"
    return OperandWords(name, access, what)


def _bounds(found: Sequence[tuple[Expansion, Operand]]) -> str:
    """Which constants may stand there, in brackets; "" where the type alone decides, or none may."""
    ranges = []
    for _, operand in found:
        if "imm" not in operand.kinds or operand.low is None:
            continue
        if operand.values:
            ranges.append(", ".join(map(str, operand.values)))
        else:
            multiples = f", multiples of {operand.step}" if operand.step > 1 else ""
            ranges.append(f"{operand.low}..{operand.high}{multiples}")
    return f" ({'; or '.join(dict.fromkeys(ranges))})" if ranges else ""


def _types(table: Table, found: Sequence[tuple[Expansion, Operand]]) -> str:
    """The type, its relation to a slot where it follows one, or the list of types seen."""
    if {operand.type for _, operand in found} == {"pred"} or not found[0][1].type:
        return ""
    if len({operand.type for _, operand in found}) == 1:
        return f".{found[0][1].type}"
    for factor, words in ((1.0, ""), (2.0, "twice as wide as "), (0.5, "half as wide as ")):
        slot = _scaled_slot(table, found, factor)
        if slot:
            return f"{words}.{slot}"
    listed = sorted({f".{operand.type}" for _, operand in found}, key=_by_number)
    return " ".join(listed[:_LISTED]) + (" …" if len(listed) > _LISTED else "")


def _scaled_slot(table: Table, found: Sequence[tuple[Expansion, Operand]], factor: float) -> str:
    """The slot whose value is always the type, or of the same kind and so many times narrower; "" where none is."""
    for slot in found[0][0].slots:
        if all(
            (value := expansion.slots.get(slot, "")) in table.types
            and table.types[operand.type].bits == table.types[value].bits * factor
            and (operand.type == value or (factor != 1 and operand.type[0] == value[0]))
            for expansion, operand in found
        ):
            return slot
    return ""


def _relation(
    found: Sequence[tuple[Expansion, Operand]],
    value_of: Callable[[Operand], str],
    slot_of: Callable[[str, dict[str, str]], str],
) -> str:
    """The one value seen, the slot it follows, or all values seen."""
    values = sorted({value_of(operand) for _, operand in found}, key=_by_number)
    if len(values) == 1:
        return values[0]
    slots = {slot_of(value_of(operand), dict(expansion.slots)) for expansion, operand in found if value_of(operand)}
    if len(slots) == 1 and "" not in slots:
        return f".{slots.pop()}"
    return " or ".join(value or "generic" for value in values)


def _slot_of(value: str, slots: dict[str, str]) -> str:
    return next((slot for slot, chosen in slots.items() if chosen == value), "")


def _slot_of_width(value: str, slots: dict[str, str]) -> str:
    """`.v4` is four elements, and so is `.x4`."""
    return _slot_of("v" + value, slots) or _slot_of("x" + value, slots)


def _by_number(word: str) -> tuple[str, int, str]:
    match = re.search(r"\d+", word)
    return (word[: match.start()], int(match.group()), word) if match else (word, 0, word)
