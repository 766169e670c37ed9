"""What is asked of every compiled file: does it parse, is it in the table, does it survive printing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.corpus.recording import Compiled
from ptxgen.isa import Mismatch, Table
from ptxgen.ptx import PtxSyntaxError, parse, print_module
from ptxgen.ptx.diagnostics import Diagnostic
from ptxgen.ptx.tree import Block, Directive, Function, Instruction, Module, Statement, Variable
from ptxgen.semantics import check_module
from ptxgen.semantics.checking_scopes import Findings, Scope, declare, declare_directive, declare_labels
from ptxgen.semantics.operands import Symbol, kinds_of


@dataclass(frozen=True, slots=True)
class Unknown:
    """An instruction that the table has no row for, and what it answers."""

    opcode: str
    line: int
    message: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """One file's answers. `round_trip` is None where it was not parsed."""

    file: Compiled
    syntax: tuple[Diagnostic, ...]
    instructions: int = 0
    unknown: tuple[Unknown, ...] = ()
    errors: tuple[Diagnostic, ...] = ()
    warnings: tuple[Diagnostic, ...] = ()
    round_trip: bool | None = None

    @property
    def parsed(self) -> bool:
        return not self.syntax

    @property
    def refused(self) -> int:
        """How many instructions `check` finds an error on."""
        return len({d.span.line for d in self.errors})


def measure(file: Compiled, table: Table) -> Outcome:
    """Parse it whole, match every instruction, check it, print it and parse that."""
    try:
        module = parse(file.text, file.name)
    except PtxSyntaxError as error:
        return Outcome(file, tuple(error.diagnostics))
    findings = check_module(module, table)
    printed = print_module(module)
    try:
        same = parse(printed) == module
    except PtxSyntaxError:
        same = False
    return Outcome(
        file, (), sum(1 for _ in instructions(module)), tuple(unknown(module, table)),
        tuple(d for d in findings if d.severity == "error"),
        tuple(d for d in findings if d.severity != "error"), same,
    )


def instructions(module: Module) -> Iterator[Instruction]:
    """Every instruction of every body, inner blocks included."""
    for item in module.items:
        if isinstance(item, Function) and item.body is not None:
            yield from _inside(item.body)


def _inside(statements: Sequence[Statement]) -> Iterator[Instruction]:
    for statement in statements:
        if isinstance(statement, Instruction):
            yield statement
        elif isinstance(statement, Block):
            yield from _inside(statement.statements)


def unknown(module: Module, table: Table) -> Iterator[Unknown]:
    """Instructions that `Table.match` knows no row for, given what their operands are declared to be."""
    nowhere = Findings()
    top = Scope()
    for item in module.items:
        if isinstance(item, Variable):
            declare(item, top, table, nowhere)
        elif isinstance(item, Function):
            top.names[item.name] = Symbol("function")
    for item in module.items:
        if isinstance(item, Function) and item.body is not None:
            scope = Scope(top)
            for variable in (*item.params, *item.returns):
                declare(variable, scope, table, nowhere)
            yield from _unknown_inside(item.body, scope, table)


def _unknown_inside(statements: Sequence[Statement], scope: Scope, table: Table) -> Iterator[Unknown]:
    nowhere = Findings()
    declare_labels(statements, scope, nowhere)
    for statement in statements:
        if isinstance(statement, Variable):
            declare(statement, scope, table, nowhere)
        elif isinstance(statement, Directive):
            declare_directive(statement, scope, nowhere)
        elif isinstance(statement, Block):
            yield from _unknown_inside(statement.statements, Scope(scope), table)
        elif isinstance(statement, Instruction):
            shapes = tuple(kinds_of(operand, scope.lookup, table) for operand in statement.operands)
            found = table.match(statement.opcode, shapes)
            if isinstance(found, Mismatch):
                yield Unknown(statement.opcode, statement.span.line, f"{found.code}: {found.message}")


def counted(outcomes: Sequence[Outcome]) -> Counter[tuple[str, str]]:
    """Unknown opcodes of all files with what the table answers, and how often."""
    return Counter((u.opcode, u.message) for outcome in outcomes for u in outcome.unknown)
