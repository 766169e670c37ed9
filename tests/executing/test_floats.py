"""Float instructions, comparisons and conversions as PTX, against exact references."""

from __future__ import annotations

import math
from fractions import Fraction

import exact
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from one_instruction import evaluate
from test_rounding import NANS, words

NAN, INF, ONE, MINUS_ZERO = 0x7FC01234, 0x7F800000, 0x3F800000, 0x80000000
TINY = 0x00000001


def f32(value: float) -> int:
    return int(np.array([value], np.float32).view(np.uint32)[0])


def real(word: int) -> float:
    return float(np.array([word], np.uint32).view(np.float32)[0])


@pytest.mark.parametrize(("opcode", "sources", "want"), [
    ("add.f32", [NAN, ONE], 0x7FFFFFFF),
    ("add.f32", [INF, INF | 1 << 31], 0x7FFFFFFF),
    ("add.rm.f32", [ONE, f32(-1)], MINUS_ZERO),
    ("add.f32", [ONE, f32(-1)], 0),
    ("add.ftz.f32", [TINY, 0], 0),
    ("add.ftz.f32", [TINY | 1 << 31, MINUS_ZERO], MINUS_ZERO),
    ("add.f32", [TINY, 0], TINY),
    ("mul.ftz.f32", [0x00800000, 0x3F000000], 0),
    ("mul.f32", [0x00800000, 0x3F000000], 0x00400000),
    ("add.sat.f32", [f32(0.75), f32(0.75)], ONE),
    ("add.sat.f32", [f32(-3), ONE], 0),
    ("add.sat.f32", [NAN, ONE], 0),
    ("sub.f32", [NAN, ONE], 0x7FFFFFFF),
    ("sub.f32", [0, 0], 0),
    ("min.f32", [NAN, ONE], ONE),
    ("min.f32", [ONE, NAN], ONE),
    ("min.f32", [NAN, NAN], 0x7FFFFFFF),
    ("min.NaN.f32", [NAN, ONE], 0x7FFFFFFF),
    ("min.f32", [0, MINUS_ZERO], MINUS_ZERO),
    ("max.f32", [MINUS_ZERO, 0], 0),
    ("max.f32", [f32(-2), f32(-3)], f32(-2)),
    ("max.xorsign.abs.f32", [f32(-2), f32(3)], f32(-3)),
    ("min.xorsign.abs.f32", [f32(-2), f32(-3)], f32(2)),
    ("copysign.f32", [MINUS_ZERO, ONE], f32(-1)),
    ("div.approx.f32", [ONE, f32(2.0**127)], 0),
    ("div.full.f32", [ONE, f32(2.0**127)], f32(2.0**-127)),
    ("div.approx.f32", [INF, f32(2.0**127)], 0x7FFFFFFF),
])
def test_special_values_of_two_operands(opcode: str, sources: list[int], want: int) -> None:
    assert evaluate(opcode, "f32", ["f32", "f32"], [sources]) == [want]


@pytest.mark.parametrize(("opcode", "source", "want"), [
    ("neg.f32", ONE, f32(-1)), ("abs.f32", f32(-2.5), f32(2.5)), ("abs.ftz.f32", TINY, 0),
    ("sqrt.rn.f32", MINUS_ZERO, MINUS_ZERO), ("sqrt.rn.f32", f32(-1), 0x7FFFFFFF),
    ("sqrt.approx.f32", f32(9), f32(3)), ("rcp.rn.f32", MINUS_ZERO, INF | 1 << 31),
    ("rcp.approx.f32", f32(4), f32(0.25)),
    ("rsqrt.approx.f32", f32(4), f32(0.5)), ("rsqrt.approx.f32", 0, INF), ("rsqrt.approx.f32", f32(-1), 0x7FFFFFFF),
    ("ex2.approx.f32", f32(10), f32(1024)), ("ex2.approx.ftz.f32", f32(-130), 0),
    ("ex2.approx.f32", f32(-130), 0x00080000),
    ("lg2.approx.f32", f32(8), f32(3)), ("lg2.approx.f32", 0, INF | 1 << 31), ("sin.approx.f32", INF, 0x7FFFFFFF),
    ("cos.approx.f32", 0, ONE), ("tanh.approx.f32", INF, ONE),
])
def test_special_values_of_one_operand(opcode: str, source: int, want: int) -> None:
    assert evaluate(opcode, "f32", ["f32"], [[source]]) == [want]


