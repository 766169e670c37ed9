"""Decoding of the video instructions: scalars with selectors, and SIMD over halves and bytes.

Everything is computed in int64. A selector is part of the operand as written: `%r2.h1` of a scalar instruction,
`%r2.b3210` of a SIMD one, whose sources are numbered through both operands (PTX ISA, Video Instructions).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ptxgen.executing.emulator.program import Run
from ptxgen.executing.emulator.site import Getter, Site
from ptxgen.executing.emulator.values import Array
from ptxgen.ptx.tree import Name, Negated, Operand

Ints = Any  # int64 arrays
_SELECTED = re.compile(r"(.+)\.([bh][0-7]+)")
_RANGES = {
    ("s", 8): (-128, 127), ("u", 8): (0, 255), ("s", 16): (-32768, 32767), ("u", 16): (0, 65535),
    ("s", 32): (-(2**31), 2**31 - 1), ("u", 32): (0, 2**32 - 1),
}
_COMPARE: dict[str, Callable[..., Any]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}


def selected(operand: Operand) -> tuple[Operand, str]:
    """The operand without its selector, and the selector without its dot."""
    if isinstance(operand, Name):
        found = _SELECTED.fullmatch(operand.text)
        if found:
            return Name(found[1], operand.span), found[2]
    return operand, ""


def _field(words: Array, shift: int, bits: int, sign: str) -> Ints:
    field = words.astype(np.int64) >> np.int64(shift) & np.int64((1 << bits) - 1)
    return np.where(field >> np.int64(bits - 1) != 0, field - (1 << bits), field) if sign == "s" else field


def _select(words: Array, selector: str, sign: str) -> Ints:
    """partSelectSignExtend: a byte, a half or the whole word as a number."""
    bits = {"b": 8, "h": 16, "": 32}[selector[:1]]
    return _field(words, int(selector[1:] or 0) * bits, bits, sign)


def _average(a: Ints, b: Ints) -> Ints:
    total = a + b
    return np.where(total >= 0, total + 1, total) >> 1


_OPERATIONS: dict[str, Callable[[Ints, Ints], Ints]] = {
    "vadd": np.add, "vsub": np.subtract, "vabsdiff": lambda a, b: np.abs(a - b), "vavrg": _average,
    "vmin": np.minimum, "vmax": np.maximum,
}
_SECOND: dict[str, Callable[[Ints, Ints], Ints]] = {"add": np.add, "min": np.minimum, "max": np.maximum}


def _operation(site: Site, stem: str) -> Callable[[Ints, Ints], Ints]:
    if stem == "vset":
        compare = _COMPARE[site.one_of(*_COMPARE)]
        return lambda a, b: compare(a, b).astype(np.int64)
    if stem not in {"vshl", "vshr"}:
        return _OPERATIONS[stem]
    clamp = site.has("clamp")

    def shift(a: Ints, b: Ints) -> Ints:
        amount = np.minimum(b, 32) if clamp else b & 31
        if stem == "vshr":
            return a >> amount
        # 33 bits and 30 more fit; what goes beyond only has to stay out of any range, low bits right.
        near = a << np.minimum(amount, 30)
        rest = amount - np.minimum(amount, 30)
        far = np.where(np.abs(near) >> 60 != 0, np.sign(near) * (1 << 62), 0)
        return np.where(far != 0, far | (near << rest) & 0xFFFFFFFF, near << rest)

    return shift


def _clamped(value: Ints, sign: str, bits: int) -> Ints:
    low, high = _RANGES[sign, bits]
    return np.clip(value, low, high)


def _merge(value: Ints, third: Array, selector: str) -> Array:
    """The low byte or half of `value` put into its place in `third`."""
    bits = {"b": 8, "h": 16}[selector[0]]
    shift = np.int64(int(selector[1:]) * bits)
    mask = np.int64((1 << bits) - 1) << shift
    return (third.astype(np.int64) & ~mask | value << shift & mask).astype(np.uint32)


def scalar(site: Site) -> Run:
    """vadd, vsub, vabsdiff, vmin, vmax, vshl, vshr, vset."""
    target, target_selector = selected(site.operands[0])
    (first, first_selector), (second, second_selector) = (selected(o) for o in site.operands[1:3])
    signs = [t[0] for t in site.types]
    result_sign = "u" if site.name == "vset" else signs[0]
    sign_a, sign_b = signs[-2:]
    operation, saturates = _operation(site, site.name), site.has("sat")
    second_operation = _SECOND.get(site.words[-1])
    sources = [site.bits(operand, "u32") for operand in (first, second, *site.operands[3:])]
    put = site.put(target, "u32")
    bits = {"b": 8, "h": 16, "": 32}[target_selector[:1]]

    def compute(a: Array, b: Array, *third: Array) -> Array:
        value = operation(_select(a, first_selector, sign_a), _select(b, second_selector, sign_b))
        if saturates:
            value = _clamped(value, result_sign, bits)
        if target_selector:
            return _merge(value, third[0], target_selector)
        if second_operation is not None:
            value = second_operation(_field(value, 0, 32, result_sign), _field(third[0], 0, 32, result_sign))
        return value.astype(np.uint32)

    return lambda m, lanes: put(m, lanes, compute(*[get(m, lanes) for get in sources]))


def _signed(operand: Operand) -> tuple[Operand, bool]:
    """The operand without its minus sign, and whether it had one."""
    return (operand.operand, True) if isinstance(operand, Negated) else (operand, False)


def multiply_add(site: Site) -> Run:
    """vmad: the exact product, plus the third operand (and one for .po), shifted and clamped.

    Products and third operands may be negated; sums of 65 bits and more are Python's integers.
    """
    target, _ = selected(site.operands[0])
    written = [_signed(operand) for operand in site.operands[1:]]
    operands = [selected(operand) for operand, _ in written]
    negative = [negated for _, negated in written]
    signs = [t[0] for t in site.types[1:]]
    minus = negative[0] != negative[1]
    final = "s" if "s" in signs or minus or negative[2] else "u"
    sources = [site.bits(operand, "u32") for operand, _ in operands]
    shift = int((site.one_of("shr7", "shr15") or "shr0")[3:])
    extra, saturates = int(site.has("po")), site.has("sat")
    put = site.put(target, "u32")
    selectors = [selector for _, selector in operands]

    def compute(a: Array, b: Array, c: Array) -> Array:
        x, y = _select(a, selectors[0], signs[0]), _select(b, selectors[1], signs[1])
        product = x.astype(object) * y.astype(object)
        third = _field(c, 0, 32, final).astype(object)
        total = (-product if minus else product) + (-third if negative[2] else third) + extra
        result = total >> shift
        low, high = _RANGES[final, 32]
        words = np.clip(result, low, high) if saturates else result
        return np.asarray(words & 0xFFFFFFFF, object).astype(np.uint32)

    return lambda m, lanes: put(m, lanes, compute(*[get(m, lanes) for get in sources]))


def simd(site: Site) -> Run:
    """vadd2 … vset4: operations on two halves or four bytes, merged into the third operand or added to it."""
    stem, number = site.name[:-1], int(site.name[-1])
    bits = 32 // number
    target, mask = selected(site.operands[0])
    (first, select_a), (second, select_b) = (selected(o) for o in site.operands[1:3])
    signs = [t[0] for t in site.types]
    result_sign = "u" if stem == "vset" else signs[0]
    sign_a, sign_b = signs[-2:]
    lanes_a = _lanes_of(select_a, range(number))
    lanes_b = _lanes_of(select_b, range(number, 2 * number))
    chosen = set(_lanes_of(mask, range(number)))
    operation, saturates, adds = _operation(site, stem), site.has("sat"), site.has("add")
    sources: list[Getter] = [site.bits(operand, "u32") for operand in (first, second, site.operands[3])]
    put = site.put(target, "u32")

    def pick(a: Array, b: Array, lane: int, sign: str) -> Ints:
        return _field(a if lane < number else b, lane % number * bits, bits, sign)

    def compute(a: Array, b: Array, c: Array) -> Array:
        result: Ints = c.astype(np.int64)
        for place in range(number):
            if place not in chosen:
                continue
            value = operation(pick(a, b, lanes_a[place], sign_a), pick(a, b, lanes_b[place], sign_b))
            if saturates:
                value = _clamped(value, result_sign, bits)
            if adds:
                result = result + value
            else:
                hole = np.int64(((1 << bits) - 1) << place * bits)
                result = result & ~hole | value << np.int64(place * bits) & hole
        return result.astype(np.uint32)

    return lambda m, lanes: put(m, lanes, compute(*[get(m, lanes) for get in sources]))


def _lanes_of(selector: str, usual: range) -> list[int]:
    """Numbers of a selector, the lowest place first: `b3210` is 0, 1, 2, 3."""
    return [int(digit) for digit in reversed(selector[1:])] if selector else list(usual)
