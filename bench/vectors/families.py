"""Every vector there is, family by family: one-instruction kernels, and whole kernels by topic.

A family is a function of the table and a target that yields vectors. Another is added by its name here; the record
of its vectors goes into the files of their instructions (`python -m bench.vectors record INSTRUCTION`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bench.vectors.kernels import Vector, vectors
from bench.vectors.matrix_floats import float_vectors
from bench.vectors.matrix_integers import integer_vectors
from bench.vectors.matrix_moves import move_vectors
from bench.vectors.matrix_products import product_vectors
from bench.vectors.matrix_whole import whole_vectors
from bench.vectors.topics import TOPICS
from ptxgen.isa import Table

Family = Callable[[Table, str], Iterator[Vector]]
FAMILIES: tuple[Family, ...] = (
    vectors, float_vectors, integer_vectors, move_vectors, whole_vectors, product_vectors, *TOPICS,
)  # fmt: skip


def every_vector(table: Table, arch: str) -> Iterator[Vector]:
    """Raises ValueError for two vectors of an instruction with one name."""
    known = set()
    for family in FAMILIES:
        for vector in family(table, arch):
            place = (vector.expansion.name, vector.name)
            if place in known:
                raise ValueError(f"two vectors are called {vector.name}")
            known.add(place)
            yield vector
