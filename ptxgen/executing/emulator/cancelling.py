"""clusterlaunchcontrol: a cluster that has not begun is taken off the grid, and who asked does its work.

A response holds the coordinates of that cluster's first block and a 1, or zeros where none was left; PTX leaves all
that open. The last cluster of the grid goes first.
"""

from __future__ import annotations

import numpy as np

from ptxgen.executing.emulator import access, late, mbarriers
from ptxgen.executing.emulator.clusters import in_block
from ptxgen.executing.emulator.copies import shared_address
from ptxgen.executing.emulator.lanes import LaneArray, Lanes
from ptxgen.executing.emulator.machine import Machine, block_coordinates
from ptxgen.executing.emulator.memory import MAPPED, WRITABLE
from ptxgen.executing.emulator.program import Run
from ptxgen.executing.emulator.site import Site
from ptxgen.executing.emulator.values import Array, quarters_of

_WORDS = 4
_BYTES = 4 * _WORDS


def control(site: Site) -> Run:
    """clusterlaunchcontrol."""
    return _request(site) if site.has("try_cancel") else _query(site)


def _request(site: Site) -> Run:
    target, barrier = shared_address(site, 0), shared_address(site, 1)
    everywhere = site.has("multicast::cluster::all")
    site.accesses += [("shared", 4, "write"), ("shared", 8, "atomic")]
    site.fences = True

    def run(m: Machine, lanes: Lanes) -> None:
        some = late.lane_array(lanes)
        to, at = target(m, lanes), barrier(m, lanes)
        _refuse_after_refusal(m, some)
        answers = np.array([_cancel(m) for _ in some], np.uint32).reshape(-1, _WORDS)
        if everywhere:
            entry = np.repeat(np.arange(some.size), m.cluster_size)
            rank = np.tile(np.arange(m.cluster_size), some.size)
            some, answers = some[entry], answers[entry]
            to, at = in_block(m, to[entry], rank, some), in_block(m, at[entry], rank, some)
        region = m.regions["shared"]
        place = access.offsets(m, region, to, some)
        access.check(m, region, to, place, some, _BYTES, MAPPED | WRITABLE, "an asynchronous write")

        def perform(machine: Machine, entries: Array) -> None:
            mine, words = some[entries], answers[entries]
            columns = [words[:, number].copy() for number in range(_WORDS)]
            access.store(machine, machine.regions["shared"], to[entries], mine, 4, columns)
            mbarriers.complete_bytes(machine, at[entries], mine, np.full(entries.size, _BYTES))
            refused = mine[words[:, -1] == 0]
            machine.report.refused.update((machine.block_of[refused] + machine.first_block).tolist())

        late.postpone(m, "barrier", some, perform, mbarriers.places(m, at, some))

    return run


def _refuse_after_refusal(m: Machine, lanes: LaneArray) -> None:
    """A block that has seen a request fail must not ask again: what happens then is undefined."""
    bad = np.array([int(block) in m.report.refused for block in m.block_of[lanes] + m.first_block], np.bool_)
    if bad.any():
        m.fault_among("launch", "a request to cancel a cluster after one that was seen to fail", lanes, bad)


def _cancel(m: Machine) -> tuple[int, int, int, int]:
    """Take the grid's last cluster that has not begun; its first block's coordinates and whether there was one."""
    if m.report.unlaunched < m.cluster_size:
        return 0, 0, 0, 0
    m.report.unlaunched -= m.cluster_size
    number = m.first_block + m.blocks + m.report.unlaunched
    return *block_coordinates(number, m.launch.grid, m.cluster), 1


def _query(site: Site) -> Run:
    response = site.bits(site.operands[1], "b128")
    if site.has("is_canceled"):
        tell = site.put(site.operands[0], "pred")
        return lambda m, lanes: tell(m, lanes, quarters_of(response(m, lanes))[-1] != 0)
    dimension = next((n for n, axis in enumerate("xyz") if site.has(f"get_first_ctaid::{axis}")), None)
    put = site.put(site.operands[0], "b128" if dimension is None else "b32")

    def run(m: Machine, lanes: Lanes) -> None:
        words = response(m, lanes)
        quarters = quarters_of(words)
        if (quarters[-1] == 0).any():
            message = "the block of a cluster whose cancellation failed"
            m.fault_among("uninitialised-register", message, lanes, quarters[-1] == 0, fatal=False)
        put(m, lanes, words if dimension is None else quarters[dimension])

    return run
