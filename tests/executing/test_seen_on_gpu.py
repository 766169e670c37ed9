"""Words that an H200 (sm_90, driver 580) gave: what the manual leaves open, checked where there is no GPU."""

from __future__ import annotations

import pytest
from one_instruction import evaluate

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
    # The NaN of elements out of bounds is 0x7ff7 or 0xfff7, and counts in factors only.
    *[(f"fma.rn.oob.{of}", of, [of] * 3, row, result) for of in ("f16", "bf16") for row, result in (
        ([0x7FF7, 0x3C00, 0x4000], 0), ([0x3C00, 0xFFF7, 0x4000], 0), ([0, 0, 0x7FF7], 0x7FFF),
        ([0x7FFF, 0, 0], 0x7FFF), ([0x7FF6, 0, 0], 0x7FFF),
    )],
    # An offset that cannot be negated.
    *[("fns.b32", "b32", ["b32", "b32", "s32"], [mask, base, TOP32], 0) for mask in (0xFFFFFFFE, 0x80000001)
      for base in (0, 31, 63)],
    ("fns.b32", "b32", ["b32", "b32", "s32"], [0x80000001, 31, TOP32 + 1], 0xFFFFFFFF),
]


@pytest.mark.parametrize(("opcode", "result", "sources", "words", "want"), SEEN)
def test_the_emulator_gives_what_the_gpu_gave(
    opcode: str, result: str, sources: list[str], words: list[int], want: int
) -> None:
    (got,) = evaluate(opcode, result, sources, [words])
    assert got == want, f"{got:#x} instead of {want:#x}"
