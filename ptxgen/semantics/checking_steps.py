"""From an instruction to what the flow sees: registers read and written, where it goes next."""

from __future__ import annotations

from collections.abc import Iterator

from ptxgen.isa import Expansion
from ptxgen.isa import Operand as Wanted
from ptxgen.ptx.tree import (
    Address,
    Arguments,
    Directive,
    Function,
    Immediate,
    Instruction,
    Name,
    Negated,
    Operand,
    Pair,
    Span,
    Vector,
)
from ptxgen.semantics.checking_flow import End, Step
from ptxgen.semantics.checking_scopes import Register, Scope

Use = tuple[str, Register, Span]
_LEAVING = frozenset({"ret", "exit", "trap"})


def step_of(instruction: Instruction, chosen: Expansion | None, scope: Scope) -> Step:
    """`chosen` None (an instruction that could not be made out): its registers count as written, not as read."""
    uses: list[Use] = []
    name = instruction.opcode.partition(".")[0]
    for position, operand in enumerate(instruction.operands):
        if name == "call" and isinstance(operand, Arguments):
            access = "write" if position == 0 else "read"
        elif chosen is None or position >= len(chosen.operands):
            access = "write"
        else:
            access = chosen.operands[position].access
        wanted = chosen.operands[position] if chosen and position < len(chosen.operands) else None
        uses.extend(_uses(operand, access, wanted, scope))
    guard = None
    reads = [(register, span) for kind, register, span in uses if kind in ("read", "update")]
    if instruction.guard is not None:
        predicate = _register(instruction.guard.predicate, scope)
        if predicate is not None:
            guard = (predicate, instruction.guard.negated)
            reads.append((predicate, instruction.guard.span))
    return Step(
        instruction.span,
        tuple(reads),
        tuple(register for kind, register, _ in uses if kind in ("write", "update")),
        guard,
        _end(name, instruction, scope),
        tuple(_targets(name, instruction, scope)),
    )


def _register(name: str, scope: Scope) -> Register | None:
    found = scope.register(name)
    return found if found is not None or "." not in name else scope.register(name.rpartition(".")[0])


def _uses(operand: Operand, access: str, wanted: Wanted | None, scope: Scope) -> Iterator[Use]:
    if isinstance(operand, Name):
        register = _register(operand.text, scope)
        if register is not None:
            yield access, register, operand.span
    elif isinstance(operand, Negated):
        yield from _uses(operand.operand, access, None, scope)
    elif isinstance(operand, Address):
        # Whatever happens to the memory, the registers of an address are read.
        if operand.base is not None:
            yield from _uses(operand.base, "read", None, scope)
        for component in operand.components:
            yield from _uses(component, "read", None, scope)
    elif isinstance(operand, Pair):
        parts = wanted.parts if wanted is not None and len(wanted.parts) == 2 else (None, None)
        for part, want in zip((operand.first, operand.second), parts, strict=True):
            yield from _uses(part, want.access if want is not None else access, None, scope)
    elif isinstance(operand, Vector | Arguments):
        for element in operand.elements:
            yield from _uses(element, access, None, scope)
    else:
        assert isinstance(operand, Immediate)


def _end(name: str, instruction: Instruction, scope: Scope) -> End:
    guarded = instruction.guard is not None
    if name in _LEAVING:
        return "branches" if guarded else "leaves"
    if name in ("bra", "brx"):
        return "branches" if guarded else "jumps"
    if name == "call" and not guarded and _never_returns(instruction, scope):
        return "leaves"
    return "falls"


def _never_returns(instruction: Instruction, scope: Scope) -> bool:
    for operand in instruction.operands:
        if isinstance(operand, Name):
            detail = scope.detail(operand.text)
            if isinstance(detail, Function) and any(d.name == "noreturn" for d in detail.directives):
                return True
            if isinstance(detail, Directive) and ".noreturn" in detail.text:
                return True
    return False


def _targets(name: str, instruction: Instruction, scope: Scope) -> Iterator[Register]:
    if name == "bra":
        names = [o.text for o in instruction.operands if isinstance(o, Name)]
    elif name == "brx" and instruction.operands and isinstance(instruction.operands[-1], Name):
        detail = scope.detail(instruction.operands[-1].text)
        listed = detail.text.partition(" ")[2].rstrip(";") if isinstance(detail, Directive) else ""
        names = [n.strip() for n in listed.split(",") if n.strip()]
    else:
        names = []
    for target in names:
        label = scope.label(target)
        if label is not None:
            yield label
