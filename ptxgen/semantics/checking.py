"""Checks a module that anyone wrote: what an assembler would refuse, and what it would let pass in silence.

    headings   version, target, address size
    names      declarations of the module, then function by function
    bodies     every instruction against the table, calls, addresses
    flow       registers that nothing wrote, a missing end
    faults     what ptxas is known to make wrong code of
    sizes      shared, constant and parameter memory
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ptxgen.isa import Expansion, Table
from ptxgen.ptx.diagnostics import Diagnostic
from ptxgen.ptx.tree import Block, Directive, Function, Instruction, Label, Module, Statement, Variable
from ptxgen.semantics.checking_arguments import Passing, check_passing
from ptxgen.semantics.checking_availability import Ground
from ptxgen.semantics.checking_calls import Callees, check_call, check_function_addresses
from ptxgen.semantics.checking_directives import check_directives
from ptxgen.semantics.checking_faults import FaultWatch
from ptxgen.semantics.checking_flow import Flow, check_flow
from ptxgen.semantics.checking_headings import check_headings
from ptxgen.semantics.checking_instructions import Context, check_instruction, names_in
from ptxgen.semantics.checking_lost import trustworthy
from ptxgen.semantics.checking_pragmas import Debugging, check_debugging, check_pragma
from ptxgen.semantics.checking_prototypes import check_branches, check_labelled
from ptxgen.semantics.checking_scopes import Findings, Scope, declare, declare_directive, declare_labels
from ptxgen.semantics.checking_signatures import (
    check_extern_variables,
    check_signature,
    check_unresolved,
    declare_alias,
    declare_function,
)
from ptxgen.semantics.checking_sizes import check_sizes
from ptxgen.semantics.checking_steps import step_of
from ptxgen.semantics.checking_variables import check_name, check_variable


def check_module(module: Module, table: Table, arch: str | None = None) -> list[Diagnostic]:
    """Everything wrong with a module, in the order of the text.

    Errors are what ptxas refuses for `arch` (by default the module's own target); warnings are what it accepts
    though it cannot be meant. Of a module with lost pieces only what does not hang on them is said.
    """
    findings = Findings()
    ground = check_headings(module, table, arch, findings)
    functions = [item for item in module.items if isinstance(item, Function)]
    bodies = frozenset(f.name for f in functions if f.body is not None)
    torn = frozenset(piece.function for piece in module.lost if piece.function is not None)
    whole = _Whole(ground, Callees(bodies, any(len(f.returns) > 1 for f in functions)), torn)
    top = Scope()
    for item in module.items:
        if isinstance(item, Variable):
            check_variable(item, top, ground, "module")
            declare(item, top, table, findings)
        elif isinstance(item, Function):
            declare_function(item, top, ground)
            _check_function(item, top, whole)
        elif item.name == "alias":
            declare_alias(item, top, whole.aliases, ground)
        elif item.name == "pragma":
            check_pragma(item, "module", ground)
        else:
            check_debugging(item, whole.debugging, False, ground)
    check_unresolved(functions, bodies | set(whole.aliases), findings)
    check_extern_variables([item for item in module.items if isinstance(item, Variable)], findings)
    check_sizes(module, ground)
    return trustworthy(sorted(findings.diagnostics, key=lambda d: (d.span.line, d.span.column)), module)


@dataclass
class _Whole:
    """What the functions of a module share. `torn` are those with pieces missing."""

    ground: Ground
    callees: Callees
    torn: frozenset[str]
    debugging: Debugging = field(default_factory=Debugging)
    aliases: dict[str, str] = field(default_factory=dict)


def _check_function(function: Function, top: Scope, whole: _Whole) -> None:
    ground = whole.ground
    check_directives(function, ground)
    scope = Scope(top, 1)
    check_signature(function, scope, ground)
    if function.body is None:
        return
    flow = Flow(end=function.span)
    scope.parameters = frozenset(v.name for v in (*function.returns, *function.params))
    for variable in (*function.returns, *function.params):
        declare(variable, scope, ground.table, ground.findings)
        register = scope.register(variable.name)
        if register is not None:
            flow.entered_with.add(register)
    declare_labels(function.body, scope, ground.findings)
    walk = _Walk(function, whole, flow)
    walk.statements(function.body, scope)
    walk.faults.finish(ground)
    if function.name not in whole.torn:
        check_flow(flow, ground.findings)


class _Walk:
    """Goes through a body in order, block by block."""

    def __init__(self, function: Function, whole: _Whole, flow: Flow) -> None:
        ground = whole.ground
        self.function = function
        self.whole = whole
        self.ground = ground
        target = ground.target.name if ground.target is not None else None
        self.context = Context(
            ground.table, ground.findings, target, ground.version, function, options=ground.options
        )
        self.flow = flow
        self.passing = Passing()
        self.faults = FaultWatch()
        self.scopes = 1

    def statements(self, statements: Sequence[Statement], scope: Scope) -> None:
        for statement in statements:
            self._statement(statement, scope)

    def _statement(self, statement: Statement, scope: Scope) -> None:
        table, findings = self.context.table, self.context.findings
        if isinstance(statement, Instruction):
            self._instruction(statement, scope)
        elif isinstance(statement, Label):
            check_name(statement.name, statement.span, self.ground, in_module=False)
            self.faults.label()
            label = scope.label(statement.name)
            if label is not None:
                self.flow.labels.setdefault(label, len(self.flow.steps))
        elif isinstance(statement, Variable):
            check_variable(statement, scope, self.ground, self.function.kind)
            declare(statement, scope, table, findings)
        elif isinstance(statement, Block):
            self.scopes += 1
            inner = Scope(scope, self.scopes)
            declare_labels(statement.statements, inner, findings)
            self.statements(statement.statements, inner)
        else:
            self._directive(statement, scope)

    def _directive(self, directive: Directive, scope: Scope) -> None:
        declare_directive(directive, scope, self.ground.findings)
        if directive.label is not None:
            check_labelled(directive, scope, self.ground)
        elif directive.name == "pragma":
            check_pragma(directive, "body", self.ground)
        else:
            check_debugging(directive, self.whole.debugging, True, self.ground)

    def _instruction(self, instruction: Instruction, scope: Scope) -> None:
        chosen: Expansion | None = check_instruction(instruction, scope, self.context)
        if chosen is not None:
            self.faults.instruction(instruction, chosen, self.ground)
        if instruction.opcode.partition(".")[0] == "call":
            check_call(instruction, scope, self.whole.callees, self.ground)
        else:
            names = names_in(instruction.operands)
            check_function_addresses(instruction, names, scope, self.whole.callees, self.ground)
        check_branches(instruction, scope, self.ground)
        check_passing(instruction, scope, self.passing, self.ground)
        self.flow.steps.append(step_of(instruction, chosen, scope))
