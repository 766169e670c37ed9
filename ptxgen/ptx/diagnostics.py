"""Diagnostics: what is wrong in a PTX text, where, and what would be right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ptxgen.errors import PtxgenError
from ptxgen.ptx.tree import Span

Severity = Literal["error", "warning", "note"]

#: After so many syntax faults the rest of a text is not read: it is probably no PTX.
MOST_FAULTS = 50


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """`code` is a stable kebab-case identifier, `hint` says what would be right."""

    span: Span
    severity: Severity
    code: str
    message: str
    hint: str = ""


class PtxSyntaxError(PtxgenError):
    """A text that does not parse; carries its diagnostics (at least one)."""

    exit_code = 1

    def __init__(self, diagnostics: tuple[Diagnostic, ...], text: str, name: str) -> None:
        self.diagnostics = diagnostics
        drawn = [draw(d, text, name) for d in diagnostics[:MOST_FAULTS]]
        if len(diagnostics) > MOST_FAULTS:
            drawn.append(f"... and {len(diagnostics) - MOST_FAULTS} more")
        super().__init__("\n".join(drawn))


def draw(diagnostic: Diagnostic, text: str, name: str = "<ptx>", context: int = 2) -> str:
    """`name:line:column: severity: message [code]`, `context` lines before, the line, a caret under it."""
    span = diagnostic.span
    place = f"{name}:{span.line}:{span.column}"
    head = f"{place}: {diagnostic.severity}: {diagnostic.message} [{diagnostic.code}]"
    # Other characters that end lines elsewhere do not here.
    lines = text.split("\n")
    out = [head]
    if 1 <= span.line <= len(lines):
        first = max(1, span.line - context)
        width = len(str(span.line))
        for number in range(first, span.line + 1):
            out.append(f" {number:>{width}} | {_shown(lines[number - 1])}")
        before = len(_shown(lines[span.line - 1][: max(0, span.column - 1)], end=False))
        until = span.end_column - span.column if span.end_line == span.line else 1
        out.append(f" {' ' * width} | {' ' * before}{'^' * max(1, until)}")
    if diagnostic.hint:
        out.append(f"   hint: {diagnostic.hint}")
    return "\n".join(out)


def _shown(line: str, *, end: bool = True) -> str:
    """A line as a terminal can show it, each control character one column wide."""
    tabs_only = "".join(c if c.isprintable() or c == "\t" else "?" for c in line.removesuffix("\r" if end else ""))
    return tabs_only.expandtabs(4)
