"""Where tokens and nodes stand in the text, and the names that tokens spell."""

from __future__ import annotations

from typing import Any

from lark import Token

from ptxgen.ptx.tree import Name, Operand, Span


def span_of(token: Token) -> Span:
    """Where a token stands."""
    return Span(token.line or 0, token.column or 0, token.end_line or 0, token.end_column or 0)


def between(first: Any, last: Any) -> Span:
    """From the start of one token or node to the end of another."""
    start = first if isinstance(first, Token) else first.span
    end = last if isinstance(last, Token) else last.span
    return Span(start.line or 0, start.column or 0, end.end_line or 0, end.end_column or 0)


def name_of(token: Token) -> Name:
    """The name a token spells."""
    return Name(str(token), span_of(token))


def operand_of(child: Any) -> Operand:
    """Tokens that reach an operand's place are names; the rest is built already."""
    built: Operand = name_of(child) if isinstance(child, Token) else child
    return built
