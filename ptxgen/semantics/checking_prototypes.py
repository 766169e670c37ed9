"""Labelled directives of a body: `.callprototype`, `.calltargets`, `.branchtargets`."""

from __future__ import annotations

import re
from functools import lru_cache

from ptxgen.ptx.parsing import parse_tolerant
from ptxgen.ptx.tree import Directive, Function, Instruction, Name
from ptxgen.semantics.checking_availability import Ground, require
from ptxgen.semantics.checking_scopes import Scope
from ptxgen.semantics.checking_signatures import check_parameters

_UNNAMED = re.compile(r"(?<=[\s)])_(?![A-Za-z0-9_$])")
_PLACEHOLDER = "unnamed"
_ALLOWED = ("noreturn", "abi_preserve", "abi_preserve_control")


def check_labelled(directive: Directive, scope: Scope, ground: Ground) -> None:
    """What is wrong with a prototype or a list of targets by itself."""
    require(f".{directive.name}", directive.span, ground)
    if directive.name == "callprototype":
        _check_prototype(directive, scope, ground)
        return
    role = "label" if directive.name == "branchtargets" else "function"
    for name in directive.text.partition(" ")[2].rstrip(";").split(","):
        found = scope.lookup(name.strip())
        itself = name.strip() == directive.label and role == "label"
        if (found is None or found.role != role) and not itself:
            ground.findings.error(
                directive.span, "undeclared-name", f"{name.strip()} is not a {role} that is known here"
            )


def _check_prototype(directive: Directive, scope: Scope, ground: Ground) -> None:
    findings, span = ground.findings, directive.span
    prototype = prototype_of(directive.text)
    if prototype is None:
        return
    if prototype.name != _PLACEHOLDER:
        findings.error(span, "prototype-name", f"a prototype has no name but _, not {prototype.name}")
    check_parameters(prototype, "func", scope, ground, named=False, place=span)
    for inner in prototype.directives:
        if inner.name not in _ALLOWED:
            findings.error(span, "function-directive", f".{inner.name} does not belong to a prototype")
        else:
            require(f".{inner.name}", span, ground)
        if inner.name == "noreturn" and prototype.returns:
            findings.error(span, "function-directive", "what returns a value is not .noreturn")


def check_branches(instruction: Instruction, scope: Scope, ground: Ground) -> None:
    """`brx.idx` goes through a list of labels."""
    last = instruction.operands[-1] if instruction.operands else None
    if instruction.opcode.partition(".")[0] == "brx" and isinstance(last, Name):
        listed = scope.detail(last.text)
        if isinstance(listed, Directive) and listed.name != "branchtargets":
            ground.findings.error(last.span, "branch-targets", f"{last.text} is no list of labels",
                                  f"write {last.text}: .branchtargets L1, L2;")


@lru_cache(maxsize=256)
def prototype_of(text: str) -> Function | None:
    """The signature in a `.callprototype …;`."""
    named = _UNNAMED.sub(_PLACEHOLDER, text.removeprefix(".callprototype"))
    module, faults = parse_tolerant(f".func {named}")
    if faults or not module.items or not isinstance(module.items[0], Function):
        return None
    return module.items[0]
