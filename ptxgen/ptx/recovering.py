"""Going on after a syntax fault: what is mended in passing, what is left out, where to start again.

The first fault of a text has its braces put in order (`balancing`); from then on faults are single statements or
declarations. Each is described once, and what cannot be kept is noted as lost.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from lark import Lark, Token, UnexpectedInput, UnexpectedToken
from lark.parsers.lalr_analysis import Shift

from ptxgen.ptx.balancing import BODY_ONLY, STATEMENT_LINE, balance
from ptxgen.ptx.diagnostics import MOST_FAULTS, Diagnostic
from ptxgen.ptx.explaining import (
    DIRECTIVES,
    at_end,
    code_end,
    describe,
    expected,
    line_column,
    missing_semicolon,
    nearest_directive,
    unfinished,
)
from ptxgen.ptx.lexing import reductions
from ptxgen.ptx.tree import Lost, Span

_PIECE = re.compile(r"//[^\n]*|/\*[\s\S]*?(?:\*/|\Z)|\"[^\"\n]*\"|[{};\n]")
#: A line that begins an item of the module.
_ITEM_LINE = re.compile(
    r"[ \t]*(?:\.(?:visible|extern|weak|common|entry|func|global|const|tex|alias|version|target|address_size|file"
    r"|section)(?![A-Za-z0-9_$])|@@DWARF)"
)
_LINES = {"statement": STATEMENT_LINE, "item": _ITEM_LINE}
_HEAD = re.compile(r"\.(?:entry|func)(?![A-Za-z0-9_$])")
_NAME = re.compile(r"(?<![A-Za-z0-9_$%.])(?:[A-Za-z_][A-Za-z0-9_$]*|[%$][A-Za-z0-9_$]+)")
_PUNCTUATION = re.compile(r"[\])(>,]")
_WORD = re.compile(r"\.[A-Za-z_][A-Za-z0-9_]*")
_NOT_CODE = re.compile(r"//[^\n]*|/\*[\s\S]*?(?:\*/|\Z)|\"[^\"\n]*\"")


def parse_on(lark: Lark, text: str, afresh: Callable[[], None]) -> tuple[Any, list[Diagnostic], list[Lost]]:
    """What the grammar makes of `text`, going on after each fault; the faults; what was lost.

    `afresh` is called when reading starts again from the beginning, which happens once at most.
    """
    parser: Any = lark.parse_interactive(text, start="module")
    try:
        return parser.resume_parse(), [], []
    except UnexpectedInput as error:
        first = error
    mended = balance(text)
    if not mended.faults:
        return _Recovery(text, [], []).run(first)
    afresh()
    recovery = _Recovery(mended.text, list(mended.faults), [Lost(f.span, frozenset(), "") for f in mended.faults])
    parser = lark.parse_interactive(mended.text, start="module")
    try:
        return parser.resume_parse(), recovery.faults, recovery.lost
    except UnexpectedInput as error:
        module, faults, lost = recovery.run(error)
    return module, _within(faults, text), lost


def _within(faults: list[Diagnostic], text: str) -> list[Diagnostic]:
    """Braces that were put in make lines longer; no fault stands behind the end of its line all the same."""
    ends = [len(line) + 1 for line in text.split("\n")]
    out = []
    for fault in faults:
        span = fault.span
        column = min(span.column, ends[span.line - 1])
        out.append(replace(fault, span=Span(span.line, column, span.end_line, max(span.end_column, column + 1))))
    return out


class _Recovery:
    """`lost` holds "" for the function of what stands in a body: which one it is, the tree says."""

    def __init__(self, text: str, faults: list[Diagnostic], lost: list[Lost]) -> None:
        self.text = text
        self.faults = faults
        self.lost = lost
        #: Nothing is put in twice at one place, or reading would not move.
        self.inserted = -1
        self.parser: Any = None

    def run(self, error: UnexpectedInput) -> tuple[Any, list[Diagnostic], list[Lost]]:
        """Go on from the first fault to the end."""
        while True:
            self.parser = error.interactive_parser
            self._complete()
            if at_end(error) or len(self.faults) >= MOST_FAULTS:
                return self._end(error)
            self._mend(error)
            try:
                return self.parser.resume_parse(), self.faults, self.lost
            except UnexpectedInput as following:
                error = following

    def _mend(self, error: UnexpectedInput) -> None:
        """Put in what is missing, or leave out what is wrong."""
        position = error.pos_in_stream or 0
        began, kind = self._began(position)
        following = self._next_line(_LINES[kind], began, position)
        broken_before = following is not None and self.text.find("\n", following, position) >= 0
        if not broken_before and (self._put_directive(error, position) or self._put_semicolon(error, position)):
            return
        if following is not None:
            self._break_off(following, began)
        else:
            self.faults.append(describe(self.text, error))
            self._restart(position, began)

    def _next_line(self, begins: re.Pattern[str], began: int, position: int) -> int | None:
        """The line where another statement or item begins, if what was begun went on over it."""
        at = began
        while True:
            at = self.text.find("\n", at, position) + 1
            if at == 0:
                return None
            if at > self.inserted and begins.match(self.text, at) and self.text[at : position + 1].strip():
                return at

    def _end(self, error: UnexpectedInput) -> tuple[Any, list[Diagnostic], list[Lost]]:
        """The text ends too early, or no more of it is read: close what is open."""
        position = len(self.text) if at_end(error) else error.pos_in_stream or 0
        began, kind = self._began(position)
        if len(self.faults) < MOST_FAULTS:
            self.faults.append(describe(self.text, error))
        self._unwind()
        self._lose(began, len(self.text), "" if kind == "statement" else None)
        if not at_end(error):
            self._lose(position, len(self.text), None)
        place = line_column(self.text, len(self.text))
        if kind == "statement":
            while self._feeds(Token("RBRACE", "}", len(self.text), *place, None, *place)):
                pass
        return self.parser.feed_token(Token("$END", "", len(self.text), *place)), self.faults, self.lost

    # ------------------------------------------------------------ mending in passing

    def _put_semicolon(self, error: UnexpectedInput, position: int) -> bool:
        """Where one would do, and the line before ended without it."""
        if not isinstance(error, UnexpectedToken) or "SEMI" not in error.expected or position <= self.inserted:
            return False
        first_on_line = not self.text[self.text.rfind("\n", 0, position) + 1 : position].strip()
        if not first_on_line and error.token != "}":
            return False
        if _PUNCTUATION.match(self.text, position) and error.token != "}":
            return False
        if not self._feeds(Token("SEMI", ";", position, *line_column(self.text, position))):
            return False
        self.inserted = position
        self._rewind(position)
        fault = missing_semicolon(self.text, position)
        self.faults.append(fault)
        self.lost.append(Lost(fault.span, frozenset(), ""))
        return True

    def _put_directive(self, error: UnexpectedInput, position: int) -> bool:
        """The right word for a misspelt directive."""
        word = _WORD.match(self.text, position)
        near = nearest_directive(word[0]) if word and word[0] not in DIRECTIVES else ""
        if not word or not near or position <= self.inserted or DIRECTIVES[near] not in expected(error):
            return False
        line, column = line_column(self.text, position)
        token = Token(DIRECTIVES[near], near, position, line, column, line, column + len(word[0]), word.end())
        if not self._feeds(token):
            return False
        self.inserted = position
        self._rewind(word.end())
        self.faults.append(describe(self.text, error))
        self.lost.append(Lost(self.faults[-1].span, frozenset(), ""))
        return True

    def _break_off(self, line_start: int, began: int) -> None:
        """The statement before took the opcode of this line for an operand."""
        before = self.text[code_end(self.text, line_start) - 1 : line_start]
        misses = before[:1] not in tuple("{:,(|[+")
        explain = missing_semicolon if misses else unfinished
        self.faults.append(explain(self.text, line_start))
        kind = self._unwind()
        self._lose(began, line_start, "" if kind == "statement" else None)
        self.inserted = line_start
        self._rewind(line_start)

    # ------------------------------------------------------------ leaving out

    def _restart(self, position: int, began: int) -> None:
        """Leave out the faulty statement or item, and go on behind it."""
        inside = self.text[began:position]
        kind = self._unwind()
        if kind == "statement":
            at = self._statement_end(position, began)
            self._lose(began, at, "")
        else:
            at, opens_body = self._item_end(position, inside)
            self._lose(began, at, None)
            if opens_body:
                self._put_head(self.text[began:at], at)
        self._rewind(at)

    def _statement_end(self, position: int, began: int) -> int:
        """Behind its semicolon, or where the next line begins another, or a brace closes the body."""
        text = self.text
        code = _NOT_CODE.sub("", text[began:position])
        lists = max(0, code.count("{") - code.count("}"))
        if text.startswith("}", position) and lists == 0:
            # It ends the body, unless nothing was begun: then it is the fault itself.
            return position + (began == position)
        if text.startswith(("\"", "/*"), position):
            end = text.find("\n", position)
            return end + 1 if end >= 0 else len(text)
        for piece in _PIECE.finditer(text, position):
            word = piece[0]
            if word == ";":
                return piece.end()
            if word == "{":
                lists += 1
            elif word == "}":
                if lists == 0:
                    return piece.start()
                lists -= 1
            elif word == "\n" and STATEMENT_LINE.match(text, piece.end()):
                return piece.end()
        return len(text)

    def _item_end(self, position: int, inside: str) -> tuple[int, bool]:
        """Behind its semicolon or last brace, or where the next line begins another; or where a function's body
        begins, and then True. Statements outside of any body are passed over together."""
        text = self.text
        depth = 0
        outside = BODY_ONLY.match(text, position) is not None
        for piece in _PIECE.finditer(text, position):
            word = piece[0]
            if word == "{":
                head = _NOT_CODE.sub("", inside + text[position : piece.start()])
                if depth == 0 and "=" not in head and (_HEAD.search(head) or ")" in head):
                    return piece.start(), True
                depth += 1
            elif word == "}":
                depth -= 1
            ends = depth <= 0 and (word == "}" or (word == ";" and not outside))
            if ends or (word == "\n" and _ITEM_LINE.match(text, piece.end())):
                return piece.end(), False
        return len(text), False

    def _put_head(self, head: str, position: int) -> None:
        """A head in place of the one that was lost, so that the body can be read."""
        plain = re.sub(r"\([^()]*\)?", " ", _NOT_CODE.sub("", head))
        names = _NAME.findall(plain)
        place = line_column(self.text, position)
        kind = "DOT_FUNC" if ".func" in head else "DOT_ENTRY"
        self._feeds(Token(kind, ".func" if kind == "DOT_FUNC" else ".entry", position, *place, *place))
        self._feeds(Token("IDENT", names[0] if names else "", position, *place, *place))

    # ------------------------------------------------------------ the state of the parser

    def _began(self, position: int) -> tuple[int, str]:
        """Where the statement or item that was begun starts, and which of them it is."""
        state = self.parser.parser_state
        depth = len(state.state_stack)
        while not (kind := _starts(self.parser, state.state_stack[depth - 1])):
            depth -= 1
        for value in state.value_stack[depth - 1 :]:
            start = _start_of(value, self.text)
            if start is not None:
                return min(start, position), kind
        return position, kind

    def _complete(self) -> None:
        """Reduce what is finished before the fault: the automaton waits for what follows before it does."""
        state = self.parser.parser_state
        callbacks = state.parse_conf.callbacks
        for following in ("AT", "DOT_VERSION"):
            for rule in reductions(state, following) or ():
                size = len(rule.expansion)
                children = state.value_stack[len(state.value_stack) - size :]
                for stack in (state.state_stack, state.value_stack):
                    del stack[len(stack) - size :]
                state.value_stack.append(callbacks[rule](children))
                state.state_stack.append(state.parse_conf.states[state.state_stack[-1]][rule.origin.name][1])

    def _unwind(self) -> str:
        """Drop what was begun, down to where a statement or an item may begin; which of them."""
        state = self.parser.parser_state
        while not (kind := _starts(self.parser, state.state_stack[-1])):
            state.state_stack.pop()
            state.value_stack.pop()
        return kind

    def _rewind(self, position: int) -> None:
        counter = self.parser.lexer_thread.state.line_ctr
        counter.char_pos = position
        counter.line, counter.column = line_column(self.text, position)
        counter.line_start_pos = self.text.rfind("\n", 0, position) + 1

    def _feeds(self, token: Token) -> bool:
        """Feed a token that is not in the text; False when it cannot stand here after all."""
        try:
            self.parser.feed_token(token)
        except UnexpectedInput:
            return False
        return True

    def _lose(self, start: int, end: int, function: str | None) -> None:
        names = frozenset(_NAME.findall(_NOT_CODE.sub(" ", self.text[start:end])))
        self.lost.append(Lost(Span(*line_column(self.text, start), *line_column(self.text, end)), names, function))


def _starts(parser: Any, state: Any) -> str:
    """"statement", "item" or "": what may begin in this state of the automaton."""
    actions = parser.parser_state.parse_conf.states[state]
    for terminal, kind in (("AT", "statement"), ("DOT_VERSION", "item")):
        if actions.get(terminal, (None,))[0] is Shift:
            return kind
    return ""


def _start_of(value: Any, text: str) -> int | None:
    """Where a value on the parser's stack starts, if it says."""
    if isinstance(value, Token):
        return value.start_pos
    span = getattr(value, "span", None)
    if isinstance(span, Span) and span.line:
        return _offset(text, span)
    for child in getattr(value, "children", value if isinstance(value, list | tuple) else ()):
        start = _start_of(child, text)
        if start is not None:
            return start
    return None


def _offset(text: str, span: Span) -> int:
    at = 0
    for _ in range(span.line - 1):
        at = text.find("\n", at) + 1
    return at + span.column - 1
