"""Constants of PTX: literals and constant expressions (manual, "Constants").

Integers are 64 bits wide, and a literal of a few bits more is cut, as ptxas cuts it. They are signed, or unsigned:
literals with a `U` or above 2^63-1, `~a`, `a % b`, `(.u64) a`, and `+ - * / & | ^` of anything unsigned. A shift has
the type of what it shifts, a choice that of what it chooses; comparisons are of unsigned numbers if either is one and
give a signed 0 or 1. Results wrap. (Measured with ptxas 13; table 5 of the manual differs in `%`, `& | ^` and `?:`.)
Decimal floats are 64-bit; `0f…` and `0d…` give the bits themselves.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ptxgen.ptx.tree import NOWHERE, Immediate, Span

#: Beyond these no program ever written goes; they keep hostile texts linear.
LONGEST_LITERAL = 100
LONGEST_EXPRESSION = 4096

_HEX_FLOAT = re.compile(r"0[fF][0-9A-Fa-f]{8}|0[dD][0-9A-Fa-f]{16}")
_SIGNED_LIMIT = 1 << 63
_WORD = 1 << 64
WARP_SIZE = 32


class Unsigned(int):
    """An integer constant of type .u64: what is computed with it is unsigned. Any other int is a .s64."""

    __slots__ = ()


class ConstantFault(ValueError):
    """A constant that denotes nothing; the text says why."""


@lru_cache(maxsize=4096)
def _parse(text: str) -> tuple[int | float, str]:
    if text == "WARP_SZ":
        return WARP_SIZE, "int"
    if len(text) > LONGEST_LITERAL:
        raise ConstantFault("the constant does not fit in 64 bits")
    if _HEX_FLOAT.fullmatch(text):
        bits = bytes.fromhex(text[2:])
        single = text[1] in "fF"
        value: float = struct.unpack(">f" if single else ">d", bits)[0]
        return value, "f32" if single else "f64"
    lower = text.lower()
    if "." in lower or ("e" in lower and not lower.startswith("0x")):
        value = float(text)
        if value in (float("inf"), float("-inf")):
            raise ConstantFault("the constant overflows a 64-bit float")
        return value, "f64"
    whole = _whole(text)
    return (Unsigned(whole) if text.endswith("U") or whole >= _SIGNED_LIMIT else whole), "int"


def _whole(text: str) -> int:
    """An integer literal modulo 2^64. Raises ConstantFault where ptxas sees the overflow: it looks at the highest bit
    of what the digits before have come to, so a literal just above 2^64 slips through."""
    digits, base = _digits(text)
    whole = int(digits, base)
    if whole >= _WORD:
        before = 0
        for digit in digits:
            if before >= _SIGNED_LIMIT:
                raise ConstantFault("the constant does not fit in 64 bits")
            before = (before * base + int(digit, base)) % _WORD
    return whole % _WORD


def _digits(text: str) -> tuple[str, int]:
    """The digits of an integer literal, and their base."""
    digits = text.removesuffix("U")
    prefix = digits[:2].lower()
    if prefix in ("0x", "0b"):
        return digits[2:], 16 if prefix == "0x" else 2
    return digits, 8 if digits.startswith("0") and len(digits) > 1 else 10


def is_cut(text: str) -> bool:
    """Whether this is an integer literal that lost bits above the 64th."""
    if re.fullmatch(r"-?[0-9][0-9A-Fa-fxX]*U?", text) is None:
        return False
    digits, base = _digits(text.removeprefix("-"))
    return int(digits, base) >= _WORD


def literal(text: str, span: Span = NOWHERE) -> Immediate:
    """The constant a single literal denotes. Equal texts give the very same value object, NaN included.

    Raises ConstantFault when it does not fit.
    """
    value, kind = _parse(text)
    return Immediate(text, value, kind, span)  # type: ignore[arg-type]


def is_bits(constant: Immediate) -> bool:
    """Whether it is a single `0f…`/`0d…`, which no operator may be applied to."""
    return _HEX_FLOAT.fullmatch(constant.text) is not None


def wrap(value: int, unsigned: bool) -> int:
    """`value` modulo 2^64, as unsigned or two's complement."""
    value = int(value) % _WORD
    if unsigned:
        return Unsigned(value)
    return value if value < _SIGNED_LIMIT else value - _WORD


