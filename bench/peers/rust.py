"""Constant expressions of Rust as tests write them: numbers, arrays, f16, calls that make a number of bits."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ptxgen.errors import PtxgenError

Array = npt.NDArray[np.generic]

_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/)
    |(?P<string>b?"(?:[^"\\]|\\.)*")
    |(?P<number>0x[0-9A-Fa-f_]+?(?=[iu](?:8|16|32|64|128|size)\b|[^0-9A-Fa-f_]|$)|0b[01_]+|0o[0-7_]+
        |\d[\d_]*(?:\.(?![.A-Za-z_])[\d_]*)?(?:[eE][+-]?\d+)?)(?P<suffix>_?(?:[iu](?:8|16|32|64|128|size)|f(?:32|64))\b)?
    |(?P<name>[A-Za-z_$][\w$]*)
    |(?P<sign>::|.)""",
    re.VERBOSE | re.DOTALL,
)
_TYPES = {
    "u8": "u1", "i8": "i1", "u16": "u2", "i16": "i2", "u32": "u4", "i32": "i4", "u64": "u8", "i64": "i8",
    "usize": "u8", "isize": "i8", "f16": "f2", "f32": "f4", "f64": "f8",
}
_CONSTANTS = {"PI": math.pi, "E": math.e, "TAU": math.tau, "SQRT_2": math.sqrt(2), "LN_2": math.log(2)}


class RustError(PtxgenError):
    """Something that is no constant expression of those that tests have."""


@dataclass(frozen=True, slots=True)
class Number:
    """`type` is a Rust name, or empty while only the surroundings decide; a float made of bits is a NumPy scalar, so
    that a NaN keeps them."""

    type: str
    value: int | float | np.floating

    def __neg__(self) -> Number:
        return Number(self.type, -self.value)


Value = Number | tuple["Value", ...]


@dataclass(frozen=True, slots=True)
class Token:
    """`kind` is the group of the pattern that it matches; a number's `suffix` names its type."""

    kind: str
    text: str
    suffix: str = ""


def tokens(text: str) -> Iterator[Token]:
    """Tokens without white space and comments."""
    for found in _TOKEN.finditer(text):
        kind = next(name for name in ("space", "string", "number", "name", "sign") if found[name] is not None)
        if kind != "space":
            yield Token(kind, found[kind], (found["suffix"] or "").lstrip("_") if kind == "number" else "")


def array(value: Value) -> Array:
    """A one-dimensional array of the type that Rust would infer: that of an element that says it, else i32 or f64."""
    numbers = list(_flat(value))
    named = next((number.type for number in numbers if number.type), "")
    floating = any(not isinstance(number.value, int) for number in numbers)
    dtype = np.dtype(_TYPES[named or ("f64" if floating else "i32")])
    if dtype.kind in "iu":      # `!0` is of its neighbours' type
        numbers = [Number(number.type, _bits_of(Number(named, 0), int(number.value))) for number in numbers]
    made = np.zeros(len(numbers), dtype)
    for place, number in enumerate(numbers):
        made[place] = number.value
    return made


def _flat(value: Value) -> Iterator[Number]:
    if isinstance(value, Number):
        yield value
    else:
        for inner in value:
            yield from _flat(inner)


class Reader:
    """Reads expressions off a list of tokens. Raises RustError where one is of another kind."""

    def __init__(self, text: list[Token]) -> None:
        self._tokens = text
        self.place = 0

    def peek(self) -> str:
        """The next token's text, "" at the end."""
        return self._tokens[self.place].text if self.place < len(self._tokens) else ""

    def take(self, text: str) -> bool:
        """Whether the next token is this one, which is then read."""
        if self.peek() == text:
            self.place += 1
            return True
        return False

    def want(self, text: str) -> None:
        """Read this token. Raises RustError where another comes."""
        if not self.take(text):
            raise RustError(f"{self.peek()!r} where {text!r} was expected")

    def expression(self) -> Value:
        """Read an expression and work it out."""
        left = self._cast()
        while (sign := self.peek()) in {"/", "*", "+", "-", "<"}:
            self.place += 1
            if sign == "<":
                self.want("<")
            left = _joined(sign, left, self._cast())
        return left

    def _cast(self) -> Value:
        value = self._unary()
        while self.take("as"):
            value = _as(value, self._next().text)
        return value

    def _unary(self) -> Value:
        if self.take("-"):
            return -_number(self._unary())
        if self.take("!"):
            number = _number(self._unary())
            return Number(number.type, _bits_of(number, ~int(number.value)))
        if self.take("&"):
            return self._unary()
        value = self._atom()
        while self.take("."):
            value = _method(self._next().text, value)
            self.want("(")
            self.want(")")
        return value

    def _next(self) -> Token:
        if self.place >= len(self._tokens):
            raise RustError("an expression ends too early")
        self.place += 1
        return self._tokens[self.place - 1]

    def _atom(self) -> Value:
        token = self._next()
        if token.kind == "number":
            return _literal(token)
        if token.text in {"[", "("}:
            return self._listed("]" if token.text == "[" else ")")
        if token.kind == "name":
            return self._path(token.text)
        raise RustError(f"{token.text!r} begins no constant")

    def _listed(self, end: str) -> Value:
        values: list[Value] = []
        while not self.take(end):
            values.append(self.expression())
            if self.take(";"):
                count = int(_number(self.expression()).value)
                values *= count
            elif not self.take(","):
                self.want(end)
                return values[0] if end == ")" and len(values) == 1 else tuple(values)
        return tuple(values)

    def _path(self, first: str) -> Value:
        path = [first]
        while self.take("::"):
            path.append(self._next().text)
        if self.take("!") and path[-1] == "vec":
            return self._atom()
        if self.take("("):
            given = self._listed(")")
            inner = given[0] if isinstance(given, tuple) and given else given
            return _called(path, _number(inner) if isinstance(inner, Number) else None)
        return _constant(path)


