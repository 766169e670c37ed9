"""A launch made ready: arguments checked and laid out, memory filled, limits of the hardware held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ptxgen.executing.checking import refused_launch
from ptxgen.executing.emulator import heap
from ptxgen.executing.emulator.layout import element_bytes
from ptxgen.executing.emulator.machine import threads_of
from ptxgen.executing.emulator.memory import FIRST_ADDRESS, GAP, Extent, Region, make_region, region_size
from ptxgen.executing.emulator.program import Program
from ptxgen.executing.emulator.races import WIDE
from ptxgen.executing.emulator.values import BITS, scalar_bits
from ptxgen.executing.protocol import Alias, Argument, Buffer, Fault, Launch, Scalar, Value

#: Static shared memory, and shared memory in all with the opt-in of the newest targets (sm_90 and later).
_STATIC_SHARED = 49_152
_ALL_SHARED = 232_448
#: Local memory a thread may have.
_LOCAL = 512 << 10


def launch_fault(program: Program, launch: Launch) -> Fault | None:
    """What a driver would refuse about this launch."""
    why = refused_launch(program.demands, launch)
    if why:
        return Fault("launch", why)
    if program.static_shared > _STATIC_SHARED:
        why = f"{program.static_shared} bytes of static shared memory (at most {_STATIC_SHARED})"
    elif program.static_shared + launch.shared_bytes > _ALL_SHARED:
        why = f"{program.static_shared + launch.shared_bytes} bytes of shared memory (at most {_ALL_SHARED})"
    elif sum(extent.size for extent in program.extents.get("local", ())) > _LOCAL:
        why = f"more than {_LOCAL} bytes of local memory a thread"
    return Fault("launch", why) if why else None


@dataclass(frozen=True, slots=True)
class Memory:
    """The regions that outlive a batch, and where each buffer argument lies in global memory."""

    regions: dict[str, Region]
    buffers: dict[int, Extent]


def _fill(region: Region, initial: list[tuple[int, bytes]]) -> None:
    for address, words in initial:
        start = address - region.base
        region.data[start : start + len(words)] = np.frombuffer(words, np.uint8)


def place_buffers(
    program: Program, arguments: Sequence[Argument]
) -> tuple[tuple[Extent, ...], dict[int, Extent]]:
    """(extents of global memory, those of them that are buffers by argument). Arguments must have been checked."""
    extents = list(program.extents.get("global", ()))
    buffers: dict[int, Extent] = {}
    cursor = extents[-1].stop if extents else FIRST_ADDRESS["global"]
    for number, argument in enumerate(arguments):
        if not isinstance(argument, Buffer):
            continue
        start = -(-(cursor + GAP) // 256) * 256 + argument.offset
        size = argument.data.nbytes
        name = f"argument {number} ({program.params[number].name})"
        extent = Extent(name, start, size, argument.initialised, not argument.read_only)
        buffers[number] = extent
        extents.append(extent)                          # an empty one too: accesses beside it are told as such
        cursor = start + size
    return tuple(extents), buffers


def _global_outline(program: Program, launch: Launch, extents: tuple[Extent, ...]) -> dict[str, Any]:
    return {
        "extents": extents, "smallest": program.smallest.get("global", 8),
        "traced": program.writes_global and threads_of(launch) > 1, "strong": "global" in program.strong,
        "wide": threads_of(launch) >= WIDE,
    }


def global_size(program: Program, launch: Launch, extents: tuple[Extent, ...]) -> int:
    """Bytes of global memory with what is kept of each granule."""
    return region_size("global", **_global_outline(program, launch, extents))


def prepare(program: Program, launch: Launch, arguments: Sequence[Argument]) -> Memory:
    """Global, const and param memory filled for the launch. Arguments must have been checked."""
    extents, buffers = place_buffers(program, arguments)
    regions: dict[str, Region] = {"global": make_region("global", **_global_outline(program, launch, extents))}
    for extent in extents:
        if extent.name == heap.NAME:
            heap.unmap(regions["global"], extent.start, extent.size)
    for number, argument in enumerate(arguments):
        if isinstance(argument, Buffer):
            flat = np.ascontiguousarray(argument.data).reshape(-1).view(np.uint8)
            regions["global"].bytes_of(buffers[number])[:] = flat
    for space in ("param", "const"):
        regions[space] = make_region(
            space, program.extents.get(space, ()), smallest=program.smallest.get(space, 8)
        )
    for space in ("global", "const"):
        _fill(regions[space], program.initial.get(space, []))
    _fill(regions["param"], list(_parameters(program, arguments, buffers)))
    return Memory(regions, buffers)


def _parameters(
    program: Program, arguments: Sequence[Argument], buffers: dict[int, Extent]
) -> list[tuple[int, bytes]]:
    words = []
    for here, (param, extent, argument) in enumerate(
        zip(program.params, program.param_extents, arguments, strict=True)
    ):
        if isinstance(argument, Value):
            words.append((extent.start, argument.data.tobytes()))
            continue
        if isinstance(argument, Scalar):
            value, size = scalar_bits(argument.value, argument.type), BITS[argument.type] // 8
        else:
            number = argument.index if isinstance(argument, Alias) else here
            value, size = buffers[number].start, element_bytes(param)
        words.append((extent.start, value.to_bytes(size, "little")))
    return words


def private_outlines(program: Program, launch: Launch, blocks: int) -> dict[str, dict[str, Any]]:
    """By space, what shared and local memory of a batch are made of."""
    threads = launch.block[0] * launch.block[1] * launch.block[2]
    shared = list(program.extents.get("shared", ()))
    if launch.shared_bytes:
        start = program.dynamic_shared
        shared.append(Extent("dynamic shared memory", start, launch.shared_bytes, initialised=False))
    outlines: dict[str, dict[str, Any]] = {}
    if "shared" in program.smallest or shared:
        outlines["shared"] = {
            "extents": tuple(shared), "smallest": program.smallest.get("shared", 8), "instances": blocks,
            "traced": threads > 1, "strong": "shared" in program.strong, "wide": threads_of(launch) >= WIDE,
        }
    if "local" in program.smallest or "local" in program.extents:
        outlines["local"] = {
            "extents": program.extents.get("local", ()), "smallest": program.smallest.get("local", 8),
            "instances": blocks * threads,
        }
    return outlines


def private_regions(program: Program, launch: Launch, blocks: int) -> dict[str, Region]:
    """Shared and local memory of one batch."""
    outlines = private_outlines(program, launch, blocks)
    return {space: make_region(space, **outline) for space, outline in outlines.items()}


def results(
    memory: Memory | None, arguments: Sequence[Argument]
) -> tuple[npt.NDArray[np.generic] | None, ...]:
    """Final contents for each argument: buffers and aliases as arrays like the given ones, None for scalars."""
    arrays: list[npt.NDArray[np.generic] | None] = []
    for number, argument in enumerate(arguments):
        if isinstance(argument, Scalar | Value):
            arrays.append(None)
            continue
        index = argument.index if isinstance(argument, Alias) else number
        buffer = arguments[index]
        assert isinstance(buffer, Buffer)
        if memory is None:
            arrays.append(np.array(buffer.data, order="C"))
            continue
        raw = memory.regions["global"].bytes_of(memory.buffers[index])
        arrays.append(raw.copy().view(buffer.data.dtype).reshape(buffer.data.shape))
    return tuple(arrays)
