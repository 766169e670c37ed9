"""Writes statements that use an expansion, and modules that hold many of them, one a line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ptxgen.isa.model import Expansion, Kind, Operand, Type, Version

#: Kinds that are varied one by one; the others go with the instruction as a whole.
VARIED: tuple[Kind, ...] = ("reg", "imm", "special", "symbol", "sink", "pred", "not-pred", "address", "vector")
_USUAL: tuple[Kind, ...] = (
    "pred", "reg", "address", "vector", "imm", "sink", "pair", "arguments", "label", "function", "targets",
    "special", "symbol", "not-pred",
)  # fmt: skip
#: They end the thread or leave the line of statements: guarded, so that what follows stays reachable.
_TERMINATORS = frozenset({"bra", "brx", "ret", "exit", "trap", "brkpt"})
#: Registers that hold addresses of other than 64 bits.
_POINTERS = {"tmem": "%r30", "fabric": "%r30"}
#: The registers of a probe's module: declared type to prefix.
REGISTERS: Mapping[str, str] = {
    "pred": "%p", "b8": "%rb", "b16": "%rs", "b32": "%r", "b64": "%rd", "b128": "%rq",
    "u8": "%ub", "u16": "%us", "u32": "%ur", "u64": "%ud", "s8": "%ib", "s16": "%is", "s32": "%ir", "s64": "%id",
    "f16": "%h", "f16x2": "%hh", "f32": "%f", "f64": "%fd",
}  # fmt: skip
#: Registers of 128 bits can be declared from this version on.
WIDE = Version(8, 3)
#: A texture and a sampler in one address.
_SAMPLED = re.compile(r"(?:tex|tld4)\.[^\[]*\[[^,\]]+, [^{]")
#: Instructions that mean shared memory by a generic address.
_OF_SHARED = frozenset({"mapa", "getctarank"})
_MANY = {"b32": 256, "f32": 256}
_HEAD = """\
.address_size 64
.global .align 32 .b8 in_global[256];
.const .align 32 .b8 in_const[256];
.shared .align 32 .b8 in_shared[256];
.func f_00() { ret; }
.func f_01(.param .b32 a) { ret; }
.func (.param .b32 r) f_10() { ret; }
.func (.param .b32 r) f_11(.param .b32 a) { ret; }
.func (.param .align 32 .b8 r[32]) f_wide() { ret; }
.visible .entry probe(.param .align 32 .b8 in_param[256])
{
.local .align 32 .b8 in_local[256];
.param .b32 result;
.param .b32 argument;
.param .align 32 .b8 of_call[32];
targets: .branchtargets $L_end;
proto_00: .callprototype _ ();
proto_01: .callprototype _ (.param .b32 _);
proto_10: .callprototype (.param .b32 _) _ ();
proto_11: .callprototype (.param .b32 _) _ (.param .b32 _);
call (of_call), f_wide;"""


@dataclass(frozen=True, slots=True)
class Written:
    """One operand as it stands in a statement, and what it is.

    `type` is the declared type of a register ("" for everything else), `value` that of a constant, `parts` the
    elements of a vector or pair.
    """

    text: str
    kind: Kind
    type: str = ""
    value: int | float | None = None
    parts: tuple[Written, ...] = ()


@dataclass(frozen=True, slots=True)
class Statement:
    """An opcode and its operands."""

    opcode: str
    operands: tuple[Written, ...]

    @property
    def text(self) -> str:
        guard = "@%p9 " if self.opcode.partition(".")[0] in _TERMINATORS else ""
        return f"{guard}{self.opcode} {', '.join(operand.text for operand in self.operands)}".rstrip() + ";"

    def with_operand(self, index: int, operand: Written) -> Statement:
        return replace(self, operands=(*self.operands[:index], operand, *self.operands[index + 1 :]))


@dataclass(frozen=True, slots=True)
class Probe:
    """One statement to be judged, and what about its expansion it tries."""

    expansion: Expansion
    written: Statement
    tried: str                                       # "" for the usual operands, else e.g. "b: imm"

    @property
    def statement(self) -> str:
        return self.written.text


def probes(expansion: Expansion, types: Mapping[str, Type]) -> list[Probe]:
    """The statement with its usual operands, then one for every other kind that each operand may be."""
    usual = usual_kinds(expansion)
    plain = write(expansion, usual, types)
    found = [Probe(expansion, plain, "")]
    for index, operand in enumerate(expansion.operands):
        for kind in VARIED:
            # the one special register that is a predicate is newer than what reads it
            if kind == "special" and operand.type == "pred":
                continue
            if kind in operand.kinds and kind != usual[index] and not (kind == "pred" and usual[index] == "reg"):
                other = write_operand(expansion, operand, kind, index + 1, types)
                found.append(Probe(expansion, plain.with_operand(index, other), f"{operand.name}: {kind}"))
    return found


def usual_kinds(expansion: Expansion) -> tuple[Kind, ...]:
    """What stands at each operand unless something else is tried."""
    return tuple(next(kind for kind in _USUAL if kind in operand.kinds) for operand in expansion.operands)


def write(expansion: Expansion, kinds: Sequence[Kind], types: Mapping[str, Type]) -> Statement:
    """The statement with an operand of each given kind; registers are numbered by their place."""
    operands = tuple(
        write_operand(expansion, operand, kind, number, types)
        for number, (operand, kind) in enumerate(zip(expansion.operands, kinds, strict=True), 1)
    )
    return Statement(expansion.opcode, operands)


def module(statements: Sequence[str], arch: str, version: Version) -> tuple[str, int]:
    """A module with one statement a line, and the 1-based line of the first.

    Statements whose textures and samplers are separate have modules of their own: see `has_sampler`.
    """
    mode = ", texmode_independent" if any(map(has_sampler, statements)) else ""
    head = [f".version {version}", f".target {arch}{mode}", *_HEAD.splitlines()]
    head += [
        f".reg .{name} {prefix}<{_MANY.get(name, 32)}>;"
        for name, prefix in REGISTERS.items()
        if name != "b128" or (version >= WIDE and any(prefix in statement for statement in statements))
    ]
    return "\n".join([*head, *statements, "$L_end:", "ret;", "}", ""]), len(head) + 1


def has_sampler(statement: str) -> bool:
    """Is it for modules where textures and samplers are separate? ptxas takes both kinds only apart."""
    return _SAMPLED.match(statement) is not None


def register(type_name: str, number: int) -> Written:
    """A register of a declared type."""
    return Written(f"{REGISTERS[type_name]}{number}", "pred" if type_name == "pred" else "reg", type_name)


def group(kind: Kind, parts: Sequence[Written]) -> Written:
    """A vector or a pair of operands."""
    if kind == "pair":
        return Written("|".join(part.text for part in parts), kind, parts=tuple(parts))
    return Written("{" + ", ".join(part.text for part in parts) + "}", "vector", parts=tuple(parts))


def write_operand(
    expansion: Expansion, operand: Operand, kind: Kind, number: int, types: Mapping[str, Type]
) -> Written:
    """What stands for an operand, as a thing of `kind`, the `number`th of its statement."""
    match kind:
        case "pair":
            first, second = operand.parts
            return group(kind, (_part(first, number, types), _part(second, number + 10, types)))
        case "vector":
            return group(kind, [_usual_register(operand, number * 8 % 24 + i, types) for i in range(operand.vector)])
        case "address":
            parts = [_part(part, number + 8 * i, types) for i, part in enumerate(operand.parts, 1)]
            # parameters have no addresses in registers; everything else is mostly addressed by one
            named = "param" in (operand.space or "")
            base = place(operand.space, expansion.name) if named else _POINTERS.get(operand.space or "", "%rd30")
            return Written(f"[{', '.join([base, *(part.text for part in parts)])}]", kind, parts=tuple(parts))
        case "symbol":
            # only shared variables have 32-bit addresses
            small = types[operand.type].bits == 32 or expansion.name in _OF_SHARED
            return Written(place("shared" if small else expansion.slots.get("space", "global"), "ld"), kind)
        case "targets":
            return Written("targets" if expansion.name == "brx" else f"proto_{_call_shape(expansion)}", kind)
        case "arguments":
            return Written("(result)" if operand.access == "write" else "(argument)", kind)
        case "imm":
            return _constant(operand, types)
        case "special":
            return Written("%clock64" if types[operand.type].bits == 64 else "%tid.x", kind)
        case "not-pred":
            return Written(f"!%p{number}", kind, "pred")
        case "label":
            return Written("$L_end", kind)
        case "function":
            return Written(f"f_{_call_shape(expansion)}" if expansion.name == "call" else "f_00", kind)
        case "sink":
            return Written("_", kind)
        case _:
            return _usual_register(operand, number, types)


def place(space: str | None, name: str) -> str:
    """A variable of the state space; a store to parameters means those of a call."""
    base = (space or "global").partition("::")[0]
    if space == "param::func" or (base == "param" and name == "st"):
        return "of_call"
    return f"in_{base}"


def _call_shape(expansion: Expansion) -> str:
    """Which of the four functions a call means: has it a result, has it an argument?"""
    accesses = {operand.access for operand in expansion.operands if "arguments" in operand.kinds}
    return f"{int('write' in accesses)}{int('read' in accesses)}"


def _part(operand: Operand, number: int, types: Mapping[str, Type]) -> Written:
    """A part of an address (coordinates, mostly) or of a pair."""
    elements = [_usual_register(operand, (number + i) % 32, types) for i in range(operand.vector)]
    return group("vector", elements) if "vector" in operand.kinds else elements[0]


def _usual_register(operand: Operand, number: int, types: Mapping[str, Type]) -> Written:
    if operand.type in ("pred", "f32", "f64"):
        return register(operand.type, number)
    bits = types[operand.type].bits
    # registers of less than 16 bits are for loads, stores and conversions only, which take wider ones too
    return register(f"b{16 if bits <= 8 and operand.wider else max(bits, 8)}", number)


def _constant(operand: Operand, types: Mapping[str, Type]) -> Written:
    if types[operand.type].kind == "float":
        value = 1.5 if operand.high is None else float(operand.high)
        return Written(f"{value}", "imm", value=value)
    number = 1 if operand.low is None else operand.low
    return Written(str(number), "imm", value=number)
