"""PTX text and its tree: `parse`, `parse_tolerant`, `parse_statement`, `print_module`, `print_statement`."""

from ptxgen.ptx.diagnostics import Diagnostic, PtxSyntaxError, Severity, draw
from ptxgen.ptx.parsing import parse, parse_tolerant
from ptxgen.ptx.printing import print_module, print_operand, print_statement
from ptxgen.ptx.statements import parse_statement

__all__ = [
    "Diagnostic",
    "PtxSyntaxError",
    "Severity",
    "draw",
    "parse",
    "parse_statement",
    "parse_tolerant",
    "print_module",
    "print_operand",
    "print_statement",
]
