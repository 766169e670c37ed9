"""PTX of any length, made of real statements: kernels of lines from compilers' files, with fresh names."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence

KERNEL_LINES = 250
_HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"
_CLASSES = {"p": "pred", "r": "b32", "f": "f32", "rd": "b64"}
_REGISTER = re.compile(r"%(p|r|f|rd)([0-9]+)\b")
_REGISTERS = 4096
_LINE = re.compile(r"\t(?:@!?%p\d+ )?[a-z][\w.]*(?:[ \t]+[^;{}/\"$]*)?;")
#: A name that is neither a register of the four classes nor special would need a declaration.
_OTHER_NAME = re.compile(
    r"(?<![\w.%$])(?:[A-Za-z_$]\w*|%(?!(?:p|r|f|rd)\d+\b|tid|ntid|ctaid|nctaid|laneid|clock)\w+)"
)


def statements(texts: Sequence[str]) -> list[str]:
    """Every different plain instruction of the texts that needs no declaration but of registers."""
    found: dict[str, None] = {}
    for text in texts:
        for line in text.split("\n"):
            instruction = _LINE.fullmatch(line)
            if instruction and not _OTHER_NAME.search(re.sub(r"^\t(?:@!?%p\d+ )?[a-z][\w.]*", "", line)):
                found.setdefault(line)
    return list(found)


def suitable(lines: Sequence[str], takes: Callable[[str], bool]) -> list[str]:
    """Those that a parser takes; asked for in halves, because most are."""
    if not lines:
        return []
    if takes(_module([list(lines)])):
        return list(lines)
    if len(lines) == 1:
        return []
    middle = len(lines) // 2
    return suitable(lines[:middle], takes) + suitable(lines[middle:], takes)


def make(pool: Sequence[str], lines: int, seed: int = 0) -> str:
    """A module of about `lines` lines (a kernel's head counts too); every statement with names of its own."""
    rng = random.Random(seed)
    kernels: list[list[str]] = []
    left = lines - _HEAD.count("\n")
    while left > 0:
        count = max(1, min(left, KERNEL_LINES) - 11)
        kernels.append(list(_fresh(pool, count, rng)))
        left -= count + 11
    return _module(kernels)


def _fresh(pool: Sequence[str], count: int, rng: random.Random) -> Iterator[str]:
    for number in range(count):
        if number % 12 == 11:
            yield f"$L_{rng.randrange(1 << 30)}_{number}:"
            continue
        yield _shifted(rng.randrange(_REGISTERS), rng.choice(pool))


def _shifted(by: int, line: str) -> str:
    """The line with every register's number so much higher."""
    return _REGISTER.sub(lambda found: f"%{found[1]}{(int(found[2]) + by) % _REGISTERS}", line)


def _module(kernels: Sequence[Sequence[str]]) -> str:
    out = [_HEAD]
    declared = "".join(f"\t.reg .{kind} %{name}<{_REGISTERS}>;\n" for name, kind in _CLASSES.items())
    for number, body in enumerate(kernels):
        out.append(f"\n.visible .entry kernel_{number}(\n\t.param .u64 kernel_{number}_param_0\n)\n{{\n{declared}")
        out.extend(f"{line}\n" for line in body)
        out.append("\tret;\n}\n")
    return "".join(out)
