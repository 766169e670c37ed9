"""A syntax fault in words: what is wrong, where, and what would be right."""

from __future__ import annotations

import re
from difflib import get_close_matches

from lark import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from ptxgen.ptx.diagnostics import Diagnostic
from ptxgen.ptx.tree import Span

#: Directives by the terminal of the grammar that takes them.
DIRECTIVES = {
    **{f".{word}": f"DOT_{word.upper()}" for word in (
        "version", "target", "address_size", "alias", "entry", "func", "align", "ptr", "pragma", "callprototype",
        "branchtargets", "calltargets")},
    **dict.fromkeys((".extern", ".visible", ".weak", ".common"), "LINKAGE"),
    **dict.fromkeys((".reg", ".sreg", ".const", ".global", ".local", ".param", ".shared", ".tex"), "SPACE"),
    **dict.fromkeys(
        (".maxnreg", ".maxntid", ".reqntid", ".minnctapersm", ".maxnctapersm", ".noreturn", ".explicitcluster",
         ".reqnctapercluster", ".maxclusterrank", ".blocksareclusters"), "FUNCTION_DIRECTIVE"),
    # These are one terminal with all that follows.
    ".loc": "", ".file": "", ".section": "",
}  # fmt: skip

_SHOWN = {
    "SEMI": "';'", "COMMA": "','", "LBRACE": "'{'", "RBRACE": "'}'", "LPAR": "'('", "RPAR": "')'",
    "LSQB": "'['", "RSQB": "']'", "IDENT": "a name", "NAME": "a name", "INT": "an integer",
    "TYPE": "a type such as .b32", "STRING": "a string", "OPCODE": "an instruction", "CALL": "call",
    "NUMBER": "a version such as 8.0", "WORD": "a name", "COLON": "':'", "LESSTHAN": "'<'", "EQUAL": "'='",
    "MORETHAN": "'>'",
}
#: What stands at the fault, after what stands before it, and what to do about it.
_HINTS = (
    (r"[0-9.][eE]?[0-9]*$", r"[fF](?![\w.])", "float constants take no suffix: write 1.0 or 0f3F800000"),
    (r"\b0[fFdD]?$", r"[fFdD][0-9A-Fa-f]*", "0f takes exactly 8 hexadecimal digits, 0d exactly 16"),
    (r"(?<![\w.])0[0-7]*$", r"[89]", "a leading 0 makes an integer octal"),
    (r"[0-9]$", r"[uUlL]+(?!\w)", "the only suffix of an integer is a single U"),
    (r"-\s*$", r"0[fFdD][0-9A-Fa-f]", "give the negative number's own bits: the sign is the highest one"),
    (r"\[[^\]]*$", r"-", "a negative offset is written [name+-4]"),
    (r"\[[^\]]*\+\s*$", r"[%$A-Za-z_]",
     "an address is one register or variable and a constant; add beforehand"),
    (r"@[^;@]*$", r"@", "an instruction takes one guard; combine predicates with and.pred beforehand"),
    (r"-\s*$", r"[%$A-Za-z_]", "there is no negated operand; use neg or sub"),
    (r"", r"\.end(?!\w)", "no directive closes a module or a function; '}' closes a body"),
)
_DIRECTIVE = re.compile(r"\.[A-Za-z_]\w*")
_CODE = re.compile(r'(?:[^"/]+|"[^"\n]*"?|/(?!/))*')
_STRINGS = re.compile(r'[^"\n]*(?:"[^"\n]*"[^"\n]*)*')
_COMMENTS = re.compile(r'//[^\n]*|"[^"\n]*"|/\*(?:[\s\S]*?\*/)?')


def describe(text: str, error: UnexpectedInput) -> Diagnostic:
    """The fault in words."""
    position = error.pos_in_stream if error.pos_in_stream is not None else len(text)
    if at_end(error):
        return _early_end(text, error)
    if text.startswith("/*", position):
        return unclosed_comment(text, position)
    quote = _unclosed_string(text, position)
    if quote is not None:
        return Diagnostic(span_at(text, quote), "error", "unclosed-string", "this string is never closed",
                          'close it with " on the same line')
    width = len(error.token) if isinstance(error, UnexpectedToken) else 1
    if isinstance(error, UnexpectedToken) and "\n" in error.token:
        width = error.token.index("\n")
    shown = text[position : position + max(1, width)]
    spelled = shown if shown.isprintable() else repr(shown)[1:-1]
    span = span_at(text, position, max(1, len(shown)))
    return Diagnostic(span, "error", "syntax", f"unexpected '{spelled[:60]}'", _hint(text, position, error))


