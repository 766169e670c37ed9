"""Clusters: blocks that see each other's shared memory, and the barrier among them.

A shared address carries in bits 24 and up the rank of another block of the cluster, plus one; 0 means the thread's
own block.
"""

from __future__ import annotations

import numpy as np

from ptxgen.executing.emulator.barriers import ready
from ptxgen.executing.emulator.lanes import Lanes, as_array, normal
from ptxgen.executing.emulator.machine import Machine
from ptxgen.executing.emulator.memory import RANK_SHIFT, WINDOW_SHIFT
from ptxgen.executing.emulator.program import Run, Step
from ptxgen.executing.emulator.site import Site
from ptxgen.executing.emulator.values import Array

_OWN = (1 << RANK_SHIFT) - 1
_RANKS = ((1 << WINDOW_SHIFT) - 1) & ~_OWN


def own_rank(m: Machine, lanes: Lanes) -> Array:
    """The rank of each lane's block in its cluster."""
    return m.block_of[lanes] % m.cluster_size


def in_block(m: Machine, address: Array, rank: Array, lanes: Lanes) -> Array:
    """The same shared variable in the block of that rank; int64 addresses."""
    mine = rank == own_rank(m, lanes)
    return (address & ~_RANKS) | np.where(mine, 0, rank.astype(np.int64) + 1) << RANK_SHIFT


def blocks_named(masks: Array) -> tuple[Array, Array]:
    """(which mask, rank of a block) for every bit that is set."""
    bits = np.arange(masks.dtype.itemsize * 8, dtype=masks.dtype)
    entry, rank = np.nonzero((masks[:, None] >> bits) & masks.dtype.type(1))
    return entry, rank


def map_address(site: Site) -> Run:
    """mapa."""
    type_name = site.type
    source, rank = site.bits(site.operands[1], type_name), site.bits(site.operands[2], "u32")
    put = site.put(site.operands[0], type_name)

    def run(m: Machine, lanes: Lanes) -> None:
        wanted = np.asarray(rank(m, lanes))
        if (wanted >= m.cluster_size).any():
            bad = wanted >= m.cluster_size
            message = f"block {int(wanted[bad][0])} of a cluster of {m.cluster_size}"
            m.fault_among("out-of-bounds", message, lanes, bad)
        word = source(m, lanes)
        address = in_block(m, word.astype(np.int64), wanted, lanes)
        put(m, lanes, address.astype(word.dtype))

    return run


def rank_of(site: Site) -> Run:
    """getctarank."""
    source = site.bits(site.operands[1], site.type)
    put = site.put(site.operands[0], "u32")

    def run(m: Machine, lanes: Lanes) -> None:
        written = (source(m, lanes).astype(np.int64) & _RANKS) >> RANK_SHIFT
        put(m, lanes, np.where(written == 0, own_rank(m, lanes), written - 1).astype(np.uint32))

    return run


def barrier(site: Site) -> Run | Step:
    """barrier.cluster.arrive and .wait."""
    site.fences = True
    if site.has("wait"):
        return Step("cluster", site.line, site.instruction.opcode)
    releases = not site.has("relaxed")

    def arrive(m: Machine, lanes: Lanes) -> None:
        twice = m.cluster_arrived[lanes] != m.cluster_waited[lanes]
        if twice.any():
            m.fault_among("barrier", "a thread arrives again at the cluster's barrier without waiting", lanes, twice)
        m.cluster_arrived[lanes] += 1
        if m.order.causality is not None:
            m.order.causality.arrive(m.order, _keys(m, lanes), as_array(lanes), m.tick(), releases=releases)
        release(m)

    return arrive


def _keys(m: Machine, lanes: Lanes) -> Array:
    """What the phase of their cluster's barrier is known by that lanes arrived for; mbarriers are by their places."""
    return -1 - 2 * (m.block_of[lanes] // m.cluster_size) - (m.cluster_arrived[lanes] & 1)


def wait(m: Machine, lanes: Lanes, resume: int) -> None:
    """Lanes wait for all threads of their cluster to arrive."""
    early = m.cluster_arrived[lanes] == m.cluster_waited[lanes]
    if early.any():
        m.fault_among("barrier", "a thread waits at the cluster's barrier and has not arrived", lanes, early)
    m.cluster_waiting.append((np.array(as_array(lanes)), resume, m.line))
    release(m)


def release(m: Machine) -> None:
    """Let go whoever waits where all threads of the cluster that have not exited have arrived."""
    if not m.cluster_waiting:
        return
    never = np.iinfo(np.int64).max
    arrived = np.where(m.alive, m.cluster_arrived, never).reshape(-1, m.cluster_size * m.threads).min(axis=1)
    cluster_of = m.block_of // m.cluster_size
    waiting, m.cluster_waiting = m.cluster_waiting, []
    freed = []
    for lanes, resume, line in waiting:
        free = arrived[cluster_of[lanes]] >= m.cluster_arrived[lanes]
        if free.any():
            go = lanes[free]
            m.cluster_waited[go] += 1
            freed.append(go)
            ready(m, resume, normal(go))
        if not free.all():
            m.cluster_waiting.append((lanes[~free], resume, line))
    if freed:
        everyone = np.sort(np.concatenate(freed))
        causality, keys = m.order.causality, _keys(m, everyone)
        if causality is not None:
            # Those who wait late find the phase complete already.
            causality.complete(key for key in np.unique(keys).tolist() if key in causality.arrived)
            causality.attend(m.order, keys, everyone)


def deadlock(m: Machine) -> None:
    """Nobody can run and somebody waits for the cluster. Raises Stopped."""
    lanes, _, line = m.cluster_waiting[0]
    m.line = line
    message = "threads wait at the cluster's barrier and the others of the cluster never come"
    m.fault("barrier", message, int(lanes[0]))
