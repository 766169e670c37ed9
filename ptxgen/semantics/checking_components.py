"""Addresses of textures, surfaces and tensors: a handle, and coordinates behind a comma."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ptxgen.isa import Expansion
from ptxgen.isa import Operand as Wanted
from ptxgen.ptx.tree import Address, Name, Operand, Vector
from ptxgen.semantics.checking_scopes import Scope
from ptxgen.semantics.operands import meaning, refusals

if TYPE_CHECKING:
    from ptxgen.semantics.checking_instructions import Context

_TEXTURES = ("tex", "tld4", "txq")
_SURFACES = ("suld", "sust", "sured", "suq")
HANDLES = (*_TEXTURES, *_SURFACES)
_HANDLE_BITS = 64
_SAMPLING = ("tex", "tld4")
#: How many integers stand before the coordinates, by geometry.
_INDICES = {"a1d": 1, "a2d": 1, "acube": 1, "2dms": 1, "a2dms": 2}


def check_components(
    address: Address, wanted: Wanted, chosen: Expansion, scope: Scope, context: Context
) -> None:
    """Coordinates where the form has them and nowhere else, as many as the geometry asks for."""
    findings = context.findings
    if not wanted.parts:
        if address.components:
            findings.error(address.span, "operand-vector", f"{chosen.opcode} takes one plain address here")
        return
    images = chosen.name in HANDLES
    if len(address.components) != len(wanted.parts):
        told = f"{chosen.opcode} takes {len(wanted.parts)} parts behind the first"
        findings.error(address.span, "operand-vector", told, f"write {_shown(wanted)}")
        return
    if address.offset:
        findings.error(address.span, "address-base", "an address with further parts has no offset",
                       "add it to the register first")
    for written, part in zip(address.components, wanted.parts, strict=True):
        if "vector" not in part.kinds:
            _check_plain(written, part, chosen, scope, context)
            continue
        if not isinstance(written, Vector):
            if not images:
                findings.error(written.span, "operand-vector", "coordinates stand in braces")
            continue
        count = len(written.elements)
        fits = count == part.vector or (images and count >= part.vector and count in (1, 2, 4, 8))
        if not fits:
            findings.error(written.span, "operand-vector", f"{count} coordinates where {part.vector} are wanted")
            continue
        for at, element in enumerate(written.elements):
            expected = replace(part, type=_element_type(chosen, part, at), kinds=frozenset({"reg", "imm"}), vector=1)
            for refusal in refusals(element, expected, scope.lookup, context.table):
                findings.add(refusal.span or written.span, refusal.severity, refusal.code,
                             f"{chosen.opcode}: {refusal.message}", refusal.hint)
    if chosen.name in _SAMPLING and "texmode_independent" in context.options and len(wanted.parts) == 1:
        findings.error(address.span, "operand-vector", "in texmode_independent a sampler stands behind the texture",
                       f"write [{wanted.name}, sampler, {{…}}]")


def _element_type(chosen: Expansion, part: Wanted, at: int) -> str:
    """Of images, layers and samples come first as unsigned integers; coordinates are of the last type."""
    if part.type != "b32" or chosen.name not in HANDLES:
        return part.type
    if at < _INDICES.get(chosen.slots.get("geom", ""), 0):
        return "u32"
    return chosen.type if chosen.name in _SAMPLING else "s32"


def _shown(wanted: Wanted) -> str:
    parts = (f"{{{part.name}}}" if "vector" in part.kinds else part.name for part in wanted.parts)
    return f"[{', '.join((wanted.name, *parts))}]"


def _check_plain(written: Operand, part: Wanted, chosen: Expansion, scope: Scope, context: Context) -> None:
    """A part that is no list: an offset, an address in place of that of a tensor, a sampler."""
    found = meaning(written.text, scope.lookup) if isinstance(written, Name) else None
    sampler = found is not None and found.role == "variable" and found.type == "samplerref"
    if not isinstance(written, Name) or (found is not None and found.role != "register" and not sampler):
        context.findings.error(written.span, "operand-kind", f"{part.name} of {chosen.opcode} is a register")
        return
    for refusal in () if sampler else refusals(written, part, scope.lookup, context.table):
        context.findings.add(refusal.span or written.span, refusal.severity, refusal.code,
                             f"{chosen.opcode}: {refusal.message}", refusal.hint)


def check_handle(address: Address, chosen: Expansion, scope: Scope, context: Context) -> None:
    """A texture or surface is named by its variable, or by a 64-bit handle in a register."""
    findings = context.findings
    found = meaning(address.base.text, scope.lookup) if address.base is not None else None
    if address.base is not None and found is None:
        return
    type_name = "texref" if chosen.name in _TEXTURES else "surfref"
    right = found is not None and (
        type_name == found.type or (found.space == "tex" and type_name == "texref") if found.role == "variable"
        else found.role == "register" and _is_handle(found.type, context)
    )  # fmt: skip
    if not right or address.offset:
        findings.error(address.span, "address-base", f"{chosen.name} wants a .{type_name} or a 64-bit register")


def _is_handle(register_type: str, context: Context) -> bool:
    known = context.table.types.get(register_type)
    return known is not None and known.bits == _HANDLE_BITS and known.kind in ("bits", "unsigned", "signed")
