"""Statements near what the table allows: each row's own, and what one change makes of it.

A change touches the opcode (a modifier lost, doubled, moved, exchanged, added), one operand (everything a
person could write in its place), the number of operands, or the guard. Most results are wrong, some are right
in ways that the manual does not tell; which is which an assembler says.
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ptxgen.isa import Expansion, Table
from ptxgen.isa.probing import probes

#: Everything that the statements name. `of_call` and the functions are what `ptxgen.isa.probing` writes.
HEAD = """\
.version {version}
.target {target}
.address_size 64
.global .align 32 .b8 in_global[256]; .const .align 32 .b8 in_const[256]; .shared .align 32 .b8 in_shared[256];
.global .u32 g[4]; .shared .align 16 .b8 s[64]; .const .f32 c[4]; .global .texref t; .global .surfref sf;
.global .u64 gp; .global .v4 .f32 gv;
.func f_00() {{ ret; }}
.func f_01(.param .b32 x) {{ ret; }}
.func (.param .b32 r) f_10() {{ ret; }}
.func (.param .b32 r) f_11(.param .b32 x) {{ ret; }}
.func (.param .align 32 .b8 r[32]) f_wide() {{ ret; }}
.visible .entry k(.param .align 32 .b8 in_param[256], .param .u64 a, .param .u32 n)
{{
.reg .pred %p<32>, p, q; .reg .b8 %rb<32>; .reg .u8 %ub<8>; .reg .s8 %sb<8>; .reg .b16 %rs<32>; .reg .u16 %us<8>;
.reg .s16 %ss<8>; .reg .f16 %h<8>; .reg .b32 %r<256>, x; .reg .u32 %u<8>; .reg .s32 %s<8>; .reg .f32 %f<256>;
.reg .b64 %rd<32>; .reg .u64 %ud<8>; .reg .s64 %sd<8>; .reg .f64 %fd<32>;{packed}
.reg .v2 .f32 vf2; .reg .v4 .f32 vf4; .reg .v2 .b32 vb2; .reg .v4 .b32 vb4; .reg .v2 .b16 vh2;
.local .align 32 .b8 in_local[256]; .param .b32 result; .param .b32 argument; .param .align 32 .b8 of_call[32];
targets: .branchtargets L_end;
proto_00: .callprototype _ ();
proto_01: .callprototype _ (.param .b32 _);
proto_10: .callprototype (.param .b32 _) _ ();
proto_11: .callprototype (.param .b32 _) _ (.param .b32 _);
call (of_call), f_wide;"""
TAIL = "$L_end: L_end: ret;\n}\n"

_WRITTEN = tomllib.loads(Path(__file__).with_name("statement_pools.toml").read_text(encoding="utf-8"))
POOLS: dict[str, list[str]] = {kind: text.split() for kind, text in _WRITTEN["operands"].items()}
TYPES: list[str] = _WRITTEN["opcodes"]["types"].split()
MODIFIERS: list[str] = _WRITTEN["opcodes"]["modifiers"].split()
GUARDS: list[str] = _WRITTEN["guards"]["guards"]


@dataclass(frozen=True, slots=True)
class Trial:
    """One statement; `kind` says what was changed: "plain", "modifier-lost", "operand-address", …"""

    name: str
    kind: str
    statement: str


def trials(expansion: Expansion, table: Table, draw: random.Random, thin: float = 1.0) -> Iterator[Trial]:
    """The usual statements of an expansion, and a fraction `thin`, taken by `draw`, of their neighbours."""
    usual, *others = probes(expansion, table.types)
    for probe in (usual, *others):
        yield Trial(expansion.name, "plain", probe.statement)
    guard, opcode, operands = split(usual.statement)
    found = [(kind, changed, operands) for kind, changed in _opcodes(opcode)]
    found += [(kind, opcode, changed) for kind, changed in _operand_lists(operands)]
    if not guard:
        found += [("guard", f"{each} {opcode}", operands) for each in GUARDS]
    for kind, changed, listed in found:
        if draw.random() < thin:
            yield Trial(expansion.name, kind, f"{guard}{changed} {', '.join(listed)}".rstrip() + ";")


def split(statement: str) -> tuple[str, str, list[str]]:
    """Guard (with its space), opcode and operands of a statement that ends with `;`."""
    body = statement.removesuffix(";").strip()
    guard = ""
    if body.startswith("@"):
        guard, _, body = body.partition(" ")
        guard += " "
    opcode, _, rest = body.partition(" ")
    operands, depth, start = [], 0, 0
    for at, char in enumerate(rest + ","):
        depth += (char in "[({") - (char in "])}")
        if char == "," and depth == 0:
            operands.append(rest[start:at].strip())
            start = at + 1
    return guard, opcode, operands if rest else []


def _opcodes(opcode: str) -> Iterator[tuple[str, str]]:
    """Kinds of change and changed opcodes."""
    name, *words = opcode.split(".")
    for at, word in enumerate(words):
        yield "modifier-lost", _spell(name, [*words[:at], *words[at + 1 :]])
        yield "modifier-doubled", _spell(name, [*words[: at + 1], word, *words[at + 1 :]])
        yield "modifier-doubled", _spell(name, [*words, word])
        others = [*words[:at], *words[at + 1 :]]
        for place in range(len(words)):
            if place != at:
                yield "modifier-moved", _spell(name, [*others[:place], word, *others[place:]])
        if word in TYPES:
            for other in TYPES:
                if other != word:
                    yield "type-exchanged", _spell(name, [*words[:at], other, *words[at + 1 :]])
        else:
            for other in MODIFIERS:
                if other != word:
                    yield "modifier-exchanged", _spell(name, [*words[:at], other, *words[at + 1 :]])
    yield "modifier-moved", _spell(name, words[::-1])
    for word in MODIFIERS:
        yield "modifier-added", _spell(name, [word, *words])
        yield "modifier-added", _spell(name, [*words[:-1], word, *words[-1:]])
        yield "modifier-added", _spell(name, [*words, word])


def _spell(name: str, words: Sequence[str]) -> str:
    return ".".join([name, *words])


def _operand_lists(operands: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Kinds of change and changed operand lists."""
    for at, operand in enumerate(operands):
        for kind, pool in POOLS.items():
            for other in pool:
                yield f"operand-{kind}", [*operands[:at], other, *operands[at + 1 :]]
        if "{" in operand:
            before, _, inner = operand.partition("{")
            elements = inner.rpartition("}")[0].split(",")
            for kind, pool in POOLS.items():
                if kind != "address":
                    for other in pool:
                        changed = f"{before}{{{','.join([other, *elements[1:]])}}}"
                        yield f"element-{kind}", [*operands[:at], changed, *operands[at + 1 :]]
        yield "operand-lost", [*operands[:at], *operands[at + 1 :]]
        yield "operand-doubled", [*operands[: at + 1], operand, *operands[at + 1 :]]
    for other in ("%r9", "%f9", "%p9", "%rd9", "1", "[%rd9]"):
        yield "operand-added", [*operands, other]
    if len(operands) > 1:
        yield "operands-turned", list(operands[::-1])
        yield "operands-turned", [operands[1], operands[0], *operands[2:]]