def unary(operator: str, operand: Immediate, span: Span) -> Immediate:
    """`-a`, `+a`, `~a`, `!a`."""
    text = _joined(operator + operand.text)
    value = operand.value
    if is_bits(operand):
        raise ConstantFault(f"{operator} cannot be applied to {operand.text}: flip the sign bit instead")
    if operator == "!":
        return Immediate(text, int(not value), "int", span)
    if isinstance(value, float):
        if operator == "~":
            raise ConstantFault("~ takes an integer")
        return Immediate(text, -value if operator == "-" else value, operand.kind, span)
    result = {"-": -value, "+": value, "~": ~value}[operator]
    return Immediate(text, wrap(result, operator == "~" or isinstance(value, Unsigned)), "int", span)


def binary(left: Immediate, operator: str, right: Immediate, span: Span) -> Immediate:
    """`a * b` and the like; floats take arithmetic and comparisons only."""
    # `3%4` would be 3 and a register
    text = _joined(f"{left.text}{operator}{' ' if operator == '%' else ''}{right.text}")
    if is_bits(left) or is_bits(right):
        raise ConstantFault(f"{operator} cannot be applied to a float given by its bits")
    a, b = left.value, right.value
    if isinstance(a, float) != isinstance(b, float):
        raise ConstantFault(f"{operator} takes two integers or two floats")
    if isinstance(a, float) or isinstance(b, float):
        return _float_binary(float(a), operator, float(b), text, span)
    if operator in ("<<", ">>"):
        # the hardware's shift: by the low six bits
        shifted = a << (int(b) & 63) if operator == "<<" else a >> (int(b) & 63)
        return Immediate(text, wrap(shifted, isinstance(a, Unsigned)), "int", span)
    unsigned = operator == "%" or isinstance(a, Unsigned) or isinstance(b, Unsigned)
    a, b = wrap(a, unsigned), wrap(b, unsigned)
    if operator in ("/", "%"):
        if b == 0:
            raise ConstantFault("division by zero in a constant expression")
        quotient = abs(a) // abs(b)
        quotient = -quotient if (a < 0) != (b < 0) else quotient
        result = quotient if operator == "/" else a - b * quotient
    else:
        result = int(_INTEGER[operator](a, b))
    return Immediate(text, wrap(result, unsigned and operator not in _COMPARISONS), "int", span)


def choice(condition: Immediate, yes: Immediate, no: Immediate, span: Span) -> Immediate:
    """`c ? a : b`."""
    chosen = yes if condition.value else no
    text = _joined(f"{condition.text}?{yes.text}:{no.text}")
    return Immediate(text, chosen.value, chosen.kind, span)


def cast(type_text: str, operand: Immediate, span: Span) -> Immediate:
    """`(.u64) a` and `(.s64) a`; `type_text` holds the parentheses."""
    text = _joined("".join(type_text.split()) + operand.text)
    if isinstance(operand.value, float):
        raise ConstantFault("a cast takes an integer")
    return Immediate(text, wrap(operand.value, "u64" in type_text), "int", span)


def grouped(operand: Immediate, span: Span) -> Immediate:
    """`(a)`."""
    return Immediate(_joined(f"({operand.text})"), operand.value, operand.kind, span)


def _float_binary(a: float, operator: str, b: float, text: str, span: Span) -> Immediate:
    if operator in _COMPARISONS:
        return Immediate(text, int(_INTEGER[operator](a, b)), "int", span)
    if operator == "/" and b == 0:
        raise ConstantFault("division by zero in a constant expression")
    if operator not in "+-*/":
        raise ConstantFault(f"{operator} takes integers")
    try:
        result = {"+": a + b, "-": a - b, "*": a * b}[operator] if operator != "/" else a / b
    except OverflowError:
        raise ConstantFault("the constant overflows a 64-bit float") from None
    return Immediate(text, result, "f64", span)


_COMPARISONS = frozenset(("==", "!=", "<", "<=", ">", ">=", "&&", "||"))
_INTEGER: dict[str, Callable[[Any, Any], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "&&": lambda a, b: bool(a) and bool(b),
    "||": lambda a, b: bool(a) or bool(b),
}


def _joined(text: str) -> str:
    if len(text) > LONGEST_EXPRESSION:
        raise ConstantFault("the constant expression is too long")
    return text
