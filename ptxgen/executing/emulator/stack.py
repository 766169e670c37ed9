"""The stack of every lane: frames of functions that really are called, and memory from alloca.

It grows upwards in local memory. Two registers of each lane, the frame and the top, are addresses in it; what a call
has to bring back lies beside the machine's registers, by depth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ptxgen.executing.emulator import access, fitting, undefined
from ptxgen.executing.emulator.barriers import ready
from ptxgen.executing.emulator.lanes import Lanes, count, select
from ptxgen.executing.emulator.machine import Depth, Machine
from ptxgen.executing.emulator.memory import INITIALISED
from ptxgen.executing.emulator.program import Step
from ptxgen.executing.emulator.site import Site
from ptxgen.executing.emulator.values import Array, storage
from ptxgen.ptx.tree import Immediate

#: Bytes of stack that a thread has.
SIZE = 16_384
_ALIGNMENT = 16
#: Where a depth keeps the step to go on with, beside register slots.
RESUME = -1
#: Bytes of a frame for the way back, of functions that may call themselves: endless recursion fills the stack.
WAY_BACK = 16
#: Depths after which it is asked whether there is memory for as many more.
_DEPTHS = 32


@dataclass(slots=True)
class Frame:
    """A function's frame: bytes of its variables, and the registers that a call inside it must not lose."""

    size: int = 0
    slots: range = range(0)

    def place(self, size: int, alignment: int) -> int:
        """The offset of a new variable."""
        start = -(-self.size // alignment) * alignment
        self.size = start + size
        return start


@dataclass(frozen=True, slots=True)
class Stack:
    """Register slots of frame and top, and where the stack lies in local memory."""

    frame: int
    top: int
    start: int

    @property
    def registers(self) -> dict[int, int]:
        """What the registers begin with."""
        return {self.frame: self.start, self.top: self.start}


def _save(m: Machine, depth: int, lanes: Lanes, slot: int, value: Array) -> None:
    kept = m.depths[depth].values
    if slot not in kept:
        kept[slot] = np.zeros(m.lanes, value.dtype)
    kept[slot][lanes] = value


def _check_memory(m: Machine, slots: int) -> None:
    """Raises MemoryError where the next depths, each of so many registers of all lanes, would not fit."""
    room = fitting.free_memory()
    if room is not None and _DEPTHS * slots * m.lanes * 8 > room:
        raise MemoryError


def enter(m: Machine, lanes: Lanes, stack: Stack, caller: Frame | None, callee: Frame, resume: int) -> None:
    """Lanes call: keep their registers and the way back, and give them a new frame."""
    depths = m.depth[lanes]
    saved = (stack.frame, stack.top, *(caller.slots if caller else ()))
    for depth in np.unique(depths):
        some = select(lanes, depths == depth)
        assert some is not None
        while len(m.depths) <= depth:
            m.depths.append(Depth())
            if not len(m.depths) % _DEPTHS:
                _check_memory(m, len(saved) + 1)
        for slot in saved:
            _save(m, int(depth), some, slot, m.registers[slot][some])
        _save(m, int(depth), some, RESUME, np.full(count(some), resume))
    m.depth[lanes] += 1
    m.registers[stack.frame][lanes] = allocate(m, lanes, stack, np.full(count(lanes), callee.size), _ALIGNMENT)


def leave(m: Machine, lanes: Lanes) -> None:
    """Lanes return: give back what they kept, and let each go on where it was called."""
    m.depth[lanes] -= 1
    depths = m.depth[lanes]
    for depth in np.unique(depths):
        some = select(lanes, depths == depth)
        assert some is not None
        kept = m.depths[int(depth)].values
        resumes = kept[RESUME][some]
        for resume in np.unique(resumes):
            back = select(some, resumes == resume)
            assert back is not None
            for slot in m.saved_at[int(resume)]:
                m.registers[slot][back] = kept[slot][back]
            ready(m, int(resume), back)


def allocate(m: Machine, lanes: Lanes, stack: Stack, size: Array, alignment: int) -> Array:
    """Memory on top of each lane's stack, undefined; gives its local addresses as uint64."""
    top = m.registers[stack.top][lanes].astype(np.int64)
    start = -(-top // alignment) * alignment
    end = -(-(start + size) // 8) * 8
    # Sizes are unsigned words, so that a negative one is a huge one.
    over = (size < 0) | (size > SIZE) | (end > stack.start + SIZE)
    if over.any():
        message = f"the thread's stack of {SIZE} bytes is full"
        m.fault_among("stack-overflow", message, lanes, over, address=start)
    m.registers[stack.top][lanes] = end.astype(np.uint64)
    region = m.regions["local"]
    longest = int((end - start).max(initial=0)) >> region.shift
    if longest:
        place = access.offsets(m, region, start, lanes)[:, None] >> region.shift
        inside = np.arange(longest) < ((end - start) >> region.shift)[:, None]
        granules = (place + np.arange(longest))[inside]
        region.flags[granules] &= np.uint8(255 - INITIALISED)
        region.forget()
        if region.origins is not None and region.shadows is not None:
            region.origins[granules] = 0
            region.shadows[(granules[:, None] << region.shift) + np.arange(1 << region.shift)] = 255
    return start.astype(np.uint64)


#: A local address of each lane.
Address = Callable[[Machine, Lanes], Array]


def copy_bytes(m: Machine, lanes: Lanes, source: Address, target: Address, size: int) -> None:
    """`size` bytes from one place of local memory to another, undefined ones too."""
    region = m.regions["local"]
    starts = [
        access.offsets(m, region, np.broadcast_to(get(m, lanes), (count(lanes),)), lanes)[:, None]
        for get in (source, target)
    ]
    inside = np.arange(size)
    region.data[starts[1] + inside] = region.data[starts[0] + inside]
    granules = np.arange(-(-size >> region.shift))
    old, new = ((start >> region.shift) + granules for start in starts)
    region.flags[new] = region.flags[old]
    region.forget()
    if region.origins is not None and region.shadows is not None:
        region.origins[new] = region.origins[old]
        region.shadows[starts[1] + inside] = region.shadows[starts[0] + inside]


def read_word(m: Machine, lanes: Lanes, source: Address, size: int) -> Array:
    """The word of `size` bytes at a place of local memory."""
    region = m.regions["local"]
    address = np.broadcast_to(source(m, lanes), (count(lanes),))
    offset = access.offsets(m, region, address, lanes)
    undefined.note_loaded(m, region, address, offset, lanes, size, 1, "a read")
    return region.view(size)[offset // size]


def write_word(m: Machine, lanes: Lanes, target: Address, size: int, value: Array) -> None:
    """Store a word of `size` bytes to a place of local memory."""
    region = m.regions["local"]
    offset = access.offsets(m, region, np.broadcast_to(target(m, lanes), (count(lanes),)), lanes)
    region.view(size)[offset // size] = value
    granules = np.arange(max(1, size >> region.shift))
    region.flags[(offset[:, None] >> region.shift) + granules] |= np.uint8(INITIALISED)
    undefined.stored(m, region, offset, lanes, size, 0)


def step_of(site: Site, stack: Stack) -> Step:
    """alloca, stacksave and stackrestore."""
    type_name = site.type
    if site.name == "stackrestore":
        get = site.bits(site.operands[0], type_name)

        def restore(m: Machine, lanes: Lanes) -> None:
            top = np.broadcast_to(get(m, lanes), (count(lanes),)).astype(np.uint64)
            outside = (top < stack.start) | (top > stack.start + SIZE)
            if outside.any():
                message = "stackrestore of an address outside the stack"
                m.fault_among("stack-overflow", message, lanes, outside, address=top)
            m.registers[stack.top][lanes] = top

        return Step("plain", site.line, site.instruction.opcode, restore)
    put = site.put(site.operands[0], type_name)
    dtype = storage(type_name)
    if site.name == "stacksave":
        return Step("plain", site.line, site.instruction.opcode,
                    lambda m, lanes: put(m, lanes, m.registers[stack.top][lanes].astype(dtype)))
    size = site.bits(site.operands[1], type_name)
    alignment = site.operands[2] if len(site.operands) > 2 else None
    multiple = max(8, int(alignment.value)) if isinstance(alignment, Immediate) else 8

    def run(m: Machine, lanes: Lanes) -> None:
        wanted = np.broadcast_to(size(m, lanes), (count(lanes),)).astype(np.int64)
        put(m, lanes, allocate(m, lanes, stack, wanted, multiple).astype(dtype))

    return Step("plain", site.line, site.instruction.opcode, run)
