"""Tokens for the parser: lark's contextual lexer, with runs of plain statements as single tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from lark import UnexpectedCharacters
from lark.lexer import ContextualLexer, LexerState
from lark.parsers.lalr_analysis import Shift
from lark.parsers.lalr_parser_state import ParserState

from ptxgen.ptx.plain import Run, Values, read_run, read_values

#: To be added to the grammar.
PLAIN_STATEMENTS = f"""
%declare {Run.type} {Values.type}
%extend statement: {Run.type}
%extend initialiser: "{{" {Values.type} "}}"
"""
READERS: tuple[tuple[Callable[..., tuple[Any, int, int, int]], str], ...] = (
    (read_run, Run.type), (read_values, Values.type),
)


class StatementLexer(ContextualLexer):
    """Reads modules; a single statement goes through lark alone, so that both ways can be compared."""

    def lex(self, lexer_state: LexerState, parser_state: ParserState[Any]) -> Iterator[Any]:
        """Tokens, and runs, until the text ends or a fault is met."""
        states = parser_state.parse_conf.states
        counter = lexer_state.line_ctr
        text = lexer_state.text.text
        plain = parser_state.parse_conf.start == "module"
        while True:
            for read, terminal in READERS if plain else ():
                if terminal in states[parser_state.position] and takes(parser_state, terminal):
                    found, at, line, start = read(text, counter.char_pos, counter.line, counter.line_start_pos)
                    counter.char_pos, counter.line, counter.line_start_pos = at, line, start
                    counter.column = at - start + 1
                    if found is not None:
                        yield found
            try:
                token = self.lexers[parser_state.position].next_token(lexer_state, parser_state)
            except EOFError:
                return
            except UnexpectedCharacters:
                # Read once more by lark's own method, which knows how to raise it.
                yield from super().lex(lexer_state, parser_state)
                return
            yield token


def takes(parser_state: ParserState[Any], terminal: str) -> bool:
    """Whether `terminal` can stand here, after the reductions that it brings about."""
    return reductions(parser_state, terminal) is not None


def reductions(parser_state: ParserState[Any], terminal: str) -> list[Any] | None:
    """The rules to reduce by so that `terminal` can be shifted, or None if it cannot."""
    states = parser_state.parse_conf.states
    stack = parser_state.state_stack
    rules: list[Any] = []
    pushed: list[Any] = []
    popped = 0
    while True:
        top = pushed[-1] if pushed else stack[len(stack) - 1 - popped]
        action, target = states[top].get(terminal, (None, None))
        if action is None:
            return None
        if action is Shift:
            return rules
        rules.append(target)
        size = len(target.expansion)
        kept = min(size, len(pushed))
        del pushed[len(pushed) - kept :]
        popped += size - kept
        top = pushed[-1] if pushed else stack[len(stack) - 1 - popped]
        pushed.append(states[top][target.origin.name][1])
