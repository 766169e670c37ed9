"""Decoding of arithmetic: which kernel an opcode means, for integers, floats and packed halves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptxgen.executing.emulator import floats, integers, mixed, rounding
from ptxgen.executing.emulator.program import Run
from ptxgen.executing.emulator.rounding import FORMATS
from ptxgen.executing.emulator.scope import RegisterSymbol
from ptxgen.executing.emulator.site import CARRY, Getter, Site
from ptxgen.executing.emulator.values import SIGNED, Array, is_float, is_packed, part_dtype, parts, storage

_ROUNDINGS = ("rn", "rz", "rm", "rp")


_SUMS = frozenset({"add", "sub", "mul", "fma", "mad"})


def by_parts(function: Callable[..., Array], type_name: str) -> Callable[..., Array]:
    """A function of the numbers in a packed type's words, applied to whole words."""
    dtype = storage(type_name)

    def whole(*words: Array) -> Array:
        shape = np.broadcast_shapes(*(w.shape for w in words))
        return function(*(parts(np.broadcast_to(w, shape), type_name) for w in words)).view(dtype)

    return whole


def float_function(site: Site, operation: Callable[..., Array], type_name: str) -> Callable[..., Array]:
    """`operation` over words, with the opcode's .ftz, .sat and .relu, over halves for packed types."""
    fmt = FORMATS[type_name]
    if type_name == "f64":
        operation = (floats.chosen_nan if site.name in _SUMS else floats.default_nan)(operation)
    whole = floats.finish(operation, fmt, ftz=site.has("ftz"), sat=site.has("sat"), rectify=site.has("relu"))
    return by_parts(whole, type_name) if is_packed(type_name) else whole


def _float_run(site: Site, operation: Callable[..., Array]) -> Run:
    sources = [site.bits(operand, site.type) for operand in site.operands[1:]]
    return site.simple(float_function(site, operation, site.type), site.type, *sources)


def _integer_sources(site: Site) -> list[Getter]:
    return [site.number(operand, site.type) for operand in site.operands[1:]]


def _packed_integers(site: Site, function: Callable[..., Any]) -> Run:
    unsigned = part_dtype(site.type)
    dtype = SIGNED[unsigned.itemsize * 8] if site.type.startswith("s") else unsigned

    def typed(*words: Array) -> Array:
        return np.asarray(function(*(w.view(dtype) for w in words))).view(unsigned)

    return site.simple(by_parts(typed, site.type), site.type, *[site.bits(o, site.type) for o in site.operands[1:]])


def carry_slot(site: Site) -> int:
    symbol = site.scope.find(CARRY)
    assert isinstance(symbol, RegisterSymbol)
    return symbol.slot


def _with_carry(site: Site, step: Callable[..., tuple[Any, Any]], *, use: bool, make: bool) -> Run:
    """add.cc, addc, sub.cc, subc: unsigned arithmetic with the carry flag read and written as asked."""
    unsigned = site.type.replace("s", "u")
    a, b = (site.bits(operand, unsigned) for operand in site.operands[1:3])
    put = site.put(site.operands[0], unsigned)
    slot = carry_slot(site)
    if use:
        site.reads.append(slot)
    if make:
        site.writes.append(slot)

    def run(m: Any, lanes: Any) -> None:
        result, flag = step(a(m, lanes), b(m, lanes), m.registers[slot][lanes] if use else None)
        put(m, lanes, result)
        if make:
            m.registers[slot][lanes] = flag

    return run


def add(site: Site) -> Run:
    mode = site.one_of(*_ROUNDINGS, default="rn")
    if len(site.types) > 1:
        return mixed.calculate(site)
    if is_float(site.type):
        fmt = FORMATS[site.type]
        return _float_run(site, lambda a, b: rounding.add(a, b, fmt, mode))
    if site.has("cc") or site.name == "addc":
        return _with_carry(site, integers.add_with_carry, use=site.name == "addc", make=site.has("cc"))
    if is_packed(site.type):
        return _packed_integers(site, integers.saturating_add if site.has("sat") else np.add)
    if site.has("sat"):
        return site.simple(integers.saturating_add, site.type, *_integer_sources(site))
    return site.simple(np.add, site.type, *_integer_sources(site))


