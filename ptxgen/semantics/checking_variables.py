"""Declarations of variables and registers, each by itself: space, type, vector, extent, alignment, linkage."""

from __future__ import annotations

from typing import Literal

from ptxgen.ptx.tree import Span, Variable
from ptxgen.semantics.checking_attributes import check_attributes
from ptxgen.semantics.checking_availability import Ground, require, require_since
from ptxgen.semantics.checking_initials import check_initialiser
from ptxgen.semantics.checking_scopes import Scope, symbol_of

Where = Literal["module", "entry", "func"]
OPAQUE = ("texref", "samplerref", "surfref")
#: Before this version, with its calling convention, functions shared registers and local variables of the module.
_CONVENTION = "3.0"
_UNREAD = ("bf16", "bf16x2", "tf32")
_WIDEST_VECTOR = 128
_VECTORS = (1, 2, 4)
_LARGEST_ALIGNMENT = 1 << 31
#: Spaces of memory that a body or a module may have variables in.
_SPACES = ("global", "const", "shared", "local", "param")


def check_variable(
    variable: Variable, scope: Scope, ground: Ground, where: Where, *, parameter: bool = False
) -> None:
    """What is wrong with a declaration by itself. `where`: in the module, in a kernel or in a function."""
    findings, span = ground.findings, variable.span
    check_name(variable.name, span, ground, in_module=where == "module" and not parameter)
    if not check_type(variable, ground):
        return
    if variable.space == "reg":
        _check_register(variable, ground, where)
    elif variable.space not in _SPACES:
        _check_old_space(variable, ground)
        return
    elif variable.type == "pred":
        findings.error(span, "predicate-in-memory", f"{variable.name}: predicates live in registers only")
    _check_alignments(variable, ground)
    for attribute in variable.attributes:
        if not attribute.startswith("ptr"):
            check_attributes(attribute, span, variable.space, ground)
        elif not parameter or where != "entry":
            findings.error(span, "pointer-attribute", ".ptr describes parameters of kernels only", "leave it out")
    if parameter:
        return
    _check_linkage(variable, ground, where)
    if variable.space == "reg":
        if variable.initialiser is not None:
            findings.error(span, "bad-initialiser", "a register takes no initial value", "write it with mov")
        return
    _check_place(variable, ground, where)
    if variable.initialiser is not None:
        check_initialiser(variable, scope, ground)


def check_name(name: str, span: Span, ground: Ground, *, in_module: bool) -> None:
    """A name that the machine has for itself; inside a function most of them may be taken all the same."""
    if name == "WARP_SZ":
        ground.findings.error(span, "reserved-name", "WARP_SZ is a constant, not a name")
    elif name in ground.table.special_registers:
        report = ground.findings.error if in_module else ground.findings.warn
        report(span, "reserved-name", f"{name} is a special register", "take another name")


def check_type(variable: Variable, ground: Ground) -> bool:
    """Whether the type exists; what stands against declaring it, and vectors of it, is reported."""
    findings, span = ground.findings, variable.span
    known = ground.table.types.get(variable.type)
    if known is None:
        findings.error(span, "unknown-type", f"there is no type .{variable.type}")
        return False
    opaque = variable.type in OPAQUE
    if not known.register and not opaque and variable.space != "reg":
        # Assemblers do not look at the type of an array's elements; three types they do not read at all.
        report = findings.warn if variable.dimensions and variable.type not in _UNREAD else findings.error
        bits = next(b for b in (8, 16, 32, 64) if known.bits <= b)
        report(span, "instruction-type", f".{variable.type} is a type of instructions, not of variables",
               f"declare .b{bits}")
    elif not variable.dimensions:
        needed = known.availability
        require_since(f".{variable.type}", str(needed.ptx), needed.sm, span, ground)
    if opaque and not variable.dimensions:
        require_since(f".{variable.type}", "1.5", 0, span, ground)
    if variable.type == "samplerref" and not variable.dimensions and "texmode_independent" not in ground.options:
        findings.error(span, "texture-mode", "samplers of their own exist in the independent texture mode only",
                       "write .target …, texmode_independent")
    if variable.vector == 1:
        return True
    if variable.vector not in _VECTORS:
        findings.error(span, "bad-vector", f"there are no .v{variable.vector} variables", "use .v2, .v4 or an array")
    elif opaque or variable.type == "pred":
        findings.error(span, "bad-vector", f"there are no vectors of .{variable.type}")
    elif known.bits * variable.vector > _WIDEST_VECTOR:
        findings.error(span, "bad-vector", f"a vector holds at most {_WIDEST_VECTOR} bits")
    return True


