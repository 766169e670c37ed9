"""The whole kernels, topic by topic."""

from __future__ import annotations

from bench.vectors.whole_atomics import atomic_vectors
from bench.vectors.whole_barriers import barrier_vectors
from bench.vectors.whole_control import control_vectors
from bench.vectors.whole_copies import copy_vectors
from bench.vectors.whole_hints import hint_vectors
from bench.vectors.whole_mbarriers import mbarrier_vectors
from bench.vectors.whole_spaces import space_vectors
from bench.vectors.whole_warps import warp_vectors

TOPICS = (
    atomic_vectors, barrier_vectors, control_vectors, copy_vectors, hint_vectors, mbarrier_vectors, space_vectors,
    warp_vectors,
)  # fmt: skip
