"""Kernels that nobody meant: right ones with statements and operands deleted, doubled, swapped and exchanged."""

from __future__ import annotations

import re

from fuzz.kernels.writing import Dice

_OPERAND = re.compile(r"[%$]?\w+(?=[,;\]}])")
_CONSTANTS = ("0", "1", "-1", "31", "32", "255", "65535", "0x7fffffff", "0xffffffffffffffff", "0f7FC00000", "_")


def mutated(text: str, seed: int) -> str:
    """One to six changes, most of them to whole statements."""
    dice = Dice(seed)
    lines = text.splitlines()
    for _ in range(dice.pick((1, 1, 1, 2, 2, 5))):
        body = [n for n, line in enumerate(lines) if line.startswith("\t")]
        if not body:
            break
        one, other = dice.pick(body), dice.pick(body)
        choice = dice.below(10)
        if choice == 0:
            del lines[one]
        elif choice == 1:
            del lines[one : one + dice.between(2, 30)]
        elif choice == 2:
            lines.insert(other, lines[one])
        elif choice == 3:
            lines[one], lines[other] = lines[other], lines[one]
        elif choice == 4:
            lines[one:one] = lines[other : other + dice.between(2, 20)]
        elif choice == 5:
            lines[one] = _with_opcode_of(lines[one], lines[other])
        elif choice == 6:
            lines[one] = _with_guard(lines[one], dice)
        elif choice == 7:
            label = dice.pick([line for line in lines if line.endswith(":")] or ["$L_1:"])
            lines.insert(one, f"\tbra {label[:-1]};")
        else:
            lines[one] = _with_operand(lines[one], lines[other], dice)
    return "\n".join(lines) + "\n"


def _with_opcode_of(line: str, other: str) -> str:
    """The other's opcode before this one's operands."""
    opcode = re.match(r"\t(?:@\S+ )?(\S+)", other)
    return re.sub(r"^(\t(?:@\S+ )?)\S+", lambda found: found[1] + opcode[1], line) if opcode else line


def _with_guard(line: str, dice: Dice) -> str:
    if line.startswith("\t@"):
        return "\t" + line.split(" ", 1)[-1]
    return re.sub(r"^\t(?=[a-z])", f"\t@{dice.pick(('', '!'))}%pred_{dice.below(3)} ", line)


def _with_operand(line: str, other: str, dice: Dice) -> str:
    """One operand is another's, or a constant."""
    places = list(_OPERAND.finditer(line))
    if not places:
        return line
    place = dice.pick(places)
    others = _OPERAND.findall(other)
    new = dice.pick(others) if others and dice.chance(0.6) else dice.pick(_CONSTANTS)
    return line[: place.start()] + new + line[place.end() :]


def damaged(text: str, seed: int) -> str:
    """Bytes cut off, exchanged, or put in: not even lines stay whole."""
    dice = Dice(seed)
    for _ in range(dice.between(1, 4)):
        at = dice.below(len(text) + 1)
        choice = dice.below(4)
        if choice == 0:
            text = text[:at]
        elif choice == 1:
            text = text[:at] + text[at + dice.between(1, 40) :]
        elif choice == 2:
            junk = "".join(chr(dice.between(32, 126)) for _ in range(dice.between(1, 6)))
            text = text[:at] + junk + text[at:]
        else:
            other = dice.below(len(text) + 1)
            text = text[:at] + text[other : other + 200] + text[at:]
    return text
