"""Near misses: statements that differ from a right one in one thing, so that the table has no place for them.

Whether a candidate really is a miss is for `conformance_expecting` to say; here they are only written.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Literal

from ptxgen.isa.model import Expansion, Kind, Operand
from ptxgen.isa.probing import REGISTERS, Statement, Written, group, register, write_operand
from ptxgen.isa.rows import Row
from ptxgen.isa.table import Table

#: What a near miss gets wrong.
Wrong = Literal[
    "register-type", "element-type", "operand-kind", "constant-range", "constant-type", "vector-width",
    "address-base", "operand-count", "missing-modifier", "extra-modifier", "doubled-modifier", "foreign-modifier",
]  # fmt: skip
#: Words of a long list that are tried on every choice but the plainest.
_SOME = 6
Miss = tuple[Wrong, str, Statement]
#: Without functions: ptxas takes their names for constants, and complains of other lines than theirs, or crashes.
_KINDS: tuple[Kind, ...] = (
    "reg", "pred", "imm", "special", "address", "vector", "not-pred", "symbol", "label", "arguments", "sink",
    "pair",
)  # fmt: skip
_ELEMENTS = ("pred", "b16", "b32", "f32", "b64", "f64")
_BASES = ("pred", "f32", "f64", "b128")
_SPACES = ("global", "shared", "const", "local")
#: Modifiers of many instructions, tried on every one.
_COMMON = (
    "ftz", "sat", "rn", "approx", "lo", "wide", "cc", "sync", "aligned", "relaxed", "gpu", "global", "volatile",
)  # fmt: skip
#: Over `.cc` on these, or a predicate for an address, ptxas 13.5 takes memory until there is none left.
_LOSING = frozenset({"cp"})


def operand_misses(
    expansion: Expansion, plain: Statement, table: Table, seen: set[object], whole: bool
) -> Iterator[Miss]:
    """One operand of another type, kind, value or width; then one operand too many or too few.

    Among them are register types that the operand does take. An operand like one that is `seen` at its place, but
    for the width of a vector, raises no question again. What is a fault of syntax whatever the types, and costs an
    assembler's run each, is left out unless `whole`.
    """
    count = len(expansion.operands)
    for index, operand in enumerate(expansion.operands):
        written = plain.operands[index]
        datum = "" if written.kind == "address" else operand.type
        alike = (count, index, replace(operand, vector=min(operand.vector, 2), type=datum))
        same = (count, index, operand.vector)
        for wrong, tried, other in _replacements(expansion, operand, written, index + 1, table):
            if expansion.name in _LOSING and written.kind == "address" and "pred" in tried:
                continue
            # an assembler's grammar knows these in few places only, and some versions crash over them
            if other.kind in ("arguments", "sink", "pair") and not whole:
                continue
            if (same if wrong == "vector-width" else alike) not in seen:
                yield wrong, f"{operand.name}: {tried}", plain.with_operand(index, other)
        seen |= {alike, same}
    if plain.operands:
        yield "operand-count", "one less", Statement(plain.opcode, plain.operands[:-1])
    for extra in (register("b32", 31), register("pred", 31), Written("1", "imm", value=1)):
        yield "operand-count", f"and {extra.text}", Statement(plain.opcode, (*plain.operands, extra))


def _replacements(
    expansion: Expansion, operand: Operand, usual: Written, number: int, table: Table
) -> Iterator[tuple[Wrong, str, Written]]:
    if operand.kinds & {"reg", "pred"}:
        for type_name in REGISTERS:
            yield "register-type", type_name, register(type_name, number + 10)
    for kind in _KINDS:
        if kind not in operand.kinds and not (kind in ("reg", "pred") and operand.kinds & {"reg", "pred"}):
            yield "operand-kind", kind, _of_kind(expansion, operand, kind, number, table)
    if "imm" in operand.kinds and operand.type:
        yield from _constants(operand, table)
    if usual.kind in ("vector", "pair") and usual.parts:
        yield from _groups(usual)
    if usual.kind == "address":
        yield from _addresses(operand, usual)


def _of_kind(expansion: Expansion, operand: Operand, kind: Kind, number: int, table: Table) -> Written:
    """A thing of a kind that may not stand there, otherwise as fitting as can be."""
    plain_type = operand.type if operand.type and operand.type != "pred" else "b32"
    bits = max(table.types[plain_type].bits, 8)
    same = register(plain_type if plain_type in ("f32", "f64") else f"b{bits}", number)
    match kind:
        case "reg":
            return same
        case "pred":
            return register("pred", number)
        case "imm":
            return Written("1.5", kind, value=1.5) if same.type in ("f32", "f64") else Written("1", kind, value=1)
        case "address":
            return Written("[%rd30]", kind)
        case "vector":
            return group(kind, [same, register(same.type, number + 1)])
        case "pair":
            return group(kind, [same, register("pred", number)])
        case "special":
            return Written("%clock64" if bits == 64 else "%tid.x", kind)
        case "symbol":
            return Written("in_global", kind)
        case "arguments":
            return Written(f"({same.text})", kind)
        case _:
            return write_operand(expansion, operand, kind, number, table.types)


def _constants(operand: Operand, table: Table) -> Iterator[tuple[Wrong, str, Written]]:
    if table.types[operand.type].kind == "float":
        yield "constant-type", "1", Written("1", "imm", value=1)
    else:
        yield "constant-type", "1.5", Written("1.5", "imm", value=1.5)
    for bound in (operand.low - 1 if operand.low is not None else None, operand.high and operand.high + 1):
        if bound is not None:
            yield "constant-range", str(bound), Written(str(bound), "imm", value=bound)


def _groups(usual: Written) -> Iterator[tuple[Wrong, str, Written]]:
    """Vectors of other widths, a vector or pair with a first element of another type."""
    parts = usual.parts
    if usual.kind == "vector":
        widths = {1, len(parts) - 1, len(parts) + 1, len(parts) * 2} - {0, len(parts)}
        for width in sorted(widths):
            spread = tuple(parts[i % len(parts)] for i in range(width))
            yield "vector-width", f"{{}} of {width}", group("vector", spread)
        yield "vector-width", "no braces", parts[0]
    for type_name in _ELEMENTS:
        if type_name != parts[0].type:
            yield "element-type", f"first {type_name}", group(usual.kind, (register(type_name, 29), *parts[1:]))


def _addresses(operand: Operand, usual: Written) -> Iterator[tuple[Wrong, str, Written]]:
    """Addresses in registers that hold none, and variables of other state spaces."""
    _, comma, rest = usual.text[1:-1].partition(",")
    for type_name in _BASES:
        text = f"[{register(type_name, 30).text}{comma}{rest}]"
        yield "address-base", type_name, Written(text, "address", type_name, parts=usual.parts)
    space = (operand.space or "").partition("::")[0]
    if space in _SPACES:
        for other in _SPACES:
            if other != space:
                text = f"[in_{other}{comma}{rest}]"
                yield "address-base", f"in_{other}", Written(text, "address", "variable", parts=usual.parts)


def modifier_misses(row: Row, choice: Sequence[str], plain: Statement, rows: Iterable[Row]) -> Iterator[Miss]:
    """One modifier missing, too many, written twice, or with a value that neighbouring forms have there.

    Of long lists of words the plainest choice tries all, every other one some, not the same ones.
    """
    name = row.form.instruction
    types = row.resolver.types
    values: dict[str, set[str]] = {}
    for other in rows:
        for slot in other.slots:
            values.setdefault(slot.name, set()).update(slot.values)
    chosen = [value for value in choice if value]
    plainest = tuple(choice) == next(row.choices())

    def some(words: Iterable[str]) -> list[str]:
        ordered = sorted(set(words) - set(chosen))
        if plainest or len(ordered) <= _SOME:
            return ordered
        return sorted(random.Random(plain.opcode).sample(ordered, _SOME))

    def opcode(words: Sequence[str]) -> Statement:
        return Statement(".".join([name, *words]), plain.operands)

    for index, value in enumerate(chosen):
        rest = chosen[:index] + chosen[index + 1 :]
        yield "missing-modifier", f"without .{value}", opcode(rest)
        yield "doubled-modifier", f".{value} twice", opcode([*chosen[: index + 1], *chosen[index:]])
    for slot, value in zip(row.slots, choice, strict=True):
        if value:
            at = chosen.index(value)
            known = values[slot.name] | {word for word in types if value in types and types[word].register}
            for word in some(known - set(slot.values)):
                words = [*chosen[:at], word, *chosen[at + 1 :]]
                yield "foreign-modifier", f".{word} for .{value}", opcode(words)
    last_type = next((i for i in reversed(range(len(chosen))) if chosen[i] in types), len(chosen))
    for word in some(set(_COMMON).union(*values.values()) - ({"cc"} if name in _LOSING else set())):
        at = len(chosen) if word in types else last_type
        yield "extra-modifier", f"and .{word}", opcode([*chosen[:at], word, *chosen[at:]])