def subtract(site: Site) -> Run:
    mode = site.one_of(*_ROUNDINGS, default="rn")
    if len(site.types) > 1:
        return mixed.calculate(site)
    if is_float(site.type):
        fmt = FORMATS[site.type]
        return _float_run(site, lambda a, b: rounding.add(a, floats.negate_number(b, fmt), fmt, mode))
    if site.has("cc") or site.name == "subc":
        return _with_carry(site, integers.subtract_with_carry, use=site.name == "subc", make=site.has("cc"))
    if is_packed(site.type):
        return _packed_integers(site, integers.saturating_subtract if site.has("sat") else np.subtract)
    if site.has("sat"):
        return site.simple(integers.saturating_subtract, site.type, *_integer_sources(site))
    return site.simple(np.subtract, site.type, *_integer_sources(site))


def multiply(site: Site) -> Run:
    if len(site.types) > 1:
        return mixed.calculate(site)
    if is_float(site.type):
        fmt, mode = FORMATS[site.type], site.one_of(*_ROUNDINGS, default="rn")
        return _float_run(site, lambda a, b: rounding.multiply(a, b, fmt, mode))
    sources = _integer_sources(site)
    if site.has("wide"):
        wide = site.type[0] + str(int(site.type[1:]) * 2)
        return site.simple(integers.multiply_wide, wide, *sources)
    if site.has("hi"):
        return site.simple(integers.multiply_high, site.type, *sources)
    return site.simple(np.multiply, site.type, *sources)


def multiply_add(site: Site) -> Run:
    """fma and float mad (which is fma), mad over integers, madc and mad.cc with the carry flag."""
    if len(site.types) > 1:
        return mixed.calculate(site)
    if is_float(site.type):
        fmt, mode = FORMATS[site.type], site.one_of(*_ROUNDINGS, default="rn")
        operation: Callable[..., Array] = lambda a, b, c: rounding.fma(a, b, c, fmt, mode)  # noqa: E731
        return _float_run(site, floats.out_of_bounds(operation, fmt) if site.has("oob") else operation)
    if site.has("cc") or site.name == "madc":
        return _multiply_add_carry(site)
    a, b = (site.number(operand, site.type) for operand in site.operands[1:3])
    if site.has("wide"):
        wide = site.type[0] + str(int(site.type[1:]) * 2)
        c = site.number(site.operands[3], wide)
        return site.simple(lambda x, y, z: integers.multiply_wide(x, y) + z, wide, a, b, c)
    c = site.number(site.operands[3], site.type)
    product = integers.multiply_high if site.has("hi") else np.multiply
    if site.has("sat"):
        return site.simple(lambda x, y, z: integers.saturating_add(product(x, y), z), site.type, a, b, c)
    return site.simple(lambda x, y, z: product(x, y) + z, site.type, a, b, c)


def _multiply_add_carry(site: Site) -> Run:
    a, b, c = (site.number(operand, site.type) for operand in site.operands[1:4])
    unsigned = site.type.replace("s", "u")
    put = site.put(site.operands[0], unsigned)
    product = integers.multiply_high if site.has("hi") else np.multiply
    slot, use, make = carry_slot(site), site.name == "madc", site.has("cc")
    if use:
        site.reads.append(slot)
    if make:
        site.writes.append(slot)

    def run(m: Any, lanes: Any) -> None:
        first = product(a(m, lanes), b(m, lanes))
        word = first.dtype.str.replace("i", "u")
        flag = m.registers[slot][lanes] if use else None
        result, out = integers.add_with_carry(first.view(word), c(m, lanes).view(word), flag)
        put(m, lanes, result)
        if make:
            m.registers[slot][lanes] = out

    return run


def multiply_24(site: Site) -> Run:
    sources = _integer_sources(site)
    high = site.has("hi")
    if site.name == "mul24":
        return site.simple(lambda a, b: integers.multiply_24(a, b, high=high), site.type, *sources)
    if site.has("sat"):
        return site.simple(
            lambda a, b, c: integers.saturating_add(integers.multiply_24(a, b, high=high), c), site.type, *sources
        )
    return site.simple(lambda a, b, c: integers.multiply_24(a, b, high=high) + c, site.type, *sources)


