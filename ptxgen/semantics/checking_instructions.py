"""One instruction against the table: opcode, operands, availability, and what ptxas leaves unsaid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ptxgen.isa import Expansion, Mismatch, Table, Version
from ptxgen.isa.describing import since
from ptxgen.isa.selectors import SELECTORS, is_selector
from ptxgen.ptx.tree import (
    Address,
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
from ptxgen.semantics.checking_addresses import check_address
from ptxgen.semantics.checking_choice import choose, is_offset
from ptxgen.semantics.checking_immediates import check_immediates, unenforced
from ptxgen.semantics.checking_scopes import Findings, Scope
from ptxgen.semantics.operands import is_special, meaning, special_named

#: Where braces around a single register are taken.
_SINGLE_VECTORS = frozenset({"mov", "ld", "ldu", "st", "tex", "tld4", "suld", "sust", "wmma", "mma"})
#: Whose operand names a variable of one space: this one, or that of the opcode.
_OF_A_SPACE = {"cvta": "", "mapa": "shared", "getctarank": "shared"}
#: What CUDA calls the special registers.
_CUDA_NAMES = {
    "threadIdx": "%tid", "blockIdx": "%ctaid", "blockDim": "%ntid", "gridDim": "%nctaid", "warpSize": "WARP_SZ",
}
_SELECTOR_EXAMPLES = {"part": ".b0 or .h1", "mask2": ".h0 or .h10", "mask4": ".b0 or .b3210", "pick2": ".h32",
                      "pick4": ".b7654"}


@dataclass(frozen=True)
class Context:
    """What an instruction is checked under: the module's target and version (None where unknown)."""

    table: Table
    findings: Findings
    target: str | None
    version: Version | None
    function: Function
    options: frozenset[str] = frozenset()      # of the target, as texmode_independent


def check_instruction(instruction: Instruction, scope: Scope, context: Context) -> Expansion | None:
    """The expansion it is, as far as one could be found; what is wrong goes to the findings."""
    table, findings = context.table, context.findings
    undeclared = _check_names(instruction, scope, context)
    _check_guard(instruction, scope, context)
    name = instruction.opcode.partition(".")[0]
    if name not in table.instructions:
        _unknown(instruction, context)
        return None
    meant = choose(instruction, scope, context)
    if isinstance(meant, Mismatch):
        findings.error(_mismatch_span(instruction, meant), meant.code, meant.message, meant.hint)
        return None
    chosen, refused = meant
    for refusal in refused:
        severity = refusal.severity
        if refusal.code == "immediate-range" and unenforced(chosen, refusal, instruction):
            severity = "warning"
        span = refusal.span or instruction.span
        findings.add(span, severity, refusal.code, f"{chosen.opcode}: {refusal.message}", refusal.hint)
    _check_documented(instruction, chosen, findings)
    for operand, wanted in zip(instruction.operands, chosen.operands, strict=True):
        if isinstance(operand, Address) and operand.brackets:
            check_address(operand, wanted, chosen, scope, context)
    _check_shapes(instruction, chosen, scope, context)
    _check_selectors(instruction, chosen, scope, context)
    _check_availability(instruction, chosen, context)
    if not undeclared:
        check_immediates(instruction, chosen, findings)
    return chosen


def _check_documented(instruction: Instruction, chosen: Expansion, findings: Findings) -> None:
    if chosen.form.undocumented:
        findings.warn(
            _opcode_span(instruction), "undocumented",
            f"ptxas takes {instruction.opcode} so, but the manual has no such form: it may go with any release",
        )


def _unknown(instruction: Instruction, context: Context) -> None:
    name = instruction.opcode.partition(".")[0]
    span = _opcode_span(instruction)
    if name in context.table.reserved_words and name != "WARP_SZ":
        context.findings.warn(
            span, "unknown-instruction", f"{name} is an instruction whose forms are not in the table: not checked"
        )
        return
    near = context.table.nearest(instruction.opcode)
    hint = f"did you mean {near[0]}?" if near else ""
    context.findings.error(span, "unknown-opcode", f"there is no instruction {name!r}", hint)


def _opcode_span(instruction: Instruction) -> Span:
    span = instruction.span
    start = span.column
    if instruction.guard is not None:
        if instruction.guard.span.line != span.line:
            return span
        start = instruction.guard.span.end_column + 1
    return Span(span.line, start, span.line, start + len(instruction.opcode))


def _mismatch_span(instruction: Instruction, mismatch: Mismatch) -> Span:
    if mismatch.operand is not None and mismatch.operand < len(instruction.operands):
        return instruction.operands[mismatch.operand].span
    return _opcode_span(instruction)


def _check_shapes(instruction: Instruction, chosen: Expansion, scope: Scope, context: Context) -> None:
    """Shapes that the kinds of operands do not tell apart."""
    findings = context.findings
    for operand, wanted in zip(instruction.operands, chosen.operands, strict=True):
        if isinstance(operand, Vector) and "vector" not in wanted.kinds and chosen.name not in _SINGLE_VECTORS:
            findings.error(operand.span, "operand-kind", f"{chosen.opcode} takes no vector here",
                           "leave the braces out")
        named = operand.base if is_offset(operand) else operand
        if is_offset(operand) and "to" in chosen.slots.values():
            continue
        if chosen.name in _OF_A_SPACE and isinstance(named, Name) and wanted.access == "read":
            found = scope.lookup(named.text)
            space = _OF_A_SPACE[chosen.name] or chosen.slots.get("space", "").partition("::")[0]
            if found is not None and found.role == "variable" and space and found.space != space:
                findings.error(operand.span, "state-space", f"{named.text} is in .{found.space}, not in .{space}",
                               f"write cvta.{found.space}.u64" if chosen.name == "cvta" else "")


