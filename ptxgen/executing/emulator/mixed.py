"""Decoding of float arithmetic whose operands differ in type: half with single, and the floats of 4, 6 and 8 bits.

Every source is widened exactly, the operation is exact or rounded to odd in float64, and the result is rounded once
to its own type (PTX ISA, Mixed Precision and Alternate Floating Point Instructions).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ptxgen.executing.emulator import floats, rounding, smallfloats
from ptxgen.executing.emulator.program import Run
from ptxgen.executing.emulator.rounding import FORMATS
from ptxgen.executing.emulator.site import Site
from ptxgen.executing.emulator.values import BITS, Array, F64Array, storage

#: Elements of packed small types, and the bits that each takes.
_PACKED = {
    "e4m3x4": ("e4m3", 8), "e5m2x4": ("e5m2", 8), "e3m2x4": ("e3m2", 8), "e2m3x4": ("e2m3", 8),
    "e2m1p4x4": ("e2m1", 8), "ue8m0x4": ("ue8m0", 8), "e2m1x4": ("e2m1", 4),
}


def _sources(site: Site) -> list[str]:
    """The type of each source: those named after the result's, the last again where one stands for several."""
    first, *others = site.types
    wanted = len(site.operands) - 1
    if site.name == "fma" and len(others) == 1:
        return [others[0], others[0], first]
    return [*others, *[first] * (wanted - len(others))]


def _elements(type_name: str) -> tuple[str, int, int]:
    """(type of an element, its bits in the register, how many there are)"""
    if type_name in _PACKED:
        name, bits = _PACKED[type_name]
        return name, bits, 4
    count = int(type_name[-1]) if type_name.endswith("x2") else 1
    return type_name.removesuffix("x2"), BITS[type_name] // count, count


def _widen(words: Array, type_name: str, place: int, *, ftz: bool) -> F64Array:
    name, bits, _ = _elements(type_name)
    element = (words >> words.dtype.type(place * bits)) & words.dtype.type((1 << bits) - 1)
    if name not in FORMATS:
        return smallfloats.decode(element, name)
    fmt = FORMATS[name]
    word = element.astype(fmt.word)
    return rounding.widen(floats.flush(word, fmt) if ftz and name == "f32" else word, fmt)


def _operation(name: str) -> Callable[..., F64Array]:
    """Exact, or rounded to odd."""

    def add(a: F64Array, b: F64Array) -> F64Array:
        return rounding.to_odd(*rounding.two_sum(a, b))

    operations: dict[str, Callable[..., F64Array]] = {
        "add": add, "sub": lambda a, b: add(a, -b), "mul": lambda a, b: a * b, "fma": lambda a, b, c: add(a * b, c),
    }
    return operations[name]


def _narrower(site: Site, name: str) -> Callable[[F64Array], Array]:
    if name not in FORMATS:
        how = smallfloats.Rounding(saturate=site.has("satfinite"))
        return lambda value: smallfloats.encode(value, name, how)
    fmt, mode = FORMATS[name], site.one_of("rn", "rz", "rm", "rp", default="rn")
    sat, ftz = site.has("sat"), site.has("ftz")

    def narrow(value: F64Array) -> Array:
        result = rounding.narrow(value, fmt, mode)
        result = floats.flush(result, fmt) if ftz else result
        return floats.saturate(result, fmt) if sat else result

    return narrow


def calculate(site: Site) -> Run:
    """add, sub, mul and fma over operands of different types."""
    kinds = _sources(site)
    target = site.types[0]
    name, bits, count = _elements(target)
    operation, narrow, ftz = _operation(site.name), _narrower(site, name), site.has("ftz")
    dtype = storage(target)

    def whole(*words: Array) -> Array:
        result = np.zeros(1, dtype)
        for place in range(count):
            numbers = [_widen(word, kind, place, ftz=ftz) for word, kind in zip(words, kinds, strict=True)]
            result = result | narrow(operation(*numbers)).astype(dtype) << dtype.type(place * bits)
        return result

    getters = [site.bits(operand, kind) for operand, kind in zip(site.operands[1:], kinds, strict=True)]
    return site.simple(whole, target, *getters)
