"""Calls: that the function is there, and that arguments and results fit its signature."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from ptxgen.isa import Operand as Wanted
from ptxgen.isa import Table
from ptxgen.ptx.parsing import parse_tolerant
from ptxgen.ptx.tree import Arguments, Directive, Function, Immediate, Instruction, Name, Operand, Span, Variable
from ptxgen.semantics.checking_scopes import SYSTEM_FUNCTIONS, Findings, Scope, symbol_of
from ptxgen.semantics.operands import immediate_refusals, is_special, meaning


def check_call(
    instruction: Instruction, scope: Scope, defined: frozenset[str], table: Table, findings: Findings
) -> None:
    """`call (r), f, (a, b);` and, through a register, `call (r), %rd1, (a, b), prototype;`."""
    operands = list(instruction.operands)
    results: tuple[Operand, ...] = ()
    if operands and isinstance(operands[0], Arguments):
        results = operands.pop(0).elements  # type: ignore[union-attr]
    if not operands or not isinstance(operands[0], Name):
        return
    target = operands[0]
    arguments = operands[1].elements if len(operands) > 1 and isinstance(operands[1], Arguments) else ()
    found = meaning(target.text, scope.lookup)
    if found is None:
        return
    signature: Function | None = None
    if found.role == "function":
        detail = scope.detail(target.text)
        signature = detail if isinstance(detail, Function) else None
        if signature is not None and signature.kind == "entry":
            findings.error(target.span, "call-target", f"{target.text} is a kernel; only .func can be called")
            return
        if target.text not in defined and target.text not in SYSTEM_FUNCTIONS:
            findings.error(target.span, "unresolved-function",
                           f"{target.text} is declared but has no body in this module")
    elif isinstance(operands[-1], Name) and len(operands) > 1:
        signature = _signature_of(operands[-1].text, scope)
    else:
        findings.error(target.span, "call-target", "a call through a register names its prototype last",
                       "proto: .callprototype _ (.param .b32 _); call %rd1, (a), proto;")
    if signature is None:
        return
    span = instruction.span
    _check_list(arguments, signature.params, "argument", span, target.text, scope, table, findings)
    _check_list(results, signature.returns, "result", span, target.text, scope, table, findings)


def _signature_of(name: str, scope: Scope) -> Function | None:
    """The signature that a prototype or a list of call targets gives."""
    detail = scope.detail(name)
    if not isinstance(detail, Directive):
        return None
    if detail.name == "calltargets":
        first = detail.text.removeprefix(".calltargets").rstrip(";").split(",")[0].strip()
        function = scope.detail(first)
        return function if isinstance(function, Function) else None
    return _prototype(detail.text)


@lru_cache(maxsize=256)
def _prototype(text: str) -> Function | None:
    """The signature in a `.callprototype …;`."""
    named = text.removeprefix(".callprototype").replace(" _", " unnamed")
    module, faults = parse_tolerant(f".func {named}")
    if faults or not module.items or not isinstance(module.items[0], Function):
        return None
    return module.items[0]


def _check_list(
    given: Sequence[Operand], wanted: Sequence[Variable], what: str, span: Span, name: str, scope: Scope,
    table: Table, findings: Findings,
) -> None:  # fmt: skip
    if len(given) != len(wanted):
        findings.error(
            span, "call-arguments",
            f"{name} has {len(wanted)} {what}{'' if len(wanted) == 1 else 's'}, {len(given)} are given",
        )
        return
    for operand, formal in zip(given, wanted, strict=True):
        if operand == Name("_"):
            continue
        problem = _disagreement(operand, formal, scope, table)
        if problem:
            findings.error(operand.span, "call-arguments", f"{what} {formal.name} of {name}: {problem}")


def _disagreement(operand: Operand, formal: Variable, scope: Scope, table: Table) -> str:
    wanted = symbol_of(formal, table)
    known = table.types.get(formal.type)
    if known is None:
        return ""
    if isinstance(operand, Immediate):
        place = Wanted(formal.name, "read", formal.type, frozenset({"imm"}))
        against = immediate_refusals(operand, place, table)
        return next((refusal.message for refusal in against if refusal.severity == "error"), "")
    found = meaning(operand.text, scope.lookup) if isinstance(operand, Name) else None
    if isinstance(operand, Name) and is_special(operand.text, table):
        return f"{operand.text} must be moved into a register first"
    if found is None:
        return ""
    if found.size != wanted.size:
        return f"{found.size} bytes are given where {wanted.size} are wanted"
    if found.role == "variable" and bool(formal.dimensions) and found.alignment != wanted.alignment:
        return f"aligned to {found.alignment} where {wanted.alignment} is wanted"
    mine = table.types.get(found.type)
    if mine is None or formal.dimensions:
        return ""
    if isinstance(operand, Name) and found.role == "variable" and isinstance(scope.detail(operand.text), Variable):
        declared = scope.detail(operand.text)
        if isinstance(declared, Variable) and bool(declared.dimensions) != bool(formal.dimensions):
            return "an array is given where a scalar is wanted"
    float_clash = (mine.kind == "float") != (known.kind == "float")
    if float_clash and "bits" not in (mine.kind, known.kind):
        return f".{found.type} is given where .{formal.type} is wanted"
    return ""
