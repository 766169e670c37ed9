"""Calls: that the function is there, and that arguments and results fit its signature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ptxgen.isa.model import Type
from ptxgen.ptx.tree import Arguments, Directive, Function, Immediate, Instruction, Name, Operand, Span, Variable
from ptxgen.semantics.checking_availability import Ground, require_since
from ptxgen.semantics.checking_prototypes import prototype_of
from ptxgen.semantics.checking_scopes import SYSTEM_FUNCTIONS, Scope, symbol_of
from ptxgen.semantics.operands import Symbol, is_special, meaning

#: Scalars that the calling convention cannot pass: bit-size types of their width can.
_UNPASSED = ("pred", "u8", "s8", "u16", "s16")
_INTEGERS = ("signed", "unsigned")
#: A function that returns several registers takes the calling convention from the whole module.
_WITHOUT_CONVENTION = "a function of this module returns several values, so there is no calling convention"


@dataclass(frozen=True)
class Callees:
    """Functions that have a body here, and whether the module gives up the calling convention."""

    bodies: frozenset[str]
    unconventional: bool = False


def check_call(instruction: Instruction, scope: Scope, callees: Callees, ground: Ground) -> None:
    """`call (r), f, (a, b);` and, through a register, `call (r), %rd1, (a, b), prototype;`."""
    findings = ground.findings
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
    signatures: tuple[Function, ...] = ()
    if found.role == "function":
        signatures = _direct(target, scope, callees, ground)
    elif isinstance(operands[-1], Name) and len(operands) > 1:
        if callees.unconventional:
            findings.error(target.span, "call-target", f"{_WITHOUT_CONVENTION} for calls through a register")
        signatures = _listed(operands[-1], scope, ground)
    else:
        findings.error(target.span, "call-target", "a call through a register names its prototype last",
                       "proto: .callprototype _ (.param .b32 _); call %rd1, (a), proto;")
    for signature in signatures:
        name = target.text
        _check_list(arguments, signature.params, "argument", instruction.span, name, scope, callees, ground)
        _check_list(results, signature.returns, "result", instruction.span, name, scope, callees, ground)


def _direct(target: Name, scope: Scope, callees: Callees, ground: Ground) -> tuple[Function, ...]:
    detail = scope.detail(target.text)
    if not isinstance(detail, Function):
        return ()
    if detail.kind == "entry":
        ground.findings.error(target.span, "call-target", f"{target.text} is a kernel; only .func can be called")
        return ()
    if "extern" in detail.linkage and target.text not in callees.bodies and target.text not in SYSTEM_FUNCTIONS:
        ground.findings.error(target.span, "unresolved-function",
                              f"{target.text} is declared but has no body in this module")
    return (detail,)


def _listed(last: Name, scope: Scope, ground: Ground) -> tuple[Function, ...]:
    """The signatures that a prototype or a list of call targets gives."""
    detail = scope.detail(last.text)
    if not isinstance(detail, Directive):
        return ()
    if detail.name == "branchtargets":
        ground.findings.error(last.span, "call-target", f"{last.text} lists labels, not functions",
                              "write .calltargets or .callprototype")
        return ()
    if detail.name == "calltargets":
        named = detail.text.removeprefix(".calltargets").rstrip(";").split(",")
        functions = (scope.detail(name.strip()) for name in named)
        return tuple(function for function in functions if isinstance(function, Function))
    prototype = prototype_of(detail.text)
    return () if prototype is None else (prototype,)


def check_function_addresses(
    instruction: Instruction, names: Sequence[Name], scope: Scope, callees: Callees, ground: Ground
) -> None:
    """Functions named by an instruction that is no call."""
    for name in names:
        found = scope.lookup(name.text)
        declared = scope.detail(name.text)
        if found is None or found.role != "function" or not isinstance(declared, Function):
            continue
        require_since("the address of a function", "2.1", 20, name.span, ground)
        if callees.unconventional:
            ground.findings.error(name.span, "function-address", f"{_WITHOUT_CONVENTION} for functions by address")
        elif "extern" in declared.linkage:
            ground.findings.error(name.span, "function-address",
                                  f"{name.text} is defined elsewhere: its address is not known")
        elif not any(operand == name for operand in instruction.operands):
            ground.findings.error(name.span, "function-address",
                                  f"nothing can be added to the address of {name.text}")


def _check_list(
    given: Sequence[Operand], wanted: Sequence[Variable], what: str, span: Span, name: str, scope: Scope,
    callees: Callees, ground: Ground,
) -> None:  # fmt: skip
    open_ended = bool(wanted) and None in wanted[-1].dimensions
    if len(given) != len(wanted) and not (open_ended and len(given) == len(wanted) - 1):
        ground.findings.error(
            span, "call-arguments",
            f"{name} has {len(wanted)} {what}{'' if len(wanted) == 1 else 's'}, {len(given)} are given",
        )
        return
    for operand, formal in zip(given, wanted, strict=False):
        alone = not formal.dimensions and formal.vector == 1
        if formal.type in _UNPASSED and alone and not callees.unconventional:
            known = ground.table.types[formal.type]
            ground.findings.error(
                operand.span, "call-arguments",
                f"{what} {formal.name} of {name} is .{formal.type}, which the calling convention does not pass",
                f"declare it .b{max(16, known.bits)}" if formal.type != "pred" else "pass 0 or 1 in a .b32",
            )
            continue
        problem = _misfit(operand, formal, what, scope, ground)
        if problem:
            ground.findings.error(operand.span, "call-arguments", f"{what} {formal.name} of {name}: {problem}")


def _misfit(operand: Operand, formal: Variable, what: str, scope: Scope, ground: Ground) -> str:
    """Why an argument or result may not stand for the formal one, or ""."""
    known = ground.table.types.get(formal.type)
    if known is None:
        return ""
    if isinstance(operand, Immediate):
        return _misfit_of_constant(operand, formal, known)
    if not isinstance(operand, Name):
        return "only names and constants are passed: compute the rest into a register first"
    if operand.text == "_":
        return "" if what == "result" else "_ stands for a result that nobody wants, not for an argument"
    if is_special(operand.text, ground.table):
        return f"{operand.text} must be moved into a register first"
    found = scope.lookup(operand.text)
    if found is None:
        return "a component cannot be passed: move it into a register" if "." in operand.text else ""
    declared = scope.detail(operand.text)
    if found.role != "register" and not isinstance(declared, Variable):
        return f"{operand.text} is a {found.role}"
    if found.role == "variable":
        if found.space != "param":
            return f"{operand.text} is in .{found.space}: pass its address in a register"
        if scope.is_parameter(operand.text):
            return f"{operand.text} is a parameter of this function: load it into a register first"
    return _misfit_of_value(operand.text, found, declared if isinstance(declared, Variable) else None, formal, ground)


def _misfit_of_value(name: str, found: Symbol, declared: Variable | None, formal: Variable, ground: Ground) -> str:
    wanted = symbol_of(formal, ground.table)
    mine, known = ground.table.types.get(found.type), ground.table.types[formal.type]
    array = declared is not None and bool(declared.dimensions)
    if array != bool(formal.dimensions) or (mine is not None and found.vector != formal.vector):
        shapes = {True: "an array", False: "one value"}
        return f"{name} is {shapes[array]} where {shapes[bool(formal.dimensions)]} is wanted"
    if wanted.size is not None and found.size != wanted.size:
        return f"{found.size} bytes are given where {wanted.size} are wanted"
    if mine is not None and not _compatible(mine, known, array):
        return f"{name} is .{found.type}, but .{formal.type} is wanted"
    if found.role == "variable" and found.alignment != wanted.alignment:
        return f"{name} is aligned to {found.alignment} where {wanted.alignment} is wanted"
    return ""


def _misfit_of_constant(constant: Immediate, formal: Variable, known: Type) -> str:
    if formal.dimensions or formal.vector > 1 or known.kind == "predicate":
        return f"{constant.text} cannot be passed for it"
    if known.kind == "float" and constant.kind == "int":
        return f"the integer constant {constant.text} cannot stand for .{formal.type}"
    if known.kind in _INTEGERS and constant.kind != "int":
        return f"the float constant {constant.text} cannot stand for .{formal.type}"
    return ""


def _compatible(mine: Type, wanted: Type, array: bool) -> bool:
    """Bit-size types fit every type, signed and unsigned each other but for elements of arrays."""
    if mine.name == wanted.name or "bits" in (mine.kind, wanted.kind):
        return "predicate" not in (mine.kind, wanted.kind) or mine.kind == wanted.kind
    return not array and mine.kind in _INTEGERS and wanted.kind in _INTEGERS
