"""Going on after a syntax fault: what to say about it, where to start again."""

from __future__ import annotations

import re
from typing import Any

from lark import Lark, Token, UnexpectedCharacters, UnexpectedInput, UnexpectedToken
from lark.parsers.lalr_analysis import Shift

from ptxgen.ptx.diagnostics import Diagnostic
from ptxgen.ptx.tree import Span

#: After so many faults the rest of a text is not read: it is probably no PTX.
MOST_FAULTS = 50

_COMMENT_OR_CHAR = re.compile(r"//[^\n]*|/\*[\s\S]*?\*/|\"[^\"\n]*\"|[\s\S]")
#: An instruction as far as its opcode, from the start of its line.
_OPENING = re.compile(r"[ \t]*[a-z][a-z0-9_]*(?:\.[A-Za-z0-9_:]+)+[ \t]+")
_LONGEST_OPENING = 200
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
    (r"", r"\.end", "no directive closes a module or a function; '}' closes a body"),
)


def parse_on(lark: Lark, text: str) -> tuple[Any, list[Diagnostic]]:
    """What the grammar makes of `text`, going on after each fault; and the faults."""
    faults: list[Diagnostic] = []
    parser: Any = lark.parse_interactive(text, start="module")
    inserted = -1
    while True:
        try:
            return parser.resume_parse(), faults
        except UnexpectedInput as error:
            parser = error.interactive_parser
            faults.append(describe(text, error))
            if len(faults) >= MOST_FAULTS:
                return _close(parser, text), faults
            if _at_end(error):
                return _close(parser, text), faults
            position = error.pos_in_stream or 0
            if _misses_semicolon(text, error) and position > inserted:
                inserted = position
                _rewind(parser, text, position)
                if _feeds(parser, Token("SEMI", ";", position, *_line_column(text, position))):
                    continue
            swallowed = _swallowed(text, error)
            if swallowed is not None and swallowed > inserted and _unwind(parser) == "statement":
                inserted = swallowed
                _rewind(parser, text, swallowed)
                continue
            _restart(parser, text, position)


def describe(text: str, error: UnexpectedInput) -> Diagnostic:
    """The fault in words."""
    position = error.pos_in_stream if error.pos_in_stream is not None else len(text)
    if _at_end(error):
        position = len(text.rstrip())
        line, column = _line_column(text, max(0, position - 1))
        span = Span(line, column, line, column + 1)
        if text.rfind("/*") > text.rfind("*/"):
            line, column = _line_column(text, text.rfind("/*"))
            return Diagnostic(Span(line, column, line, column + 2), "error", "unclosed-comment",
                              "this comment is never closed", "close it with */")
        if not text.strip():
            return Diagnostic(span, "error", "unexpected-end", "there is nothing here")
        inside = "a body: '}' is missing" if "AT" in _expected(error) else "a statement or declaration"
        return Diagnostic(span, "error", "unexpected-end", f"the file ends inside {inside}")
    swallowed = _swallowed(text, error)
    if swallowed is not None or _misses_semicolon(text, error):
        end = len(_code_before(text, position if swallowed is None else swallowed).rstrip())
        line, column = _line_column(text, max(0, end - 1))
        return Diagnostic(Span(line, column + 1, line, column + 2), "error", "missing-semicolon",
                          "';' is missing after this")
    line, column = _line_column(text, position)
    width = len(error.token) if isinstance(error, UnexpectedToken) else 1
    if isinstance(error, UnexpectedToken) and "\n" in error.token:
        width = error.token.index("\n")
    shown = text[position : position + max(1, width)]
    if text.startswith("/*", position):
        return Diagnostic(Span(line, column, line, column + 2), "error", "unclosed-comment",
                          "this comment is never closed", "close it with */")
    expected = sorted({_SHOWN[t] for t in _expected(error) if t in _SHOWN})
    hint = _hint(text, position)
    if not hint and 0 < len(expected) <= 5 and "AT" not in _expected(error):
        hint = f"expected {' or '.join(expected)}"
    spelled = shown if shown.isprintable() else repr(shown)[1:-1]
    return Diagnostic(
        Span(line, column, line, column + max(1, len(shown))), "error", "syntax",
        f"unexpected '{spelled[:60]}'", hint,
    )


