"""Special registers, as arrays over the lanes of a batch."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ptxgen.executing.emulator.machine import Machine
from ptxgen.executing.emulator.values import Array

_AXES = "xyz"


def _tid(axis: int) -> Callable[[Machine], Array]:
    def read(m: Machine) -> Array:
        x, y, _ = m.launch.block
        below = (1, x, x * y)[axis]
        return (m.thread_of // below % m.launch.block[axis]).astype(np.uint32)

    return read


def _ctaid(axis: int) -> Callable[[Machine], Array]:
    def read(m: Machine) -> Array:
        x, y, _ = m.launch.grid
        below = (1, x, x * y)[axis]
        return ((m.block_of + m.first_block) // below % m.launch.grid[axis]).astype(np.uint32)

    return read


def _constant(
    value: Callable[[Machine], int], dtype: type[np.uint32] | type[np.uint64] = np.uint32
) -> Callable[[Machine], Array]:
    return lambda m: np.full(m.lanes, value(m), dtype)


def _lane(m: Machine) -> Array:
    return (m.thread_of % 32).astype(np.uint32)


def _lane_mask(kind: str) -> Callable[[Machine], Array]:
    def read(m: Machine) -> Array:
        one = np.uint32(1) << _lane(m)
        below = one - np.uint32(1)
        return {"eq": one, "lt": below, "le": below | one, "gt": ~(below | one), "ge": ~below}[kind]

    return read


def _extent(which: str, axis: int) -> Callable[[Machine], Array]:
    return _constant(lambda m: (m.launch.grid if which == "nctaid" else m.launch.block)[axis])


def _warp(m: Machine) -> Array:
    return (m.thread_of // 32).astype(np.uint32)


def _shared_size(m: Machine) -> int:
    return sum(e.size for e in m.regions["shared"].extents) if "shared" in m.regions else 0


_READERS: dict[str, Callable[[Machine], Array]] = {
    **{f"%tid.{a}": _tid(i) for i, a in enumerate(_AXES)},
    **{f"%ctaid.{a}": _ctaid(i) for i, a in enumerate(_AXES)},
    **{f"%{w}.{a}": _extent(w, i) for w in ("ntid", "nctaid") for i, a in enumerate(_AXES)},
    **{f"%lanemask_{kind}": _lane_mask(kind) for kind in ("eq", "lt", "le", "gt", "ge")},
    "%laneid": _lane,
    "%warpid": _warp,
    "%nwarpid": _constant(lambda m: m.order.shape.warps),
    "%smid": lambda m: (m.block_of + m.first_block).astype(np.uint32) % np.uint32(132),
    "%nsmid": _constant(lambda m: 132),
    "%gridid": _constant(lambda m: 1, np.uint64),
    "%dynamic_smem_size": _constant(lambda m: m.launch.shared_bytes),
    "%total_smem_size": _constant(_shared_size),
    # Every block is a cluster of its own.
    "%is_explicit_cluster": lambda m: np.zeros(m.lanes, np.bool_),
    **{f"%clusterid.{a}": _ctaid(i) for i, a in enumerate(_AXES)},
    **{f"%nclusterid.{a}": _extent("nctaid", i) for i, a in enumerate(_AXES)},
    **{f"%cluster_ctaid.{a}": _constant(lambda m: 0) for a in _AXES},
    **{f"%cluster_nctaid.{a}": _constant(lambda m: 1) for a in _AXES},
    "%cluster_ctarank": _constant(lambda m: 0),
    "%cluster_nctarank": _constant(lambda m: 1),
    "WARP_SZ": _constant(lambda m: 32),
}
#: Clocks count the machine's steps; they only promise to go forward.
_CLOCKS: dict[str, Callable[[Machine], Array]] = {
    "%clock": lambda m: np.full(m.lanes, m.steps & 0xFFFFFFFF, np.uint32),
    "%clock_hi": lambda m: np.full(m.lanes, m.steps >> 32, np.uint32),
    "%clock64": lambda m: np.full(m.lanes, m.steps, np.uint64),
    "%globaltimer": lambda m: np.full(m.lanes, m.steps, np.uint64),
    "%globaltimer_lo": lambda m: np.full(m.lanes, m.steps & 0xFFFFFFFF, np.uint32),
    "%globaltimer_hi": lambda m: np.full(m.lanes, m.steps >> 32, np.uint32),
}


def known(name: str) -> bool:
    return name in _READERS or name in _CLOCKS


def read(m: Machine, name: str) -> Array:
    """uint32 (or uint64, bool) by lane."""
    if name in _CLOCKS:
        return _CLOCKS[name](m)
    found = m.specials.get(name)
    if found is None:
        found = m.specials[name] = _READERS[name](m)
    return found
