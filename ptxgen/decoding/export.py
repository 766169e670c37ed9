"""The grammar of a spec's whole kernel, for other engines: in Lark's notation, or in llama.cpp's GBNF.

It promises what the level `typed` does: the header is the spec's, and every statement is an instruction of
the table that the target allows, with operands of the right class, type and width. What depends on the
statements before (fresh registers, labels defined once, obligations) no context-free grammar can say.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ptxgen.semantics import Level, State, allowed, contract_of
from ptxgen.semantics.statements import alternation

if TYPE_CHECKING:
    from ptxgen.isa import Table
    from ptxgen.spec import Spec

Notation = Literal["lark", "gbnf"]
NOTATIONS: tuple[Notation, ...] = ("lark", "gbnf")

#: The last line of every kernel.
CLOSE = "}\n"
#: What an expression is made of: an escaped or plain character, a class, a count, or an operator.
_PIECE = re.compile(
    r"\\(?P<escaped>.)|(?P<set>\[(?:\\.|[^\]])*\])|(?P<operator>[()|?*+]|\{[0-9,]+\})|(?P<plain>.)", re.DOTALL
)


@dataclass(frozen=True)
class _Line:
    """Alternatives that share guard and operands, which are named; `guard` is "" where there is none."""

    guard: str
    optional: bool
    opcodes: tuple[str, ...]
    operands: tuple[str, ...]


@dataclass(frozen=True)
class _Parts:
    """What either notation writes down. `named` maps names to regular expressions."""

    title: str
    header: str
    named: dict[str, str]
    labels: tuple[str, ...]
    lines: tuple[_Line, ...]


def kernel_grammar(spec: Spec, table: Table, arch: str, notation: Notation) -> str:
    """The grammar's text: in the common subset of lark and llguidance for "lark", llama.cpp's for "gbnf".

    Raises UsageError for a target that the table does not know.
    """
    parts = _collect(spec, table, arch)
    return _lark(parts) if notation == "lark" else _gbnf(parts)


def _collect(spec: Spec, table: Table, arch: str) -> _Parts:
    state = State.start(contract_of(spec, table, arch), Level.TYPED)
    legal = allowed(state)
    types = state.contract.register_types
    names: dict[tuple[str, ...], str] = {}

    def name_of(alternatives: tuple[str, ...], kind: str) -> str:
        if alternatives not in names:
            classes = {types.get(a, "") for a in alternatives}
            name = f"{classes.pop()}_register" if len(classes) == 1 and "" not in classes else kind
            taken = sum(n.startswith(name) for n in names.values())
            names[alternatives] = f"{name}_{taken + 1}" if taken or name == kind else name
        return names[alternatives]

    lines = []
    for opcodes, row in legal.rows:
        guards = tuple(g for g in row.guards if g)
        guard = name_of(guards, "guard") if guards else ""
        lines.append(_Line(guard, "" in row.guards, opcodes, tuple(name_of(o, "operand") for o in row.operands)))
    return _Parts(
        title=f"A kernel `{spec.kernel.name}` for {arch}, its statements at the level `typed`.",
        header=spec.header(arch, table),
        named={name: alternation(alternatives).replace("0123456789", "0-9") for alternatives, name in names.items()},
        labels=tuple(line for line in legal.fixed if line != CLOSE),
        lines=tuple(lines),
    )


def _grouped(lines: Sequence[_Line]) -> dict[tuple[str, bool], list[_Line]]:
    """The lines by the guard they may have: each is then written once."""
    grouped: dict[tuple[str, bool], list[_Line]] = {}
    for line in lines:
        grouped.setdefault((line.guard, line.optional), []).append(line)
    return grouped


# ---------------------------------------------------------------- Lark


def _lark(parts: _Parts) -> str:
    """A whole line is one terminal, made of named ones: no two terminals can then be taken for each other."""
    out = [f"// {parts.title}", "start: HEADER statements CLOSE", "statements: | statements STATEMENT", ""]
    out += [f"HEADER: {_quoted(parts.header)}", f"CLOSE: {_quoted(CLOSE)}"]
    kinds = []
    for number, ((guard, optional), lines) in enumerate(_grouped(parts.lines).items(), 1):
        kinds.append(f"INSTRUCTION_{number}")
        prefix = f"{guard.upper()}{'?' if optional else ''} " if guard else ""
        alternatives = []
        for line in lines:
            space = " " if line.operands else ""
            operands = "".join(f' ", " {o.upper()}' for o in line.operands).removeprefix(' ", "')
            alternatives.append(f"/{alternation(line.opcodes)}{space}/{operands}")
        body = "\n    | ".join(alternatives)
        out += [f'{kinds[-1]}: "\\t" {prefix}OPERATION_{number} ";\\n"', f"OPERATION_{number}: {body}"]
    out.append(f"LABEL: /{alternation(parts.labels)}/")
    out.append(f"STATEMENT: {' | '.join([*kinds, 'LABEL'])}")
    out += [f"{name.upper()}: /{expression}/" for name, expression in parts.named.items()]
    return "\n".join(out) + "\n"


# ---------------------------------------------------------------- GBNF


def _gbnf(parts: _Parts) -> str:
    """llama.cpp has no left recursion and no regular expressions: repetition, and each expression rewritten."""
    out = [f"# {parts.title}", "root ::= header statement* close"]
    out += [f"header ::= {_quoted(parts.header)}", f"close ::= {_quoted(CLOSE)}"]
    kinds, rules = [], []
    for number, ((guard, optional), lines) in enumerate(_grouped(parts.lines).items(), 1):
        kinds.append(f"instruction-{number}")
        prefix = f"{_dashed(guard)}{'?' if optional else ''} " if guard else ""
        alternatives = []
        for line in lines:
            opcodes = " | ".join(map(_quoted, line.opcodes))
            operands = ' ", " '.join(map(_dashed, line.operands))
            alternatives.append(f"({opcodes})" + (f' " " {operands}' if operands else ""))
        body = " |\n  ".join(alternatives)
        rules += [f'{kinds[-1]} ::= "\\t" {prefix}operation-{number} ";\\n"', f"operation-{number} ::=\n  {body}"]
    rules.append(f"label ::= {' | '.join(map(_quoted, parts.labels))}")
    out += [f"statement ::= {' | '.join([*kinds, 'label'])}", *rules]
    out += [f"{_dashed(name)} ::= {_rewritten(expression)}" for name, expression in parts.named.items()]
    return "\n".join(out) + "\n"


def _dashed(name: str) -> str:
    """Names of rules have no underscores there."""
    return name.replace("_", "-")


def _rewritten(expression: str) -> str:
    """A regular expression of characters, classes, groups and counts in GBNF's notation."""
    out: list[str] = []
    literal = ""
    for piece in _PIECE.finditer(expression):
        character = piece["escaped"] or piece["plain"]
        if character:
            literal += {"n": "\n", "t": "\t"}.get(character, character) if piece["escaped"] else character
            continue
        operator = piece["operator"] or ""
        repeats = operator[:1] in {"?", "*", "+", "{"}
        if repeats and len(literal) > 1:  # only the last character is repeated
            out.append(_quoted(literal[:-1]))
            literal = literal[-1]
        if literal:
            out.append(_quoted(literal))
            literal = ""
        if repeats:
            out[-1] += operator
        else:
            out.append(operator or piece["set"])
    if literal:
        out.append(_quoted(literal))
    return " ".join(out)


def _quoted(text: str) -> str:
    """A string as both notations write it."""
    for plain, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t")):
        text = text.replace(plain, escaped)
    return f'"{text}"'
