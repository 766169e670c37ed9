"""Products of matrices over floats that round: the kernels of `kernels` again, over words of every size.

Sixteen warps and more take turns in what their numbers are like, so that sums cancel, lose their smallest terms,
overflow, underflow, or meet infinities, NaNs and zeros of both signs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from bench.vectors.inputs import FORMATS, Words, random_words, specials
from bench.vectors.kernels import NEWEST, Vector, element_of, vectors_of
from ptxgen.isa import Expansion, Table

ROWS = 1024
#: What the numbers of a warp are like, in turn.
KINDS = ("near one", "spread", "anywhere", "cancelling", "tiny", "huge", "special", "zeros")
_WARP = 32


def float_vectors(table: Table, arch: str, rows: int = ROWS, seed: str = "") -> Iterator[Vector]:
    """One vector for every opcode of mma over floats that a target has; `seed` makes other words."""
    made = set()
    for expansion in table.expansions("mma"):
        known = table.unavailable(expansion, arch, NEWEST) is not None or expansion.opcode in made
        if known or FORMATS.keys().isdisjoint(expansion.opcode.split(".")):
            continue
        made.add(expansion.opcode)
        whole = next(iter(vectors_of(expansion, arch)))
        # Sums of f64 take the emulator long.
        yield _of_any_size(whole, expansion, rows // 4 if "f64" in whole.name else rows, seed)


def _of_any_size(whole: Vector, expansion: Expansion, rows: int, seed: str) -> Vector:
    """The same kernel over other words; the metadata of sparse matrices stays."""
    name = f"{whole.name} any floats{seed}"
    types = [
        element_of(expansion, operand)
        for operand in expansion.operands
        if operand.access == "read" and "vector" in operand.kinds
        for _ in range(operand.vector)
    ]
    columns = [floats(f"{name}:{index}", type_name, rows) for index, type_name in enumerate(types)]
    columns += [np.resize(words, rows) for words in whole.columns[len(types) :]]
    return replace(whole, name=name, columns=tuple(columns), rows=rows)


def floats(name: str, type_name: str, rows: int, *, each: int = _WARP, first: int = 0) -> Words:
    """A word a row of one or more packed floats; every `each` rows are of the next of `KINDS`, from `first` on."""
    scalar, _, count = type_name.partition("x")
    bits = 1 + sum(FORMATS[scalar])
    kind = (np.arange(rows) // each + first) % len(KINDS)
    word = np.zeros(rows, np.uint64)
    for index in range(int(count or 1)):
        word |= _elements(random_words(f"{name}/{index}", rows), scalar, kind) << np.uint64(bits * index)
    return word


def _elements(random: Words, scalar: str, kind: np.ndarray) -> Words:
    exponent_bits, fraction_bits = FORMATS[scalar]
    bias, top = (1 << exponent_bits - 1) - 1, (1 << exponent_bits) - 1
    fraction = random >> np.uint64(8) & np.uint64((1 << fraction_bits) - 1)
    dice = (random >> np.uint64(3)) % np.uint64(1009)
    rare = random >> np.uint64(58)                       # 0 to 63

    def within(low: int, high: int) -> Words:
        low, high = max(low, 0), min(high, top - 1)
        return np.uint64(low) + dice % np.uint64(high - low + 1)

    near = within(bias - 3, bias + 3)
    even = rare % np.uint64(2) == 0
    apart = np.array([max(bias - 11, 1), bias - 1, bias, min(bias + 11, top - 1)], np.uint64)[dice % np.uint64(4)]
    exponent = np.select(
        [kind == 1, kind == 2, kind == 3, (kind == 4) & even, (kind == 5) & even, kind == 7],
        [within(bias - 14, bias + 14), within(0, top - 1), apart, within(0, 3), within(top - 3, top - 1),
         within(bias - 20, bias + 20)],
        near,
    )  # fmt: skip
    few = np.array([0, 1 << fraction_bits - 1, 1], np.uint64)[random % np.uint64(3)]
    word = exponent << np.uint64(fraction_bits) | np.where(kind == 3, few, fraction)
    edges = np.array(specials(exponent_bits, fraction_bits), np.uint64)
    word = np.where((kind == 6) & (rare < 2), edges[dice % np.uint64(len(edges))], word)
    word = np.where((kind == 7) & (rare % np.uint64(8) != 0), np.uint64(0), word)
    sign = (random >> np.uint64(1) & np.uint64(1)) << np.uint64(exponent_bits + fraction_bits)
    return np.asarray(word | sign, np.uint64)
