"""Scopes, and what an instruction does within one to what threads know of each other."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

#: How far a scope reaches.
BLOCK, CLUSTER, DEVICE = range(3)
LEVELS = 3


@dataclass(frozen=True, slots=True)
class Role:
    """What an instruction does to what threads know: how far its scope reaches, and which way."""

    level: int = DEVICE
    acquires: bool = False
    releases: bool = False
    reads: bool = False
    writes: bool = False
    overwrites: bool = False                   # a store, which ends what was said at its place before
    sequential: bool = False                   # a fence that has an order with all others of its kind

    @classmethod
    def of(
        cls, words: Collection[str], *, reads: bool = False, writes: bool = False, overwrites: bool = False
    ) -> Role:
        """By the words of an opcode."""
        level = BLOCK if "cta" in words else CLUSTER if "cluster" in words else DEVICE
        both = "acq_rel" in words
        return cls(level, both or "acquire" in words, both or "release" in words, reads, writes, overwrites)

    @property
    def orders(self) -> bool:
        """Whether other accesses are ordered by it."""
        return self.acquires or self.releases
