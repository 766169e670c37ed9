"""Names of a module: who declares what, where it can be seen, and what is wrong with a declaration."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import prod

from ptxgen.isa import Table
from ptxgen.ptx.diagnostics import Diagnostic, Severity
from ptxgen.ptx.tree import Directive, Function, Label, Span, Statement, Variable
from ptxgen.semantics.operands import Symbol

#: Functions that every module may call without their bodies: the driver's.
SYSTEM_FUNCTIONS = frozenset(
    ("vprintf", "malloc", "free", "__assertfail", "cudaGetParameterBuffer", "cudaGetParameterBufferV2",
     "cudaLaunchDevice", "cudaLaunchDeviceV2", "cudaDeviceSynchronize", "cudaGetLastError")
)  # fmt: skip
_TRAILING_DIGITS = re.compile("[0-9]+$")
_LONGEST_NUMBER = 20
_OVERFLOW = 1 << 32


@dataclass
class Findings:
    """The diagnostics of one check, in the order found."""

    diagnostics: list[Diagnostic] = field(default_factory=list)

    def error(self, span: Span, code: str, message: str, hint: str = "") -> None:
        self.add(span, "error", code, message, hint)

    def warn(self, span: Span, code: str, message: str, hint: str = "") -> None:
        self.add(span, "warning", code, message, hint)

    def add(self, span: Span, severity: Severity, code: str, message: str, hint: str = "") -> None:
        self.diagnostics.append(Diagnostic(span, severity, code, message, hint))


@dataclass(frozen=True, slots=True)
class Register:
    """One register for the flow of values: the scope that declares it and its name there."""

    scope: int
    name: str


@dataclass
class Scope:
    """The names of a module, a function or a block; `number` tells scopes of one function apart."""

    parent: Scope | None = None
    number: int = 0
    names: dict[str, Symbol] = field(default_factory=dict)
    #: `%r<10>`: prefix to how many, and what each is
    ranges: dict[str, tuple[int, Symbol]] = field(default_factory=dict)
    details: dict[str, Variable | Function | Directive] = field(default_factory=dict)
    #: of the function whose outermost scope this is
    parameters: frozenset[str] = frozenset()

    def lookup(self, name: str) -> Symbol | None:
        """What the name means here, declarations around this scope included."""
        scope: Scope | None = self
        while scope is not None:
            found = scope.own(name)
            if found is not None:
                return found[0]
            scope = scope.parent
        return None

    def register(self, name: str) -> Register | None:
        """The identity of a register; `%r04` and `%r4` are the same one."""
        scope: Scope | None = self
        while scope is not None:
            found = scope.own(name)
            if found is not None:
                return Register(scope.number, found[1]) if found[0].role == "register" else None
            scope = scope.parent
        return None

    def label(self, name: str) -> Register | None:
        """The identity of a label."""
        scope: Scope | None = self
        while scope is not None:
            found = scope.names.get(name)
            if found is not None:
                return Register(scope.number, name) if found.role == "label" else None
            scope = scope.parent
        return None

    def detail(self, name: str) -> Variable | Function | Directive | None:
        """The declaration itself, of a name that is no register."""
        scope: Scope | None = self
        while scope is not None:
            if scope.own(name) is not None:
                return scope.details.get(name)
            scope = scope.parent
        return None

    def is_parameter(self, name: str) -> bool:
        """Whether the name means a parameter or a result of the function."""
        scope: Scope | None = self
        while scope is not None:
            if scope.own(name) is not None:
                return name in scope.parameters
            scope = scope.parent
        return False

    def own(self, name: str) -> tuple[Symbol, str] | None:
        """What this scope itself says of a name, and the name it goes by."""
        found = self.names.get(name)
        if found is not None:
            return found, name
        digits = _TRAILING_DIGITS.search(name)
        if digits is None or not self.ranges:
            return None
        prefix, number = name[: digits.start()], digits[0]
        known = self.ranges.get(prefix)
        if known is None or len(number) > _LONGEST_NUMBER or int(number) >= known[0]:
            return None
        return known[1], f"{prefix}{int(number)}"


def symbol_of(variable: Variable, table: Table) -> Symbol:
    """What a declared name stands for, its size in bytes included."""
    known = table.types.get(variable.type)
    element = 1 if known is None else max(1, known.bits // 8) * variable.vector
    role = "register" if variable.space == "reg" else "variable"
    size: int | None = None
    if all(extent is not None for extent in variable.dimensions):
        size = element * prod(extent or 0 for extent in variable.dimensions)
    elif variable.initialiser is not None and None not in variable.dimensions[1:]:
        row = prod(extent or 0 for extent in variable.dimensions[1:]) * variable.vector
        size = element // variable.vector * row * -(-len(variable.initialiser) // max(1, row))
    alignment = variable.alignment or element
    return Symbol(role, variable.type, variable.space, variable.vector, size, alignment)  # type: ignore[arg-type]


def declare(variable: Variable, scope: Scope, table: Table, findings: Findings) -> None:
    """Add a variable or registers to the scope; a second declaration is an error, unless one of them says that
    the variable is defined elsewhere."""
    symbol = symbol_of(variable, table)
    if variable.count is not None:
        _declare_range(variable, symbol, scope, findings)
        return
    earlier = scope.details.get(variable.name)
    if scope.own(variable.name) is not None:
        _check_again(variable, earlier, findings)
        if isinstance(earlier, Variable) and "extern" in variable.linkage:
            return
    scope.names[variable.name] = symbol
    scope.details[variable.name] = variable


def _declare_range(variable: Variable, symbol: Symbol, scope: Scope, findings: Findings) -> None:
    name, count = variable.name, variable.count or 0
    if name in scope.ranges:
        findings.error(variable.span, "duplicate-name", f"{name}<…> is declared twice",
                       "one range covers all registers with that prefix")
    if count >= _OVERFLOW:
        findings.error(variable.span, "bad-constant", f"{count} does not fit in 32 bits")
    for other in scope.names:
        if other.startswith(name) and (number := other[len(name) :]).isdigit() and int(number) < count:
            findings.error(variable.span, "duplicate-name", f"{name}<{count}> declares {other} a second time")
            break
    scope.ranges.setdefault(name, (count, symbol))


def _check_again(variable: Variable, earlier: object, findings: Findings) -> None:
    """One of two declarations says `.extern`, and they agree."""
    told = f"{variable.name} is declared twice in this scope"
    if not isinstance(earlier, Variable) or "extern" not in (*variable.linkage, *earlier.linkage):
        findings.error(variable.span, "duplicate-name", told)
    elif (variable.type, variable.vector) != (earlier.type, earlier.vector):
        findings.error(variable.span, "duplicate-name", f"{told}, with another type")
    elif len(variable.dimensions) != len(earlier.dimensions) or any(
        one != two and None not in (one, two)
        for one, two in zip(variable.dimensions, earlier.dimensions, strict=True)
    ):
        findings.error(variable.span, "duplicate-name", f"{told}, with another extent")
    elif "extern" in earlier.linkage and not variable.linkage:
        findings.error(variable.span, "linkage", f"{variable.name} was declared .extern: it cannot be private here",
                       "declare it .visible")


def declare_labels(statements: Iterable[Statement], scope: Scope, findings: Findings) -> None:
    """Labels are known from the start of their block, before the statements that carry them."""
    for statement in statements:
        if isinstance(statement, Label):
            if scope.names.get(statement.name) is not None:
                findings.error(statement.span, "duplicate-label", f"label {statement.name} is defined twice")
            scope.names[statement.name] = Symbol("label")


def declare_directive(directive: Directive, scope: Scope, findings: Findings) -> None:
    """`.callprototype`, `.calltargets` and `.branchtargets` carry a name, known from there on."""
    if directive.label is None:
        return
    if scope.own(directive.label) is not None:
        findings.error(directive.span, "duplicate-label", f"label {directive.label} is defined twice")
    role = "prototype" if directive.name == "callprototype" else "targets"
    scope.names[directive.label] = Symbol(role)  # type: ignore[arg-type]
    scope.details[directive.label] = directive

