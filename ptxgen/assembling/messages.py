"""Reading what ptxas prints: messages with their lines, and the figures of its `-v` report."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "fatal", "warning"]

_AT_LINE = re.compile(r"^ptxas .*?, line (\d+); (error|fatal|warning)\s*: (.*)$")
_WITHOUT_LINE = re.compile(r"^ptxas (error|fatal|warning)\s*: (.*)$")
_LINE_IN_TEXT = re.compile(r"\bon line (\d+)\b")
_REGISTERS = re.compile(r"\bUsed (\d+) registers")
_SPILLS = re.compile(r"\b(\d+) bytes spill (?:stores|loads)")
_SHARED = re.compile(r"\b(\d+) bytes smem")

#: the closing line of every failed run; it says nothing that the errors before it have not said
_ABORTED = "Ptx assembly aborted due to errors"


@dataclass(frozen=True, slots=True)
class Message:
    """One complaint. `line` counts from 1 in the assembled text; 0 where ptxas names none."""

    line: int
    severity: Severity
    text: str


@dataclass(frozen=True, slots=True)
class Figures:
    """The `-v` report over all entries of a module: most registers a thread, all bytes spilled (stores and
    loads together), most static shared bytes a block. None where ptxas said nothing (it failed)."""

    registers: int | None
    spill_bytes: int | None
    shared_bytes: int | None


def parse_messages(output: str) -> tuple[Message, ...]:
    """Errors and warnings in the order printed; information lines are left out."""
    messages: list[Message] = []
    for line in output.splitlines():
        if found := _AT_LINE.match(line):
            messages.append(Message(int(found[1]), _severity(found[2]), found[3].strip()))
        elif found := _WITHOUT_LINE.match(line):
            inside = _LINE_IN_TEXT.search(found[2])
            messages.append(Message(int(inside[1]) if inside else 0, _severity(found[1]), found[2].strip()))
    said = [message for message in messages if message.text != _ABORTED]
    return tuple(said or messages)


def parse_figures(output: str) -> Figures:
    registers = [int(number) for number in _REGISTERS.findall(output)]
    if not registers:
        return Figures(None, None, None)
    return Figures(
        registers=max(registers),
        spill_bytes=sum(int(number) for number in _SPILLS.findall(output)),
        shared_bytes=max((int(number) for number in _SHARED.findall(output)), default=0),
    )


def annotate(ptx: str, messages: Sequence[Message]) -> str:
    """Each message under its line, with two lines of context on either side.

        error: Unknown symbol '%q'
          11 |     mov.u32 %r1, s;
        > 12 |     mov.u32 %r2, %q;
          13 |     ret;
    """
    lines = ptx.splitlines()
    width = len(str(len(lines)))
    blocks: list[str] = []
    for message in messages:
        block = [f"{message.severity}: {message.text}"]
        if 1 <= message.line <= len(lines):
            for number in range(max(1, message.line - 2), min(len(lines), message.line + 2) + 1):
                mark = ">" if number == message.line else " "
                block.append(f"{mark} {number:>{width}} | {lines[number - 1].expandtabs(4)}".rstrip())
        blocks.append("\n".join(block))
    return "\n\n".join(blocks)


def _severity(word: str) -> Severity:
    if word == "error":
        return "error"
    return "fatal" if word == "fatal" else "warning"
