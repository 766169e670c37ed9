"""Addresses: what may be in the brackets, in which state space, and constant offsets that miss."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxgen.isa import Expansion
from ptxgen.isa import Operand as Wanted
from ptxgen.ptx.tree import Address, Function, Name, Variable
from ptxgen.semantics.checking_components import HANDLES, check_components, check_handle
from ptxgen.semantics.checking_scopes import Scope
from ptxgen.semantics.operands import Symbol, is_special, meaning

if TYPE_CHECKING:
    from ptxgen.semantics.checking_instructions import Context

#: Windows of their own, where 32 bits reach everything.
_NARROW_SPACES = ("shared", "local", "const", "param", "fabric", "tmem")
_GENERIC_SPACES = ("global", "shared", "local")
#: Reading the low part of a smaller parameter is how compilers narrow an integer; half a pointer is a slip.
_POINTER_BYTES = 8
#: Assemblers compute their addresses, and take no half of one for that.
_MATRICES = ("ldmatrix", "stmatrix", "wmma")
_UNIFIED = ("ld", "ldu", "atom")
_STORES = ("st", "red", "atom")
#: Instructions that assemblers let a 32-bit register address the whole memory in.
_WIDENING = frozenset({"cp", "createpolicy", "fence", "ldmatrix", "stmatrix", "tensormap", "wmma"})
#: Of others, the forms with one of these words.
_WIDENING_WORDS = frozenset({"async", "cp"})
#: Instructions that touch as many bytes as their type and vector say.
_WHOLE_ACCESS = ("ld", "ldu", "st", "atom", "red")


def check_address(address: Address, wanted: Wanted, chosen: Expansion, scope: Scope, context: Context) -> None:
    """Everything that can be said of `[...]` from declarations alone."""
    check_components(address, wanted, chosen, scope, context)
    if address.unified:
        _check_unified(address, wanted, chosen, scope, context)
    if chosen.name in HANDLES:
        check_handle(address, chosen, scope, context)
        return
    space = (wanted.space or "").partition("::")[0]
    if address.base is None:
        if space != "local" and chosen.name != "fence":
            context.findings.error(
                address.span, "address-base", "a constant address is possible in local memory only",
                "put the address into a register",
            )
        return
    if address.base.text == "_" or is_special(address.base.text, context.table):
        context.findings.error(address.base.span, "address-base", f"{address.base.text} is no address",
                               "move the address into a register")
    found = meaning(address.base.text, scope.lookup)
    if found is None:
        return
    if found.role == "register":
        if wanted.space == "param::func" and context.function.kind == "entry":
            told = f"an entry is no .func: {address.base.text} holds no such address"
            context.findings.error(address.span, "state-space", told, "name the parameter of the call")
        _check_register(address, address.base, found, space, chosen, context)
    elif found.role == "variable":
        _check_variable(address, address.base, found, space, wanted, chosen, scope, context)
    else:
        context.findings.error(address.base.span, "address-base", f"{address.base.text} is a {found.role}")


def _check_unified(address: Address, wanted: Wanted, chosen: Expansion, scope: Scope, context: Context) -> None:
    """`[a].unified` says that the address is the same for the host: loads and atomics of global memory take it."""
    found = None if address.base is None else meaning(address.base.text, scope.lookup)
    detail = None if address.base is None else scope.detail(address.base.text)
    shared = isinstance(detail, Variable) and any(word.startswith("unified") for word in detail.attributes)
    loads = chosen.name in _UNIFIED or chosen.opcode.startswith("multimem.ld_reduce")
    if not loads or (wanted.space or "global") != "global":
        told = f".unified does not go with {chosen.opcode}"
        context.findings.error(address.span, "state-space", told, "loads and atomics of global memory take it")
    elif found is not None and found.role != "register" and not shared:
        told = f"{address.base.text if address.base else ''} is not declared with .attribute(.unified)"
        context.findings.error(address.span, "state-space", told, "leave out .unified")


def _check_register(
    address: Address, base: Name, found: Symbol, space: str, chosen: Expansion, context: Context
) -> None:
    known = context.table.types.get(found.type)
    if known is None:
        return
    if known.kind not in ("bits", "signed", "unsigned") or found.vector > 1 or known.bits > 64:
        context.findings.error(
            base.span, "address-type", f"{base.text} is .{found.type}: an address is an integer",
        )
    elif space == "tmem" and known.bits != 32:
        context.findings.error(base.span, "address-width",
                               f"{base.text} is {known.bits} bits wide; an address in tensor memory has 32")
    elif space == "fabric" and known.bits != 32:
        told = f"{base.text} is {known.bits} bits wide; an endpoint has 32"
        context.findings.error(base.span, "address-width", told)
    elif known.bits < 64 and not _is_window(space, chosen):
        told = f"{base.text} is {known.bits} bits wide; an address in {space or 'generic'} memory has 64"
        hint = "compute addresses in .b64 registers: mad.wide.u32, or cvt.u64.u32"
        if (known.bits == 32 and not _is_widened(chosen)) or (known.bits < 32 and chosen.name in _MATRICES):
            context.findings.error(base.span, "address-width", told, hint)
        else:
            context.findings.warn(base.span, "address-width", told, hint)


def _is_widened(chosen: Expansion) -> bool:
    return chosen.name in _WIDENING or not _WIDENING_WORDS.isdisjoint(chosen.opcode.split(".")[1:3])


def _is_window(space: str, chosen: Expansion) -> bool:
    """Whether addresses there fit in 32 bits. A barrier's space must be said, or its address is a generic one."""
    said = any(value.partition("::")[0] == space for value in chosen.slots.values())
    return space in _NARROW_SPACES and (said or chosen.name != "mbarrier")


