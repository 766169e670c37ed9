"""Plants faults of known kinds at known lines of good PTX, so that it can be counted which of them are found.

A fault changes one line and no line's number. `plant` spreads faults over lines that lie apart, so that each
diagnostic can be put down to the fault beside it, or to none.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Change = Callable[[str, random.Random], str | None]

#: Two faults have at least so many lines between them.
APART = 4
#: A diagnostic this many lines away is still at its fault.
NEAR = 1

_STATEMENT = re.compile(r"\s+[@a-z][^{}]*;\s*(//.*)?$")
_DIRECTIVES = re.compile(
    r"\.(reg|shared|local|param|global|visible|entry|func|version|target|address_size|maxntid)\b"
)
_OPERAND = re.compile(r"(?<=[ ,{\[])[%$]?\w[\w.]*(?=[,;}\]])")
_BAD_OPERANDS = ("1.0f", "08", "-%r1", "%r1-4", "0f3F8", "[%rd1-4]", "%r1+%r2", "99999999999999999999999", "", "a b",
                 "1/0", "?", "5u", "{", "(%r1", "]")  # fmt: skip
_STRAY = (")", "]", "=", ">", "?", "\\", "`", "'", "..", "\"", "^", "::", "@", ":", "*", "[", "(")


@dataclass(frozen=True)
class Planted:
    """`line` counts from 1; `also` is where else such a fault may fairly be reported (the other brace)."""

    kind: str
    line: int
    also: tuple[int, ...] = ()

    def told_by(self, line: int) -> bool:
        """Whether a diagnostic at `line` speaks of this fault."""
        return any(abs(line - place) <= NEAR for place in (self.line, *self.also))


def _without_semicolon(line: str, rng: random.Random) -> str | None:
    return line.replace(";", "", 1) if _STATEMENT.match(line) else None


def _misspelt_directive(line: str, rng: random.Random) -> str | None:
    found = list(_DIRECTIVES.finditer(line))
    if not found or line.lstrip()[0] != ".":
        return None
    word = found[0]
    letters = list(word[1])
    at = rng.randrange(len(letters) - 1)
    if rng.random() < 0.5 and letters[at] != letters[at + 1]:
        letters[at], letters[at + 1] = letters[at + 1], letters[at]
    else:
        letters.insert(at, letters[at])
    return f"{line[: word.start(1)]}{''.join(letters)}{line[word.end(1) :]}"


def _stray_token(line: str, rng: random.Random) -> str | None:
    if not _STATEMENT.match(line):
        return None
    at = rng.choice([m.start() for m in re.finditer(r"(?<=[ ,\t])\S|;", line)])
    return f"{line[:at]}{rng.choice(_STRAY)} {line[at:]}"


def _bad_operand(line: str, rng: random.Random) -> str | None:
    found = list(_OPERAND.finditer(line)) if _STATEMENT.match(line) else []
    if not found:
        return None
    place = rng.choice(found)
    return f"{line[: place.start()]}{rng.choice(_BAD_OPERANDS)}{line[place.end() :]}"


def _unclosed_comment(line: str, rng: random.Random) -> str | None:
    return f"/* {line}" if line.strip() else "/*"


def _unclosed_string(line: str, rng: random.Random) -> str | None:
    if line.count('"') == 2:
        at = line.rindex('"')
        return line[:at] + line[at + 1 :]
    return f'\t.pragma "nounroll;{line}' if _STATEMENT.match(line) else None


def _removing(pattern: str) -> Change:
    def change(line: str, rng: random.Random) -> str | None:
        found = list(re.finditer(pattern, line)) if _STATEMENT.match(line) else []
        if not found:
            return None
        place = rng.choice(found)
        return line[: place.start()] + line[place.end() :]

    return change


def _double_comma(line: str, rng: random.Random) -> str | None:
    return line.replace(",", ",,", 1) if _STATEMENT.match(line) else None


def _two_guards(line: str, rng: random.Random) -> str | None:
    return re.sub(r"(\s+)(?=[@a-z])", r"\1@%p1 @%p2 ", line, count=1) if _STATEMENT.match(line) else None


def _without_colon(line: str, rng: random.Random) -> str | None:
    return line.replace(":", "", 1) if re.match(r"[$%_A-Za-z][\w$]*:", line) else None


def _cut_short(line: str, rng: random.Random) -> str | None:
    commas = [m.end() for m in re.finditer(",", line)] if _STATEMENT.match(line) else []
    return line[: rng.choice(commas)] if commas else None


def _without_opcode(line: str, rng: random.Random) -> str | None:
    changed = re.sub(r"^(\s+)[a-z][\w.:]*\s+", r"\1", line)
    return changed if _STATEMENT.match(line) and changed != line else None


def _without_brace(brace: str) -> Change:
    def change(line: str, rng: random.Random) -> str | None:
        code = line.partition("//")[0].strip()
        return line.replace(brace, "", 1) if code == brace else None

    return change


def _extra_close(line: str, rng: random.Random) -> str | None:
    return f"}} {line.lstrip()}" if _STATEMENT.match(line) else None


def _garbage(line: str, rng: random.Random) -> str | None:
    return rng.choice(("hello, world", "<<<<<<< HEAD", "int x = 5;", "|||", "%%%", "call call call")) \
        if not line.strip() else None  # fmt: skip


KINDS: dict[str, Change] = {
    "missing semicolon": _without_semicolon,
    "missing comma": _removing(","),
    "missing bracket": _removing(r"[\[\]]"),
    "missing '}'": _without_brace("}"),
    "missing '{'": _without_brace("{"),
    "extra '}'": _extra_close,
    "misspelt directive": _misspelt_directive,
    "stray token": _stray_token,
    "bad operand": _bad_operand,
    "unclosed comment": _unclosed_comment,
    "unclosed string": _unclosed_string,
    "double comma": _double_comma,
    "two guards": _two_guards,
    "missing colon": _without_colon,
    "cut short": _cut_short,
    "missing opcode": _without_opcode,
    "garbage": _garbage,
}


def plant(text: str, count: int, rng: random.Random, is_fault: Callable[[str], bool]) -> tuple[str, list[Planted]]:
    """`text` with up to `count` faults. `is_fault`: whether a text with one change has a fault at all (`5` for `%r5`
    has none, and is not counted)."""
    lines = text.split("\n")
    planted: list[Planted] = []
    kinds = list(KINDS)
    changed = list(lines)
    for _ in range(count * 10):
        if len(planted) == count:
            break
        kind = rng.choice(kinds)
        places = [
            i for i, line in enumerate(lines)
            if all(abs(i + 1 - at) > APART for p in planted for at in (p.line, *p.also))
            and line.isascii() and KINDS[kind](line, random.Random(0)) is not None
        ]  # fmt: skip
        if not places:
            continue
        at = rng.choice(places)
        new = KINDS[kind](lines[at], rng)
        if new is None or not is_fault("\n".join([*lines[:at], new, *lines[at + 1 :]])):
            continue
        changed[at] = new
        planted.append(Planted(kind, at + 1, _other_places(kind, lines, at)))
    return "\n".join(changed), planted


def _other_places(kind: str, lines: Sequence[str], at: int) -> tuple[int, ...]:
    """The line of the other brace; for a brace in excess, that of the one it closes before its time."""
    if "'" not in kind:
        return ()
    opened: list[int] = []
    pairs: list[tuple[int, int]] = []
    for i, line in enumerate(lines):
        for brace in re.findall(r"[{}]", line.partition("//")[0]):
            if brace == "{":
                opened.append(i)
            elif opened:
                pairs.append((opened.pop(), i))
    around = [pair for pair in pairs if pair[0] <= at <= pair[1] and pair[0] != pair[1]]
    inner = max(around, default=(at, at))
    return tuple(sorted({place + 1 for place in inner if place != at}))
