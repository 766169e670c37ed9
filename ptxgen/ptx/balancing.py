"""Braces of a text with faults: which are missing or too many, and the text with as many as it needs.

A brace that is wrong shows itself at the end of the file, far from its place. So functions are taken one by one, from
head to head, and the indentation of the lines says which brace belongs to which.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ptxgen.ptx.diagnostics import MOST_FAULTS, Diagnostic
from ptxgen.ptx.explaining import code_end, line_column, span_at
from ptxgen.ptx.tree import Span

#: So far to both sides the line around a brace is looked at.
_NEAR = 400

_PIECE = re.compile(
    r'//[^\n]*|/\*[\s\S]*?(?:\*/|\Z)|"[^"\n]*"|[{};]|(?<![A-Za-z0-9_$%.])\.(?:entry|func)(?![A-Za-z0-9_$])'
)
_ITEM_WORD = (
    r"\.(?:visible|extern|weak|common|entry|func|global|const|section|file|version|target|address_size|alias)"
)
_ITEM_LINE = re.compile(rf"^{_ITEM_WORD}(?![A-Za-z0-9_$])", re.MULTILINE)
#: What follows a function's last brace.
_AFTER_BODY = re.compile(rf"\s*(?:{_ITEM_WORD}(?![A-Za-z0-9_$])|\.(?:shared|tex|pragma|loc)\b|@@|#|\Z)")
_LINKAGE = re.compile(r"(?:\.(?:visible|extern|weak|common)\s+)+\Z")
#: A line that begins a statement, where a function's head should still open its body.
_BODY_LINE = re.compile(
    r"\n[ \t]*(?:\.(?:reg|local|shared|loc)[ \t]|@[!%$\w]|[a-z]\w*(?:\.[\w:]+)+[ \t]+[^\s(])(?=[^\n]*;?)"
)
_COMMENT = re.compile(r"//[^\n]*|/\*[\s\S]*?(?:\*/|\Z)")


@dataclass
class Mended:
    """`text` has balanced braces and the lines of the original; `faults` say what was wrong with it."""

    text: str
    faults: list[Diagnostic] = field(default_factory=list)


@dataclass
class _Segment:
    """From one function's head to the next: its braces of blocks, in order."""

    start: int
    end: int
    braces: list[tuple[int, str]] = field(default_factory=list)
    #: where the head ends, if no brace opens its body though statements follow
    unopened: int | None = None


def balance(text: str) -> Mended:
    """The text with its braces in order. Takes one pass over the text."""
    mended = Mended(text)
    edits: list[tuple[int, str]] = []
    for segment in _segments(text):
        _settle(text, segment, edits, mended.faults)
    out: list[str] = []
    at = 0
    for position, insert in sorted(edits):
        out.append(text[at:position] + insert)
        # An insertion goes between two characters; a blank takes the place of a brace.
        at = position + (insert == " ")
    mended.text = "".join([*out, text[at:]])
    return mended


def _segments(text: str) -> Iterator[_Segment]:
    segment = _Segment(0, 0)
    lists, awaiting, before, at = 0, False, ";", 0
    for piece in _PIECE.finditer(text):
        word, position = piece[0], piece.start()
        gap = text[at:position].rstrip()
        before, at = gap[-1] if gap else before, piece.end()
        if word[0] in "/\"":
            continue
        if word[0] == ".":
            linkage = _LINKAGE.search(text, max(0, position - 100), position)
            segment.end = linkage.start() if linkage else position
            yield segment
            segment, lists, awaiting = _Segment(segment.end, 0), 0, True
        elif word == ";":
            if awaiting:
                line = _BODY_LINE.search(text, segment.start, position)
                if line:
                    segment.unopened = code_end(text, line.start() + 1)
                    segment.braces.append((segment.unopened, "{"))
            lists, awaiting = 0, False
        elif word == "{":
            if awaiting or (lists == 0 and before not in "=,|(" and (before in ";{}:" or _alone(text, position))):
                segment.braces.append((position, "{"))
                awaiting = False
            else:
                lists += 1
        elif lists:
            lists -= 1
        else:
            segment.braces.append((position, "}"))
        before = word[-1]
    segment.end = len(text)
    yield segment


def _settle(text: str, segment: _Segment, edits: list[tuple[int, str]], faults: list[Diagnostic]) -> None:
    """Decide which braces of a segment are too many and where some are missing."""
    if len(faults) >= MOST_FAULTS:
        return
    net = sum(1 if brace == "{" else -1 for _, brace in segment.braces)
    missing, extra = max(0, net), max(0, -net)
    if segment.unopened is not None:
        edits.append((segment.unopened, " {"))
        faults.append(_after(text, segment.unopened, "'{' is missing after this: a body begins here"))
    opened: list[int] = []
    for position, brace in segment.braces:
        if len(faults) >= MOST_FAULTS:
            return
        if brace == "{":
            opened.append(position)
            continue
        if missing and len(opened) > 1 and _indent(text, position) < _indent(text, opened[-1]):
            missing -= 1
            faults.append(Diagnostic(span_at(text, opened.pop()), "error", "missing-brace",
                                     "this block is never closed", "'}' is missing"))
            edits.append((code_end(text, position), "}"))
        if not opened or (extra and len(opened) == 1 and not _AFTER_BODY.match(text, _skip(text, position + 1))):
            extra -= 1
            edits.append((position, " "))
            faults.append(Diagnostic(span_at(text, position), "error", "extra-brace",
                                     "unexpected '}': nothing is open here that it could close"
                                     if not opened else "this '}' closes the function, but statements follow"))
        else:
            opened.pop()
    if opened:
        last = max(segment.braces[-1][0], opened[-1])
        item = _ITEM_LINE.search(text, last, segment.end)
        end = code_end(text, item.start() if item else segment.end)
        edits.append((end, "}" * len(opened)))
        for position in reversed(opened):
            line = line_column(text, position)[0]
            faults.append(_after(text, end, f"'}}' is missing after this: the '{{' of line {line} is never closed"))


def _after(text: str, end: int, message: str) -> Diagnostic:
    line, column = line_column(text, max(0, end - 1))
    return Diagnostic(Span(line, column + 1, line, column + 2), "error", "missing-brace", message)


def _alone(text: str, position: int) -> bool:
    start = text.rfind("\n", max(0, position - _NEAR), position) + 1
    end = text.find("\n", position, position + _NEAR)
    after = text[position + 1 : end if end >= 0 else position + _NEAR]
    return not text[start:position].strip() and not _COMMENT.sub("", after).strip()


def _indent(text: str, position: int) -> int:
    line = text[text.rfind("\n", max(0, position - _NEAR), position) + 1 : position + 1].expandtabs(8)
    return len(line) - len(line.lstrip())


def _skip(text: str, position: int) -> int:
    """Past the blanks and comments that follow."""
    while True:
        while position < len(text) and text[position].isspace():
            position += 1
        comment = _COMMENT.match(text, position)
        if comment is None:
            return position
        position = comment.end()