def _hint(text: str, position: int) -> str:
    before = text[max(0, position - 200) : position]
    before = before[before.rfind("\n") + 1 :]
    after = text[position : position + 40]
    for left, right, hint in _HINTS:
        if re.match(right, after) and re.search(left, before):
            return hint
    return ""


def _expected(error: UnexpectedInput) -> set[str]:
    if isinstance(error, UnexpectedToken):
        return set(error.expected)
    if isinstance(error, UnexpectedCharacters):
        return set(error.allowed or ())
    return set()


def _at_end(error: UnexpectedInput) -> bool:
    return isinstance(error, UnexpectedToken) and error.token.type == "$END"


def _code_before(text: str, position: int) -> str:
    """The text before `position` with a comment that ends there, and blanks, taken away."""
    start = max(0, *(text.rfind(mark, 0, position) for mark in (";", "{", "\n\n")))
    piece = re.sub(r"//[^\n]*|/\*[\s\S]*?\*/", lambda m: " " * len(m[0]), text[start:position])
    return text[:start] + piece


def _misses_semicolon(text: str, error: UnexpectedInput) -> bool:
    """A semicolon would do here, and the line before ended without one."""
    if not isinstance(error, UnexpectedToken) or "SEMI" not in error.expected:
        return False
    position = error.pos_in_stream or 0
    first_on_line = not text[text.rfind("\n", 0, position) + 1 : position].strip()
    return first_on_line or bool(error.token == "}")


def _swallowed(text: str, error: UnexpectedInput) -> int | None:
    """Where this line's instruction begins, when the unfinished one before took its opcode for an operand."""
    position = error.pos_in_stream or 0
    start = text.rfind("\n", 0, position) + 1
    if _at_end(error) or position - start > _LONGEST_OPENING or not _OPENING.fullmatch(text[start:position]):
        return None
    before = _code_before(text, start).rstrip()
    return None if not before or before[-1] in ";{}:,(|[+" else start


def _line_column(text: str, position: int) -> tuple[int, int]:
    return text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)


def _rewind(parser: Any, text: str, position: int) -> None:
    counter = parser.lexer_thread.state.line_ctr
    counter.char_pos = position
    counter.line, counter.column = _line_column(text, position)
    counter.line_start_pos = text.rfind("\n", 0, position) + 1


def _starts(parser: Any, state: Any) -> str:
    """"statement", "item" or "": what may begin in this state of the automaton."""
    actions = parser.parser_state.parse_conf.states[state]
    for terminal, kind in (("AT", "statement"), ("DOT_VERSION", "item")):
        if actions.get(terminal, (None,))[0] is Shift:
            return kind
    return ""


def _unwind(parser: Any) -> str:
    """Drop what was begun, down to where a statement or an item may begin; which of them."""
    state = parser.parser_state
    while not (kind := _starts(parser, state.state_stack[-1])):
        state.state_stack.pop()
        state.value_stack.pop()
    return kind


def _restart(parser: Any, text: str, position: int) -> None:
    """Skip the faulty statement (to its semicolon, its line's end or a closing brace) or item."""
    kind = _unwind(parser)
    depth = 0
    at = position
    while at < len(text):
        match = _COMMENT_OR_CHAR.match(text, at)
        piece = match[0] if match else text[at]
        if kind == "statement" and piece == "}":
            # A brace that was the fault itself must be passed over, or nothing would move.
            at += at == position
            break
        if kind == "statement" and piece in ("\n", ";"):
            at += 1
            break
        if kind == "item":
            depth += (piece == "{") - (piece == "}")
            if depth <= 0 and piece in (";", "}"):
                at += 1
                break
        at += len(piece)
    _rewind(parser, text, max(at, position + 1) if at < len(text) else len(text))


def _feeds(parser: Any, token: Token) -> bool:
    """Feed a token that is not in the text; False when it cannot stand here after all."""
    try:
        parser.feed_token(token)
    except UnexpectedInput:
        return False
    return True


def _close(parser: Any, text: str) -> Any:
    """End the module here, closing open bodies."""
    position = len(text)
    place = _line_column(text, position)
    if _unwind(parser) == "statement":
        while _feeds(parser, Token("RBRACE", "}", position, *place, None, *place)):
            pass
    return parser.feed_token(Token("$END", "", position, *place))