def _check_register(variable: Variable, ground: Ground, where: Where) -> None:
    findings, span = ground.findings, variable.span
    known = ground.table.types.get(variable.type)
    if where == "module" and ground.since(_CONVENTION):
        findings.error(span, "module-scope", "registers belong to a function, not to the module",
                       "declare them inside the body")
    if known is not None and not known.register:
        findings.error(span, "register-type", f"a register cannot be .{variable.type}",
                       f"declare .b{known.bits}" if known.bits in (16, 32, 64) else "")
    if variable.dimensions:
        findings.error(span, "register-array", "registers form no arrays", f"write {variable.name}<N>")


def _check_old_space(variable: Variable, ground: Ground) -> None:
    findings, span = ground.findings, variable.span
    if variable.space == "sreg":
        findings.error(span, "special-space", "special registers are there by themselves: none can be declared")
    elif ground.since("1.5"):
        findings.error(span, "removed", ".tex variables are gone since PTX 1.5", "declare a .global .texref")


def _check_alignments(variable: Variable, ground: Ground) -> None:
    findings, span = ground.findings, variable.span
    pointed = next((int(a.rpartition(" ")[2]) for a in variable.attributes if ".align" in a), None)
    for alignment in (variable.alignment, pointed):
        if alignment is not None and (alignment < 1 or alignment & (alignment - 1)):
            findings.error(span, "bad-alignment", f"an alignment of {alignment} is no power of two")
        elif alignment is not None and alignment > _LARGEST_ALIGNMENT:
            findings.error(span, "bad-alignment", f"an alignment of {alignment} does not fit in 32 bits")


def _check_linkage(variable: Variable, ground: Ground, where: Where) -> None:
    findings, span, linkage = ground.findings, variable.span, variable.linkage
    if len(linkage) > 1:
        findings.error(span, "linkage", f"one linkage, not {' and '.join(f'.{word}' for word in linkage)}")
    if "common" in linkage:
        require(".common", span, ground)
        if variable.space != "global":
            findings.error(span, "linkage", f"a .{variable.space} variable cannot be .common",
                           "only .global variables can")
    if "weak" in linkage:
        require(".weak", span, ground)
    if where != "module" and linkage:
        findings.error(span, "module-scope", "linkage is said in the module, not inside a function",
                       "move the declaration above the function")


def _check_place(variable: Variable, ground: Ground, where: Where) -> None:
    findings, span = ground.findings, variable.span
    if where == "module" and (variable.space == "param" or (variable.space == "local" and ground.since(_CONVENTION))):
        findings.error(
            span, "module-scope", f"a .{variable.space} variable belongs inside a function, not in the module"
        )
    if variable.type in OPAQUE:
        if where != "module":
            findings.error(span, "module-scope", f"a .{variable.type} variable belongs to the module",
                           "move the declaration above the function")
        elif variable.space != "global" and not variable.dimensions:
            findings.error(span, "opaque-space",
                           f"a .{variable.type} variable is in .global, not in .{variable.space}")
    if variable.space == "param" and not variable.dimensions and (variable.vector > 1 or variable.type == "f16x2"):
        findings.error(span, "parameter-type", "a parameter is no vector", "declare an array: .align 8 .b8 name[8]")
    size = symbol_of(variable, ground.table).size
    if "extern" not in variable.linkage and (size is None or size == 0):
        findings.error(span, "incomplete-type", f"{variable.name} has no size",
                       "give the array its extent, or declare it .extern .shared for dynamic shared memory")
