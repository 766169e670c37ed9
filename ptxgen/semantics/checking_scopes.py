"""Names of a module: who declares what, where it can be seen, and what is wrong with a declaration."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import prod

from ptxgen.isa import Table
from ptxgen.ptx.diagnostics import Diagnostic, Severity
from ptxgen.ptx.tree import Address, Directive, Function, Immediate, Label, Name, Span, Statement, Variable
from ptxgen.semantics.operands import Symbol, fits_bits

#: Functions that every module may call without their bodies: the driver's.
SYSTEM_FUNCTIONS = frozenset(
    ("vprintf", "malloc", "free", "__assertfail", "cudaGetParameterBuffer", "cudaGetParameterBufferV2",
     "cudaLaunchDevice", "cudaLaunchDeviceV2", "cudaDeviceSynchronize", "cudaGetLastError")
)  # fmt: skip
_TRAILING_DIGITS = re.compile("[0-9]+$")
_OPAQUE = ("texref", "samplerref", "surfref")
_WIDEST_VECTOR = 128


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

    def own(self, name: str) -> tuple[Symbol, str] | None:
        """What this scope itself says of a name, and the name it goes by."""
        found = self.names.get(name)
        if found is not None:
            return found, name
        digits = _TRAILING_DIGITS.search(name)
        if digits is None or not self.ranges:
            return None
        for start in range(digits.start(), len(name)):
            known = self.ranges.get(name[:start])
            if known is not None and len(name) - start <= 9 and int(name[start:]) < known[0]:
                return known[1], f"{name[:start]}{int(name[start:])}"
        return None


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
    """Add a variable or registers to the scope; a second declaration is an error."""
    symbol = symbol_of(variable, table)
    if variable.count is not None:
        if variable.name in scope.ranges:
            findings.error(
                variable.span, "duplicate-name", f"{variable.name}<…> is declared twice",
                "one range covers all registers with that prefix",
            )
        scope.ranges.setdefault(variable.name, (variable.count, symbol))
        return
    earlier = scope.details.get(variable.name)
    if scope.own(variable.name) is not None and not _completes(variable, earlier):
        findings.error(variable.span, "duplicate-name", f"{variable.name} is declared twice in this scope")
    scope.names[variable.name] = symbol
    scope.details[variable.name] = variable


def _completes(variable: Variable, earlier: object) -> bool:
    """Whether this declaration and an earlier `.extern` one speak of the same variable."""
    if not isinstance(earlier, Variable) or variable.space != earlier.space or variable.type != earlier.type:
        return False
    if "extern" in variable.linkage:
        return True
    return "extern" in earlier.linkage and bool({"visible", "weak", "common"} & set(variable.linkage))


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


def check_variable(
    variable: Variable, scope: Scope, table: Table, findings: Findings, *, where: str, parameter: bool = False
) -> None:
    """What is wrong with a declaration by itself. `where`: module, entry or func."""
    span = variable.span
    known = table.types.get(variable.type)
    if known is None and variable.type not in _OPAQUE:
        findings.error(span, "unknown-type", f"there is no type .{variable.type}")
        return
    if variable.space == "reg":
        _check_register(variable, table, findings, where)
    elif variable.type == "pred":
        findings.error(span, "predicate-in-memory", f"{variable.name}: predicates live in registers only")
    pointed = next((int(a.rpartition(" ")[2]) for a in variable.attributes if ".align" in a), None)
    for alignment in (variable.alignment, pointed):
        if alignment is not None and (alignment < 1 or alignment & (alignment - 1)):
            findings.error(span, "bad-alignment", f"an alignment of {alignment} is no power of two")
    if variable.space == "reg" or parameter:
        return
    if where == "module" and variable.space in ("local", "param"):
        findings.error(
            span, "module-scope", f"a .{variable.space} variable belongs inside a function, not in the module"
        )
    if where != "module" and variable.linkage:
        findings.error(span, "module-scope", "linkage is said in the module, not inside a function",
                       "move the declaration above the function")
    size = symbol_of(variable, table).size
    if "extern" not in variable.linkage and (size is None or size == 0):
        findings.error(span, "incomplete-type", f"{variable.name} has no size",
                       "give the array its extent, or declare it .extern .shared for dynamic shared memory")
    if variable.initialiser is not None:
        _check_initialiser(variable, scope, table, findings)


def _check_register(variable: Variable, table: Table, findings: Findings, where: str) -> None:
    span = variable.span
    known = table.types.get(variable.type)
    if where == "module":
        findings.error(span, "module-scope", "registers belong to a function, not to the module",
                       "declare them inside the body")
    if known is None or not known.register:
        findings.error(span, "register-type", f"a register cannot be .{variable.type}",
                       f"declare .b{known.bits}" if known is not None and known.bits in (16, 32, 64) else "")
    elif variable.vector not in (1, 2, 4):
        findings.error(span, "register-vector", f".v{variable.vector} registers do not exist", "use .v2 or .v4")
    elif known.bits * variable.vector > _WIDEST_VECTOR:
        findings.error(span, "register-vector", f"a vector register holds at most {_WIDEST_VECTOR} bits")
    if variable.dimensions:
        findings.error(span, "register-array", "registers form no arrays", f"write {variable.name}<N>")


def _check_initialiser(variable: Variable, scope: Scope, table: Table, findings: Findings) -> None:
    span, values = variable.span, variable.initialiser or ()
    if variable.space not in ("global", "const"):
        findings.error(span, "bad-initialiser", f"a .{variable.space} variable takes no initial value",
                       "only .global and .const variables do")
        return
    if "extern" in variable.linkage:
        findings.error(span, "bad-initialiser", "an .extern variable takes its value where it is defined")
    if all(extent is not None for extent in variable.dimensions):
        fitting = prod(extent or 0 for extent in variable.dimensions) * variable.vector
        if len(values) > fitting:
            findings.error(span, "bad-initialiser", f"{len(values)} values where {fitting} fit")
    known = table.types.get(variable.type)
    if known is None:
        return
    for value in values:
        if isinstance(value, Immediate):
            is_float = known.kind == "float"
            if is_float != (value.kind != "int") and not (known.kind == "bits" and value.kind != "int"):
                kind = "a float" if is_float else "an integer"
                findings.error(value.span, "bad-initialiser", f".{variable.type} wants {kind}, not {value.text}")
            elif isinstance(value.value, int) and not fits_bits(value.value, known.bits):
                findings.warn(value.span, "truncated-immediate", f"{value.text} does not fit in .{variable.type}")
        else:
            base = value.base if isinstance(value, Address) else value
            if isinstance(base, Name):
                _check_initial_symbol(base, scope, findings)


def _check_initial_symbol(name: Name, scope: Scope, findings: Findings) -> None:
    inner = name.text.partition("(")[2].rstrip(")") or name.text
    if scope.lookup(inner) is None:
        findings.error(name.span, "undeclared-name", f"{inner} is not declared before this")