def _number(value: Value) -> Number:
    if not isinstance(value, Number):
        raise RustError("a list where a number was expected")
    return value


def _literal(token: Token) -> Number:
    text = token.text.replace("_", "")
    if text[:2] in {"0x", "0b", "0o"}:
        return Number(token.suffix, int(text, 0))
    if token.suffix.startswith("f") or re.search(r"[.eE]", text):
        return Number(token.suffix, float(text))
    return Number(token.suffix, int(text))


def _constant(path: list[str]) -> Number:
    kind, name = path[-2] if len(path) > 1 else "", path[-1]
    if name in _CONSTANTS:
        return Number("f32" if "f32" in path else "f64", _CONSTANTS[name])
    if kind in {"f16", "f32", "f64"}:
        limits = np.finfo(_TYPES[kind])
        floats = {
            "NAN": math.nan, "INFINITY": math.inf, "NEG_INFINITY": -math.inf, "MAX": float(limits.max),
            "MIN": float(limits.min), "EPSILON": float(limits.eps), "MIN_POSITIVE": float(limits.smallest_normal),
        }
        if name in floats:
            return Number(kind, floats[name])
    elif kind in _TYPES and name in {"MAX", "MIN"}:
        return Number(kind, int(getattr(np.iinfo(_TYPES[kind]), name.lower())))
    raise RustError(f"{'::'.join(path)} is no constant that is known")


def _called(path: list[str], given: Number | None) -> Number:
    kind, name = path[-2] if len(path) > 1 else "", path[-1]
    if kind in _TYPES and name in {"max_value", "min_value"}:
        return _constant([kind, name[:3].upper()])
    if given is not None and kind in {"f16", "f32", "f64"}:
        if name == "from_bits":
            size = np.dtype(_TYPES[kind]).itemsize
            return Number(kind, np.array([given.value], f"u{size}").view(_TYPES[kind])[0])
        if name in {"from_f32", "from_f64", "from"}:
            value = np.float32(given.value) if name == "from_f32" else np.float64(given.value)
            return Number(kind, value.astype(_TYPES[kind]))
    raise RustError(f"{'::'.join(path)}(…) is no function that is known")


def _method(name: str, value: Value) -> Number:
    number = _number(value)
    if name == "to_bits" and number.type in {"f16", "f32", "f64"}:
        size = np.dtype(_TYPES[number.type]).itemsize
        bits = np.array([number.value], _TYPES[number.type]).view(f"u{size}")[0]
        return Number(f"u{8 * size}", int(bits))
    raise RustError(f".{name}() is no method that is known")


def _bits_of(number: Number, value: int) -> int:
    info = np.iinfo(_TYPES[number.type or "i32"])
    wrapped = value & ((1 << info.bits) - 1)
    return wrapped - (1 << info.bits) if wrapped > info.max else wrapped


def _as(value: Value, kind: str) -> Number:
    number = _number(value)
    if kind.startswith("f"):
        return Number(kind, float(number.value))
    return Number(kind, _bits_of(Number(kind, 0), int(number.value)))


def _joined(sign: str, left: Value, right: Value) -> Number:
    a, b = _number(left), _number(right)
    kind = a.type or b.type
    if isinstance(a.value, int) and isinstance(b.value, int):
        whole: dict[str, Callable[[int, int], int]] = {
            "+": int.__add__, "-": int.__sub__, "*": int.__mul__, "<": int.__lshift__,
            "/": lambda x, y: math.trunc(x / y),
        }
        return Number(kind, whole[sign](a.value, b.value))
    dtype = np.dtype(_TYPES[kind or "f64"])
    x, y = dtype.type(a.value), dtype.type(b.value)
    return Number(kind, {"+": x + y, "-": x - y, "*": x * y, "/": x / y}[sign])
