"""Initial values of variables: which may have one, and which values fit."""

from __future__ import annotations

from math import prod

from ptxgen.ptx.initialisers import address_value
from ptxgen.ptx.tree import Address, Function, Immediate, Name, Operand, Variable
from ptxgen.semantics.checking_availability import Ground, require
from ptxgen.semantics.checking_scopes import Scope
from ptxgen.semantics.operands import fits_bits, meant

#: Types that no initial value can be given for.
_WITHOUT = ("f16", "f16x2", "pred")
#: What textures, samplers and surfaces are described by (manual, "Texture Sampler and Surface Types").
_IMAGE = ("width", "height", "depth", "channel_data_type", "channel_order")
_SAMPLING = ("filter_mode", "addr_mode_0", "addr_mode_1", "addr_mode_2")
_FIELDS = {
    "texref": (*_IMAGE, "normalized_coords", *_SAMPLING),
    "samplerref": ("force_unnormalized_coords", *_SAMPLING),
    "surfref": (*_IMAGE, "memory_layout", "array_size"),
}
#: Types that can hold an address, the whole of it or 32 bits; and those for one byte of it.
_ADDRESSES = ("u64", "u32")
_ADDRESS_BYTES = ("u8", *_ADDRESSES)
_BYTES = tuple(0xFF << shift for shift in range(0, 64, 8))


def check_initialiser(variable: Variable, scope: Scope, ground: Ground) -> None:
    """Report what is wrong with the values after the `=`."""
    findings = ground.findings
    span, values = variable.span, variable.initialiser or ()
    if variable.space not in ("global", "const"):
        findings.error(span, "bad-initialiser", f"a .{variable.space} variable takes no initial value",
                       "only .global and .const variables do")
        return
    if "extern" in variable.linkage:
        findings.error(span, "bad-initialiser", "an .extern variable takes its value where it is defined")
    if variable.type in _WITHOUT:
        hint = "declare .b16 and give the bits" if variable.type == "f16" else ""
        findings.error(span, "bad-initialiser", f"a .{variable.type} variable takes no initial value", hint)
        return
    if all(extent is not None for extent in variable.dimensions) and variable.type not in _FIELDS:
        fitting = prod(extent or 0 for extent in variable.dimensions) * variable.vector
        if len(values) > fitting:
            findings.error(span, "bad-initialiser", f"{len(values)} values where {fitting} fit")
    for value in values:
        if isinstance(value, Immediate):
            _check_constant(value, variable, ground)
        else:
            _check_symbol(value, variable, scope, ground)


def _check_constant(value: Immediate, variable: Variable, ground: Ground) -> None:
    findings = ground.findings
    known = ground.table.types.get(variable.type)
    if known is None:
        return
    if known.kind == "opaque":
        findings.error(value.span, "bad-initialiser", f"a .{variable.type} is given by its fields",
                       "write { width = 4 } and the like")
        return
    is_float = known.kind == "float"
    if is_float != (value.kind != "int") and not (known.kind == "bits" and value.kind != "int"):
        kind = "a float" if is_float else "an integer"
        findings.error(value.span, "bad-initialiser", f".{variable.type} wants {kind}, not {value.text}",
                       f"write {value.value}.0" if is_float else "")
    elif isinstance(value.value, int) and not fits_bits(meant(value), known.bits):
        findings.warn(value.span, "truncated-immediate", f"{value.text} does not fit in .{variable.type}")


def _check_symbol(value: Operand, variable: Variable, scope: Scope, ground: Ground) -> None:
    """The address of a variable or function: whole (.u64), as a generic address, or one byte of it (.u8)."""
    findings = ground.findings
    base = value.base if isinstance(value, Address) else value
    if not isinstance(base, Name):
        return
    if "=" in base.text:
        if variable.type not in _FIELDS:
            findings.error(base.span, "bad-initialiser", f"a .{variable.type} variable has no fields")
        elif (name := base.text.partition(" ")[0]) not in _FIELDS[variable.type]:
            findings.error(base.span, "bad-initialiser", f"a .{variable.type} has no field {name}",
                           f"it has {', '.join(_FIELDS[variable.type])}")
        return
    said = address_value(base.text)
    name = said.name
    found = scope.lookup(name)
    if found is None:
        findings.error(base.span, "undeclared-name", f"{name} is not declared before this")
        return
    if said.mask:
        require("0xFF(name)", base.span, ground)
        if int(said.mask.removesuffix("U"), 0) not in _BYTES:
            findings.error(base.span, "bad-initialiser", f"{said.mask} masks no byte of an address",
                           "write 0xFF, 0xFF00 and so on")
        if variable.type not in _ADDRESS_BYTES:
            findings.error(base.span, "bad-initialiser", f"one byte of an address is .u8, not .{variable.type}")
        if isinstance(value, Address):
            findings.error(base.span, "bad-initialiser", "nothing can be added to a byte of an address")
    elif variable.type not in _ADDRESSES:
        findings.error(base.span, "bad-initialiser", f"the address of {name} is .u64, not .{variable.type}")
    if said.generic:
        require("generic(name)", base.span, ground)
    declared = scope.detail(name)
    if found.role == "variable" and found.space not in ("global", "const"):
        findings.error(base.span, "bad-initialiser",
                       f"the address of {name}, in .{found.space}, is not known before launch")
    elif found.role == "function" and isinstance(declared, Function):
        if isinstance(value, Address) or said.generic:
            findings.error(base.span, "bad-initialiser", f"{name} is a function: its address stands alone")
        elif "extern" in declared.linkage:
            findings.error(base.span, "function-address", f"{name} is defined elsewhere: its address is not known")
