"""Words that an H200 (sm_90, driver 580) gave: what the manual leaves open, checked where there is no GPU."""

from __future__ import annotations

import agreement
import pytest
from one_instruction import evaluate

from ptxgen.isa import load_table

NAN64, NAN32, NAN16, BRAIN_NAN = 0x7FF8000020000000, 0x7FC00001, 0x7E01, 0x7FC1
INF64, MINUS_INF64, ONE64, LARGEST64 = 0x7FF0000000000000, 0xFFF0000000000000, 0x3FF0000000000000, 0x7FEFFFFFFFFFFFFF
TOP32, TOP64 = 1 << 31, 1 << 63

#: opcode, type of the result, types of the sources, source words, result word
SEEN = [
    # A NaN of an f64 operand goes through with its payload, and no modifier flips its sign.
    ("sub.f64", "f64", ["f64", "f64"], [0, NAN64], NAN64),
    ("sub.rn.f64", "f64", ["f64", "f64"], [ONE64, NAN64], NAN64),
    ("sub.f64", "f64", ["f64", "f64"], [NAN64, ONE64], NAN64),
    ("add.f64", "f64", ["f64", "f64"], [ONE64, NAN64], NAN64),
    ("neg.f64", "f64", ["f64"], [NAN64], NAN64),
    ("abs.f64", "f64", ["f64"], [NAN64], NAN64),
    ("min.f64", "f64", ["f64", "f64"], [NAN64, NAN64], NAN64),
    ("max.f64", "f64", ["f64", "f64"], [NAN64, NAN64], NAN64),
    ("max.f64", "f64", ["f64", "f64"], [NAN64, MINUS_INF64], MINUS_INF64),
    # Invalid operations.
    ("add.f64", "f64", ["f64", "f64"], [INF64, MINUS_INF64], 0xFFF8000000000000),
    ("mul.f64", "f64", ["f64", "f64"], [0, INF64], 0xFFF8000000000000),
    ("div.rn.f64", "f64", ["f64", "f64"], [0, 0], 0xFFF8000000000000),
    ("sqrt.rn.f64", "f64", ["f64"], [0xBFF0000000000000], 0xFFF8000000000000),
    ("rsqrt.approx.f64", "f64", ["f64"], [0xBFF0000000000000], 0xFFF8000000000000),
    # A finite product beside an infinity does not overflow.
    ("fma.rn.f64", "f64", ["f64"] * 3, [LARGEST64, 0xC059000000000000, INF64], INF64),
    *[("rsqrt.approx.f64", "f64", ["f64"], [source], result) for source, result in (
        (0x36A0000000000000, 0x4496A09E667F3BCD), (0x3FE0000000000000, 0x3FF6A09E667F3BCD),
        (0x41E0000000000000, 0x3EF6A09E667F3BCD), (0x381FFFFFE0000000, 0x43D6A09E71CF8B08),
        (LARGEST64, 0x1FF0000000000000), (0x3FF0000000000001, 0x3FEFFFFFFFFFFFFF),
    )],
    # NaN to an integer is 0, but the highest bit alone from f64 and to 64 bits.
    *[(f"cvt.{mode}.{to}32.f64", f"{to}32", ["f64"], [NAN64], TOP32)
      for mode, to in (("rzi", "s"), ("rzi", "u"), ("rni", "s"), ("rmi", "s"), ("rpi", "s"))],
    *[(f"cvt.{mode}.{to}64.{of}", f"{to}64", [of], [nan], TOP64) for of, nan in (("f32", NAN32), ("f64", NAN64))
      for mode, to in (("rzi", "s"), ("rzi", "u"), ("rni", "s"), ("rmi", "s"), ("rpi", "s"))],
    *[(f"cvt.rzi.{to}32.{of}", f"{to}32", [of], [nan], 0)
      for of, nan in (("f32", NAN32), ("f16", NAN16)) for to in "su"],
    # NaN from float to float.
    ("cvt.f32.bf16", "f32", ["bf16"], [BRAIN_NAN], 0x7FC10000),
    ("cvt.f32.f16", "f32", ["f16"], [NAN16], 0x7FFFFFFF),
    ("cvt.rn.f32.f64", "f32", ["f64"], [NAN64], NAN32),
    ("cvt.rn.f16.f64", "f16", ["f64"], [NAN64], 0x7E00),
    ("cvt.rn.f16.f32", "f16", ["f32"], [NAN32], 0x7FFF),
    ("cvt.rn.bf16.f32", "bf16", ["f32"], [NAN32], 0x7FFF),
    ("cvt.f64.f32", "f64", ["f32"], [NAN32], NAN64),
    # Positions and lengths above 255: 32-bit instructions read 8 bits of them, 64-bit ones all.
    *[(f"bfe.{to}64", f"{to}64", [f"{to}64", "u32", "u32"], row, result) for to in "us" for row, result in (
        ([1, 0, 0x100], 1), ([1, 0x100, 2], 0), ([1, 0x100, 0xFF], 0), ([1, 0x100, 0xFFFFFFF9], 0),
        ([1, 0x80000000, 3], 0), ([1, 0x80000000, 0xFFFFFFFE], 0),
    )],
    *[(f"bfe.{to}32", f"{to}32", [f"{to}32", "u32", "u32"], [1, 0, 0x100], 0) for to in "us"],
    ("bfe.u32", "u32", ["u32"] * 3, [1, 0x100, 2], 1),
]


