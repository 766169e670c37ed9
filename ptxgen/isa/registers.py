"""Which registers may stand where: the manual's tables of operand types and of operands wider than the type."""

from __future__ import annotations

from collections.abc import Mapping

from ptxgen.isa.model import Operand, Type

_INTEGERS = frozenset({"signed", "unsigned"})
_PACKED_INTEGERS = frozenset({"u16x2", "s16x2"})


def accepts(types: Mapping[str, Type], operand: Operand, register_type: str) -> bool:
    """May a register declared `register_type` stand at `operand`?

    Same size: a bit-size type on either side agrees with anything, integers of both signs with one another,
    a float only with itself. Packed and alternate float types live in bit-size registers (f16x2 also in its own).
    With `wider`, bit-size operands take any larger register, integer ones larger integer or bit-size registers,
    float ones larger bit-size registers. `exact` operands take registers of their very type only.
    """
    wanted, given = types.get(operand.type), types.get(register_type)
    if wanted is None or given is None:
        return False
    if operand.exact or "pred" in (operand.type, register_type):
        return operand.type == register_type
    if given.bits == wanted.bits:
        return _agree(wanted, given)
    if not operand.wider or given.bits < wanted.bits:
        return False
    if "bits" in (wanted.kind, given.kind):
        return True
    return wanted.kind in _INTEGERS and _is_integer(given)


def _agree(wanted: Type, given: Type) -> bool:
    if wanted.name == given.name or "bits" in (wanted.kind, given.kind):
        return wanted.kind != "opaque" or wanted.name == given.name
    if given.name == "f16x2" and wanted.name in _PACKED_INTEGERS:
        return True
    return wanted.kind in _INTEGERS and _is_integer(given)


def _is_integer(given: Type) -> bool:
    """Registers of type f16x2 count as bits where integers are wanted, though not where packed floats are."""
    return given.kind in _INTEGERS or given.name == "f16x2"
