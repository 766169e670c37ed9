"""Integer and bit instructions against Python's integers, run as PTX on one thread a case."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from one_instruction import evaluate

WIDTHS = {"u16": 16, "s16": 16, "u32": 32, "s32": 32, "u64": 64, "s64": 64, "b16": 16, "b32": 32, "b64": 64}


def bits_of(type_name: str) -> int:
    return WIDTHS[type_name]


def number(word: int, type_name: str) -> int:
    """A word as the number its type says."""
    bits = bits_of(type_name)
    word &= (1 << bits) - 1
    return word - (1 << bits) if type_name[0] == "s" and word >> bits - 1 else word


def word_of(value: int, type_name: str) -> int:
    return value & (1 << bits_of(type_name)) - 1


def interesting(bits: int) -> st.SearchStrategy[int]:
    top = 1 << bits
    edges = [0, 1, 2, 3, 31, 32, 33, 63, 64, 65, top - 1, top - 2, top // 2, top // 2 - 1, top // 2 + 1]
    return st.one_of(st.sampled_from([e % top for e in edges]), st.integers(0, top - 1))


def clamp(value: int, type_name: str) -> int:
    bits = bits_of(type_name)
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if type_name[0] == "s" else (0, (1 << bits) - 1)
    return max(low, min(high, value))


def towards_zero(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def low24(value: int, type_name: str) -> int:
    value &= (1 << 24) - 1
    return value - (1 << 24) if type_name[0] == "s" and value >> 23 else value


def extract(a: int, pos: int, length: int, type_name: str) -> int:
    """The manual's description, bit by bit; above 255, which it leaves open, the GPU's."""
    bits = bits_of(type_name)
    if bits == 32:
        pos, length = pos & 255, length & 255
    sign = 0 if type_name[0] == "u" or length == 0 else a >> min(pos + length - 1, bits - 1) & 1
    result = 0
    for i in range(bits):
        bit = a >> pos + i & 1 if i < length and pos + i < bits else sign
        result |= bit << i
    return result


def insert(a: int, b: int, pos: int, length: int, type_name: str) -> int:
    bits = bits_of(type_name)
    if bits == 32:
        pos, length = pos & 255, length & 255
    for i in range(min(length, bits)):
        if pos + i < bits:
            b = b & ~(1 << pos + i) | (a >> i & 1) << pos + i
    return b


def highest(a: int, type_name: str) -> int:
    value = number(a, type_name)
    value = ~value if value < 0 else value
    return value.bit_length() - 1


def permute(a: int, b: int, c: int, mode: str) -> int:
    source = [(a | b << 32) >> 8 * i & 255 for i in range(8)]
    s = c & 3
    picks = {
        "f4e": [s, s + 1, s + 2, s + 3], "b4e": [s, s - 1 & 7, s - 2 & 7, s - 3 & 7], "rc8": [s] * 4,
        "ecl": [max(0, s), max(1, s), max(2, s), max(3, s)],
        "ecr": [min(0, s), min(1, s), min(2, s), min(3, s)],
        "rc16": [(s & 1) * 2, (s & 1) * 2 + 1] * 2,
    }
    result = 0
    for i in range(4):
        if mode:
            byte = source[picks[mode][i]]
        else:
            pick = c >> 4 * i & 15
            byte = source[pick & 7]
            if pick & 8:
                byte = 255 if byte & 128 else 0
        result |= byte << 8 * i
    return result


def shift(value: int, amount: int, type_name: str, left: bool) -> int:
    amount = min(amount, bits_of(type_name))
    return value << amount if left else number(value, type_name) >> amount


def dot(a: int, b: int, c: int, ta: str, tb: str) -> int:
    def part(word: int, i: int, t: str) -> int:
        byte = word >> 8 * i & 255
        return byte - 256 if t == "s32" and byte & 128 else byte

    return c + sum(part(a, i, ta) * part(b, i, tb) for i in range(4))


Case = tuple[str, str, list[str], Callable[..., int]]


def arithmetic_cases() -> list[Case]:
    cases: list[Case] = []
    for t in ("u16", "s16", "u32", "s32", "u64", "s64"):
        n = lambda v, t=t: number(v, t)  # noqa: E731
        cases += [
            (f"add.{t}", t, [t, t], lambda a, b: a + b),
            (f"sub.{t}", t, [t, t], lambda a, b: a - b),
            (f"mul.lo.{t}", t, [t, t], lambda a, b: a * b),
            (f"mul.hi.{t}", t, [t, t], lambda a, b, n=n, t=t: n(a) * n(b) >> bits_of(t)),
            (f"mad.lo.{t}", t, [t, t, t], lambda a, b, c: a * b + c),
            (f"mad.hi.{t}", t, [t, t, t], lambda a, b, c, n=n, t=t: (n(a) * n(b) >> bits_of(t)) + c),
            (f"min.{t}", t, [t, t], lambda a, b, n=n: min(n(a), n(b))),
            (f"max.{t}", t, [t, t], lambda a, b, n=n: max(n(a), n(b))),
            (f"sad.{t}", t, [t, t, t], lambda a, b, c, n=n: abs(n(a) - n(b)) + c),
            (f"div.{t}", t, [t, t], lambda a, b, n=n: towards_zero(n(a), n(b)) if b else -1),
            (f"rem.{t}", t, [t, t], lambda a, b, n=n: n(a) - towards_zero(n(a), n(b)) * n(b) if b else -1),
        ]
        if t != "u64" and t != "s64":
            wide = t[0] + str(bits_of(t) * 2)
            cases += [
                (f"mul.wide.{t}", wide, [t, t], lambda a, b, n=n: n(a) * n(b)),
                (f"mad.wide.{t}", wide, [t, t, wide], lambda a, b, c, n=n: n(a) * n(b) + c),
            ]
        if t[0] == "s":
            cases += [(f"abs.{t}", t, [t], lambda a, n=n: abs(n(a))), (f"neg.{t}", t, [t], lambda a: -a)]
    for t in ("u32", "s32"):
        cases += [
            (f"mul24.lo.{t}", t, [t, t], lambda a, b, t=t: low24(a, t) * low24(b, t)),
            (f"mul24.hi.{t}", t, [t, t], lambda a, b, t=t: low24(a, t) * low24(b, t) >> 16),
            (f"mad24.lo.{t}", t, [t, t, t], lambda a, b, c, t=t: low24(a, t) * low24(b, t) + c),
        ]
        for u in ("u32", "s32"):
            cases.append((f"dp4a.{t}.{u}", t, [t, u, t], lambda a, b, c, t=t, u=u: dot(a, b, c, t, u)))
    s32 = lambda v: number(v, "s32")  # noqa: E731
    cases += [
        ("add.sat.s32", "s32", ["s32", "s32"], lambda a, b: clamp(s32(a) + s32(b), "s32")),
        ("sub.sat.s32", "s32", ["s32", "s32"], lambda a, b: clamp(s32(a) - s32(b), "s32")),
        ("mad.hi.sat.s32", "s32", ["s32"] * 3, lambda a, b, c: clamp((s32(a) * s32(b) >> 32) + s32(c), "s32")),
    ]
    return cases


def bit_cases() -> list[Case]:
    cases: list[Case] = []
    for t in ("b16", "b32", "b64"):
        cases += [
            (f"and.{t}", t, [t, t], lambda a, b: a & b), (f"or.{t}", t, [t, t], lambda a, b: a | b),
            (f"xor.{t}", t, [t, t], lambda a, b: a ^ b), (f"not.{t}", t, [t], lambda a: ~a),
            (f"cnot.{t}", t, [t], lambda a: int(a == 0)),
            (f"shl.{t}", t, [t, "u32"], lambda a, n, t=t: shift(a, n, t, True)),
        ]
    for t in ("u16", "s16", "u32", "s32", "u64", "s64"):
        cases.append((f"shr.{t}", t, [t, "u32"], lambda a, n, t=t: shift(a, n, t, False)))
    for t in ("b32", "b64"):
        w = bits_of(t)
        cases += [
            (f"popc.{t}", "u32", [t], lambda a: bin(a).count("1")),
            (f"clz.{t}", "u32", [t], lambda a, w=w: w - a.bit_length()),
            (f"brev.{t}", t, [t], lambda a, w=w: int(f"{a:0{w}b}"[::-1], 2)),
            (f"bfi.{t}", t, [t, t, "u32", "u32"], lambda a, b, p, n, t=t: insert(a, b, p, n, t)),
        ]
    for t in ("u32", "s32", "u64", "s64"):
        w = bits_of(t)
        cases += [
            (f"bfe.{t}", t, [t, "u32", "u32"], lambda a, p, n, t=t: extract(a, p, n, t)),
            (f"bfind.{t}", "u32", [t], lambda a, t=t: highest(a, t)),
            (f"bfind.shiftamt.{t}", "u32", [t],
             lambda a, t=t, w=w: w - 1 - highest(a, t) if highest(a, t) >= 0 else -1),
        ]
    pair = lambda a, b: b << 32 | a  # noqa: E731
    cases += [
        ("shf.l.wrap.b32", "b32", ["b32"] * 3, lambda a, b, c: pair(a, b) << (c & 31) >> 32),
        ("shf.r.wrap.b32", "b32", ["b32"] * 3, lambda a, b, c: pair(a, b) >> (c & 31)),
        ("shf.l.clamp.b32", "b32", ["b32"] * 3, lambda a, b, c: pair(a, b) << min(c, 32) >> 32),
        ("shf.r.clamp.b32", "b32", ["b32"] * 3, lambda a, b, c: pair(a, b) >> min(c, 32)),
        ("bmsk.clamp.b32", "b32", ["u32", "u32"], lambda a, b: ((1 << min(b, 32)) - 1) << min(a, 32)),
        ("bmsk.wrap.b32", "b32", ["u32", "u32"], lambda a, b: ((1 << (b & 31)) - 1) << (a & 31)),
        ("szext.clamp.u32", "u32", ["u32", "u32"], lambda a, n: a & (1 << min(n, 32)) - 1),
        ("szext.wrap.s32", "s32", ["s32", "u32"],
         lambda a, n: extract(a, 0, n & 31, "s32") if n & 31 else 0),
    ]
    for mode in ("", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"):
        name = f"prmt.b32.{mode}" if mode else "prmt.b32"
        cases.append((name, "b32", ["b32"] * 3, lambda a, b, c, mode=mode: permute(a, b, c, mode)))
    return cases


@pytest.mark.parametrize(("opcode", "result", "sources", "reference"), arithmetic_cases() + bit_cases(),
                         ids=lambda v: v if isinstance(v, str) and "." in v else "")
@given(data=st.data())
@settings(max_examples=2, deadline=None)
def test_instruction(
    opcode: str, result: str, sources: list[str], reference: Callable[..., int], data: st.DataObject
) -> None:
    rows = [[data.draw(interesting(bits_of(t))) for t in sources] for _ in range(16)]
    got = evaluate(opcode, result, sources, rows)
    for row, word in zip(rows, got, strict=True):
        assert word == word_of(reference(*row), result), f"{opcode} of {[hex(v) for v in row]}"


@given(table=st.integers(0, 255), rows=st.lists(st.tuples(*[st.integers(0, 2**32 - 1)] * 3), min_size=1, max_size=8))
@settings(max_examples=20, deadline=None)
def test_lop3_looks_every_bit_up(table: int, rows: list[tuple[int, int, int]]) -> None:
    got = evaluate("lop3.b32", "b32", ["b32"] * 3, rows, suffix=f", {table}")
    for (a, b, c), word in zip(rows, got, strict=True):
        want = sum((table >> ((a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1)) & 1) << i for i in range(32))
        assert word == want


@given(rows=st.lists(st.tuples(*[interesting(64)] * 2), min_size=1, max_size=16))
@settings(max_examples=20, deadline=None)
def test_carries_chain_words_into_wide_sums(rows: list[tuple[int, int]]) -> None:
    halves = [(a & 0xFFFFFFFF, a >> 32, b & 0xFFFFFFFF, b >> 32) for a, b in rows]
    body = "add.cc.u32 %a0, %s0, %s2; addc.u32 %a1, %s1, %s3; mov.b64 %d, {%a0, %a1};"
    assert evaluate("", "b64", ["u32"] * 4, halves, body=body) == [(a + b) % 2**64 for a, b in rows]
    body = "sub.cc.u32 %a0, %s0, %s2; subc.u32 %a1, %s1, %s3; mov.b64 %d, {%a0, %a1};"
    assert evaluate("", "b64", ["u32"] * 4, halves, body=body) == [(a - b) % 2**64 for a, b in rows]
    body = ("mul.lo.u32 %a0, %s0, %s2; mul.hi.u32 %a1, %s0, %s2; mad.lo.cc.u32 %a1, %s0, %s3, %a1; "
            "mad.lo.u32 %a1, %s1, %s2, %a1; mov.b64 %d, {%a0, %a1};")
    assert evaluate("", "b64", ["u32"] * 4, halves, body=body) == [a * b % 2**64 for a, b in rows]


@pytest.mark.parametrize(("opcode", "compare"), [
    ("setp.eq.s32", lambda a, b: a == b), ("setp.ne.s32", lambda a, b: a != b), ("setp.lt.s32", lambda a, b: a < b),
    ("setp.le.s32", lambda a, b: a <= b), ("setp.gt.s32", lambda a, b: a > b), ("setp.ge.s32", lambda a, b: a >= b),
    ("setp.lo.u32", lambda a, b: a % 2**32 < b % 2**32), ("setp.hs.u32", lambda a, b: a % 2**32 >= b % 2**32),
    ("setp.lt.u32", lambda a, b: a % 2**32 < b % 2**32),
])
def test_integer_comparison(opcode: str, compare: Callable[[int, int], bool]) -> None:
    values = [0, 1, 2**31 - 1, 2**31, 2**32 - 1]
    rows = [(a, b) for a in values for b in values]
    got = evaluate("", "u32", ["u32", "u32"], rows, body=f"{opcode} %p, %s0, %s1; selp.u32 %d, 1, 0, %p;")
    assert got == [int(compare(number(a, "s32"), number(b, "s32"))) for a, b in rows]
