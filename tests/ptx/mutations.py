"""Hypothesis strategies that damage real PTX: by characters, tokens, lines and whole files."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from hypothesis import strategies as st

_TOKEN = re.compile(r"//[^\n]*|\"[^\"\n]*\"|[.%$\w:]+|\s+|\S")
_MOST_TOKENS = 3000

JUNK = (
    "", ";", "{", "}", "(", ")", "[", "]", ",", "@", "@!", "%r1", ".reg", "\n", '"', "/*", "*/", "//", "1.0f", "é",
    "\0", "0f", ":", "<", "=", "|", ".attribute(", "\\", "'", "#", "\r", "\r\n", "\ufeff", "\u2028", "\x85", "\x1c",
    "\x7f", "\ud7ff", "💥", ".section x {", ".entry", ".func f (", ".visible", ".version 8.0", ".loc 1", ".file 1 \"",
    ".pragma \"", "call", "call.uni (", "x: .callprototype", ".branchtargets", "mov.u32 %r1,", "{ ret; }", "0x",
    "1e999", "1/0", "0x" + "F" * 40, "9" * 5000, "-" * 300, "!" * 300, "(" * 300, "{" * 300, "}" * 300, "[" * 300,
    "1+" * 300, "a" * 3000, "%" * 200, "::" * 200, "/*" * 200, "// " + "x" * 2000, " " * 3000, "\n" * 500,
    ".b32 " * 300, "{" * 101, ".global .b32 g = {{{1},{2}},3};",
)  # fmt: skip

Edit = Callable[[str], str]


def _at(text: str, where: float) -> int:
    return min(len(text), int(where * (len(text) + 1)))


def _replace(where: float, removed: int, inserted: str) -> Edit:
    def edit(text: str) -> str:
        at = _at(text, where)
        return text[:at] + inserted + text[at + removed :]

    return edit


def _change_tokens(kind: str, where: float, other: float, inserted: str) -> Edit:
    """Delete, double, swap or replace one token."""

    def edit(text: str) -> str:
        tokens = _TOKEN.findall(text[: 40 * _MOST_TOKENS])
        if not tokens:
            return text
        a, b = (min(len(tokens) - 1, int(x * len(tokens))) for x in (where, other))
        if kind == "delete":
            tokens[a] = ""
        elif kind == "double":
            tokens[a] *= 2
        elif kind == "swap":
            tokens[a], tokens[b] = tokens[b], tokens[a]
        elif kind == "copy":
            tokens[a] = tokens[b]
        else:
            tokens[a] = inserted
        return "".join(tokens)

    return edit


def _change_lines(kind: str, where: float, other: float) -> Edit:
    def edit(text: str) -> str:
        lines = text.split("\n")
        a, b = sorted(min(len(lines) - 1, int(x * len(lines))) for x in (where, other))
        if kind == "delete":
            del lines[a : min(b, a + 5) + 1]
        elif kind == "double":
            lines[a:a] = lines[a : min(b, a + 5) + 1]
        else:
            lines[a], lines[b] = lines[b], lines[a]
        return "\n".join(lines)

    return edit


def _splice(other: str, where: float, there: float) -> Edit:
    return lambda text: text[: _at(text, where)] + other[_at(other, there) :]


def _whole(kind: str, where: float) -> Edit:
    changes: dict[str, Edit] = {
        "cut": lambda text: text[: _at(text, where)],
        "tail": lambda text: text[_at(text, where) :],
        "crlf": lambda text: text.replace("\n", "\r\n"),
        "cr": lambda text: text.replace("\n", "\r"),
        "bom": lambda text: "\ufeff" + text,
        "one line": lambda text: text.replace("\n", " "),
        "twice": lambda text: text + text,
        "no blanks": lambda text: re.sub(r"[ \t]+", "", text),
        "upper": str.upper,
        "no semicolons": lambda text: text.replace(";", ""),
        "no closing braces": lambda text: text.replace("}", ""),
        "no opening braces": lambda text: text.replace("{", ""),
        "reversed": lambda text: "\n".join(reversed(text.split("\n"))),
    }
    return changes[kind]


_SHARE = st.floats(0, 1)
_KINDS = ("cut", "tail", "crlf", "cr", "bom", "one line", "twice", "no blanks", "upper", "no semicolons",
          "no closing braces", "no opening braces", "reversed")  # fmt: skip


def edits(others: Sequence[str]) -> st.SearchStrategy[Edit]:
    """One change of a text; `others` are texts to splice in."""
    junk = st.sampled_from(JUNK)
    changes = st.sampled_from(("delete", "double", "swap", "copy", "junk"))
    # By number, because texts are too long for a readable example.
    spliced = st.integers(0, len(others) - 1).map(lambda number: others[number])
    return st.one_of(
        st.builds(_replace, _SHARE, st.integers(0, 12), junk),
        st.builds(_replace, _SHARE, st.just(0), st.text(max_size=8)),
        st.builds(_change_tokens, changes, _SHARE, _SHARE, junk),
        st.builds(_change_lines, st.sampled_from(("delete", "double", "swap")), _SHARE, _SHARE),
        st.builds(_splice, spliced, _SHARE, _SHARE),
        st.builds(_whole, st.sampled_from(_KINDS), _SHARE),
    )


@st.composite
def damaged(draw: st.DrawFn, texts: Sequence[str], most: int = 5) -> str:
    """One of the texts with one to `most` changes."""
    text = texts[draw(st.integers(0, len(texts) - 1))]
    for edit in draw(st.lists(edits(texts), min_size=1, max_size=most)):
        text = edit(text)[:200_000]
    return text
