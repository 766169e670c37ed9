"""Writes statements that use an expansion, and modules that hold many of them, one a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ptxgen.isa.model import Expansion, Kind, Operand, Type, Version

#: Kinds that are varied one by one; the others go with the instruction as a whole.
VARIED: tuple[Kind, ...] = ("reg", "imm", "special", "symbol", "sink", "pred", "not-pred", "address", "vector")
_USUAL: tuple[Kind, ...] = (
    "pred", "reg", "address", "vector", "imm", "sink", "pair", "arguments", "label", "function", "targets",
)  # fmt: skip
#: They end the thread or leave the line of statements: guarded, so that what follows stays reachable.
_TERMINATORS = frozenset({"bra", "brx", "ret", "exit", "trap", "brkpt"})
#: Registers that hold addresses of other than 64 bits.
_POINTERS = {"tmem": "%r30"}
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
.reg .pred %p<32>;
.reg .b8 %rb<32>;
.reg .b16 %rs<32>;
.reg .b32 %r<256>;
.reg .f32 %f<256>;
.reg .b64 %rd<32>;
.reg .f64 %fd<32>;
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
class Probe:
    """One statement to be judged, and what about its expansion it tries."""

    expansion: Expansion
    statement: str
    tried: str                                       # "" for the usual operands, else e.g. "b: imm"


def probes(expansion: Expansion, types: Mapping[str, Type]) -> list[Probe]:
    """The statement with its usual operands, then one for every other kind that each operand may be."""
    usual = [next(kind for kind in _USUAL if kind in operand.kinds) for operand in expansion.operands]
    found = [Probe(expansion, write(expansion, usual, types), "")]
    for index, operand in enumerate(expansion.operands):
        for kind in VARIED:
            if kind in operand.kinds and kind != usual[index] and not (kind == "pred" and usual[index] == "reg"):
                kinds = [*usual[:index], kind, *usual[index + 1 :]]
                found.append(Probe(expansion, write(expansion, kinds, types), f"{operand.name}: {kind}"))
    return found


def write(expansion: Expansion, kinds: Sequence[Kind], types: Mapping[str, Type]) -> str:
    """The statement with an operand of each given kind; registers are numbered by their place."""
    shape = _call_shape(expansion)
    operands = [
        _operand(expansion, operand, kind, number, shape, types)
        for number, (operand, kind) in enumerate(zip(expansion.operands, kinds, strict=True), 1)
    ]
    guard = "@%p9 " if expansion.name in _TERMINATORS else ""
    return f"{guard}{expansion.opcode} {', '.join(operands)}".rstrip() + ";"


def module(statements: Sequence[str], arch: str, version: Version) -> tuple[str, int]:
    """A module with one statement a line, and the 1-based line of the first."""
    head = [f".version {version}", f".target {arch}", *_HEAD.splitlines()]
    if any("%rq" in statement for statement in statements):
        head.append(".reg .b128 %rq<32>;")
    return "\n".join([*head, *statements, "$L_end:", "ret;", "}", ""]), len(head) + 1


def _call_shape(expansion: Expansion) -> str:
    """Which of the four functions a call means: has it a result, has it an argument?"""
    accesses = {operand.access for operand in expansion.operands if "arguments" in operand.kinds}
    return f"{int('write' in accesses)}{int('read' in accesses)}"


def _operand(
    expansion: Expansion, operand: Operand, kind: Kind, number: int, shape: str, types: Mapping[str, Type]
) -> str:
    match kind:
        case "pair":
            first, second = operand.parts
            return f"{_part(first, number, types)}|{_part(second, number + 10, types)}"
        case "vector":
            elements = (_register(operand, number * 8 % 24 + i, types) for i in range(operand.vector))
            return "{" + ", ".join(elements) + "}"
        case "address":
            parts = [_part(part, number + 8 * i, types) for i, part in enumerate(operand.parts, 1)]
            # parameters have no addresses in registers; everything else is mostly addressed by one
            named = "param" in (operand.space or "")
            base = _place(operand.space, expansion.name) if named else _POINTERS.get(operand.space or "", "%rd30")
            return f"[{', '.join([base, *parts])}]"
        case "symbol":
            # only shared variables have 32-bit addresses
            small = types[operand.type].bits == 32
            return _place("shared" if small else expansion.slots.get("space", "global"), "ld")
        case "targets":
            return "targets" if expansion.name == "brx" else f"proto_{shape}"
        case "arguments":
            return "(result)" if operand.access == "write" else "(argument)"
        case "imm":
            return _constant(operand, types)
        case "special":
            return "%clock64" if types[operand.type].bits == 64 else "%tid.x"
        case "not-pred":
            return f"!%p{number}"
        case "label":
            return "$L_end"
        case "function":
            return f"f_{shape}" if expansion.name == "call" else "f_00"
        case "sink":
            return "_"
        case _:
            return _register(operand, number, types)


def _part(operand: Operand, number: int, types: Mapping[str, Type]) -> str:
    """A part of an address (coordinates, mostly) or of a pair."""
    elements = ", ".join(_register(operand, (number + i) % 32, types) for i in range(operand.vector))
    return f"{{{elements}}}" if "vector" in operand.kinds else elements


def _register(operand: Operand, number: int, types: Mapping[str, Type]) -> str:
    bits = types[operand.type].bits
    sized = {8: "%rs" if operand.wider else "%rb", 16: "%rs", 32: "%r", 64: "%rd", 128: "%rq"}
    prefix = {"pred": "%p", "f32": "%f", "f64": "%fd"}.get(operand.type) or sized[bits]
    return f"{prefix}{number}"


def _constant(operand: Operand, types: Mapping[str, Type]) -> str:
    if types[operand.type].kind == "float":
        return "1.5" if operand.high is None else f"{operand.high}.0"
    return "1" if operand.low is None else str(operand.low)


def _place(space: str | None, name: str) -> str:
    """A variable of the state space; a store to parameters means those of a call."""
    base = (space or "global").partition("::")[0]
    if space == "param::func" or (base == "param" and name == "st"):
        return "of_call"
    return f"in_{base}"
