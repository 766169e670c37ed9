"""Registers and memory of a machine as typed arrays, by the names of the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

import numpy as np

from ptxgen.errors import UsageError
from ptxgen.executing.emulator.machine import Machine
from ptxgen.executing.emulator.memory import MAPPED, Extent, Region
from ptxgen.executing.emulator.program import Program
from ptxgen.executing.emulator.scope import RegisterSymbol, Scope, VariableSymbol, VectorSymbol
from ptxgen.executing.emulator.values import BITS, UNSIGNED, Array, is_signed, number_dtype
from ptxgen.executing.protocol import Alias, Argument, Buffer

_FLOATS: dict[str, np.dtype[np.generic]] = {
    "f16": np.dtype(np.float16), "f32": np.dtype(np.float32), "f64": np.dtype(np.float64),
}


def dtype_of(type_name: str) -> np.dtype[np.generic]:
    """The dtype in which values of a declared type are shown."""
    if type_name in _FLOATS:
        return _FLOATS[type_name]
    return number_dtype(type_name) if is_signed(type_name) else UNSIGNED[BITS[type_name]]


def typed(words: Array, type_name: str) -> Array:
    """Stored register words, seen in their declared type."""
    return words if type_name == "pred" else words.view(dtype_of(type_name))


def slot_of(name: str, scope: Scope, program: Program) -> int:
    """Where a register is kept. Raises UsageError for a name that is no register."""
    symbol = scope.find(name)
    if isinstance(symbol, RegisterSymbol):
        return symbol.slot
    if isinstance(symbol, VectorSymbol):
        raise UsageError(f"{name} is a vector register", fix=f"name one of {', '.join(symbol.components)}")
    if symbol is None and name in program.register_names:
        return len(program.register_names) - 1 - program.register_names[::-1].index(name)
    near = get_close_matches(name, [n for n in program.register_names if " " not in n], n=1)
    raise UsageError(f"{name} is no register of the kernel", fix=f"did you mean {near[0]}?" if near else "")


def memory(
    name: str, m: Machine, program: Program, scope: Scope, arguments: Sequence[Argument], buffers: dict[int, Extent]
) -> Array:
    """What a parameter or a variable holds; see `Stepper.memory`. Raises UsageError."""
    for number, param in enumerate(program.params):
        if param.name != name:
            continue
        argument = arguments[number]
        index = argument.index if isinstance(argument, Alias) else number
        buffer = arguments[index]
        if isinstance(buffer, Buffer):
            words = m.regions["global"].bytes_of(buffers[index]).copy()
            return words.view(buffer.data.dtype).reshape(buffer.data.shape)
    symbol = scope.find(name)
    if not isinstance(symbol, VariableSymbol):
        raise UsageError(f"{name} is no parameter or variable that the kernel can name")
    size = symbol.size
    if symbol.space == "shared" and not size:
        size = m.launch.shared_bytes
    region = m.regions.get(symbol.space)
    dtype = dtype_of(symbol.type)
    if region is None or not size:
        return np.zeros(0, dtype)
    start = symbol.address - region.base
    words = region.data.reshape(region.instances, region.stride)[:, start : start + size]
    values = np.ascontiguousarray(words).view(dtype)
    if symbol.space == "shared":
        return values
    return values.reshape(m.blocks, m.threads, -1) if symbol.space == "local" else values.reshape(-1)


def raw(
    m: Machine, space: str, address: int, dtype: np.dtype[np.generic], count: int, block: int, thread: int
) -> Array:
    """Elements at an address; see `Stepper.raw`. Raises UsageError."""
    region = m.regions.get(space)
    if region is None:
        raise UsageError(f"the kernel has no {space} memory", why=f"it has {', '.join(sorted(m.regions))}")
    if not (0 <= block < m.blocks and 0 <= thread < m.threads):
        raise UsageError(f"there is no thread {thread} of block {block}")
    instance = {"shared": block, "local": block * m.threads + thread}.get(space, 0)
    start, size = address - region.base, count * dtype.itemsize
    if not _mapped(region, start, size, instance):
        raise UsageError(f"{size} bytes at 0x{address:x} of {space} memory are not all mapped")
    begin = instance * region.stride + start
    return region.data[begin : begin + size].copy().view(dtype)


def _mapped(region: Region, start: int, size: int, instance: int) -> bool:
    if start < 0 or size < 0 or start + size > region.stride:
        return False
    first, last = (instance * region.stride + byte >> region.shift for byte in (start, start + max(size, 1) - 1))
    return bool((region.flags[first : last + 1] & MAPPED).all())
