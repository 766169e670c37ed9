"""What spoils a whole text from one place: comments without an end, braces missing or too many.

Such a fault shows itself at the end of the file, far from its place. So comments are looked at first; then functions
one by one, from head to head, and the indentation of the lines says which brace belongs to which.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ptxgen.ptx.diagnostics import MOST_FAULTS, Diagnostic
from ptxgen.ptx.explaining import code_end, line_column, span_at, unclosed_comment
from ptxgen.ptx.tree import Span

#: Nothing nests deeper, and walking the tree by recursion stays safe.
DEEPEST_NESTING = 100
#: So far to both sides the line around a brace is looked at.
_NEAR = 400

_PIECE = re.compile(
    r'//[^\n]*|/\*[\s\S]*?(?:\*/|\Z)|"[^"\n]*"|[{};]|(?<![A-Za-z0-9_$%.])\.(?:entry|func|section)(?![A-Za-z0-9_$])'
)
_ITEM_WORD = (
    r"\.(?:visible|extern|weak|common|entry|func|global|const|section|file|version|target|address_size|alias)"
)
_ITEM_LINE = re.compile(
    rf"^(?:{_ITEM_WORD}|[ \t]+\.(?:visible|extern|weak|entry|func|file|section))(?![A-Za-z0-9_$])", re.MULTILINE
)
#: What follows a function's last brace.
_AFTER_BODY = re.compile(rf"\s*(?:{_ITEM_WORD}(?![A-Za-z0-9_$])|\.(?:shared|tex|pragma)\b|@@|#|\Z)")
#: A line that begins a statement, or ends a body.
STATEMENT_LINE = re.compile(
    r"[ \t]*(?:\}|\{[ \t]*(?://[^\n]*)?(?:\n|\Z)|(?:\{[ \t]*)?(?:@[!%$\w]"
    r"|[a-z][a-z0-9_]*(?:\.[A-Za-z0-9_:]+)+[ \t]+\S|(?:ret|exit|trap)[ \t]*;|call(?:\.uni)?(?![A-Za-z0-9_.$])"
    r"|\.(?:reg|local|shared|param|global|const|loc|pragma|file|entry|func|visible)(?![A-Za-z0-9_$])"
    r"|[%$_A-Za-z][A-Za-z0-9_$]*[ \t]*:(?!:)))"
)
#: What stands in bodies only, behind a brace.
BODY_ONLY = re.compile(
    r"@[!%$\w]|[a-z][a-z0-9_]*(?:\.[A-Za-z0-9_:]+)+[ \t]+\S|(?:ret|exit|trap)[ \t]*;|bra[ \t]"
    r"|[$%][A-Za-z0-9_$]+[ \t]*:"
    r"|\.(?:reg|local|param)(?![A-Za-z0-9_$])"
)
_LINKAGE = re.compile(r"(?:\.(?:visible|extern|weak|common)\s+)+\Z")
#: A line that begins a statement, where a function's head should still open its body.
_BODY_LINE = re.compile(
    r"\n[ \t]*(?:\.(?:reg|local|shared|loc)[ \t]|@[!%$\w]|[a-z]\w*(?:\.[\w:]+)+[ \t]+[^\s(])(?=[^\n]*;?)"
)
_COMMENT = re.compile(r"//[^\n]*|/\*[\s\S]*?(?:\*/|\Z)")
_BLOCK_START = re.compile(
    r"\{[ \t]*(?:([a-z][a-z0-9_]*(?:\.[A-Za-z0-9_:]+)+[ \t]|\.[a-z]+[ \t])|(?://[^\n]*)?(?:\n|\Z))"
)
_BLANK_LINES = re.compile(r"[ \t]*(?://[^\n]*)?(?:\n[ \t]*)*")
_COMMENTS = re.compile(rf'{_COMMENT.pattern}|"[^"\n]*"')
#: The rest of a line that is code, and no comment.
_CODE_LINE = re.compile(r"[^\n]*[;{}:,()][ \t]*(?://[^\n]*)?|[ \t]*(?:\.[a-z_]+[^\n]*)?")
_HIDING = re.compile(r'//[^\n]*|"[^"\n]*"|/\*[\s\S]*?\*/|[{}]')
_HIDING_LESS = re.compile(r'//[^\n]*|"[^"\n]*"|[{}]')
_PRAGMA = re.compile(r"\.pragma\s[^;\n]*\Z")


def too_deep(text: str) -> int | None:
    """Where a brace opens that is nested too deeply, whatever is made of the rest, if one is."""
    if text.count("{") <= DEEPEST_NESTING:
        return None
    depth = 0
    # Behind the last end of a comment, no `/*` hides anything for certain.
    closed = text.rfind("*/") + 2 if "*/" in text else 0
    for pattern, start, end in ((_HIDING, 0, closed), (_HIDING_LESS, closed, len(text))):
        for piece in pattern.finditer(text, start, end):
            if piece[0][0] == "/":
                continue
            for brace in piece[0]:
                depth = max(0, depth + (brace == "{") - (brace == "}"))
            if depth > DEEPEST_NESTING:
                return piece.start()
    return None


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
    #: where more follows on a section that nothing closes
    sections: list[int] = field(default_factory=list)


def balance(text: str) -> Mended:
    """The text with its comments and braces in order. Takes two passes over the text."""
    mended = Mended(text)
    _close_comments(mended)
    edits: list[tuple[int, str]] = []
    for segment in _segments(mended.text):
        _settle(mended.text, segment, edits, mended.faults)
    out: list[str] = []
    at = 0
    for position, insert in sorted(edits):
        out.append(mended.text[at:position] + insert)
        # An insertion goes between two characters; a blank takes the place of a brace.
        at = position + (insert == " ")
    balanced = "".join([*out, mended.text[at:]])
    if too_deep(balanced) is not None:
        return Mended(text)
    mended.text = balanced
    return mended


def _close_comments(mended: Mended) -> None:
    """Blank the `/*` of comments that nothing closes, or only the end of a later comment with code between."""
    text = mended.text
    out: list[str] = []
    at = 0
    while len(mended.faults) < MOST_FAULTS:
        comment = next((c for c in _COMMENTS.finditer(text, at) if _swallows(c[0])), None)
        if comment is None:
            break
        mended.faults.append(unclosed_comment(text, comment.start()))
        end = text.find("\n", comment.start())
        end = len(text) if end < 0 else end
        code = _CODE_LINE.match(text, comment.start() + 2, end)
        keep = comment.start() + 2 if code else end
        out.append(text[at : comment.start()] + " " * (keep - comment.start()))
        at = keep
    mended.text = "".join([*out, text[at:]])


def _swallows(comment: str) -> bool:
    if not comment.startswith("/*"):
        return False
    return not comment.endswith("*/") or len(comment) < 4 or (comment.find("/*", 2) > comment.find(";") > 0)


def _segments(text: str) -> Iterator[_Segment]:
    segment = _Segment(0, 0)
    lists, awaiting, section, before, at = 0, False, "", ";", 0
    for piece in _PIECE.finditer(text):
        word, position = piece[0], piece.start()
        gap = text[at:position].rstrip()
        before, at = gap[-1] if gap else before, piece.end()
        if word[0] in "/\"":
            continue
        if word[0] == ".":
            if section == "open":
                segment.sections.append(position)
            section = "begun" if word == ".section" else ""
        if section:
            # Its braces hold lists, and no blocks.
            section = "" if word == "}" else "open" if word == "{" else section
            lists = 0
        elif word[0] == ".":
            linkage = _LINKAGE.search(text, max(0, position - 100), position)
            segment.end = linkage.start() if linkage else position
            yield segment
            segment, lists, awaiting = _Segment(segment.end, 0), 0, True
        elif word == ";":
            if awaiting and _PRAGMA.search(text, max(segment.start, position - _NEAR), position):
                continue
            if awaiting:
                line = _BODY_LINE.search(text, segment.start, position)
                if line:
                    segment.unopened = code_end(text, line.start() + 1)
                    segment.braces.append((segment.unopened, "{"))
            lists, awaiting = 0, False
        elif word == "{":
            if awaiting or (lists == 0 and before != "=" and (before in ";{}:" or _begins_block(text, position))):
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
    for position in segment.sections:
        end = code_end(text, position)
        edits.append((end, "}"))
        faults.append(_after(text, end, "'}' is missing after this: the section is never closed"))
    opened: list[int] = []
    for position, brace in segment.braces:
        if len(faults) >= MOST_FAULTS:
            return
        if brace == "{":
            opened.append(position)
            continue
        behind = _skip(text, position + 1)
        ends_body = _AFTER_BODY.match(text, behind) is not None
        while missing and len(opened) > 1 and (ends_body or _indented_less(text, position, opened[-1])):
            missing -= 1
            faults.append(_never_closed(text, opened.pop()))
            edits.append((code_end(text, position), "}"))
        if not opened:
            edits.append((position, " "))
            faults.append(Diagnostic(span_at(text, position), "error", "extra-brace",
                                     "unexpected '}': nothing is open here that it could close"))
        elif len(opened) == 1 and ((extra > 0 and not ends_body) or BODY_ONLY.match(text, behind)):
            extra -= 1
            edits.append((position, " "))
            faults.append(Diagnostic(span_at(text, position), "error", "extra-brace",
                                     "this '}' closes the function, but statements follow"))
        else:
            opened.pop()
    if opened:
        last = max(segment.braces[-1][0], opened[-1])
        item = _ITEM_LINE.search(text, last, segment.end)
        end = code_end(text, item.start() if item else segment.end)
        edits.append((end, "}" * len(opened)))
        line = line_column(text, opened[0])[0]
        faults.append(Diagnostic(_blank_line(text, end), "error", "missing-brace",
                                 f"'}}' is missing here: the '{{' of line {line} is never closed"))
        faults.extend(_never_closed(text, position) for position in opened[1:])


def _never_closed(text: str, position: int) -> Diagnostic:
    return Diagnostic(span_at(text, position), "error", "missing-brace", "this block is never closed",
                      "'}' is missing")


def _after(text: str, end: int, message: str) -> Diagnostic:
    line, column = line_column(text, max(0, end - 1))
    return Diagnostic(Span(line, column + 1, line, column + 2), "error", "missing-brace", message)


def _blank_line(text: str, end: int) -> Span:
    """Where a brace that is missing after `end` belongs: the last blank line before more is said, if there is one."""
    blank = _BLANK_LINES.match(text, end)
    line, column = line_column(text, max(0, end - 1))
    more = blank[0].count("\n") - 1 if blank else 0
    if more < 1:
        return Span(line, column + 1, line, column + 2)
    return Span(line + min(2, more), 1, line + min(2, more), 2)


def _begins_block(text: str, position: int) -> str:
    """"alone" for a brace alone on its line, "code" for one before an instruction, else nothing."""
    start = text.rfind("\n", max(0, position - _NEAR), position) + 1
    found = _BLOCK_START.match(text, position)
    if found is None or text[start:position].strip():
        return ""
    return "code" if found[1] else "alone"


def _indented_less(text: str, closing: int, opening: int) -> bool:
    """Whether a brace stands further left than the line of the one it would close, which stands alone."""
    return _begins_block(text, opening) == "alone" and _indent(text, closing) < _indent(text, opening)


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