def _check_variable(
    address: Address, base: Name, found: Symbol, space: str, wanted: Wanted, chosen: Expansion, scope: Scope,
    context: Context,
) -> None:  # fmt: skip
    findings = context.findings
    function = context.function
    role = parameter_role(base.text, function, scope)
    declared = context.table.types.get(found.type)
    if chosen.name == "fence":
        return
    if declared is not None and declared.kind == "opaque" and chosen.name != "tensormap":
        findings.error(address.span, "state-space", f"{base.text} is .{found.type}: it has no bytes to access",
                       "textures are read with tex, surfaces with suld")
        return
    if space == "" and found.space not in _GENERIC_SPACES:
        findings.error(
            address.span, "state-space", f"{base.text} is in .{found.space}, which generic addresses do not reach",
            f"write {chosen.name}.{found.space}",
        )
        return
    if space and space != found.space:
        findings.error(
            address.span, "state-space", f"{base.text} is in .{found.space}, not in .{space}",
            f"write {chosen.name}.{found.space}",
        )
        return
    if space == "param" and role in ("entry", "argument") and chosen.name in _STORES:
        findings.error(base.span, "parameter-access", f"{base.text} is a parameter: it can only be read")
        return
    if role == "return" and chosen.name not in _STORES:
        findings.error(base.span, "parameter-access", f"{base.text} returns a value: it can only be written")
        return
    _check_offset(address, base, found, wanted, chosen, scope, role, context)


def parameter_role(name: str, function: Function, scope: Scope) -> str:
    """"entry", "argument", "return", or "" for a variable of the body."""
    declared = scope.detail(name)
    if any(declared is variable for variable in function.params):
        return "entry" if function.kind == "entry" else "argument"
    return "return" if any(declared is variable for variable in function.returns) else ""


def _check_offset(
    address: Address, base: Name, found: Symbol, wanted: Wanted, chosen: Expansion, scope: Scope, role: str,
    context: Context,
) -> None:  # fmt: skip
    """Constant offsets that leave the variable or its alignment: assemblers take them without a word."""
    known = context.table.types.get(wanted.type)
    if known is None or address.components:
        return
    width = 1
    if chosen.name in _WHOLE_ACCESS:
        width = max(1, known.bits // 8) * max(operand.vector for operand in chosen.operands)
    findings = context.findings
    declared = scope.detail(base.text)
    if isinstance(declared, Variable) and "extern" in declared.linkage:
        return
    if found.size is not None and not 0 <= address.offset <= found.size - width:
        what = f"{width} bytes at offset {address.offset} of {base.text}, which has {found.size}"
        code = "parameter-size" if role and address.offset == 0 else "out-of-bounds"
        findings.warn(address.span, code, what)
    elif address.offset % width and found.alignment >= width:
        findings.warn(
            address.span, "misaligned", f"offset {address.offset} of {base.text} is not a multiple of {width} bytes"
        )
    elif (
        role == "entry" and isinstance(declared, Variable) and not declared.dimensions
        and found.size == _POINTER_BYTES and width < _POINTER_BYTES
    ):  # fmt: skip
        findings.warn(
            address.span, "parameter-size",
            f"{base.text} is .{declared.type}, but only {width} of its {found.size} bytes are read here",
            f"use .{declared.type}",
        )
