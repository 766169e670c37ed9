"""How values of each type lie in memory, and how finely each float type can tell them apart.

bf16, which NumPy lacks, is stored as the upper half of a float32 in uint16.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

DTYPES: dict[str, np.dtype[Any]] = {
    name: np.dtype(code)
    for name, code in {
        "u8": "u1", "s8": "i1", "u16": "u2", "s16": "i2", "u32": "u4", "s32": "i4", "u64": "u8", "s64": "i8",
        "f16": "f2", "bf16": "u2", "f32": "f4", "f64": "f8",
    }.items()
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Precision:
    """A float format: `digits` of significand (the hidden one included), least and greatest exponent."""

    name: str
    digits: int
    least_exponent: int
    greatest_exponent: int

    @property
    def u(self) -> float:
        """Half the distance between 1 and the next number: the relative error of one rounding."""
        return 2.0**-self.digits

    @property
    def smallest(self) -> float:
        """The smallest subnormal."""
        return 2.0 ** (self.least_exponent - self.digits + 1)

    @property
    def largest(self) -> float:
        """The largest finite number."""
        return (2.0 - 2.0 ** (1 - self.digits)) * 2.0**self.greatest_exponent

    def ulp(self, value: Array) -> Array:
        """The distance between neighbouring numbers at each magnitude; NaN and infinity give 0."""
        finite = np.where(np.isfinite(value), value, 0.0)
        _, exponent = np.frexp(np.abs(finite))
        exponent = np.where(finite == 0, self.least_exponent, exponent - 1)
        return np.asarray(np.ldexp(1.0, np.maximum(exponent, self.least_exponent) - self.digits + 1))

    def round(self, value: Array) -> Array:
        """To the nearest number of this format, ties to even, as float64; overflow gives infinity."""
        value = np.asarray(value, dtype=np.float64)
        if self.name == "f64":
            return value
        step = self.ulp(value)
        with np.errstate(invalid="ignore", over="ignore"):
            rounded = np.where(np.isfinite(value), np.rint(value / step) * step, value)
            return np.where(np.abs(rounded) > self.largest, np.copysign(np.inf, rounded), rounded)


PRECISIONS: dict[str, Precision] = {
    "f16": Precision("f16", 11, -14, 15),
    "bf16": Precision("bf16", 8, -126, 127),
    "f32": Precision("f32", 24, -126, 127),
    "f64": Precision("f64", 53, -1022, 1023),
}


def widen(kind: str, stored: Array) -> Array:
    """Stored elements as float64, int64 or (u64 only) uint64, exactly."""
    if kind == "bf16":
        with np.errstate(invalid="ignore"):  # signalling NaNs
            return (stored.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
    if kind in PRECISIONS:
        with np.errstate(invalid="ignore"):
            return stored.astype(np.float64)
    return stored.astype(np.uint64 if kind == "u64" else np.int64)


def narrow(kind: str, values: Array) -> Array:
    """Floats rounded to nearest, or integers that wrap around, in the type's storage."""
    if kind in PRECISIONS:
        rounded = PRECISIONS[kind].round(np.asarray(values, dtype=np.float64))
        if kind == "bf16":
            upper = rounded.astype(np.float32).view(np.uint32) >> np.uint32(16)
            quiet = np.where(np.isnan(rounded), upper | np.uint32(0x40), upper)
            return np.asarray(quiet.astype(np.uint16))
        with np.errstate(over="ignore"):
            return rounded.astype(DTYPES[kind])
    return wrap(kind, values)


def wrap(kind: str, values: Array) -> Array:
    """Integers modulo the type's range. Python integers of any size (dtype object) are taken too."""
    dtype = DTYPES[kind]
    if values.dtype == object:
        mask = (1 << (8 * dtype.itemsize)) - 1
        unsigned = np.array([int(value) & mask for value in values.ravel()], dtype=np.uint64)
        return unsigned.reshape(values.shape).astype(np.dtype(f"u{dtype.itemsize}")).view(dtype)
    return values.astype(dtype)
