"""A kernel that stores what each of its statements gives, so that two answers can be followed to where they part."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fuzz.kernels.making import WORDS, Kernel
from fuzz.kernels.running import Words
from fuzz.kernels.writing import REGISTERS

_STATEMENT = re.compile(r"\t(?:@!?\S+ )?([a-z]\w*)(\S*) (.*);")
_REGISTER = re.compile(r"%t?(" + "|".join(sorted(REGISTERS, key=len, reverse=True)) + r")_\d+\b|%hash\b")
#: Addresses differ from one executor to another, and what atomics found in accumulators from one run to another.
_ADDRESSES = re.compile(
    r"%(out|values|first_values|local|all|own|sums|cells)\w*|function_|accumulators|%given|"
    r"selp\.b64 %tb64_\d+, %tb64|, 1, %tb64|mov\.u64 \S+, \w+;"
)
#: What has no register for a result first, and what nothing may follow.
_SILENT = frozenset({"st", "bra", "brx", "bar", "barrier", "ret", "exit", "call", "red"})


@dataclass(frozen=True)
class Traced:
    """`ptx` stores words `stride` apart a thread: those of the kernel, then one for each of `statements` (lines of
    the kernel's own text with the register that each stores)."""

    kernel: Kernel
    ptx: str
    statements: tuple[tuple[str, str], ...]

    @property
    def words(self) -> int:
        """Of each thread."""
        return WORDS + len(self.statements)


def traced(kernel: Kernel, ptx: str = "") -> Traced:
    """Only the kernel itself is traced, not its functions."""
    head, entry, body = (ptx or kernel.ptx).partition(".visible .entry")
    lines: list[str] = []
    statements: list[tuple[str, str]] = []
    begun = False
    texts = body.splitlines()
    for line, after in zip(texts, [*texts[1:], ""], strict=True):
        lines.append(line)
        begun = begun or "%out, %thread" in line
        # What is made one NaN in the next lines may be any NaN here.
        for register in _results(line) if begun and "setp.nan" not in after else ():
            lines += _store(register, f"[%out+{8 * (WORDS + len(statements))}]")
            statements.append((line.strip(), register))
    text = head + entry + "\n".join(lines) + "\n"
    stride = f"%out, %thread, {8 * (WORDS + len(statements))}, %out_at"
    text = text.replace(f"%out, %thread, {8 * WORDS}, %out_at", stride)
    inside = text.index("\n{", text.index(".visible .entry")) + 2
    return Traced(kernel, f"{text[:inside]}\n\t.reg .b32 %traced;{text[inside:]}", tuple(statements))


def _results(line: str) -> list[str]:
    found = _STATEMENT.fullmatch(line)
    if not found or found[1] in _SILENT or _ADDRESSES.search(line):
        return []
    target = found[3]
    first = target[: target.index("}")] if target.startswith("{") else target.split(",")[0]
    registers = [match[0] for match in _REGISTER.finditer(first)] if "[" not in first else []
    # A temporary under a guard may hold nothing.
    return registers if "@" not in line else [name for name in registers if not name.startswith("%t")]


def _store(register: str, place: str) -> list[str]:
    kind = "b64" if register == "%hash" else _REGISTER.fullmatch(register)[1]  # type: ignore[index]
    bits = REGISTERS[kind]
    if bits == "pred":
        return [f"\tselp.b32 %traced, 1, 0, {register};", f"\tst.global.b32 {place}, %traced;"]
    if bits == "b128":
        return []
    return [f"\tst.global.{bits} {place}, {register};"]


def parting(trace: Traced, ours: Words, theirs: Words) -> tuple[int, int] | None:
    """Statement and thread where two answers of a traced kernel differ first, in the order of the text."""
    shape = (trace.kernel.threads, trace.words)
    apart: npt.NDArray[np.bool_] = (ours != theirs)[: shape[0] * shape[1]].reshape(shape)[:, WORDS:]
    if not apart.any():
        return None
    statement = int(np.flatnonzero(apart.any(axis=0))[0])
    return statement, int(np.flatnonzero(apart[:, statement])[0])
