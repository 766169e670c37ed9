"""Products of matrices over integers: the opcodes of mma that the covering forms leave out, four warps each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from bench.vectors.inputs import FORMATS
from bench.vectors.kernels import BLOCK, NEWEST, Vector, every_form, vectors_of
from ptxgen.isa import Table


def integer_vectors(table: Table, arch: str) -> Iterator[Vector]:
    """One vector for every opcode without another."""
    made = {expansion.opcode for expansion in every_form(table, arch)}
    for expansion in table.expansions("mma"):
        floats = not FORMATS.keys().isdisjoint(expansion.opcode.split("."))
        if floats or expansion.opcode in made or table.unavailable(expansion, arch, NEWEST) is not None:
            continue
        made.add(expansion.opcode)
        vector = next(iter(vectors_of(expansion, arch)))
        yield replace(vector, rows=BLOCK, columns=tuple(words[:BLOCK] for words in vector.columns))