@pytest.mark.parametrize(("name", "function"), [
    ("ex2", lambda x: 2.0**x), ("sin", math.sin), ("cos", math.cos), ("tanh", math.tanh),
])
def test_approximate_functions_lie_within_an_ulp(name: str, function) -> None:
    values = [f32(v) for v in (-3.0, -0.7, 0.0, 1e-3, 0.3, 1.0, 2.5)]
    for word, got in zip(values, evaluate(f"{name}.approx.f32", "f32", ["f32"], [[v] for v in values]), strict=True):
        want = function(real(word))
        assert abs(real(got) - want) <= np.spacing(np.float32(abs(want)))


@pytest.mark.parametrize("name", ["f16", "bf16"])
@given(data=st.data())
@settings(max_examples=2, deadline=None)
def test_packed_halves_are_two_scalars(name: str, data: st.DataObject) -> None:
    pairs = [[data.draw(words(name)) for _ in range(6)] for _ in range(12)]
    packed = [[p[0] | p[1] << 16, p[2] | p[3] << 16, p[4] | p[5] << 16] for p in pairs]
    got = evaluate(f"fma.rn.{name}x2", f"{name}x2", [f"{name}x2"] * 3, packed)
    low = evaluate(f"fma.rn.{name}", name, [name] * 3, [[p[0], p[2], p[4]] for p in pairs])
    high = evaluate(f"fma.rn.{name}", name, [name] * 3, [[p[1], p[3], p[5]] for p in pairs])
    assert got == [a | b << 16 for a, b in zip(low, high, strict=True)]


def test_half_fma_with_relu() -> None:
    one, minus_two = 0x3C00, 0xC000
    assert evaluate("fma.rn.relu.f16", "f16", ["f16"] * 3, [[one, minus_two, one]]) == [0]


ORDERED = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
VALUES = [NAN, INF, INF | 1 << 31, ONE, f32(-1), 0, MINUS_ZERO, TINY]


@pytest.mark.parametrize("operator", [*ORDERED, "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"])
def test_float_comparisons_order_nan_as_they_say(operator: str) -> None:
    rows = [(a, b) for a in VALUES for b in VALUES]
    got = evaluate(f"setp.{operator}.f32", "pred", ["f32", "f32"], rows)
    for (a, b), flag in zip(rows, got, strict=True):
        x, y = real(a), real(b)
        nan = math.isnan(x) or math.isnan(y)
        if operator in {"num", "nan"}:
            want = nan == (operator == "nan")
        else:
            plain = eval(f"x {ORDERED[operator[:2]]} y", {"x": x, "y": y})
            want = operator.endswith("u") if nan else plain
        assert flag == int(want), (operator, x, y)


def test_set_combines_and_gives_both_results() -> None:
    body = """setp.lt.and.f32 %p|%q, %s0, %s1, !%stop; selp.u32 %a0, 1, 0, %p; selp.u32 %a1, 2, 0, %q;
    or.b32 %d, %a0, %a1;"""
    assert evaluate("", "u32", ["f32", "f32"], [[ONE, f32(2)], [f32(2), ONE]], body=body) == [1, 2]
    assert evaluate("set.gt.f32.f32", "f32", ["f32", "f32"], [[f32(2), ONE], [ONE, ONE]]) == [ONE, 0]
    assert evaluate("set.eq.u32.f32", "u32", ["f32", "f32"], [[ONE, ONE], [NAN, NAN]]) == [0xFFFFFFFF, 0]
    rows = [[ONE, f32(2), 5], [ONE, f32(2), 0xFFFFFFFF]]
    assert evaluate("slct.f32.s32", "f32", ["f32", "f32", "s32"], rows) == [ONE, f32(2)]


