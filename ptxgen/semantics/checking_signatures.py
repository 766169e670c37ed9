"""Functions in a module: parameters, linkage, declarations that agree, aliases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ptxgen.isa import Table
from ptxgen.ptx.tree import Directive, Function, Span, Variable
from ptxgen.semantics.checking_availability import Ground, require
from ptxgen.semantics.checking_scopes import SYSTEM_FUNCTIONS, Findings, Scope, symbol_of
from ptxgen.semantics.checking_variables import OPAQUE, Where, check_name, check_variable
from ptxgen.semantics.operands import Symbol

_POINTED = ("", ".global", ".shared", ".const", ".local")


def check_signature(function: Function, scope: Scope, ground: Ground) -> None:
    """Linkage, parameters and results of one function, declared or defined."""
    findings, linkage = ground.findings, function.linkage
    check_name(function.name, function.span, ground, in_module=True)
    if len(linkage) > 1:
        findings.error(function.span, "linkage", f"one linkage, not {' and '.join(f'.{word}' for word in linkage)}")
    elif "common" in linkage:
        findings.error(function.span, "linkage", "a function cannot be .common", "write .weak")
    elif "weak" in linkage:
        require(".weak", function.span, ground)
    if function.kind == "entry" and function.returns:
        findings.error(function.returns[0].span, "kernel-result", f"{function.name} is a kernel: it returns nothing",
                       "store results through a pointer")
    check_parameters(function, function.kind, scope, ground)


def check_parameters(
    function: Function, where: Where, scope: Scope, ground: Ground, *, named: bool = True, place: Span | None = None
) -> None:
    """Parameters and results; in a prototype they need no names, and what is found stands at `place`."""
    for original in (*function.returns, *function.params):
        variable = original if place is None else replace(original, span=place)
        check_variable(variable, scope, ground, where, parameter=True)
        _check_parameter(variable, original in function.params[-1:], where, ground)
        if named and variable.name == "_" and where != "entry":
            ground.findings.error(variable.span, "parameter-name", "a parameter needs a name",
                                  "_ stands for none in a .callprototype only")
    if len(function.returns) > 1 and any(variable.space == "param" for variable in function.returns):
        ground.findings.error(
            place or function.returns[1].span, "several-results", "several results are returned in registers only",
            "declare them .reg, or return one .param array",
        )


def _check_parameter(variable: Variable, last: bool, where: Where, ground: Ground) -> None:
    findings, span = ground.findings, variable.span
    if where == "entry" and variable.space != "param":
        findings.error(span, "parameter-space", "a kernel's parameters are in .param")
        return
    if variable.space not in ("param", "reg", "sreg"):
        findings.error(span, "parameter-space", "a parameter is in .param or in .reg",
                       "pass a pointer to what lies in memory")
        return
    if variable.space == "param" and not variable.dimensions and (variable.vector > 1 or variable.type == "f16x2"):
        findings.error(span, "parameter-type", f"a parameter is no vector: {variable.name}",
                       f"declare an array of bytes: .align {symbol_of(variable, ground.table).size} .b8")
    if where != "entry" and variable.type in OPAQUE and not variable.dimensions:
        findings.error(span, "parameter-type", f".{variable.type} parameters belong to kernels")
    if len(variable.dimensions) > 1:
        findings.error(span, "parameter-type", "a parameter has one dimension at most")
    open_ended = not all(variable.dimensions)
    if where == "entry" and open_ended:
        findings.error(span, "incomplete-type", "a kernel's parameter needs its extent")
    elif open_ended and not last:
        findings.error(span, "incomplete-type", "only the last parameter may leave its extent open")
    for attribute in variable.attributes:
        words = attribute.split()
        if words[0] == "ptr" and len(words) > 1 and words[1] != ".align" and words[1] not in _POINTED:
            findings.error(span, "pointer-attribute", f"no parameter points into {words[1]}",
                           "write .global, .shared, .const, .local or nothing")


def declare_function(function: Function, scope: Scope, ground: Ground) -> None:
    """Add a function to the module's names; declarations of the same one must agree."""
    findings, name = ground.findings, function.name
    earlier = scope.details.get(name)
    if scope.own(name) is not None and not isinstance(earlier, Function):
        findings.error(function.span, "duplicate-name", f"{name} is declared twice")
    if "extern" in function.linkage and function.body is not None:
        findings.error(function.span, "linkage", f"{name} is .extern, which is defined elsewhere, and has a body",
                       "write .visible")
    if isinstance(earlier, Function):
        for code, message, hint in _disagreements(earlier, function, ground.table):
            findings.error(function.span, code, message, hint)
    scope.names[name] = Symbol("function")
    if function.body is not None or not isinstance(earlier, Function):
        scope.details[name] = function


