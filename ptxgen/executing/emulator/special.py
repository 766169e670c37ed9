"""Special registers, as arrays over the lanes of a batch."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ptxgen.executing.emulator.machine import Machine, clusters_of
from ptxgen.executing.emulator.memory import FIRST_ADDRESS
from ptxgen.executing.emulator.values import Array
from ptxgen.executing.protocol import Dim3

_AXES = "xyz"
#: On an sm_90: bytes in which shared memory is given out; what is kept of a block's for the driver, and how much of
#: that is in use.
_SHARED_UNIT, _RESERVED, _RESERVED_USED = 128, 1024, 288
_MOST_WARPS = 64


def _tid(axis: int) -> Callable[[Machine], Array]:
    def read(m: Machine) -> Array:
        x, y, _ = m.launch.block
        below = (1, x, x * y)[axis]
        return (m.thread_of // below % m.launch.block[axis]).astype(np.uint32)

    return read


def _block(part: str, axis: int) -> Callable[[Machine], Array]:
    """Coordinates of blocks: in the grid ("ctaid"), of their cluster ("clusterid"), in it ("cluster_ctaid")."""

    def read(m: Machine) -> Array:
        number = m.block_of + m.first_block
        outer = _axis(number // m.cluster_size, clusters_of(m.launch.grid, m.cluster), axis)
        inner = _axis(number % m.cluster_size, m.cluster, axis)
        value = {"ctaid": outer * m.cluster[axis] + inner, "clusterid": outer, "cluster_ctaid": inner}[part]
        return value.astype(np.uint32)

    return read


def _axis(number: Array, extent: Dim3, axis: int) -> Array:
    x, y, _ = extent
    return number // (1, x, x * y)[axis] % extent[axis]


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
    extents: dict[str, Callable[[Machine], Dim3]] = {
        "ntid": lambda m: m.launch.block, "nctaid": lambda m: m.launch.grid, "cluster_nctaid": lambda m: m.cluster,
        "nclusterid": lambda m: clusters_of(m.launch.grid, m.cluster),
    }
    return _constant(lambda m: extents[which](m)[axis])


def _warp(m: Machine) -> Array:
    return (m.thread_of // 32).astype(np.uint32)


def _shared_size(m: Machine) -> int:
    """Of the block's own variables."""
    extents = m.regions["shared"].extents if "shared" in m.regions else ()
    return sum(extent.size for extent in extents if extent.start >= FIRST_ADDRESS["shared"])


def _shared_units(m: Machine) -> int:
    """The same in whole units of allocation."""
    return -(-_shared_size(m) // _SHARED_UNIT) * _SHARED_UNIT


_READERS: dict[str, Callable[[Machine], Array]] = {
    **{f"%tid.{a}": _tid(i) for i, a in enumerate(_AXES)},
    **{f"%{w}.{a}": _block(w, i) for w in ("ctaid", "clusterid", "cluster_ctaid") for i, a in enumerate(_AXES)},
    **{
        f"%{w}.{a}": _extent(w, i)
        for w in ("ntid", "nctaid", "nclusterid", "cluster_nctaid") for i, a in enumerate(_AXES)
    },
    **{f"%lanemask_{kind}": _lane_mask(kind) for kind in ("eq", "lt", "le", "gt", "ge")},
    "%laneid": _lane,
    "%warpid": _warp,
    "%nwarpid": _constant(lambda m: _MOST_WARPS),
    "%smid": lambda m: (m.block_of + m.first_block).astype(np.uint32) % np.uint32(132),
    "%nsmid": _constant(lambda m: 132),
    "%gridid": _constant(lambda m: 1, np.uint64),
    "%dynamic_smem_size": _constant(lambda m: m.launch.shared_bytes),
    "%total_smem_size": _constant(_shared_units),
    "%is_explicit_cluster": lambda m: np.full(m.lanes, m.cluster_size > 1),
    "%cluster_ctarank": lambda m: (m.block_of % m.cluster_size).astype(np.uint32),
    "%cluster_nctarank": _constant(lambda m: m.cluster_size),
    "%aggr_smem_size": _constant(lambda m: _shared_size(m) + _RESERVED),
    "%reserved_smem_offset_begin": _constant(lambda m: 0),
    "%reserved_smem_offset_end": _constant(lambda m: _RESERVED_USED),
    "%reserved_smem_offset_cap": _constant(lambda m: _RESERVED),
    "%reserved_smem_offset_0": _constant(lambda m: 0), "%reserved_smem_offset_1": _constant(lambda m: 0),
    "%current_graph_exec": _constant(lambda m: 0, np.uint64),
    **{f"%pm{i}": _constant(lambda m: 0) for i in range(8)},
    **{f"%pm{i}_64": _constant(lambda m: 0, np.uint64) for i in range(8)},
    **{f"%envreg{i}": _constant(lambda m: 0) for i in range(32)},
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
