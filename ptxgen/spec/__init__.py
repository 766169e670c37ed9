"""The spec: what a kernel must compute, read from TOML and checked."""

from ptxgen.spec.expression import Expression
from ptxgen.spec.fields import SizeRange, Tolerance, ValueRange
from ptxgen.spec.load import load_spec, parse_spec
from ptxgen.spec.model import LEVELS, Param, Spec
from ptxgen.spec.oracle import (
    ORACLE_FUNCTIONS,
    REDUCTIONS,
    SHAPING,
    OracleExpression,
    function_name,
    parse_oracle,
)
from ptxgen.spec.problems import SpecError
from ptxgen.spec.rules import referenced_path
from ptxgen.spec.trial import complete_sizes, free_sizes, size_range
from ptxgen.spec.types import TYPES, ScalarType

__all__ = [
    "LEVELS",
    "ORACLE_FUNCTIONS",
    "REDUCTIONS",
    "SHAPING",
    "TYPES",
    "Expression",
    "OracleExpression",
    "Param",
    "ScalarType",
    "SizeRange",
    "Spec",
    "SpecError",
    "Tolerance",
    "ValueRange",
    "complete_sizes",
    "free_sizes",
    "function_name",
    "load_spec",
    "parse_oracle",
    "parse_spec",
    "referenced_path",
    "size_range",
]
