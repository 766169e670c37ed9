"""Video instructions, fns and packed numbers against Python's integers, run as PTX."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from one_instruction import evaluate

WORD = st.one_of(st.sampled_from([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F80FF01]), st.integers(0, 2**32 - 1))
SIGN = st.sampled_from(["u32", "s32"])


def number(word: int, bits: int, sign: str) -> int:
    word &= (1 << bits) - 1
    return word - (1 << bits) if sign[0] == "s" and word >> bits - 1 else word


def clamp(value: int, bits: int, sign: str) -> int:
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if sign[0] == "s" else (0, (1 << bits) - 1)
    return max(low, min(high, value))


OPERATIONS = {
    "vadd": lambda a, b: a + b, "vsub": lambda a, b: a - b, "vabsdiff": lambda a, b: abs(a - b), "vmin": min,
    "vmax": max,
}


@settings(max_examples=150)
@given(st.sampled_from(list(OPERATIONS)), SIGN, SIGN, SIGN, st.booleans(), st.sampled_from(["", "add", "min", "max"]),
       WORD, WORD, WORD)
def test_scalar(name: str, d: str, a: str, b: str, saturate: bool, second: str, x: int, y: int, z: int) -> None:
    value = OPERATIONS[name](number(x, 32, a), number(y, 32, b))
    if saturate:
        value = clamp(value, 32, d)
    value = number(value, 32, d)
    if second:
        third = number(z, 32, d)
        value = {"add": value + third, "min": min(value, third), "max": max(value, third)}[second]
    opcode = f"{name}.{d}.{a}.{b}" + (".sat" if saturate else "") + (f".{second}" if second else "")
    rows = [[x, y, z]] if second else [[x, y]]
    assert evaluate(opcode, "b32", ["b32"] * len(rows[0]), rows) == [value & 0xFFFFFFFF]


@settings(max_examples=100)
@given(st.sampled_from(["vshl", "vshr"]), SIGN, SIGN, st.booleans(), st.sampled_from(["clamp", "wrap"]), WORD,
       st.one_of(st.integers(0, 40), WORD))
def test_shifts(name: str, d: str, a: str, saturate: bool, mode: str, x: int, y: int) -> None:
    amount = min(y, 32) if mode == "clamp" else y & 31
    value = number(x, 32, a) << amount if name == "vshl" else number(x, 32, a) >> amount
    if saturate:
        value = clamp(value, 32, d)
    opcode = f"{name}.{d}.{a}.u32" + (".sat" if saturate else "") + f".{mode}"
    assert evaluate(opcode, "b32", ["b32", "b32"], [[x, y]]) == [value & 0xFFFFFFFF]


@settings(max_examples=100)
@given(SIGN, SIGN, st.booleans(), st.booleans(), st.sampled_from(["", "shr7", "shr15"]), WORD, WORD, WORD)
def test_multiply_add(a: str, b: str, one_more: bool, saturate: bool, scale: str, x: int, y: int, z: int) -> None:
    signed = "s32" in {a, b}
    final = "s32" if signed else "u32"
    value = number(x, 32, a) * number(y, 32, b) + number(z, 32, final) + one_more
    value >>= int(scale[3:] or 0)
    if saturate:
        value = clamp(value, 32, final)
    opcode = f"vmad.{final}.{a}.{b}" + (".po" if one_more else "") + (".sat" if saturate else "")
    opcode += f".{scale}" if scale else ""
    assert evaluate(opcode, "b32", ["b32"] * 3, [[x, y, z]]) == [value & 0xFFFFFFFF]


COMPARE = {"eq": int.__eq__, "ne": int.__ne__, "lt": int.__lt__, "le": int.__le__, "gt": int.__gt__, "ge": int.__ge__}


@settings(max_examples=60)
@given(SIGN, SIGN, st.sampled_from(list(COMPARE)), WORD, WORD)
def test_vset(a: str, b: str, how: str, x: int, y: int) -> None:
    want = int(COMPARE[how](number(x, 32, a), number(y, 32, b)))
    assert evaluate(f"vset.{a}.{b}.{how}", "b32", ["b32", "b32"], [[x, y]]) == [want]


@settings(max_examples=200)
@given(st.sampled_from(["vadd", "vsub", "vabsdiff", "vmin", "vmax", "vavrg", "vset"]), st.sampled_from([2, 4]), SIGN,
       SIGN, SIGN, st.sampled_from(["", "sat", "add"]), WORD, WORD, WORD)
def test_simd(name: str, count: int, d: str, a: str, b: str, how: str, x: int, y: int, z: int) -> None:
    bits = 32 // count
    if name == "vset":
        how = "add" if how == "add" else ""
    parts = []
    for place in range(count):
        one, two = number(x >> place * bits, bits, a), number(y >> place * bits, bits, b)
        if name == "vavrg":
            total = one + two
            value = (total + 1) >> 1 if total >= 0 else total >> 1
        elif name == "vset":
            value = int(one < two)
        else:
            value = OPERATIONS[name](one, two)
        parts.append(clamp(value, bits, d) if how == "sat" else value)
    if how == "add":
        want = (z + sum(parts)) & 0xFFFFFFFF
    else:
        want = sum((p & (1 << bits) - 1) << i * bits for i, p in enumerate(parts))
    types = f"{a}.{b}.lt" if name == "vset" else f"{d}.{a}.{b}"
    opcode = f"{name}{count}.{types}" + (f".{how}" if how else "")
    assert evaluate(opcode, "b32", ["b32"] * 3, [[x, y, z]]) == [want]


@settings(max_examples=150)
@given(WORD, st.integers(0, 31), st.integers(-34, 34))
def test_fns(mask: int, base: int, offset: int) -> None:
    want = 0xFFFFFFFF
    if offset == 0:
        want = base if mask >> base & 1 else want
    else:
        step, left = (1 if offset > 0 else -1), abs(offset)
        place = base
        while 0 <= place < 32:
            left -= mask >> place & 1
            if left == 0 and mask >> place & 1:
                want = place
                break
            place += step
    assert evaluate("fns.b32", "b32", ["b32"] * 3, [[mask, base, offset & 0xFFFFFFFF]]) == [want]


# ---------------------------------------------------------------- packed numbers


@settings(max_examples=100)
@given(
    st.sampled_from(["add", "min", "max", "min.relu", "max.relu"]), st.sampled_from(["u16x2", "s16x2"]), WORD, WORD
)
def test_packed_integers(name: str, kind: str, x: int, y: int) -> None:
    if "relu" in name and kind[0] == "u":
        kind = "s16x2"
    want = 0
    for place in (0, 16):
        a, b = number(x >> place, 16, kind), number(y >> place, 16, kind)
        value = {"add": a + b, "min": min(a, b), "max": max(a, b)}[name.split(".")[0]]
        want |= ((max(value, 0) if "relu" in name else value) & 0xFFFF) << place
    assert evaluate(f"{name}.{kind}", "b32", ["b32", "b32"], [[x, y]]) == [want]


@settings(max_examples=60)
@given(st.sampled_from(["add.rn", "sub.rz", "mul.rp", "mul.ftz", "add.rm.ftz", "fma.rn", "fma.rz.ftz"]),
       st.lists(WORD, min_size=6, max_size=6))
def test_pairs_of_singles_are_two_singles(name: str, words: list[int]) -> None:
    count = 3 if name.startswith("fma") else 2
    single = evaluate(f"{name}.f32", "b32", ["b32"] * count, [words[:count], words[3 : 3 + count]])
    rows = [[words[i] | words[3 + i] << 32 for i in range(count)]]
    assert evaluate(f"{name}.f32x2", "b64", ["b64"] * count, rows) == [single[0] | single[1] << 32]


# ---------------------------------------------------------------- 128 bits


def test_wide_words_move_whole() -> None:
    body = """.reg .b128 %q, %p1; .reg .b64 %x, %y; mov.b128 %q, {%s0, %s1}; mov.b128 %p1, %q;
    mov.b128 {%x, %y}, %p1; xor.b64 %d, %x, %y;"""
    assert evaluate("", "b64", ["b64", "b64"], [[5, 0xF0000000000000F0]], body=body) == [0xF0000000000000F5]


@pytest.mark.parametrize(("same", "want"), [(True, 0xAB), (False, 7)])
def test_wide_compare_and_swap(same: bool, want: int) -> None:
    body = f""".reg .b128 %q, %o, %w; .reg .b64 %x, %y; .shared .align 16 .b8 cell[16];
    mov.b64 %x, 7; mov.b64 %y, 9; mov.b128 %q, {{%x, %y}}; st.shared.b128 [cell], %q;
    mov.b64 %y, {9 if same else 8}; mov.b128 %o, {{%x, %y}}; mov.b64 %x, 0xAB; mov.b128 %w, {{%x, %x}};
    atom.shared.cas.b128 %q, [cell], %o, %w; ld.shared.b128 %q, [cell]; mov.b128 {{%d, %y}}, %q;"""
    assert evaluate("", "b64", ["b64"], [[0]], body=body) == [want]


def test_wide_exchange_gives_the_old_word() -> None:
    body = """.reg .b128 %q, %o; .reg .b64 %x, %y; .shared .align 16 .b8 cell[16];
    mov.b64 %x, 7; mov.b64 %y, 9; mov.b128 %q, {%x, %y}; st.shared.b128 [cell], %q; mov.b128 %o, {%y, %y};
    atom.shared.exch.b128 %q, [cell], %o; mov.b128 {%x, %y}, %q; shl.b64 %y, %y, 8; or.b64 %x, %x, %y;
    ld.shared.b128 %q, [cell]; mov.b128 {%d, %y}, %q; shl.b64 %d, %d, 32; or.b64 %d, %d, %x;"""
    assert evaluate("", "b64", ["b64"], [[0]], body=body) == [9 << 32 | 9 << 8 | 7]


def test_wide_words_fill_global_memory() -> None:
    words = np.arange(8, dtype=np.uint64) * 0x0101010101010101
    body = ".reg .b128 %q; .reg .b64 %x; mov.b128 %q, {%s0, %s0}; mov.b128 {%d, %x}, %q;"
    assert evaluate("", "b64", ["b64"], [[int(w)] for w in words], body=body) == [int(w) for w in words]