@pytest.mark.parametrize(("opcode", "result", "sources", "words", "want"), SEEN)
def test_the_emulator_gives_what_the_gpu_gave(
    opcode: str, result: str, sources: list[str], words: list[int], want: int
) -> None:
    (got,) = evaluate(opcode, result, sources, [words])
    assert got == want, f"{got:#x} instead of {want:#x}"


@pytest.mark.parametrize(("opcode", "source", "theirs"), [
    ("tanh.approx.f16x2", 0xBC000000, 0xBA170000), ("tanh.approx.f16x2", 0x83FF3C00, 0x83FF3A17),
    ("tanh.approx.f16x2", 0x35557C00, 0x35243C00), ("tanh.approx.f16x2", 0x3800FC00, 0x3764BC00),
    ("tanh.approx.f16x2", 0x41007E01, 0x3BE47FFF),
    ("tanh.approx.bf16", 0x3F80, 0x3F42), ("tanh.approx.bf16", 0xBF80, 0xBF42), ("tanh.approx.bf16", 0x3EAB, 0x3EA4),
    ("tanh.approx.bf16", 0x3F00, 0x3EEC), ("tanh.approx.bf16", 0x4020, 0x3F7C),
    ("ex2.approx.f16", 0x83FF, 0x3BFF), ("ex2.approx.f16x2", 0x83FF3C00, 0x3BFF4000),
    ("ex2.approx.f16x2", 0x7C0083FF, 0x7C003BFF),
])
def test_approximations_differ_by_no_more_than_the_manual_allows(opcode: str, source: int, theirs: int) -> None:
    type_name = opcode.rsplit(".", 1)[1]
    (expansion,) = (e for e in load_table().expansions(opcode.split(".")[0]) if e.opcode == opcode)
    ours = evaluate(opcode, type_name, [type_name], [[source]])
    assert ours != [theirs]
    assert agreement.differences(expansion, [(source,)], ours, [theirs]) == []


@pytest.mark.parametrize(("opcode", "ours", "theirs"), [
    ("tanh.approx.f16x2", 0xBA180000, 0xBA160000), ("tanh.approx.f16", 0x7FFF, 0x7E01),
    ("tanh.approx.bf16", 0x3F43, 0x3F41), ("ex2.approx.f16", 0x7C00, 0x7BFF), ("ex2.approx.f16", 0x3C00, 0x3BFC),
    ("ex2.approx.f32", 0x7F800000, 0x3F800000), ("rsqrt.approx.f64", ONE64, ONE64 + 2),
    ("add.f32", 0x3F800000, 0x3F800001),
])
def test_what_is_no_approximation_is_a_difference(opcode: str, ours: int, theirs: int) -> None:
    (expansion,) = (e for e in load_table().expansions(opcode.split(".")[0]) if e.opcode == opcode)
    assert len(agreement.differences(expansion, [(0,)], [ours], [theirs])) == 1
