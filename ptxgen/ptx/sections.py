"""Debug sections: `.section .debug_info { … }`, kept as text but checked to be data (manual, "Debugging Directives").

A body holds labels and `.b8`, `.b16`, `.b32`, `.b64`, each with a list of integers, or in the wide ones with one
name, `name+integer` or `name-name`.
"""

from __future__ import annotations

import re

from ptxgen.ptx.constants import ConstantFault, literal

_COMMENT = re.compile(r"//[^\n]*|/\*[\s\S]*?\*/")
_INT = r"-?(?:0[xX][0-9A-Fa-f]+U?|0[bB][01]+U?|0[0-7]*U?|[1-9][0-9]*U?)(?![A-Za-z0-9_.$])"
_LABEL = r"(?:[A-Za-z][A-Za-z0-9_$]*|[_%$][A-Za-z0-9_$]+)"
_NAME = rf"(?:{_LABEL}|\.[A-Za-z][A-Za-z0-9_$]*)(?![A-Za-z0-9_.$%])"
_PIECE = re.compile(
    rf"\s*(?:{_LABEL}\s*:|\.b(8|16|32|64)\s+(?:({_INT}(?:\s*,\s*{_INT})*)|({_NAME}(?:\s*\+\s*{_INT}|\s*-\s*{_NAME})?)))",
    re.ASCII,
)
_LAST = re.compile(r"\s*\Z")


def without_comments(section: str) -> str:
    """The text with blanks for comments; every line stays where it was."""
    return _COMMENT.sub(lambda c: "\n" * c[0].count("\n") or " ", section)


def words_of(section: str) -> str:
    """The lines of a section, without comments, blank lines and indents, and one blank between words."""
    lines = (" ".join(line.split()) for line in without_comments(section).split("\n"))
    return "\n".join(line for line in lines if line)


def wrong_line(section: str) -> int | None:
    """Which line of the text, from 0, is no data; None if all is well."""
    text = without_comments(section)
    opening = text.find("{")
    if opening < 0:
        return None
    at, end = opening + 1, text.rindex("}")
    while _LAST.match(text, at, end) is None:
        piece = _PIECE.match(text, at, end)
        if piece is None or not _fits(piece):
            fault = len(text) - len(text[at:].lstrip())
            return text.count("\n", 0, fault)
        at = piece.end()
    return None


def _fits(piece: re.Match[str]) -> bool:
    """Whether bytes and halves are integers, and not too wide."""
    bits, numbers, name = piece.groups()
    if bits is None:
        return True
    if name is not None:
        return int(bits) >= 32
    try:
        values = [literal(n.strip().removeprefix("-")).value for n in numbers.split(",")]
    except ConstantFault:
        return False
    most = 1 << int(bits)
    # only bytes and halves are held against their width
    return int(bits) >= 32 or all(v <= most // 2 if "-" in n else v < most
                                  for v, n in zip(values, numbers.split(","), strict=True))