@pytest.mark.parametrize(("prop", "holds"), [
    ("finite", [0, 0, 1, 1, 1]), ("infinite", [0, 1, 0, 0, 0]), ("number", [0, 1, 1, 1, 1]),
    ("notanumber", [1, 0, 0, 0, 0]), ("normal", [0, 0, 1, 1, 0]), ("subnormal", [0, 0, 0, 0, 1]),
])
def test_testp(prop: str, holds: list[int]) -> None:
    rows = [[NAN], [INF], [ONE], [0], [TINY]]
    assert evaluate(f"testp.{prop}.f32", "pred", ["f32"], rows) == holds


# ---------------------------------------------------------------- cvt

INTEGERS = {"u8": (0, 255), "s8": (-128, 127), "u16": (0, 2**16 - 1), "s16": (-(2**15), 2**15 - 1),
            "u32": (0, 2**32 - 1), "s32": (-(2**31), 2**31 - 1), "u64": (0, 2**64 - 1), "s64": (-(2**63), 2**63 - 1)}


def integral(value: Fraction, mode: str) -> int:
    return {"rni": round(value), "rmi": math.floor(value), "rpi": math.ceil(value), "rzi": math.trunc(value)}[mode]


@pytest.mark.parametrize("target", list(INTEGERS))
@pytest.mark.parametrize("source", ["f16", "f32", "f64"])
@given(data=st.data())
@settings(max_examples=2, deadline=None)
def test_float_to_integer_clamps(source: str, target: str, data: st.DataObject) -> None:
    form = exact.FORMATS[source]
    mode = data.draw(st.sampled_from(["rni", "rmi", "rpi", "rzi"]))
    rows = [[data.draw(words(source))] for _ in range(20)]
    low, high = INTEGERS[target]
    narrow = target in {"u8", "s8"}
    wide = ("s" if target[0] == "s" else "u") + "16" if narrow else target
    body = f"cvt.{mode}.{target}.{source} %d, %s0;"
    got = evaluate("", wide, [source], rows, body=body)
    for (word,), result in zip(rows, got, strict=True):
        if exact.is_nan(word, form):
            want = 1 << int(target[1:]) - 1 if source == "f64" or target[1:] == "64" else 0
            want -= 2 * want if target[0] == "s" else 0
        elif exact.is_infinite(word, form):
            want = low if exact.is_negative(word, form) else high
        else:
            want = max(low, min(high, integral(exact.value(word, form), mode)))
        assert result == want & (1 << int(wide[1:])) - 1


@pytest.mark.parametrize(("target", "mode"), [
    *[(target, mode) for target in ("f16", "f32", "f64") for mode in ("rn", "rz", "rm", "rp")], ("bf16", "rn"),
])
@pytest.mark.parametrize("source", ["s32", "u64", "s64"])
@given(data=st.data())
@settings(max_examples=2, deadline=None)
def test_integer_to_float_rounds_once(source: str, target: str, mode: str, data: st.DataObject) -> None:
    low, high = INTEGERS[source]
    near = st.integers(0, 63).flatmap(lambda k: st.integers(-2, 2).map(lambda d: max(low, min(high, (1 << k) + d))))
    values = [data.draw(st.one_of(near, st.integers(low, high))) for _ in range(20)]
    got = evaluate(f"cvt.{mode}.{target}.{source}", target, [source], [[v % 2 ** int(source[1:])] for v in values])
    for value, word in zip(values, got, strict=True):
        assert word == exact.rounded(Fraction(value), exact.FORMATS[target], mode)


