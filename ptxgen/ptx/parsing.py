"""Text to tree: whole modules, strict (`parse`) or going on after faults (`parse_tolerant`)."""

from __future__ import annotations

import gc
import re
import threading
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import cast

from lark import Lark, UnexpectedInput

from ptxgen.data import data_folder
from ptxgen.ptx.balancing import DEEPEST_NESTING, too_deep
from ptxgen.ptx.building import Builder
from ptxgen.ptx.diagnostics import Diagnostic, PtxSyntaxError
from ptxgen.ptx.explaining import describe, span_at
from ptxgen.ptx.lexing import PLAIN_STATEMENTS, StatementLexer
from ptxgen.ptx.recovering import parse_on
from ptxgen.ptx.tree import Function, Lost, Module, Span, Statement

_PARSING = threading.Lock()
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")


@lru_cache(maxsize=1)
def _grammar() -> tuple[Lark, Builder]:
    builder = Builder()
    text = (data_folder("grammar") / "ptx.lark").read_text(encoding="utf-8")
    lark = Lark(
        text + PLAIN_STATEMENTS, parser="lalr", lexer="contextual", start=["module", "statement"],
        maybe_placeholders=False, transformer=builder, _plugins={"ContextualLexer": StatementLexer},
    )
    return lark, builder


def parse(text: str, name: str = "<ptx>") -> Module:
    """The module. Raises PtxSyntaxError with every fault that was found; `name` is the file to speak of."""
    module, diagnostics = parse_tolerant(text)
    if diagnostics:
        raise PtxSyntaxError(diagnostics, text, name)
    return module


def parse_tolerant(text: str) -> tuple[Module, tuple[Diagnostic, ...]]:
    """As much of the module as parses, and every fault, in order.

    What is in the tree and lies outside every piece of `Module.lost` stands as it was written, in its place: only
    statements and declarations with faults are left out. Mended in passing, and noted as lost without names, are
    missing semicolons and braces, and misspelt directives; constants and initial values that mean nothing have others
    in their place. A function whose head was lost is in the tree under its name, without parameters, and the lost
    piece holds all their names. So whoever examines the tree further
      - says nothing of the lines of a lost piece,
      - does not complain that a name in `Lost.names` (or one of a range with that prefix) is missing, unwritten,
        without a body, or differs from its uses,
      - does not follow the paths of a function that a lost piece names.
    """
    early = _early_faults(text)
    if early is not None and early.code == "nested-too-deeply":
        return Module("", (), None, (), Span(1, 1, 1, 1), (_all_of(text),)), (early,)
    with _PARSING, _collection_paused():
        lark, builder = _grammar()
        builder.begin()
        module, faults, lost = parse_on(lark, text, builder.faults.clear)
        lost += [Lost(fault.span, frozenset(), "") for fault in builder.faults]
        faults += builder.faults
    if lost:
        module = replace(module, lost=_placed(module, lost))
    if early is not None:
        # Where the character cannot stand either, once is enough.
        faults = [early, *(f for f in faults if f.span[:2] != early.span[:2])]
    faults.sort(key=lambda d: (d.span.line, d.span.column))
    return cast(Module, module), tuple(faults)


@contextmanager
def _collection_paused() -> Iterator[None]:
    """No garbage is collected meanwhile: a tree has no cycles, and looking for them again and again as it grows takes
    more time than reading does."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _all_of(text: str) -> Lost:
    return Lost(Span(1, 1, text.count("\n") + 1, len(text) - text.rfind("\n")))


def _placed(module: Module, lost: list[Lost]) -> tuple[Lost, ...]:
    """The pieces in order, each that stands in a body with the name of its function."""
    heads = [(f.span.line, f.span.column, f.name) for f in module.items if isinstance(f, Function)]
    heads.sort()
    placed = []
    for piece in sorted(lost, key=lambda p: (p.span.line, p.span.column)):
        if piece.function is not None:
            before = bisect_right(heads, (piece.span.line, piece.span.column, chr(0x7F)))
            piece = replace(piece, function=heads[before - 1][2] if before else None)
        placed.append(piece)
    return tuple(placed)


def parse_statement_with_grammar(text: str) -> Statement:
    """One statement by the grammar: slower than `parse_statement`, for every kind there is.

    A declaration of several names is not one statement. Raises PtxSyntaxError.
    """
    early = _early_faults(text)
    if early is not None:
        raise PtxSyntaxError((early,), text, "<statement>")
    with _PARSING:
        lark, builder = _grammar()
        builder.begin()
        try:
            statement = lark.parse(text, start="statement")
        except UnexpectedInput as error:
            faults = [describe(text, error)]
        else:
            faults = list(builder.faults)
    if not faults and isinstance(statement, list) and len(statement) != 1:
        faults = [Diagnostic(Span(1, 1, 1, 1), "error", "syntax", "one declared name a statement")]
    if faults:
        raise PtxSyntaxError(tuple(faults), text, "<statement>")
    return cast(Statement, statement[0] if isinstance(statement, list) else statement)


def _early_faults(text: str) -> Diagnostic | None:
    """What is better looked for before parsing."""
    brace = too_deep(text)
    if brace is not None:
        return Diagnostic(span_at(text, brace), "error", "nested-too-deeply",
                          f"blocks nest more than {DEEPEST_NESTING} deep", "is a closing brace missing?")
    found = _NOT_ASCII.search(text)
    if found is None:
        return None
    if found.start() == 0 and found[0] == "\ufeff":
        return Diagnostic(span_at(text, 0), "error", "non-ascii", "the file begins with a byte order mark",
                          "save it as ASCII, or as UTF-8 without a byte order mark: every assembler refuses it")
    return Diagnostic(
        span_at(text, found.start()), "error", "non-ascii",
        f"PTX is ASCII, comments included; this is {found[0]!r} (U+{ord(found[0]):04X})",
        "assemblers before CUDA 13.5 and every driver refuse such a file",
    )
