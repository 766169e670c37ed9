"""Decoding of cvt: which conversion an opcode means, for single numbers and for packed ones."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ptxgen.executing.emulator import converting, floats, rounding, smallfloats
from ptxgen.executing.emulator.program import Run
from ptxgen.executing.emulator.rounding import FORMATS, Format
from ptxgen.executing.emulator.site import Getter, Site
from ptxgen.executing.emulator.values import BITS, Array, F64Array, is_float
from ptxgen.ptx.tree import Vector


def convert(site: Site) -> Run:
    if site.has("pack"):
        return _convert_pack(site)
    if len(site.types) != 2:
        raise site.unsupported("a type that the emulator does not know")
    target, source = site.types
    if target[:-2] in {"f16", "bf16"} and source == "f32" and site.has("rs"):
        return _convert_randomly(site, target[:-2])
    if _is_small(target):
        return _to_small(site, target, source)
    if _is_small(source):
        return _from_small(site, target, source)
    mode = site.one_of("rn", "rz", "rm", "rp", "rna", "rni", "rzi", "rmi", "rpi")
    if target in {"f16x2", "bf16x2"}:
        return _convert_pair(site, target, source, mode)
    if not is_float(source) and not is_float(target):
        sat = site.has("sat")
        number = site.number(site.operands[1], source)
        return site.simple(lambda a: converting.integer_to_integer(a, target, saturate=sat), target, number)
    if not is_float(source):
        fmt = FORMATS[target]
        finish = floats.finish(lambda a: converting.integer_to_float(a, fmt, mode or "rn"), fmt, sat=site.has("sat"))
        return site.simple(finish, target, site.number(site.operands[1], source))
    words = site.bits(site.operands[1], source)
    if target == "tf32" and mode == "rna":
        satfinite = site.has("satfinite")
        return site.simple(lambda a: converting.to_tf32_away(a, satfinite=satfinite), target, words)
    if not is_float(target):
        return _convert_to_integer(site, target, source, mode, words)
    return site.simple(_between_floats(site, target, source, mode), target, words)


def _convert_to_integer(site: Site, target: str, source: str, mode: str, words: Getter) -> Run:
    fmt, ftz = FORMATS[source], site.has("ftz")
    if mode not in converting.INTEGRAL_ROUNDINGS:
        raise site.unsupported("an integral rounding (rni, rzi, rmi, rpi) is needed")

    def whole(a: Array) -> Array:
        flushed = floats.flush(a, fmt) if ftz else a
        return np.asarray(converting.float_to_integer(flushed, fmt, target, mode))

    return site.simple(whole, target, words)


def _between_floats(site: Site, target: str, source: str, mode: str) -> Callable[[Array], Array]:
    to, of, ftz = FORMATS[target], FORMATS[source], site.has("ftz")

    def whole(a: Array) -> Array:
        return converting.float_to_float(a, of, to, mode, ftz=ftz)

    finished = floats.finish(whole, to, sat=site.has("sat"), rectify=site.has("relu"))
    if site.has("pzo"):
        finished = _positive_zero(finished, to)
    return _finite(finished, to) if site.has("satfinite") else finished


def _positive_zero(finished: Callable[[Array], Array], to: Format) -> Callable[[Array], Array]:
    """Results of -0 become +0."""

    def positive(a: Array) -> Array:
        result = finished(a)
        return np.where(floats.absolute(result, to) == 0, to.word.type(0), result)

    return positive


def _convert_pair(site: Site, target: str, source: str, mode: str) -> Run:
    """`cvt.rn.f16x2.f32 d, a, b`: the first source becomes the upper half."""
    single = _between_floats(site, target[:-2], source, mode)
    high, low = (site.bits(operand, source) for operand in site.operands[1:3])

    def pack(a: Array, b: Array) -> Array:
        return single(a).astype(np.uint32) << np.uint32(16) | single(b).astype(np.uint32)

    return site.simple(pack, target, high, low)


def _convert_pack(site: Site) -> Run:
    """`cvt.pack.sat.u8.s32.b32 d, a, b, c`: clamped a and b at the bottom, c above them."""
    target, source = site.types[:2]
    width = BITS[target]
    low, high = (-(1 << width - 1), (1 << width - 1) - 1) if target.startswith("s") else (0, (1 << width) - 1)
    a, b = (site.number(operand, source) for operand in site.operands[1:3])
    rest = site.bits(site.operands[3], "b32") if len(site.operands) > 3 else None

    def pack(first: Array, second: Array, *above: Array) -> Array:
        words = [(np.clip(v, low, high) & (1 << width) - 1).astype(np.uint32) for v in (first, second)]
        result = words[0] << np.uint32(width) | words[1]
        return result | above[0] << np.uint32(2 * width) if above else result

    return site.simple(pack, "b32", a, b, *([rest] if rest else []))


def _is_small(type_name: str) -> bool:
    return type_name[-2:] in {"x2", "x4"} and ("e" in type_name or type_name == "s2f6x2")


def _sources(site: Site, source: str) -> list[Getter]:
    """What becomes the elements of a packed result, the highest first."""
    written = site.operands[1]
    if isinstance(written, Vector):
        return [site.bits(element, source) for element in written.elements]
    if source == "f32":
        return [site.bits(operand, source) for operand in site.operands[1:3]]
    word, dtype = site.bits(written, source), FORMATS[source].word
    return [
        lambda m, lanes: (word(m, lanes) >> np.uint32(16)).astype(dtype),
        lambda m, lanes: word(m, lanes).astype(dtype),
    ]


def _encoder(site: Site, name: str) -> Callable[[F64Array, Array | None], Array]:
    if name == "ue8m0":
        mode, saturate = site.one_of("rz", "rp"), site.has("satfinite")
        return lambda value, random: smallfloats.encode_scale(value, mode, saturate=saturate)
    relu, mode = site.has("relu"), site.one_of("rn", "rz", "rp", default="rn")
    if name == "s2f6":
        return lambda value, random: smallfloats.encode_fixed(np.maximum(value, 0.0) if relu else value, mode)
    how = smallfloats.Rounding(mode, relu, site.has("pzo"), site.has("satfinite"))
    return lambda value, random: smallfloats.encode(value, name, how, random=random)


def _to_small(site: Site, target: str, source: str) -> Run:
    """Two or four numbers into one word, the first source highest; with .rs, pairs of them share 16 random bits."""
    name, count = target[:-2], int(target[-1])
    encode, fmt, width = _encoder(site, name), FORMATS[source], BITS[target] // count
    sources = _sources(site, source)
    stochastic, scale = site.has("rs"), _scale(site)
    extra = [site.bits(site.operands[-1], "b32" if stochastic else scale)] if stochastic or scale else []
    dtype = np.dtype(f"u{BITS[target] // 8}")

    def pack(*words: Array) -> Array:
        result = np.zeros(1, dtype)
        for place, word in enumerate(words[:count]):
            random = _random(words[-1], name, upper=2 * place < count) if stochastic else None
            value = rounding.widen(floats.flush(word, fmt) if scale == "b8" else word, fmt)
            if scale:
                mine = words[-1] if scale == "b8" else words[-1] >> np.uint16(8 * (1 - place))
                value = value / smallfloats.decode(mine, "ue8m0")
            result = result << dtype.type(width) | encode(value, random).astype(dtype)
        return result

    return site.simple(pack, target, *sources, *extra)


def _scale(site: Site) -> str:
    """The type of the last operand if that is a scale, or two of them; "" if there is none."""
    return {"scaled::n1::ue8m0": "b8", "scaled::n2::ue8m0": "b16"}.get(
        next((word for word in site.words if word.startswith("scaled")), ""), ""
    )


def _random(bits: Array, name: str, *, upper: bool) -> Array:
    """The 16 random bits of a pair: half of the register, or for e2m1 the same byte of both halves."""
    if name != "e2m1":
        return (bits >> np.uint32(16 if upper else 0)) & np.uint32(0xFFFF)
    shift = np.uint32(8 if upper else 0)
    return (bits >> (shift + np.uint32(16)) & np.uint32(0xFF)) << np.uint32(8) | bits >> shift & np.uint32(0xFF)


def _from_small(site: Site, target: str, source: str) -> Run:
    """Two small numbers, exactly, as a pair of f16 or bf16."""
    name, fmt, width = source[:-2], FORMATS[target], BITS[source] // 2
    finish = floats.finish(lambda w: w, fmt, rectify=site.has("relu"))
    narrow = _finite(finish, fmt) if site.has("satfinite") else finish
    scaled = bool(_scale(site))
    extra = [site.bits(site.operands[-1], "b16")] if scaled else []
    decode = smallfloats.decode_fixed if name == "s2f6" else lambda w: smallfloats.decode(w, name)

    def unpack(word: Array, *scales: Array) -> Array:
        result = np.zeros(1, np.uint32)
        for place in (1, 0):
            value = decode(word >> word.dtype.type(place * width))
            if scaled:
                value = value * smallfloats.decode(scales[0] >> np.uint16(8 * place), "ue8m0")
            number = narrow(rounding.narrow(value, fmt, "rn"))
            result = result << np.uint32(16) | number.astype(np.uint32)
        return result

    return site.simple(unpack, target, site.bits(site.operands[1], source), *extra)


def _convert_randomly(site: Site, name: str) -> Run:
    """`cvt.rs.f16x2.f32 d, a, b, rbits`: 13 (f16) or 16 (bf16) random bits for each source."""
    fmt, count = FORMATS[name], 13 if name == "f16" else 16
    finish = floats.finish(lambda w: w, fmt, rectify=site.has("relu"))
    saturate = _finite(finish, fmt) if site.has("satfinite") else finish
    sources = [site.bits(operand, "f32") for operand in site.operands[1:3]]

    def pack(a: Array, b: Array, random: Array) -> Array:
        halves = []
        for word, bits in ((a, random >> np.uint32(16)), (b, random)):
            value = rounding.widen(word, FORMATS["f32"])
            halves.append(saturate(rounding.narrow_randomly(value, fmt, bits & (1 << count) - 1, count)))
        return halves[0].astype(np.uint32) << np.uint32(16) | halves[1].astype(np.uint32)

    return site.simple(pack, site.types[0], *sources, site.bits(site.operands[3], "b32"))


def _finite(finished: Callable[[Array], Array], to: Format) -> Callable[[Array], Array]:
    """Infinite results become the largest numbers of their sign."""
    largest = rounding.encode(np.array([to.largest]), to)[0]
    infinity = to.word.type(floats.exponent_mask(to))

    def finite(a: Array) -> Array:
        result = finished(a)
        size = floats.absolute(result, to)
        return np.where(size == infinity, largest | (result & to.word.type(floats.sign_bit(to))), result)

    return finite
