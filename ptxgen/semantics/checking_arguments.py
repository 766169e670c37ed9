"""`.param` variables of a body: what is passed to calls and what comes back from them."""

from __future__ import annotations

from dataclasses import dataclass, field

from ptxgen.ptx.tree import Address, Arguments, Instruction, Name, Variable
from ptxgen.semantics.checking_availability import Ground
from ptxgen.semantics.checking_instructions import names_in
from ptxgen.semantics.checking_scopes import Scope


@dataclass
class Passing:
    """The local `.param` variables that calls have filled so far, by identity: blocks may declare the same again."""

    filled: set[int] = field(default_factory=set)


def check_passing(instruction: Instruction, scope: Scope, passing: Passing, ground: Ground) -> None:
    """A value comes back only from a call above; neither side of it takes a guard, and there is no address."""
    findings = ground.findings
    if instruction.opcode.partition(".")[0] == "call":
        if instruction.operands and isinstance(instruction.operands[0], Arguments):
            for name in names_in(instruction.operands[0].elements):
                variable = _local(name.text, scope)
                if variable is not None:
                    passing.filled.add(id(variable))
        return
    for operand in instruction.operands:
        if isinstance(operand, Address) and operand.brackets:
            variable = _local(operand.base.text, scope) if operand.base is not None else None
            if variable is not None:
                _check_access(instruction, variable, passing, ground)
        elif isinstance(operand, Name) and _local(operand.text, scope) is not None:
            findings.error(operand.span, "parameter-address", f"{operand.text} is passed to calls: it has no address",
                           "copy it into .local memory")


def _check_access(instruction: Instruction, variable: Variable, passing: Passing, ground: Ground) -> None:
    opcode, _, rest = instruction.opcode.partition(".")
    if opcode not in ("ld", "st") or not rest.startswith("param"):
        return
    if instruction.guard is not None:
        ground.findings.error(instruction.guard.span, "guarded-parameter",
                              f"{opcode}.param of {variable.name} takes no guard: it is part of a call",
                              "select the value with selp before, or branch around the whole call")
    if opcode == "ld" and id(variable) not in passing.filled:
        ground.findings.error(instruction.span, "parameter-access", f"no call above returns {variable.name}",
                              f"read it after call ({variable.name}), ...;")


def _local(name: str, scope: Scope) -> Variable | None:
    """The `.param` variable of the body that a name means."""
    declared = scope.detail(name)
    if isinstance(declared, Variable) and declared.space == "param" and not scope.is_parameter(name):
        return declared
    return None
