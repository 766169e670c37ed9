"""Of a word that nothing has written only the bits count that reach something, however they are masked and moved."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from executor_contract import kernel, line
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxgen.executing import Buffer, Outcome
from ptxgen.executing.emulator import Emulator

EMULATOR = Emulator()
MASK = 0xFFFFFFFF
WORDS = st.one_of(st.sampled_from([0, 1, 0xFF, 0xFF00, 0x80000000, MASK, 0x7FFFFFFF]), st.integers(0, MASK))
Step = tuple[str, Callable[[int], int]]


def signed(word: int, bits: int) -> int:
    return word - (word >> bits - 1 << bits)


def steps(draw: st.DrawFn) -> Step:
    kind = draw(st.sampled_from(["and", "or", "xor", "shl", "shr", "sar", "byte", "half", "pair", "memory", "parts"]))
    word, by = draw(WORDS), draw(st.integers(0, 33))
    both = {
        "and": (f"and.b32 %r10, %r10, {word};", lambda x: x & word),
        "or": (f"mov.u32 %r11, {word}; or.b32 %r10, %r11, %r10;", lambda x: x | word),
        "xor": (f"xor.b32 %r10, %r10, {word};", lambda x: x ^ word),
        "shl": (f"shl.b32 %r10, %r10, {by};", lambda x: x << by & MASK),
        "shr": (f"mov.u32 %r11, {by}; shr.u32 %r10, %r10, %r11;", lambda x: x >> by),
        "sar": (f"shr.s32 %r10, %r10, {by};", lambda x: signed(x, 32) >> min(by, 31) & MASK),
        "byte": ("cvt.u32.u8 %r10, %r10;", lambda x: x & 0xFF),
        "half": ("cvt.s32.s16 %r10, %r10;", lambda x: signed(x & 0xFFFF, 16) & MASK),
        "pair": ("mov.b32 {%rs1, %rs2}, %r10; mov.b32 %r10, {%rs2, %rs1};", lambda x: (x >> 16 | x << 16) & MASK),
        "memory": ("st.local.u32 [mine+16], %r10; ld.local.u32 %r10, [mine+16];", lambda x: x),
        "parts": ("st.local.u32 [mine+24], %r10; ld.local.u8 %r11, [mine+25]; ld.local.u16 %r12, [mine+26];"
                  "shl.b32 %r12, %r12, 8; or.b32 %r10, %r11, %r12;", lambda x: x >> 8),
    }
    return both[kind]


def run(body: str) -> Outcome:
    text = kernel(".local .align 16 .b8 mine[64]; ld.local.u32 %r10, [mine];\n" + body)
    return EMULATOR.run(text, None, line(1), [Buffer(np.zeros(1, "u4"))])


@settings(max_examples=150, deadline=None)
@given(st.lists(st.composite(steps)(), max_size=5),
       st.sampled_from(["st.global.u32", "st.global.u16", "st.global.u8"]))
def test_a_bit_that_reaches_memory_is_reported_and_no_other(chain: list[Step], store: str) -> None:
    def end(word: int) -> int:
        for _, step in chain:
            word = step(word)
        return word & (1 << int(store[-2:].lstrip("u"))) - 1

    # none of these steps combines two bits, so each can be tried alone, whatever the others are
    hangs = any(end(word) != end(word ^ 1 << bit) for bit in range(32) for word in (0, MASK))
    outcome = run("".join(text + "\n" for text, _ in chain) + f"{store} [%rd2], %r10;")
    assert [fault.kind for fault in outcome.faults] == ["uninitialised-read"] * hangs, outcome.faults


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 31), st.integers(1, 12)), min_size=1, max_size=6), st.integers(0, 31))
def test_bit_fields_written_one_by_one(fields: list[tuple[int, int]], read: int) -> None:
    """Each is set by reading the word, masking and writing it back; then one bit is taken."""
    known, body = 0, ""
    for first, size in fields:
        mask = (1 << size) - 1 << first & MASK
        known |= mask
        body += f"""ld.local.u32 %r10, [mine]; and.b32 %r10, %r10, {MASK ^ mask}; and.b32 %r11, %r1, {mask};
        or.b32 %r10, %r10, %r11; st.local.u32 [mine], %r10;\n"""
    body += f"ld.local.u32 %r12, [mine]; shr.u32 %r12, %r12, {read}; and.b32 %r12, %r12, 1;\n"
    body += "st.global.u32 [%rd2], %r12;"
    assert run(body).ok == bool(known >> read & 1)
