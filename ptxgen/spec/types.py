"""The types a parameter may have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class ScalarType:
    """A PTX scalar type. `low` and `high` bound an integer, inclusive; 0 for floats."""

    name: str
    bits: int
    kind: Literal["unsigned", "signed", "float"]
    low: int = 0
    high: int = 0

    @property
    def size(self) -> int:
        """Bytes."""
        return self.bits // 8

    @property
    def integer(self) -> bool:
        return self.kind != "float"


def _integers(bits: int) -> tuple[ScalarType, ScalarType]:
    half = 1 << (bits - 1)
    return (
        ScalarType(f"u{bits}", bits, "unsigned", 0, 2 * half - 1),
        ScalarType(f"s{bits}", bits, "signed", -half, half - 1),
    )


TYPES: dict[str, ScalarType] = {
    kind.name: kind
    for kind in (
        *(kind for bits in (8, 16, 32, 64) for kind in _integers(bits)),
        ScalarType("f16", 16, "float"),
        ScalarType("bf16", 16, "float"),
        ScalarType("f32", 32, "float"),
        ScalarType("f64", 64, "float"),
    )
}
