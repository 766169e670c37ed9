"""One executor against another: every arithmetic instruction of the profile on values at the edges."""

from __future__ import annotations

import itertools
import math

import numpy as np
from one_instruction import bits_of, evaluate

from ptxgen.executing import Executor
from ptxgen.isa import load_table
from ptxgen.isa.model import Expansion, Operand

#: Instructions whose results only have to be near: relative error allowed, and absolute error allowed.
#: By name and type where the manual bounds a type on its own: its bound and half a unit in the last place, because
#: the emulator's result is itself rounded to the type. Of rsqrt.f64 it says nothing; CUDA's own bound is one unit.
APPROXIMATE: dict[str, tuple[float, float]] = {
    "rcp": (2.0**-22, 2.0**-147), "sqrt": (2.0**-22, 0.0), "rsqrt": (2.0**-22, 0.0), "div": (2.0**-21, 2.0**-147),
    "ex2": (2.0**-21, 2.0**-147), "lg2": (2.0**-21, 2.0**-21), "sin": (0.0, 2.0**-14), "cos": (0.0, 2.0**-14),
    "tanh": (2.0**-10, 2.0**-10), "tanh.f16": (0.0, 2.0**-10.987 + 2.0**-12), "tanh.bf16": (0.0, 2.0**-8 + 2.0**-9),
    "ex2.f16": (2.0**-9.9 + 2.0**-11, 2.0**-24), "ex2.bf16": (2.0**-7 + 2.0**-8, 2.0**-133),
    "rsqrt.f64": (2.0**-52, 0.0),
}
_SKIP = frozenset({
    "mov", "bra", "ret", "exit", "shfl", "vote", "match", "redux", "bar", "activemask", "elect", "trap", "ld", "st",
    "atom", "red", "cvta", "isspacep", "membar", "fence", "barrier", "call", "nanosleep",
})
FLOAT32 = [
    0x00000000, 0x80000000, 0x3F800000, 0xBF800000, 0x00000001, 0x807FFFFF, 0x00800000, 0x7F7FFFFF, 0x7F800000,
    0xFF800000, 0x7FC00001, 0x3EAAAAAB, 0x4B7FFFFF, 0x3F000000, 0x40200000, 0x4F000000, 0xC2C80000, 0x00FFFFFF,
]
FLOAT16 = [
    0x0000, 0x8000, 0x3C00, 0xBC00, 0x0001, 0x83FF, 0x0400, 0x7BFF, 0x7C00, 0xFC00, 0x7E01, 0x3555, 0x3800, 0x4100,
]
BRAIN16 = [
    0x0000, 0x8000, 0x3F80, 0xBF80, 0x0001, 0x807F, 0x0080, 0x7F7F, 0x7F80, 0xFF80, 0x7FC1, 0x3EAB, 0x3F00, 0x4020,
]
#: Beyond this the manual promises nothing of sin and cos.
_FARTHEST_ANGLE = 314.0


def edges(type_name: str) -> list[int]:
    """Words worth trying for a source of this type."""
    if type_name == "f32":
        return FLOAT32
    if type_name == "f64":
        singles = np.array(FLOAT32, np.uint32).view(np.float32)
        with np.errstate(all="ignore"):
            doubles = singles.astype(np.float64).view(np.uint64)
        extremes = [1, 0x8000000000000001, 0x7FEFFFFFFFFFFFFF, 0x0010000000000000, 0x3FF0000000000001]
        return [int(word) for word in doubles] + extremes
    if type_name in {"f16", "bf16"}:
        return FLOAT16 if type_name == "f16" else BRAIN16
    if type_name in {"f16x2", "bf16x2"}:
        half = FLOAT16 if type_name == "f16x2" else BRAIN16
        return [a | b << 16 for a, b in zip(half, half[3:] + half[:3], strict=True)]
    top = 1 << bits_of(type_name)
    return sorted({n % top for n in (0, 1, 2, 3, 7, 31, 32, 33, 64, 255, 256, -1, -2, -7, top // 2, top // 2 - 1,
                                     top // 2 + 1, 0x12345678, 0x00FF00FF)})


def rows_of(types: list[str], most: int = 1024) -> list[tuple[int, ...]]:
    """All combinations where they are few, an even choice of them otherwise."""
    every = list(itertools.product(*(edges(t) for t in types)))
    step = -(-len(every) // most)
    # A step without small factors visits all values of every source.
    while step > 1 and any(step % len(edges(t)) == 0 for t in types):
        step += 1
    return every[::step][:most]


def plain_register(operand: Operand) -> bool:
    return "reg" in operand.kinds and operand.vector == 1 and not operand.parts and operand.type != "pred"


def expansions(arch: str) -> list[Expansion]:
    """Instructions of the profile with one result (a register or a predicate) and sources that are registers."""
    found = []
    for expansion in load_table().profile(arch):
        if expansion.name in _SKIP or not expansion.operands or len(expansion.operands) > 4:
            continue
        first, *rest = expansion.operands
        if (plain_register(first) or first.type == "pred") and rest and all(plain_register(o) for o in rest):
            found.append(expansion)
    return found


def results(executor: Executor, expansion: Expansion) -> tuple[list[tuple[int, ...]], list[int]]:
    """(rows, result words)"""
    first, *rest = expansion.operands
    rows = rows_of([operand.type for operand in rest])
    return rows, evaluate(expansion.opcode, first.type, [o.type for o in rest], rows, executor=executor)


def differences(expansion: Expansion, rows: list[tuple[int, ...]], ours: list[int], theirs: list[int]) -> list[str]:
    """Lines that say where two executors disagree beyond what the instruction allows."""
    type_name = expansion.operands[0].type
    allowed = _allowed(expansion.name, type_name) if {"approx", "full"} & set(expansion.opcode.split(".")) else None
    lines = []
    for row, a, b in zip(rows, ours, theirs, strict=True):
        if expansion.name in {"sin", "cos"} and abs(_value(row[0], "f32")) > _FARTHEST_ANGLE:
            continue
        if a != b and not (allowed and _near(a, b, type_name, *allowed)):
            words = ", ".join(f"0x{word:x}" for word in row)
            lines.append(f"{expansion.opcode} {words}: 0x{a:x} and 0x{b:x}")
    return lines


def _allowed(name: str, type_name: str) -> tuple[float, float] | None:
    return APPROXIMATE.get(f"{name}.{type_name.removesuffix('x2')}") or APPROXIMATE.get(name)


def _value(word: int, type_name: str) -> float:
    if type_name == "bf16":
        word, type_name = word << 16, "f32"
    unsigned, floating = {"f64": ("u8", "f8"), "f32": ("u4", "f4"), "f16": ("u2", "f2")}[type_name]
    return float(np.array([word], unsigned).view(floating)[0])


def _near(a: int, b: int, type_name: str, relative: float, absolute: float) -> bool:
    """Both finite and no farther apart than allowed, or the same word; in packed types in either half."""
    if type_name.endswith("x2"):
        halves = ((a & 0xFFFF, b & 0xFFFF), (a >> 16, b >> 16))
        return all(_near(x, y, type_name[:-2], relative, absolute) for x, y in halves)
    x, y = _value(a, type_name), _value(b, type_name)
    near = math.isfinite(x) and math.isfinite(y) and abs(x - y) <= absolute + relative * max(abs(x), abs(y))
    return a == b or near
