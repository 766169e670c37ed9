"""Comparisons of set and setp, over typed integer arrays and over float words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptxgen.executing.emulator.floats import is_nan
from ptxgen.executing.emulator.rounding import FORMATS, widen
from ptxgen.executing.emulator.values import Array, Bools

_PLAIN: dict[str, Callable[[Any, Any], Any]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}
_UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}

COMPARISONS = frozenset(
    ["eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs",
     "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"]
)
COMBINATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor,
}


def integer_comparison(operator: str) -> Callable[[Any, Any], Bools]:
    """Over arrays of the instruction's dtype; lo, ls, hi and hs belong to unsigned types. Raises KeyError."""
    return _PLAIN[_UNSIGNED.get(operator, operator)]


def float_comparison(operator: str, type_name: str) -> Callable[[Array, Array], Bools]:
    """Over words. Ordered operators are false with a NaN, those ending in u true; `ne` is ordered too."""
    fmt = FORMATS[type_name]

    def compare(a: Array, b: Array) -> Bools:
        if operator in {"num", "nan"}:
            nan = is_nan(a, fmt) | is_nan(b, fmt)
            return nan if operator == "nan" else ~nan
        x, y = (a.view(np.float32), b.view(np.float32)) if type_name == "f32" else (widen(a, fmt), widen(b, fmt))
        plain = operator[:2]
        result = _PLAIN[plain](x, y)
        if operator == "ne":
            return np.asarray(result & (x == x) & (y == y))
        if operator.endswith("u") and plain != "ne":
            return np.asarray(result | (x != x) | (y != y))
        return np.asarray(result)

    return compare
