"""Whether a launch fits the memory that there is, and how many of its blocks do at once, before anything is made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from ptxgen.errors import PtxgenError
from ptxgen.executing.emulator import launching
from ptxgen.executing.emulator.memory import region_size
from ptxgen.executing.emulator.program import Program
from ptxgen.executing.emulator.values import storage
from ptxgen.executing.protocol import Argument, Buffer, Launch

#: Bytes a thread besides its registers: numbers, order, and the arrays that an instruction passes through.
_A_LANE = 512
#: Launches that need less are not worth the question.
_SMALL = 64 << 20


def free_memory() -> int | None:
    """Bytes that this process can still get without swapping; None where the system does not say (Linux does)."""
    found = [amount for amount in (_available(), *_left_in_groups()) if amount is not None]
    return min(found, default=None)


def _available() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:")), None)


def _left_in_groups() -> list[int | None]:
    """What the control group leaves, by either version of its files. Caches of files count as free."""
    return [
        _left(Path("/sys/fs/cgroup"), "memory.max", "memory.current", "inactive_file"),
        _left(Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ]


def _left(folder: Path, most: str, used: str, cache: str) -> int | None:
    try:
        limit, now = ((folder / name).read_text().strip() for name in (most, used))
        files = [line.split() for line in (folder / "memory.stat").read_text().splitlines()]
        cached = next((int(value) for name, value in files if name == cache), 0)
        return int(limit) - int(now) + cached
    except (OSError, ValueError):
        return None                            # no group, or one without a limit ("max")


def launch_size(program: Program, launch: Launch, arguments: Sequence[Argument]) -> int:
    """Bytes that a launch takes however few of its blocks run at once: buffers with what is kept of each granule, and
    the copies that it gives back."""
    extents, _ = launching.place_buffers(program, arguments)
    return launching.global_size(program, launch, extents) + sum(
        argument.data.nbytes for argument in arguments if isinstance(argument, Buffer)
    )


def block_size(program: Program, launch: Launch) -> int:
    """Bytes a block: its shared memory, and of each thread local memory and registers."""
    threads = math.prod(launch.block)
    registers = sum(storage(register).itemsize for register in program.register_types)
    private = launching.private_outlines(program, launch, 1)
    return sum(region_size(space, **outline) for space, outline in private.items()) + threads * (registers + _A_LANE)


def blocks_at_once(
    program: Program, launch: Launch, arguments: Sequence[Argument], *, lanes: int, private: int, most: int | None
) -> int:
    """How many blocks a batch takes: about `lanes` threads, at most `private` bytes of their own, and as many as the
    whole launch leaves of `most` bytes (None: of what is free). Raises PtxgenError where there is no room for one.
    """
    threads, blocks = math.prod(launch.block), math.prod(launch.grid)
    together = math.prod(program.demands.cluster or (1,))
    one = block_size(program, launch)
    wanted = max(1, min(blocks, lanes // threads, private // one))
    if program.cancels:
        # In a single batch every cluster would have begun, and none could be cancelled.
        wanted = max(1, min(wanted, blocks // (2 * together) * together))
    wanted = -(-wanted // together) * together
    fixed = launch_size(program, launch, arguments)
    if most is None and fixed + wanted * one < _SMALL:
        return wanted
    room = free_memory() if most is None else most
    if room is None or fixed + wanted * one <= room:
        return wanted
    fitting = (room - fixed) // one // together * together
    if fitting < 1:
        raise _too_large(fixed, together * one, room, given=most is not None)
    return min(wanted, fitting)


def require(program: Program, launch: Launch, arguments: Sequence[Argument], blocks: int) -> None:
    """Raises PtxgenError unless that many blocks fit at once."""
    fixed, own = launch_size(program, launch, arguments), block_size(program, launch) * blocks
    room = free_memory() if fixed + own >= _SMALL else None
    if room is not None and fixed + own > room:
        raise _too_large(fixed, own, room, given=False)


def _too_large(fixed: int, one: int, room: int, *, given: bool) -> PtxgenError:
    return PtxgenError(
        f"the launch needs more memory than {'it may take' if given else 'there is'}",
        why=f"its buffers, with what is kept of every access, take {_megabytes(fixed)}, and the blocks that must run "
        f"together {_megabytes(one)}; {_megabytes(room)} {'are allowed' if given else 'are free'}",
        fix="pass smaller buffers, or launch smaller blocks" + (", or allow more" if given else ""),
    )


def _megabytes(size: int) -> str:
    return f"{-(-size >> 20):,} MB" if size < 10 << 30 else f"{size / (1 << 30):,.0f} GB"