def _early_end(text: str, error: UnexpectedInput) -> Diagnostic:
    span = span_at(text, max(0, len(text.rstrip()) - 1))
    for comment in _COMMENTS.finditer(text):
        if comment[0] == "/*":
            return unclosed_comment(text, comment.start())
    if not text.strip():
        return Diagnostic(span, "error", "unexpected-end", "there is nothing here")
    inside = "a body: '}' is missing" if "AT" in expected(error) else "a statement or declaration"
    return Diagnostic(span, "error", "unexpected-end", f"the file ends inside {inside}")


def unclosed_comment(text: str, position: int) -> Diagnostic:
    """`position`: of its `/*`."""
    return Diagnostic(span_at(text, position, 2), "error", "unclosed-comment", "this comment is never closed",
                      "close it with */")


def _unclosed_string(text: str, position: int) -> int | None:
    """Where a string opens on this line that the line does not close, from the fault on."""
    opened = _STRINGS.match(text, position)
    assert opened is not None
    return opened.end() if text.startswith('"', opened.end()) and "//" not in opened[0] else None


def missing_semicolon(text: str, position: int) -> Diagnostic:
    """`position`: where the next statement begins."""
    end = code_end(text, position)
    line, column = line_column(text, max(0, end - 1))
    return Diagnostic(Span(line, column + 1, line, column + 2), "error", "missing-semicolon",
                      "';' is missing after this")


def unfinished(text: str, position: int) -> Diagnostic:
    """A statement breaks off, and another begins at `position`."""
    end = code_end(text, position)
    return Diagnostic(span_at(text, max(0, end - 1)), "error", "syntax", "the statement breaks off after this")


def nearest_directive(word: str) -> str:
    """The directive that `word` is a misspelling of, or nothing."""
    found = get_close_matches(word, DIRECTIVES, 1, 0.75) if len(word) <= 40 else []
    return found[0] if found else ""


def _hint(text: str, position: int, error: UnexpectedInput) -> str:
    before = text[max(0, position - 200) : position]
    before = before[before.rfind("\n") + 1 :]
    after = text[position : position + 40]
    for left, right, hint in _HINTS:
        if re.match(right, after) and re.search(left, before):
            return hint
    wanted = expected(error)
    directive = _DIRECTIVE.match(after)
    if directive and directive[0] not in DIRECTIVES and (near := nearest_directive(directive[0])):
        return f"did you mean {near}?"
    shown = sorted({_SHOWN[t] for t in wanted if t in _SHOWN})
    return f"expected {' or '.join(shown)}" if 0 < len(shown) <= 5 and "AT" not in wanted else ""


def expected(error: UnexpectedInput) -> set[str]:
    """The terminals that could have stood at the fault."""
    if isinstance(error, UnexpectedToken):
        return set(error.expected)
    if isinstance(error, UnexpectedCharacters):
        return set(error.allowed or ())
    return set()


def at_end(error: UnexpectedInput) -> bool:
    """Whether the text ended too early."""
    return isinstance(error, UnexpectedToken) and error.token.type == "$END"


def code_end(text: str, position: int) -> int:
    """Where the code before `position` ends: blanks and comments are passed over backwards."""
    end = position
    while end > 0:
        start = text.rfind("\n", 0, end) + 1
        code = _CODE.match(text, start, end)
        kept = code[0].rstrip() if code else ""
        if kept.endswith("*/"):
            end = max(0, text.rfind("/*", 0, start + len(kept) - 2))
        elif kept:
            return start + len(kept)
        else:
            end = start - 1
    return 0


def line_column(text: str, position: int) -> tuple[int, int]:
    """Both from 1."""
    return text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)


def span_at(text: str, position: int, width: int = 1) -> Span:
    """`width` characters of one line."""
    line, column = line_column(text, position)
    return Span(line, column, line, column + width)
