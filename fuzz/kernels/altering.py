"""The same kernel in other words. What it computes must not change."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from fuzz.kernels.writing import Dice
from ptxgen.ptx import parse, print_module

_SPECIAL = ("tid", "ntid", "ctaid", "nctaid", "laneid")
_REGISTER = re.compile(r"%(?!(?:" + "|".join(_SPECIAL) + r")\b)(\w+)")
_GUARDED = re.compile(r"\t@(!?)(\S+) (?!bra|ret|exit)(.*;)")
_CALL = re.compile(r"\tcall \(returned\), (function_\d+), (\(.*\));")
_HEADING = re.compile(r"\.func (\(.*?\)) (function_\d+)(\(.*\))")
_DECLARED = ("\t.reg", "\t.local", "\t.shared", "\t.param", "\tprototype_")


def renamed(text: str, seed: int) -> str:
    """Registers without their percent sign, under other names."""
    return _REGISTER.sub(r"renamed_\1", text)


def printed(text: str, seed: int) -> str:
    """Read, and printed from the tree."""
    return print_module(parse(text))


def branched(text: str, seed: int) -> str:
    """Jumps over statements in place of guards."""
    lines = []
    for number, line in enumerate(text.splitlines()):
        guarded = _GUARDED.fullmatch(line)
        if not guarded:
            lines.append(line)
            continue
        negated, predicate, statement = guarded.groups()
        other = "" if negated else "!"
        lines += [f"\t@{other}{predicate} bra $over_{number};", f"\t{statement}", f"$over_{number}:"]
    return "\n".join(lines) + "\n"


def padded(text: str, seed: int) -> str:
    """Labels that nobody jumps to, statements that nobody needs, statements that nobody comes to."""
    dice = Dice(seed)
    lines = []
    depth, open_now = 0, False
    for number, line in enumerate(text.splitlines()):
        lines.append(line)
        depth += line.count("{") - line.count("}") if not line.endswith(";") else 0
        if line == "{":
            lines.append("\t.reg .b32 %dead, %dead_too; .reg .pred %never;")
        open_now = depth == 1 and line.startswith("\t") and line.endswith(";") and not line.startswith(_DECLARED)
        if not open_now or not dice.chance(0.15):
            continue
        lines += dice.pick((
            [f"$dead_{number}:"],
            ["\tmov.u32 %dead, %laneid;"],
            ["\tmov.u32 %dead, 5;", "\tmul.lo.u32 %dead_too, %dead, %dead;"],
            [f"\tbra $dead_{number};", "\tadd.u32 %dead, %dead, 1;", "\ttrap;", f"$dead_{number}:"],
            ["\tsetp.ne.u32 %never, 0, 0;", "\t@%never trap;"],
        ))  # fmt: skip
    return "\n".join(lines) + "\n"


def by_pointer(text: str, seed: int) -> str:
    """Calls through registers in place of direct ones, which an emulator may put in their places."""
    signatures = {name: (result, given) for result, name, given in _HEADING.findall(text)}
    prototypes = [
        f"\tcalled_{name}: .callprototype {_nameless(result)} _ {_nameless(given)};"
        for name, (result, given) in signatures.items()
    ]
    lines = []
    for line in text.splitlines():
        direct = _CALL.fullmatch(line)
        if direct:
            name, given = direct.groups()
            lines += [f"\tmov.u64 %callee, {name};", f"\tcall (returned), %callee, {given}, called_{name};"]
            continue
        lines.append(line)
        if line == "{":
            lines += ["\t.reg .b64 %callee;", *prototypes]
    return "\n".join(lines) + "\n"


def _nameless(params: str) -> str:
    return re.sub(r"(result|given_\d+)", "_", params)


ALTERATIONS: Mapping[str, Callable[[str, int], str]] = {
    "registers renamed": renamed, "printed and read": printed, "guards as branches": branched,
    "dead code": padded, "calls by pointer": by_pointer,
}  # fmt: skip
