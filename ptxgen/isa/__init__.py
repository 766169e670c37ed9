"""The ISA table: data under `isa/`, read, checked and queried."""

from ptxgen.isa.model import (
    Availability,
    Expansion,
    Feature,
    Form,
    Instruction,
    Mismatch,
    Operand,
    RegisterClass,
    SpecialRegister,
    Target,
    Type,
    Version,
)
from ptxgen.isa.problems import TableError
from ptxgen.isa.table import Table, check_table, load_table

__all__ = [
    "Availability",
    "Expansion",
    "Feature",
    "Form",
    "Instruction",
    "Mismatch",
    "Operand",
    "RegisterClass",
    "SpecialRegister",
    "Table",
    "TableError",
    "Target",
    "Type",
    "Version",
    "check_table",
    "load_table",
]
