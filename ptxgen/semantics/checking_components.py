"""Addresses of textures, surfaces and tensors: a handle, and coordinates behind a comma."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ptxgen.isa import Expansion
from ptxgen.isa import Operand as Wanted
from ptxgen.ptx.tree import Address, Immediate, Vector
from ptxgen.semantics.checking_scopes import Scope
from ptxgen.semantics.operands import meaning, refusals

if TYPE_CHECKING:
    from ptxgen.semantics.checking_instructions import Context

_TEXTURES = ("tex", "tld4", "txq")
_SURFACES = ("suld", "sust", "sured", "suq")
HANDLES = (*_TEXTURES, *_SURFACES)
_HANDLE_BITS = 64


def check_components(
    address: Address, wanted: Wanted, chosen: Expansion, scope: Scope, context: Context
) -> None:
    """Coordinates where the form has them and nowhere else, as many as the geometry asks for."""
    findings = context.findings
    if not wanted.parts:
        if address.components:
            findings.error(address.span, "operand-vector", f"{chosen.opcode} takes one plain address here")
        return
    with_sampler = chosen.name in HANDLES
    if len(address.components) not in (len(wanted.parts), len(wanted.parts) + with_sampler):
        told = f"{chosen.opcode} takes {len(wanted.parts)} lists of coordinates"
        findings.error(address.span, "operand-vector", told, "write [handle, {x, y}]")
        return
    for written, part in zip(address.components[-len(wanted.parts) :], wanted.parts, strict=True):
        if not isinstance(written, Vector):
            if not with_sampler:
                findings.error(written.span, "operand-vector", "coordinates stand in braces")
            continue
        count = len(written.elements)
        fits = count == part.vector or (with_sampler and count >= part.vector and count in (1, 2, 4, 8))
        if not fits:
            findings.error(written.span, "operand-vector", f"{count} coordinates where {part.vector} are wanted")
            continue
        kind = "s32" if with_sampler and chosen.type == "s32" and part.type == "b32" else part.type
        if with_sampler and (constants := [e for e in written.elements if isinstance(e, Immediate)]):
            for constant in constants:
                if (constant.kind == "int") == (chosen.type == "f32"):
                    findings.error(constant.span, "immediate-type", f"coordinates here are .{chosen.type}")
            continue
        for refusal in refusals(written, replace(part, type=kind, vector=count), scope.lookup, context.table):
            findings.add(refusal.span or written.span, refusal.severity, refusal.code,
                         f"{chosen.opcode}: {refusal.message}", refusal.hint)


def check_handle(address: Address, chosen: Expansion, scope: Scope, context: Context) -> None:
    """A texture or surface is named by its variable, or by a 64-bit handle in a register."""
    findings = context.findings
    found = meaning(address.base.text, scope.lookup) if address.base is not None else None
    if address.base is not None and found is None:
        return
    type_name = "texref" if chosen.name in _TEXTURES else "surfref"
    right = found is not None and (
        found.type == type_name if found.role == "variable"
        else found.role == "register" and _is_handle(found.type, context)
    )  # fmt: skip
    if not right or address.offset:
        findings.error(address.span, "address-base", f"{chosen.name} wants a .{type_name} or a 64-bit register")


def _is_handle(register_type: str, context: Context) -> bool:
    known = context.table.types.get(register_type)
    return known is not None and known.bits == _HANDLE_BITS and known.kind in ("bits", "unsigned", "signed")
