"""References that share nothing with the emulator: IEEE rounding of fractions in Python integers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Binary:
    """A binary interchange format by its bit counts."""

    exponent: int
    mantissa: int

    @property
    def bias(self) -> int:
        return (1 << self.exponent - 1) - 1

    @property
    def bits(self) -> int:
        return 1 + self.exponent + self.mantissa

    @property
    def infinity(self) -> int:
        return ((1 << self.exponent) - 1) << self.mantissa


HALF, BRAIN, SINGLE, DOUBLE = Binary(5, 10), Binary(8, 7), Binary(8, 23), Binary(11, 52)
FORMATS = {"f16": HALF, "bf16": BRAIN, "f32": SINGLE, "f64": DOUBLE}


def is_nan(word: int, form: Binary) -> bool:
    return word & (1 << form.bits - 1) - 1 > form.infinity


def is_infinite(word: int, form: Binary) -> bool:
    return word & (1 << form.bits - 1) - 1 == form.infinity


def is_negative(word: int, form: Binary) -> bool:
    return bool(word >> form.bits - 1)


def value(word: int, form: Binary) -> Fraction:
    """The exact value of a finite word."""
    mantissa = word & (1 << form.mantissa) - 1
    exponent = word >> form.mantissa & (1 << form.exponent) - 1
    if exponent:
        mantissa |= 1 << form.mantissa
    scale = max(exponent, 1) - form.bias - form.mantissa
    size = Fraction(mantissa) * (Fraction(2) ** scale)
    return -size if is_negative(word, form) else size


def rounded(exact: Fraction, form: Binary, mode: str, *, zero_negative: bool = False) -> int:
    """The word nearest in the given direction; `zero_negative` is the sign of an exact zero."""
    sign = 1 << form.bits - 1
    if exact == 0:
        return sign if zero_negative else 0
    negative = exact < 0
    size = abs(exact)
    scale = 1 - form.bias - form.mantissa
    while size / Fraction(2) ** scale >= 1 << form.mantissa + 1:
        scale += max(1, (size / Fraction(2) ** scale).__floor__().bit_length() - form.mantissa - 1)
    quotient = size / Fraction(2) ** scale
    whole = quotient.__floor__()
    rest = quotient - whole
    up = {
        "rn": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole & 1),
        "rz": False, "rm": negative and rest > 0, "rp": not negative and rest > 0,
    }[mode]
    whole += bool(up)
    if whole >= 1 << form.mantissa + 1:
        whole >>= 1
        scale += 1
    exponent = scale + form.bias + form.mantissa if whole >> form.mantissa else 0
    if exponent >= (1 << form.exponent) - 1:
        away = mode == "rn" or (mode == "rp" and not negative) or (mode == "rm" and negative)
        word = form.infinity if away else form.infinity - 1
    else:
        word = exponent << form.mantissa | whole & (1 << form.mantissa) - 1
    return word | (sign if negative else 0)
