"""Video instructions, fns and packed numbers against Python's integers, run as PTX."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from one_instruction import evaluate

#: Rows of three words; one opcode is tried on all of them.
EDGES = st.one_of(st.sampled_from([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F80FF01]), st.integers(0, 2**32 - 1))
ROWS = st.lists(st.tuples(EDGES, EDGES, EDGES), min_size=20, max_size=20)
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


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(list(OPERATIONS)), SIGN, SIGN, SIGN, st.booleans(), st.sampled_from(["", "add", "min", "max"]),
    ROWS,
)
def test_scalar(name: str, d: str, a: str, b: str, saturate: bool, second: str, rows: list[tuple[int, ...]]) -> None:
    want = []
    for x, y, z in rows:
        value = OPERATIONS[name](number(x, 32, a), number(y, 32, b))
        value = number(clamp(value, 32, d) if saturate else value, 32, d)
        if second:
            third = number(z, 32, d)
            value = {"add": value + third, "min": min(value, third), "max": max(value, third)}[second]
        want.append(value & 0xFFFFFFFF)
    opcode = f"{name}.{d}.{a}.{b}" + (".sat" if saturate else "") + (f".{second}" if second else "")
    count = 3 if second else 2
    assert evaluate(opcode, "b32", ["b32"] * count, [row[:count] for row in rows]) == want


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(["vshl", "vshr"]), SIGN, SIGN, st.booleans(), st.sampled_from(["clamp", "wrap"]),
       st.lists(st.tuples(EDGES, st.one_of(st.integers(0, 40), EDGES)), min_size=20, max_size=20))
def test_shifts(name: str, d: str, a: str, saturate: bool, mode: str, rows: list[tuple[int, int]]) -> None:
    want = []
    for x, y in rows:
        amount = min(y, 32) if mode == "clamp" else y & 31
        value = number(x, 32, a) << amount if name == "vshl" else number(x, 32, a) >> amount
        want.append((clamp(value, 32, d) if saturate else value) & 0xFFFFFFFF)
    opcode = f"{name}.{d}.{a}.u32" + (".sat" if saturate else "") + f".{mode}"
    assert evaluate(opcode, "b32", ["b32", "b32"], rows) == want


@settings(max_examples=20, deadline=None)
@given(SIGN, SIGN, st.booleans(), st.booleans(), st.sampled_from(["", "shr7", "shr15"]), ROWS)
def test_multiply_add(
    a: str, b: str, one_more: bool, saturate: bool, scale: str, rows: list[tuple[int, ...]]
) -> None:
    final = "s32" if "s32" in {a, b} else "u32"
    want = []
    for x, y, z in rows:
        value = number(x, 32, a) * number(y, 32, b) + number(z, 32, final) + one_more
        value >>= int(scale[3:] or 0)
        want.append((clamp(value, 32, final) if saturate else value) & 0xFFFFFFFF)
    opcode = f"vmad.{final}.{a}.{b}" + (".po" if one_more else "") + (".sat" if saturate else "")
    opcode += f".{scale}" if scale else ""
    assert evaluate(opcode, "b32", ["b32"] * 3, rows) == want


COMPARE = {"eq": int.__eq__, "ne": int.__ne__, "lt": int.__lt__, "le": int.__le__, "gt": int.__gt__, "ge": int.__ge__}


@settings(max_examples=15, deadline=None)
@given(SIGN, SIGN, st.sampled_from(list(COMPARE)), ROWS)
def test_vset(a: str, b: str, how: str, rows: list[tuple[int, ...]]) -> None:
    want = [int(COMPARE[how](number(x, 32, a), number(y, 32, b))) for x, y, _ in rows]
    assert evaluate(f"vset.{a}.{b}.{how}", "b32", ["b32", "b32"], [row[:2] for row in rows]) == want


def simd(name: str, bits: int, signs: tuple[str, str, str], how: str, x: int, y: int, z: int) -> int:
    """The description of the SIMD instructions, number by number."""
    d, a, b = signs
    parts = []
    for place in range(0, 32, bits):
        one, two = number(x >> place, bits, a), number(y >> place, bits, b)
        if name == "vavrg":
            value = (one + two + 1) >> 1 if one + two >= 0 else (one + two) >> 1
        elif name == "vset":
            value = int(one < two)
        else:
            value = OPERATIONS[name](one, two)
        parts.append(clamp(value, bits, d) if how == "sat" else value)
    if how == "add":
        return (z + sum(parts)) & 0xFFFFFFFF
    return sum((p & (1 << bits) - 1) << i * bits for i, p in enumerate(parts))


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(["vadd", "vsub", "vabsdiff", "vmin", "vmax", "vavrg", "vset"]), st.sampled_from([2, 4]), SIGN,
       SIGN, SIGN, st.sampled_from(["", "sat", "add"]), ROWS)
def test_simd(name: str, count: int, d: str, a: str, b: str, how: str, rows: list[tuple[int, ...]]) -> None:
    if name == "vset" and how == "sat":
        how = ""
    types = f"{a}.{b}.lt" if name == "vset" else f"{d}.{a}.{b}"
    opcode = f"{name}{count}.{types}" + (f".{how}" if how else "")
    want = [simd(name, 32 // count, (d, a, b), how, *row) for row in rows]
    assert evaluate(opcode, "b32", ["b32"] * 3, rows) == want


def part(word: int, selector: str, sign: str) -> int:
    """A byte or a half of a word, by the description of scalar selectors."""
    bits = {"b": 8, "h": 16}[selector[0]]
    return number(word >> int(selector[1]) * bits, bits, sign)


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(["b0", "b1", "b2", "b3", "h0", "h1"]), st.sampled_from(["b0", "b3", "h0", "h1"]),
       st.sampled_from(["b0", "b1", "b2", "b3", "h0", "h1"]), SIGN, SIGN, SIGN, st.booleans(), ROWS)
def test_selectors_of_scalars(
    one: str, two: str, target: str, d: str, a: str, b: str, saturate: bool, rows: list[tuple[int, ...]]
) -> None:
    bits = {"b": 8, "h": 16}[target[0]]
    want = []
    for x, y, z in rows:
        value = part(x, one, a) + part(y, two, b)
        value = clamp(value, bits, d) if saturate else value
        mask = ((1 << bits) - 1) << int(target[1]) * bits
        want.append(z & ~mask | value << int(target[1]) * bits & mask)
    body = f"mov.b32 %d, 0; vadd.{d}.{a}.{b}{'.sat' if saturate else ''} %d.{target}, %s0.{one}, %s1.{two}, %s2;"
    assert evaluate("", "b32", ["b32"] * 3, rows, body=body) == want


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(["h0", "h1", "h10"]), st.tuples(*[st.integers(0, 3)] * 4), st.booleans(), ROWS)
def test_selectors_of_pairs(mask: str, picks: tuple[int, ...], add: bool, rows: list[tuple[int, ...]]) -> None:
    want = []
    for x, y, z in rows:
        both = x | y << 32
        result = z
        for place, (i, j) in enumerate(zip(picks[:2], picks[2:], strict=True)):
            if str(place) in mask[1:]:
                value = number(both >> 16 * i, 16, "s32") - number(both >> 16 * j, 16, "u32")
                hole = 0xFFFF << 16 * place
                result = result + value if add else result & ~hole | value << 16 * place & hole
        want.append(result & 0xFFFFFFFF)
    first, second = (f"h{two[1]}{two[0]}" for two in (picks[:2], picks[2:]))
    opcode = "vsub2.s32.s32.u32" + (".add" if add else "")
    body = f"mov.b32 %d, 0; {opcode} %d.{mask}, %s0.{first}, %s1.{second}, %s2;"
    assert evaluate("", "b32", ["b32"] * 3, rows, body=body) == want


@settings(max_examples=15, deadline=None)
@given(
    st.sampled_from(["product", "third"]), SIGN, SIGN, st.booleans(), st.sampled_from(["", ".shr7", ".shr15"]), ROWS
)
def test_negated_sources_of_vmad(
    which: str, a: str, b: str, saturate: bool, scale: str, rows: list[tuple[int, ...]]
) -> None:
    want = []
    for x, y, z in rows:
        product, third = number(x, 32, a) * number(y, 32, b), number(z, 32, "s32")
        value = (third - product if which == "product" else product - third) >> int(scale[4:] or 0)
        want.append((clamp(value, 32, "s32") if saturate else value) & 0xFFFFFFFF)
    operands = "-%s0, %s1, %s2" if which == "product" else "%s0, %s1, -%s2"
    body = f"vmad.s32.{a}.{b}{'.sat' if saturate else ''}{scale} %d, {operands};"
    assert evaluate("", "b32", ["b32"] * 3, rows, body=body) == want


def nth(mask: int, base: int, offset: int) -> int:
    """The manual's loop."""
    if offset == 0:
        return base if mask >> base & 1 else 0xFFFFFFFF
    step, left, place = (1 if offset > 0 else -1), abs(offset), base
    while 0 <= place < 32:
        left -= mask >> place & 1
        if left == 0 and mask >> place & 1:
            return place
        place += step
    return 0xFFFFFFFF


