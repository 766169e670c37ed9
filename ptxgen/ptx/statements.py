"""One statement: what decoding reads after every statement that a model wrote, in microseconds where it is plain."""

from __future__ import annotations

from ptxgen.ptx import constants
from ptxgen.ptx.parsing import parse_statement_with_grammar
from ptxgen.ptx.plain import read_plain
from ptxgen.ptx.tree import Statement


def parse_statement(text: str) -> Statement:
    """One instruction, label, declaration, directive or block. Raises PtxSyntaxError.

    Spans count from line 1, column 1 of `text`.
    """
    return parse_plain(text) or parse_statement_with_grammar(text)


def parse_plain(text: str) -> Statement | None:
    """The statement if it is a plain instruction or label on one line, else None."""
    body = text.strip(" \t\r\n\f\v")
    if body[-1:] not in (";", ":") or not body.isascii():
        return None
    start = text.index(body)
    if "\n" in text[:start]:
        return None
    # A label is plain before something else only, here as in a file.
    whole = f"{text[:start]}{body}\n;" if body[-1] == ":" else text
    try:
        read = read_plain(whole, start, 1, 0)
    except constants.ConstantFault:
        return None
    return read[0] if read is not None and read[1] == start + len(body) else None