@pytest.mark.parametrize(("target", "source", "modes"), [
    ("f16", "f32", ["rn", "rz"]), ("bf16", "f32", ["rn", "rz"]), ("f32", "f64", ["rn", "rz", "rm", "rp"]),
    ("f16", "f64", ["rn", "rp"]),
])
@given(data=st.data())
@settings(max_examples=5, deadline=None)
def test_narrowing_floats(target: str, source: str, modes: list[str], data: st.DataObject) -> None:
    form, to = exact.FORMATS[source], exact.FORMATS[target]
    mode = data.draw(st.sampled_from(modes))
    rows = [[data.draw(words(source))] for _ in range(16)]
    for (word,), got in zip(rows, evaluate(f"cvt.{mode}.{target}.{source}", target, [source], rows), strict=True):
        if exact.is_nan(word, form) and source == "f64":
            assert exact.is_nan(got, to)
            assert exact.is_negative(got, to) == exact.is_negative(word, form)
            payload = word >> 52 - to.mantissa & (1 << to.mantissa) - 1
            assert got & (1 << to.mantissa) - 1 == payload | 1 << to.mantissa - 1
        elif exact.is_nan(word, form):
            assert got == NANS[target]
        elif exact.is_infinite(word, form):
            assert got & (1 << to.bits - 1) - 1 == to.infinity
        else:
            negative = exact.is_negative(word, form)
            assert got == exact.rounded(exact.value(word, form), to, mode, zero_negative=negative)


@pytest.mark.parametrize(("opcode", "result", "source", "word", "want"), [
    ("cvt.f32.f16", "f32", "f16", 0x3C00, ONE),
    ("cvt.f32.bf16", "f32", "bf16", 0x3F80, ONE),
    ("cvt.f32.f16", "f32", "f16", 0x0001, f32(2.0**-24)),
    ("cvt.f64.f32", "f64", "f32", ONE, 0x3FF0000000000000),
    ("cvt.rni.f32.f32", "f32", "f32", f32(2.5), f32(2)),
    ("cvt.rpi.f32.f32", "f32", "f32", f32(-0.5), MINUS_ZERO),
    ("cvt.sat.f32.f32", "f32", "f32", f32(7), ONE),
    ("cvt.rn.sat.f32.s32", "f32", "s32", 7, ONE),
    ("cvt.rna.tf32.f32", "b32", "f32", 0x3F801000, 0x3F802000),
    ("cvt.u32.u64", "u32", "u64", 0x1_0000_0005, 5),
    ("cvt.s64.s32", "s64", "s32", 0xFFFFFFFF, 2**64 - 1),
    ("cvt.sat.u16.s32", "u16", "s32", 0xFFFFFFFF, 0),
    ("cvt.sat.s16.s32", "s16", "s32", 70000, 32767),
    ("cvt.s32.s8", "s32", "s32", 0x1FF, 0xFFFFFFFF),
    ("cvt.u32.u8", "u32", "u32", 0x1FF, 0xFF),
    ("cvt.s8.s32", "s32", "s32", 0x1FF, 0xFFFFFFFF),
    ("cvt.u8.u32", "u32", "u32", 0x1FF, 0xFF),
])
def test_conversions_by_example(opcode: str, result: str, source: str, word: int, want: int) -> None:
    assert evaluate(opcode, result, [source], [[word]]) == [want]


def test_packing_conversions() -> None:
    assert evaluate("cvt.rn.f16x2.f32", "b32", ["f32", "f32"], [[ONE, f32(2)]]) == [0x3C004000]
    assert evaluate("cvt.rn.relu.bf16x2.f32", "b32", ["f32", "f32"], [[f32(-1), ONE]]) == [0x00003F80]
    assert evaluate("cvt.pack.sat.s16.s32", "b32", ["s32", "s32"], [[70000, 0xFFFFFFFF]]) == [0x7FFFFFFF]