@settings(max_examples=10, deadline=None)
@given(st.lists(st.tuples(EDGES, st.integers(0, 31), st.integers(-34, 34)), min_size=50, max_size=50))
def test_fns(rows: list[tuple[int, int, int]]) -> None:
    words = [(mask, base, offset & 0xFFFFFFFF) for mask, base, offset in rows]
    assert evaluate("fns.b32", "b32", ["b32"] * 3, words) == [nth(*row) for row in rows]


# ---------------------------------------------------------------- packed numbers


def half_word(name: str, kind: str, x: int, y: int) -> int:
    """The operation over two halves."""
    want = 0
    for place in (0, 16):
        a, b = number(x >> place, 16, kind), number(y >> place, 16, kind)
        value = {"add": a + b, "min": min(a, b), "max": max(a, b)}[name.split(".")[0]]
        want |= ((max(value, 0) if "relu" in name else value) & 0xFFFF) << place
    return want


@pytest.mark.parametrize(("name", "kind"), [
    *((name, kind) for name in ("add", "min", "max") for kind in ("u16x2", "s16x2")), ("min.relu", "s16x2"),
    ("max.relu", "s16x2"),
])
@settings(max_examples=4, deadline=None)
@given(rows=ROWS)
def test_packed_integers(name: str, kind: str, rows: list[tuple[int, ...]]) -> None:
    want = [half_word(name, kind, x, y) for x, y, _ in rows]
    assert evaluate(f"{name}.{kind}", "b32", ["b32", "b32"], [row[:2] for row in rows]) == want


@pytest.mark.parametrize("name", ["add.rn", "sub.rz", "mul.rp", "mul.ftz", "add.rm.ftz", "fma.rn", "fma.rz.ftz"])
@settings(max_examples=4, deadline=None)
@given(rows=ROWS)
def test_pairs_of_singles_are_two_singles(name: str, rows: list[tuple[int, ...]]) -> None:
    count = 3 if name.startswith("fma") else 2
    rows = [row[:count] for row in rows]
    single = evaluate(f"{name}.f32", "b32", ["b32"] * count, rows)
    pairs = [[a | b << 32 for a, b in zip(*two, strict=True)] for two in zip(rows[0::2], rows[1::2], strict=True)]
    want = [a | b << 32 for a, b in zip(single[0::2], single[1::2], strict=True)]
    assert evaluate(f"{name}.f32x2", "b64", ["b64"] * count, pairs) == want


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