def divide(site: Site) -> Run:
    if not is_float(site.type):
        return site.simple(integers.divide, site.type, *_integer_sources(site))
    if site.has("approx", "full"):
        full = site.has("full")
        return _float_run(site, lambda a, b: floats.divide_approximately(a, b, full=full))
    fmt, mode = FORMATS[site.type], site.one_of(*_ROUNDINGS)
    if not mode:
        raise site.unsupported("a rounding is needed")
    return _float_run(site, lambda a, b: rounding.divide(a, b, fmt, mode))


def remainder(site: Site) -> Run:
    return site.simple(integers.remainder, site.type, *_integer_sources(site))


def difference_sum(site: Site) -> Run:
    def sad(a: Any, b: Any, c: Any) -> Any:
        return integers.absolute_difference(a, b) + c

    return site.simple(sad, site.type, *_integer_sources(site))


def minimum_maximum(site: Site) -> Run:
    largest = site.name == "max"
    if is_float(site.type):
        fmt, propagate, xorsign = FORMATS[site.type], site.has("NaN"), site.has("xorsign")
        magnitude = site.has("abs") and not xorsign

        def pick(*words: Array) -> Array:
            first, *more = (floats.absolute(w, fmt) for w in words) if magnitude else words
            for word in more:
                first = floats.extreme(first, word, fmt, largest=largest, propagate=propagate, xorsign=xorsign)
            return first

        return _float_run(site, pick)
    function: Callable[..., Any] = np.maximum if largest else np.minimum
    if site.has("relu"):
        def whole(a: Any, b: Any) -> Any:
            return np.maximum(function(a, b), a.dtype.type(0))
    else:
        whole = function
    if is_packed(site.type):
        return _packed_integers(site, whole)
    return site.simple(whole, site.type, *_integer_sources(site))


def absolute_negative(site: Site) -> Run:
    if is_float(site.type):
        fmt = FORMATS[site.type]
        operation = floats.absolute_number if site.name == "abs" else floats.negate_number
        return _float_run(site, lambda a: operation(a, fmt))
    function = np.abs if site.name == "abs" else np.negative
    return site.simple(function, site.type, *_integer_sources(site))


def square_root(site: Site) -> Run:
    if site.has("approx"):
        return approximate(site)
    fmt, mode = FORMATS[site.type], site.one_of(*_ROUNDINGS)
    if not mode:
        raise site.unsupported("a rounding is needed")
    if site.name == "rcp":
        one = rounding.encode(np.array([1.0]), fmt)
        return _float_run(site, lambda a: rounding.divide(one, a, fmt, mode))
    return _float_run(site, lambda a: rounding.square_root(a, fmt, mode))


def approximate(site: Site) -> Run:
    if not is_float(site.type):
        raise site.unsupported("the function exists for floats only")
    if site.type == "f64" and site.has("ftz"):
        return site.simple(floats.approximate_high(site.name), site.type, site.bits(site.operands[1], site.type))
    return _float_run(site, floats.approximate(site.name, FORMATS[site.type]))


def copy_sign(site: Site) -> Run:
    fmt = FORMATS[site.type]
    return _float_run(site, lambda a, b: floats.copy_sign(a, b, fmt))


def dot_product(site: Site) -> Run:
    """dp4a.atype.btype and dp2a.mode.atype.btype over 32-bit words."""
    signed_a, signed_b = (t.startswith("s") for t in site.types)
    sources = [site.bits(operand, "u32") for operand in site.operands[1:]]
    if site.name == "dp4a":
        def four(a: Array, b: Array, c: Array) -> Array:
            return integers.dot_bytes(a, b, c, signed_a=signed_a, signed_b=signed_b)

        return site.simple(four, "u32", *sources)
    high = site.has("hi")

    def two(a: Array, b: Array, c: Array) -> Array:
        return integers.dot_halves(a, b, c, signed_a=signed_a, signed_b=signed_b, high=high)

    return site.simple(two, "u32", *sources)