def _disagreements(earlier: Function, function: Function, table: Table) -> Iterator[tuple[str, str, str]]:
    name = function.name
    if earlier.body is not None:
        what = "has two bodies" if function.body is not None else "is declared after its body"
        yield "duplicate-name", f"{name} {what}", ""
    if earlier.kind != function.kind:
        yield "signature-mismatch", f"{name} is a kernel in one place and a function in the other", ""
        return
    if "extern" in earlier.linkage and function.body is not None:
        yield "linkage", f"{name} was declared .extern, and is defined here", "declare it .visible"
    elif function.linkage != earlier.linkage and (function.linkage or "extern" in earlier.linkage):
        told = " ".join(f".{word}" for word in earlier.linkage) or "without linkage"
        yield "linkage", f"{name} was declared {told}", "say the same linkage in each place"
    yield from ((("signature-mismatch"), message, "") for message in differences(earlier, function, table))
    if _preserved(earlier) != _preserved(function):
        yield "signature-mismatch", f"{name} preserves other registers than it was declared to", ""


def _preserved(function: Function) -> set[str]:
    return {d.text for d in function.directives if d.name.startswith("abi_preserve")}


def differences(one: Function, two: Function, table: Table) -> Iterator[str]:
    """In what two signatures of a function differ, in words."""
    for what, mine, yours in (("parameter", one.params, two.params), ("result", one.returns, two.returns)):
        if len(mine) != len(yours):
            yield f"{two.name} was declared with {len(mine)} {what}{'' if len(mine) == 1 else 's'}, not {len(yours)}"
            continue
        for position, (a, b) in enumerate(zip(mine, yours, strict=True)):
            place = f"{what} {position + 1} of {two.name}"
            if a.space != b.space:
                yield f"{place} was declared .{a.space}, not .{b.space}"
            elif (a.type, a.vector, a.dimensions) != (b.type, b.vector, b.dimensions):
                yield f"{place} was declared {_spelled(a)}, not {_spelled(b)}"
            elif symbol_of(a, table).alignment != symbol_of(b, table).alignment:
                yield (f"{place} was declared with alignment {symbol_of(a, table).alignment}, "
                       f"not {symbol_of(b, table).alignment}")


def _spelled(variable: Variable) -> str:
    vector = f".v{variable.vector} " if variable.vector > 1 else ""
    return f"{vector}.{variable.type}" + "".join(f"[{'' if n is None else n}]" for n in variable.dimensions)


def declare_alias(directive: Directive, scope: Scope, aliases: dict[str, str], ground: Ground) -> None:
    """`.alias new, old;`: a function that is declared stands for one that is defined."""
    findings, span = ground.findings, directive.span
    require(".alias", span, ground)
    new, _, old = (part.strip() for part in directive.text.removeprefix(".alias").rstrip(";").partition(","))
    known = True
    for name in (new, old):
        found = scope.lookup(name)
        if found is None:
            findings.error(span, "undeclared-name", f"{name} is not declared before this")
            known = False
        elif found.role != "function":
            findings.error(span, "bad-alias", f"{name} is a {found.role}; aliases are of functions")
            known = False
    alias, original = scope.detail(new), scope.detail(old)
    if not known or not isinstance(alias, Function) or not isinstance(original, Function):
        return
    if "entry" in (alias.kind, original.kind):
        findings.error(span, "bad-alias", "a kernel has no alias")
    if alias.body is not None or new in aliases:
        findings.error(span, "bad-alias", f"{new} has a body or is an alias already",
                       f"declare it only: .func {new}();")
    if (original.body is None and old not in aliases) or "weak" in original.linkage:
        findings.error(span, "bad-alias", f"{old} is not defined for good here")
    for message in differences(original, alias, ground.table):
        findings.error(span, "signature-mismatch", f"alias of {old}: {message}")
    aliases[new] = old


def check_unresolved(functions: Sequence[Function], defined: frozenset[str], findings: Findings) -> None:
    """A module is assembled whole: a function declared in it must be defined in it too, an `.extern` one where
    it is called."""
    told: set[str] = set()
    for function in functions:
        name = function.name
        if name in defined or name in told or name in SYSTEM_FUNCTIONS or "extern" in function.linkage:
            continue
        told.add(name)
        findings.error(function.span, "unresolved-function", f"{name} is declared but has no body in this module",
                       "link it before: this module is assembled by itself")


def check_extern_variables(variables: Sequence[Variable], findings: Findings) -> None:
    """Dynamic shared memory apart, a variable of open extent must be defined in the module; any other one is
    expected from elsewhere."""
    defined = {v.name for v in variables if "extern" not in v.linkage}
    for variable in variables:
        if "extern" not in variable.linkage or variable.space == "shared" or variable.name in defined:
            continue
        told = f"{variable.name} is declared .extern but defined nowhere in this module"
        if None in variable.dimensions:
            findings.error(variable.span, "unresolved-variable", told, "give the array its extent, or define it here")
