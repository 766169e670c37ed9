"""What the table says of a written statement: whether some expansion takes it, operand by operand."""

from __future__ import annotations

from ptxgen.isa.model import Expansion, Operand, Version
from ptxgen.isa.probing import Statement, Written
from ptxgen.isa.registers import accepts
from ptxgen.isa.table import Table


def expected(table: Table, statement: Statement, arch: str, version: Version) -> bool:
    """Does the table take the statement for that target and version? Undocumented forms count as taken."""
    return any(
        table.unavailable(expansion, arch, version) is None and admits(table, expansion, statement)
        for expansion in table.candidates(statement.opcode)
    )


def admits(table: Table, expansion: Expansion, statement: Statement) -> bool:
    """As many operands, each of a kind, type, width and value that may stand there."""
    return len(expansion.operands) == len(statement.operands) and all(
        _stands(table, wanted, written)
        for wanted, written in zip(expansion.operands, statement.operands, strict=True)
    )


def _stands(table: Table, wanted: Operand, written: Written) -> bool:
    kind = written.kind
    if kind == "pred" and "reg" in wanted.kinds and wanted.type == "pred":
        return True
    if kind not in wanted.kinds and not (kind == "reg" and "pred" in wanted.kinds):
        return False
    if kind in ("reg", "pred", "not-pred"):
        return accepts(table.types, wanted, written.type)
    if kind == "imm":
        return _constant_stands(table, wanted, written.value)
    if kind == "special":
        return accepts(table.types, wanted, table.special_registers[written.text].type)
    if kind == "vector":
        fitting = all(_element(table, wanted, part) for part in written.parts)
        return len(written.parts) == wanted.vector and fitting and _alike(table, written)
    if kind == "pair":
        return all(_stands(table, part, given) for part, given in zip(wanted.parts, written.parts, strict=True))
    if kind == "address":
        return len(wanted.parts) == len(written.parts) and _is_base(table, written.type)
    return True


def _element(table: Table, wanted: Operand, written: Written) -> bool:
    """Elements may be registers, constants where the vector is read, `_` where it is written."""
    if written.kind == "sink":
        return wanted.access == "write"
    if written.kind == "imm":
        return wanted.access == "read" and _constant_stands(table, wanted, written.value)
    return written.kind in ("reg", "pred") and accepts(table.types, wanted, written.type)


def _alike(table: Table, vector: Written) -> bool:
    """Registers in one vector are of one size, even where wider ones may stand."""
    return len({table.types[part.type].bits for part in vector.parts if part.type}) <= 1


def _is_base(table: Table, type_name: str) -> bool:
    """Addresses may lie in integer and bit-size registers; "" is the usual one, or a variable's name."""
    known = table.types.get(type_name)
    return not type_name or (known is not None and known.kind in ("bits", "signed", "unsigned") and known.bits <= 64)


def _constant_stands(table: Table, wanted: Operand, value: int | float | None) -> bool:
    known = table.types.get(wanted.type)
    if known is None or value is None:
        return False
    if isinstance(value, float) != (known.kind == "float"):
        return False
    low, high = wanted.low, wanted.high
    return (low is None or value >= low) and (high is None or value <= high)
