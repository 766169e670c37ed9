"""Decoding of logic, shifts, bit fields, comparison and selection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptxgen.executing.emulator import bits, comparing, floats
from ptxgen.executing.emulator.arithmetic import by_parts
from ptxgen.executing.emulator.program import Run
from ptxgen.executing.emulator.rounding import FORMATS, encode
from ptxgen.executing.emulator.site import Getter, Site
from ptxgen.executing.emulator.values import SIGNED, Array, is_float, is_packed, part_dtype, parts
from ptxgen.ptx.tree import Immediate, Pair

_LOGIC: dict[str, Callable[..., Any]] = {
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.invert,
}


def logic(site: Site) -> Run:
    sources = [site.bits(operand, site.type) for operand in site.operands[1:]]
    return site.simple(_LOGIC[site.name], site.type, *sources)


def conditional_not(site: Site) -> Run:
    def cnot(a: Array) -> Array:
        return (a == 0).astype(a.dtype)

    return site.simple(cnot, site.type, site.bits(site.operands[1], site.type))


def shift(site: Site) -> Run:
    function = bits.shift_left if site.name == "shl" else bits.shift_right
    amount = site.bits(site.operands[2], "u32")
    return site.simple(function, site.type, site.number(site.operands[1], site.type), amount)


def funnel_shift(site: Site) -> Run:
    left, clamp = site.has("l"), site.has("clamp")

    def shf(a: Array, b: Array, c: Array) -> Array:
        return bits.funnel_shift(a, b, c, left=left, clamp=clamp)

    return site.simple(shf, "b32", *[site.bits(operand, "b32") for operand in site.operands[1:]])


def lookup(site: Site) -> Run:
    """lop3.b32, and lop3.BoolOp.b32 d|p, a, b, c, table, q."""
    table = site.operands[4]
    if not isinstance(table, Immediate):
        raise site.unsupported("the table must be a constant")
    number = int(table.value)
    if not 0 <= number <= 255:
        raise site.unsupported(f"the table {number} is not between 0 and 255")
    sources = [site.bits(operand, "b32") for operand in site.operands[1:4]]

    def lop3(a: Array, b: Array, c: Array) -> Array:
        return bits.three_input_logic(a, b, c, number)

    target = site.operands[0]
    if not isinstance(target, Pair):
        return site.simple(lop3, "b32", *sources)
    combine = comparing.COMBINATIONS[site.one_of("or", "and")]
    put, put_flag = site.put(target.first, "b32"), site.put(target.second, "pred")
    flag = site.predicate(site.operands[5])

    def run(m: Any, lanes: Any) -> None:
        result = lop3(*[get(m, lanes) for get in sources])
        old = flag(m, lanes)
        put(m, lanes, result)
        put_flag(m, lanes, combine(result != 0, old))

    return run


_UNARY: dict[str, Callable[[Any], Any]] = {
    "popc": bits.count_ones, "clz": bits.count_leading_zeros, "brev": bits.reverse_bits,
}


def count_bits(site: Site) -> Run:
    result = site.type if site.name == "brev" else "u32"
    return site.simple(_UNARY[site.name], result, site.bits(site.operands[1], site.type))


def find_highest(site: Site) -> Run:
    amount = site.has("shiftamt")
    source = site.number(site.operands[1], site.type)
    return site.simple(lambda a: bits.find_highest(a, shift_amount=amount), "u32", source)


def field(site: Site) -> Run:
    position, length = (site.bits(operand, "u32") for operand in site.operands[-2:])
    first = site.number(site.operands[1], site.type)
    if site.name == "bfe":
        return site.simple(bits.extract_field, site.type, first, position, length)
    return site.simple(
        bits.insert_field, site.type, first, site.number(site.operands[2], site.type), position, length
    )


def field_mask(site: Site) -> Run:
    clamp = site.has("clamp")
    sources = [site.bits(operand, "u32") for operand in site.operands[1:]]
    return site.simple(lambda a, b: bits.field_mask(a, b, clamp=clamp), "b32", *sources)


def sign_extend(site: Site) -> Run:
    clamp = site.has("clamp")
    source, size = site.number(site.operands[1], site.type), site.bits(site.operands[2], "u32")
    return site.simple(lambda a, b: bits.sign_extend(a, b, clamp=clamp), site.type, source, size)


def carryless_multiply_add(site: Site) -> Run:
    """clmad: half of a product without carries, exclusive-ored with the third source."""
    high = site.has("hi")
    sources = [site.bits(operand, "u64") for operand in site.operands[1:]]
    return site.simple(lambda a, b, c: bits.carryless_multiply(a, b, high=high) ^ c, "u64", *sources)


def find_nth(site: Site) -> Run:
    """fns.b32 d, mask, base, offset."""
    mask, base = (site.bits(operand, "u32") for operand in site.operands[1:3])
    return site.simple(bits.find_nth, "b32", mask, base, site.number(site.operands[3], "s32"))


def permute(site: Site) -> Run:
    mode = site.one_of("f4e", "b4e", "rc8", "ecl", "ecr", "rc16")
    sources = [site.bits(operand, "b32") for operand in site.operands[1:]]
    return site.simple(lambda a, b, c: bits.permute_bytes(a, b, c, mode), "b32", *sources)


# ---------------------------------------------------------------- comparison


def _comparison(site: Site, source_type: str) -> tuple[Callable[..., Any], list[Getter]]:
    """(compare, sources) of set and setp."""
    operator = next((word for word in site.words if word in comparing.COMPARISONS), "")
    if not operator:
        raise site.unsupported("a comparison is needed")
    if not is_float(source_type):
        sources = [site.number(operand, source_type) for operand in site.operands[1:3]]
        return comparing.integer_comparison(operator), sources
    compare = comparing.float_comparison(operator, source_type)
    fmt = FORMATS[source_type]
    sources = [site.bits(operand, source_type) for operand in site.operands[1:3]]
    if site.has("ftz"):
        return (lambda a, b: compare(floats.flush(a, fmt), floats.flush(b, fmt))), sources
    return compare, sources


def _combination(site: Site) -> Callable[[Any, Any], Any] | None:
    word = site.one_of("and", "or", "xor")
    return comparing.COMBINATIONS[word] if word else None


def set_predicate(site: Site) -> Run:
    compare, (a, b) = _comparison(site, site.type)
    combine = _combination(site)
    old = site.predicate(site.operands[3]) if combine else None
    target = site.operands[0]
    first = target.first if isinstance(target, Pair) else target
    put = site.put(first, "pred")
    put_second = site.put(target.second, "pred") if isinstance(target, Pair) else None
    packed = is_packed(site.type)

    def run(m: Any, lanes: Any) -> None:
        x, y = a(m, lanes), b(m, lanes)
        if packed:
            x, y = np.broadcast_arrays(x, y)
            both = compare(parts(x, site.type), parts(y, site.type))
            yes, no = both[0::2], both[1::2]
        else:
            yes = compare(x, y)
            no = ~yes
        if combine is not None and old is not None:
            flag = old(m, lanes)
            yes, no = combine(yes, flag), combine(no, flag)
        put(m, lanes, yes)
        if put_second is not None:
            put_second(m, lanes, no)

    return run


def set_value(site: Site) -> Run:
    """set: all ones (integer results) or 1.0 (float results) where the comparison holds, 0 elsewhere."""
    if len(site.types) == 1:
        return _set_packed(site)
    result_type, source_type = site.types
    compare, sources = _comparison(site, source_type)
    combine = _combination(site)
    if combine is not None:
        sources.append(site.predicate(site.operands[3]))
    packed = is_packed(source_type)
    true: Any
    if is_float(result_type):
        true = encode(np.array([1.0]), FORMATS[result_type])[0]
    else:
        true = np.uint16(0xFFFF) if packed or result_type.endswith("16") else np.uint32(0xFFFFFFFF)

    def value(a: Array, b: Array, *flags: Array) -> Array:
        if packed:
            a, b = np.broadcast_arrays(a, b)
            a, b = parts(a, source_type), parts(b, source_type)
        yes = compare(a, b)
        for flag in flags:
            assert combine is not None
            yes = combine(yes, np.repeat(flag, 2) if packed else flag)
        words = np.where(yes, true, true.dtype.type(0))
        return words.view(np.uint32) if packed else words

    return site.simple(value, result_type, *sources)


def _set_packed(site: Site) -> Run:
    """set over packed integers: all ones or zeros in each number's place."""
    operator = next(word for word in site.words if word in comparing.COMPARISONS)
    compare, dtype = comparing.integer_comparison(operator), part_dtype(site.type)
    typed = SIGNED[dtype.itemsize * 8] if site.type.startswith("s") else dtype
    ones = np.invert(np.zeros(1, dtype))

    def holds(a: Array, b: Array) -> Array:
        return np.where(compare(a.view(typed), b.view(typed)), ones, dtype.type(0))

    return site.simple(by_parts(holds, site.type), site.type, *[site.bits(o, site.type) for o in site.operands[1:]])


def select(site: Site) -> Run:
    sources = [site.bits(operand, site.type) for operand in site.operands[1:3]]
    flag = site.predicate(site.operands[3])
    return site.simple(lambda a, b, p: np.where(p, a, b), site.type, *sources, flag)


def select_by_sign(site: Site) -> Run:
    """slct: the first source where the third is at least 0 (NaN: the second)."""
    value_type, sign_type = site.types
    sources = [site.bits(operand, value_type) for operand in site.operands[1:3]]
    chooser = site.bits(site.operands[3], sign_type)
    ftz = site.has("ftz")

    def slct(a: Array, b: Array, c: Array) -> Array:
        if sign_type == "f32":
            c = floats.flush(c, FORMATS["f32"]) if ftz else c
            return np.where(c.view(np.float32) >= 0, a, b)
        return np.where(c.view(np.int32) >= 0, a, b)

    return site.simple(slct, value_type, *sources, chooser)


def test_property(site: Site) -> Run:
    fmt = FORMATS[site.type]
    prop = site.one_of("finite", "infinite", "number", "notanumber", "normal", "subnormal")
    return site.simple(
        lambda a: floats.test_property(a, prop, fmt), "pred", site.bits(site.operands[1], site.type)
    )