def _check_selectors(instruction: Instruction, chosen: Expansion, scope: Scope, context: Context) -> None:
    """Bytes and halves of registers, where video instructions take them."""
    for operand, wanted in zip(instruction.operands, chosen.operands, strict=True):
        for name in names_in([operand]):
            base, _, part = name.text.rpartition(".")
            if not base or not is_selector(part) or scope.lookup(name.text) is not None:
                continue
            if not wanted.selector:
                context.findings.error(name.span, "operand-kind", f"{chosen.opcode} takes no part of a register here",
                                       f"shift and mask {base} first")
            elif SELECTORS[wanted.selector].fullmatch(part) is None:
                like = _SELECTOR_EXAMPLES[wanted.selector]
                context.findings.error(name.span, "operand-kind", f"{chosen.opcode} cannot select .{part} here",
                                       f"as {wanted.name} it takes one like {like}")


def _check_availability(instruction: Instruction, chosen: Expansion, context: Context) -> None:
    if context.target is None or context.version is None:
        return
    reason = context.table.unavailable(chosen, context.target, context.version)
    if reason is not None:
        context.findings.error(
            _opcode_span(instruction), "unavailable", f"{chosen.opcode} {reason}",
            _replacement(instruction, context) if chosen.availability.removed_ptx is not None
            else f"it came with {since(chosen.availability)}; this module says .version {context.version} "
            f"and .target {context.target}",
        )


def _replacement(instruction: Instruction, context: Context) -> str:
    """What took the place of an instruction that is gone: for warps, the one that names its threads."""
    if ".sync." in instruction.opcode and ".aligned" not in instruction.opcode:
        return f"write {instruction.opcode.replace('.sync.', '.sync.aligned.', 1)}"
    name, _, rest = instruction.opcode.partition(".")
    found = context.table.candidates(f"{name}.sync.{rest}".rstrip("."))
    if not found:
        return "it has no successor of the same name"
    listed = ", ".join(operand.name for operand in found[0].operands)
    return f"write {found[0].opcode} {listed}: its last operand names the threads, -1 for the whole warp"


def _check_guard(instruction: Instruction, scope: Scope, context: Context) -> None:
    guard = instruction.guard
    if guard is None:
        return
    found = meaning(guard.predicate, scope.lookup)
    special = context.table.special_registers.get(guard.predicate)
    if found is None and special is not None and special.type == "pred":
        _check_special(Name(guard.predicate, guard.span), context)
    elif found is None:
        context.findings.error(guard.span, "undeclared-name", f"{guard.predicate} is not declared",
                               "declare it: .reg .pred %p<N>;" if guard.predicate.startswith("%p") else "")
    elif found.role != "register" or found.type != "pred":
        what = f"a .{found.type} register" if found.role == "register" else f"a {found.role}"
        context.findings.error(guard.span, "guard-type", f"a guard is a predicate; {guard.predicate} is {what}",
                               "compare with setp first")


def _check_names(instruction: Instruction, scope: Scope, context: Context) -> bool:
    """Report every name that nothing declares; whether there was one."""
    found = False
    for name in names_in(instruction.operands):
        if name.text == "_" or meaning(name.text, scope.lookup) is not None:
            continue
        if is_special(name.text, context.table):
            _check_special(name, context)
            continue
        found = True
        context.findings.error(
            name.span, "undeclared-name", f"{name.text} is not declared", _declaration_hint(name.text, scope, context)
        )
    return found


def _check_special(name: Name, context: Context) -> None:
    special = special_named(name.text, context.table)
    if special is None or context.target is None or context.version is None:
        return
    availability = special.availability
    if availability.ptx > context.version:
        context.findings.error(name.span, "unavailable", f"{name.text} needs PTX {availability.ptx} or newer")
    elif availability.sm > context.table.target(context.target).number:
        context.findings.error(name.span, "unavailable", f"{name.text} needs sm_{availability.sm} or newer")


def _declaration_hint(name: str, scope: Scope, context: Context) -> str:
    foreign = name.removeprefix("%").partition(".")
    if foreign[0] in _CUDA_NAMES:
        return f"PTX calls it {_CUDA_NAMES[foreign[0]]}{foreign[1]}{foreign[2]}; read it with mov"
    if name.startswith("%"):
        prefix = name.rstrip("0123456789")
        known = next((s.ranges[prefix] for s in _chain(scope) if prefix in s.ranges), None)
        if known is not None:
            return f"{prefix}<{known[0]}> declares {prefix}0 to {prefix}{known[0] - 1}"
        for kind in context.table.register_classes.values():
            if kind.prefix == prefix:
                return f"declare it: .reg .{kind.type} {prefix}<N>;"
    return ""


def _chain(scope: Scope) -> list[Scope]:
    out: list[Scope] = []
    current: Scope | None = scope
    while current is not None:
        out.append(current)
        current = current.parent
    return out


def names_in(operands: Sequence[Operand]) -> list[Name]:
    """Every name that stands in the operands, in order."""
    out: list[Name] = []
    for operand in operands:
        if isinstance(operand, Name):
            out.append(operand)
        elif isinstance(operand, Negated):
            out.append(operand.operand)
        elif isinstance(operand, Pair):
            out.extend(names_in((operand.first, operand.second)))
        elif isinstance(operand, Address):
            if operand.base is not None:
                out.append(operand.base)
            out.extend(names_in(operand.components))
        elif not isinstance(operand, Immediate):
            out.extend(names_in(operand.elements))
    return out

