"""Checks a module that anyone wrote: what an assembler would refuse, and what it would let pass in silence.

    headings   version, target, address size
    names      declarations of the module, then function by function
    bodies     every instruction against the table, calls, addresses
    flow       registers that nothing wrote, a missing end
    sizes      shared, constant and parameter memory
"""

from __future__ import annotations

from collections.abc import Sequence

from ptxgen.isa import Expansion, Table
from ptxgen.ptx.diagnostics import Diagnostic
from ptxgen.ptx.tree import Block, Directive, Function, Instruction, Label, Module, Statement, Variable
from ptxgen.semantics.checking_calls import check_call
from ptxgen.semantics.checking_flow import Flow, check_flow
from ptxgen.semantics.checking_headings import check_directives, check_headings
from ptxgen.semantics.checking_instructions import Context, check_instruction, check_type_available
from ptxgen.semantics.checking_scopes import (
    SYSTEM_FUNCTIONS,
    Findings,
    Scope,
    check_variable,
    declare,
    declare_directive,
    declare_labels,
)
from ptxgen.semantics.checking_sizes import check_sizes
from ptxgen.semantics.checking_steps import step_of
from ptxgen.semantics.operands import Symbol


def check_module(module: Module, table: Table, arch: str | None = None) -> list[Diagnostic]:
    """Everything wrong with a module, in the order of the text.

    Errors are what ptxas refuses for `arch` (by default the module's own target); warnings are what it accepts
    though it cannot be meant.
    """
    findings = Findings()
    target, version = check_headings(module, table, arch, findings)
    functions = [item for item in module.items if isinstance(item, Function)]
    defined = frozenset(f.name for f in functions if f.body is not None)
    top = Scope()
    for item in module.items:
        if isinstance(item, Variable):
            check_variable(item, top, table, findings, where="module")
            declare(item, top, table, findings)
        elif isinstance(item, Function):
            _declare_function(item, top, findings)
            _check_function(item, top, defined, Context(table, findings, target, version, item))
        elif item.name == "alias":
            _declare_alias(item, top, findings)
    _check_unresolved(functions, defined, findings)
    _check_extern_variables([item for item in module.items if isinstance(item, Variable)], findings)
    check_sizes(module, table, version, findings)
    return sorted(findings.diagnostics, key=lambda d: (d.span.line, d.span.column))


def _declare_function(function: Function, scope: Scope, findings: Findings) -> None:
    earlier = scope.details.get(function.name)
    if scope.own(function.name) is not None:
        if not isinstance(earlier, Function):
            findings.error(function.span, "duplicate-name", f"{function.name} is declared twice")
        elif earlier.body is not None and function.body is not None:
            findings.error(function.span, "duplicate-name", f"{function.name} has two bodies")
        elif (len(earlier.params), len(earlier.returns)) != (len(function.params), len(function.returns)):
            findings.error(function.span, "signature-mismatch",
                           f"{function.name} was declared with other parameters before")
    scope.names[function.name] = Symbol("function")
    if function.body is not None or not isinstance(earlier, Function):
        scope.details[function.name] = function


def _declare_alias(directive: Directive, scope: Scope, findings: Findings) -> None:
    alias, _, original = directive.text.removeprefix(".alias").rstrip(";").partition(",")
    for name in (alias.strip(), original.strip()):
        if scope.lookup(name) is None:
            findings.error(directive.span, "undeclared-name", f"{name} is not declared before this")


def _check_unresolved(functions: Sequence[Function], defined: frozenset[str], findings: Findings) -> None:
    """A module is assembled whole: a function declared in it must be defined in it too, an `.extern` one where
    it is called."""
    told: set[str] = set()
    for function in functions:
        name = function.name
        if name in defined or name in told or name in SYSTEM_FUNCTIONS or {"weak", "extern"} & set(function.linkage):
            continue
        told.add(name)
        findings.error(function.span, "unresolved-function", f"{name} is declared but has no body in this module",
                       "link it before: this module is assembled by itself")


def _check_extern_variables(variables: Sequence[Variable], findings: Findings) -> None:
    """Dynamic shared memory apart, a variable declared `.extern` must be defined in the module."""
    defined = {v.name for v in variables if "extern" not in v.linkage}
    for variable in variables:
        if "extern" in variable.linkage and variable.space != "shared" and variable.name not in defined:
            findings.error(variable.span, "unresolved-variable",
                           f"{variable.name} is declared .extern but defined nowhere in this module")


def _check_function(function: Function, top: Scope, defined: frozenset[str], context: Context) -> None:
    table, findings = context.table, context.findings
    check_directives(function, findings)
    scope = Scope(top, 1)
    flow = Flow(end=function.span)
    for variable in (*function.returns, *function.params):
        check_type_available(variable, context)
        check_variable(variable, scope, table, findings, where=function.kind, parameter=True)
        if None in variable.dimensions and variable not in function.params[-1:]:
            findings.error(variable.span, "incomplete-type", "only the last parameter may leave its extent open")
        if function.kind == "entry" and variable.space != "param":
            findings.error(variable.span, "parameter-space", "a kernel's parameters are in .param")
        if function.body is not None:
            declare(variable, scope, table, findings)
            register = scope.register(variable.name)
            if register is not None:
                flow.entered_with.add(register)
    if function.body is None:
        return
    declare_labels(function.body, scope, findings)
    walk = _Walk(function, defined, context, flow)
    walk.statements(function.body, scope)
    check_flow(flow, findings)


class _Walk:
    """Goes through a body in order, block by block."""

    def __init__(self, function: Function, defined: frozenset[str], context: Context, flow: Flow) -> None:
        self.function = function
        self.defined = defined
        self.context = context
        self.flow = flow
        self.scopes = 1

    def statements(self, statements: Sequence[Statement], scope: Scope) -> None:
        for statement in statements:
            self._statement(statement, scope)

    def _statement(self, statement: Statement, scope: Scope) -> None:
        table, findings = self.context.table, self.context.findings
        if isinstance(statement, Instruction):
            self._instruction(statement, scope)
        elif isinstance(statement, Label):
            label = scope.label(statement.name)
            if label is not None:
                self.flow.labels.setdefault(label, len(self.flow.steps))
        elif isinstance(statement, Variable):
            check_variable(statement, scope, table, findings, where=self.function.kind)
            check_type_available(statement, self.context)
            declare(statement, scope, table, findings)
        elif isinstance(statement, Block):
            self.scopes += 1
            inner = Scope(scope, self.scopes)
            declare_labels(statement.statements, inner, findings)
            self.statements(statement.statements, inner)
        else:
            declare_directive(statement, scope, findings)
            self._targets(statement, scope)

    def _targets(self, directive: Directive, scope: Scope) -> None:
        """The names that `.branchtargets` and `.calltargets` list must exist."""
        if directive.name not in ("branchtargets", "calltargets"):
            return
        role = "label" if directive.name == "branchtargets" else "function"
        for name in directive.text.partition(" ")[2].rstrip(";").split(","):
            found = scope.lookup(name.strip())
            if found is None or found.role != role:
                self.context.findings.error(
                    directive.span, "undeclared-name", f"{name.strip()} is not a {role} that is known here"
                )

    def _instruction(self, instruction: Instruction, scope: Scope) -> None:
        table, findings = self.context.table, self.context.findings
        chosen: Expansion | None = check_instruction(instruction, scope, self.context)
        if instruction.opcode.partition(".")[0] == "call":
            check_call(instruction, scope, self.defined, table, findings)
        self.flow.steps.append(step_of(instruction, chosen, scope))


