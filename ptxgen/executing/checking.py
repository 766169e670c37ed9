"""What every executor checks before a launch: the entry, its arguments, the sizes of grid and block."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ptxgen.errors import UsageError
from ptxgen.executing.protocol import Alias, Argument, Buffer, Dim3, Launch, Scalar, Value
from ptxgen.ptx.tree import Function, Module, Variable

MOST_THREADS = 1024
LARGEST_BLOCK = (1024, 1024, 64)
LARGEST_GRID = (2**31 - 1, 65535, 65535)
#: Blocks of a cluster that every target with clusters has room for, and the most with the opt-in of some.
LARGEST_CLUSTER = 16

#: Width in bits of the types that a parameter, and so a `Scalar`, can have. Opaque ones are handles.
WIDTHS: Mapping[str, int] = {
    "b8": 8, "b16": 16, "b32": 32, "b64": 64, "b128": 128, "u8": 8, "u16": 16, "u32": 32, "u64": 64,
    "s8": 8, "s16": 16, "s32": 32, "s64": 64, "f16": 16, "bf16": 16, "f16x2": 32, "bf16x2": 32, "f32": 32, "f64": 64,
    "texref": 64, "samplerref": 64, "surfref": 64,
}
_FLOATS = frozenset({"f16", "bf16", "f16x2", "bf16x2", "f32", "f64"})


def find_entry(module: Module, name: str | None) -> Function:
    """The entry of that name, or the only one. Raises UsageError."""
    entries = module.entries()
    names = ", ".join(entry.name for entry in entries)
    if name is None:
        if len(entries) == 1:
            return entries[0]
        if not entries:
            raise UsageError("the PTX text has no .entry", fix="give a kernel to run")
        raise UsageError("the PTX text has several entries", why=names, fix="name one of them with --entry")
    for entry in entries:
        if entry.name == name:
            return entry
    raise UsageError(f"the PTX text has no entry {name!r}", why=f"it has {names or 'none'}")


def dimensions(entry: Function, name: str) -> Dim3 | None:
    """The numbers of a directive such as `.reqntid 32, 2`, ones where they are left out; None without it."""
    for directive in entry.directives:
        if directive.name == name:
            numbers = [int(word) for word in re.findall(r"\d+", directive.text.partition(name)[2])]
            x, y, z = (*numbers, 1, 1, 1)[:3]
            return x, y, z
    return None


# ---------------------------------------------------------------- arguments


def check_buffers(arguments: Sequence[Argument]) -> None:
    """Raises UsageError for arguments that no kernel could take."""
    for number, argument in enumerate(arguments):
        if not isinstance(argument, Buffer | Scalar | Alias | Value):
            raise UsageError(
                f"argument {number} is of the type {type(argument).__name__}",
                why="arguments are Buffer, Scalar, Alias or Value",
                fix='write Buffer(array) for a pointer, Scalar("u32", 5) for a number',
            )
        if isinstance(argument, Buffer | Value):
            _check_data(number, argument.data)
        if isinstance(argument, Alias) and not (
            0 <= argument.index < len(arguments) and isinstance(arguments[argument.index], Buffer)
        ):
            raise UsageError(f"argument {number} is the same as argument {argument.index}, which is no buffer")
        if isinstance(argument, Buffer) and argument.offset < 0:
            raise UsageError(f"argument {number} has a negative offset")


def _check_data(number: int, data: object) -> None:
    """Raises UsageError for what is no array of numbers."""
    if not isinstance(data, np.ndarray):
        raise UsageError(
            f"argument {number} holds no NumPy array, but a {type(data).__name__}",
            fix="write np.array(…, dtype=np.float32), or whichever type the kernel reads",
        )
    if data.dtype.hasobject:
        raise UsageError(f"argument {number} holds Python objects, not numbers")


def check_arguments(name: str, params: Sequence[Variable], arguments: Sequence[Argument]) -> None:
    """Raises UsageError for a count or a type that the kernel does not take."""
    if len(arguments) != len(params):
        names = ", ".join(param.name for param in params) or "none"
        raise UsageError(
            f"{name} takes {len(params)} arguments, not {len(arguments)}", why=f"its parameters: {names}"
        )
    for number, (param, argument) in enumerate(zip(params, arguments, strict=True)):
        size = parameter_bytes(param)
        if isinstance(argument, Scalar):
            _check_scalar(param, number, argument)
        elif isinstance(argument, Value):
            if argument.data.nbytes != size:
                raise UsageError(f"argument {number} has {argument.data.nbytes} bytes, but {param.name} takes {size}")
        elif size != 8 or param.type in _FLOATS:
            raise UsageError(
                f"argument {number} is a buffer, but {param.name} takes .{param.type}", why="addresses have 64 bits",
                fix="declare the parameter .u64; code for addresses of 32 bits cannot run" if size == 4 else "",
            )


def parameter_bytes(param: Variable) -> int:
    """Bytes of a parameter, arrays whole. Raises UsageError for a type that no parameter has."""
    if param.type not in WIDTHS:
        raise UsageError(f"the parameter {param.name} has the type .{param.type}, which no argument has")
    lanes = 4 if param.vector == 3 else param.vector
    return WIDTHS[param.type] // 8 * lanes * math.prod(extent or 0 for extent in param.dimensions)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.generic) and not isinstance(value, str | bytes)


def _check_scalar(param: Variable, number: int, argument: Scalar) -> None:
    if argument.type not in WIDTHS or argument.type.endswith("ref"):
        raise UsageError(f"argument {number} has the unknown type {argument.type!r}")
    bits, size = WIDTHS[argument.type], parameter_bytes(param)
    if bits // 8 != size:
        raise UsageError(f"argument {number} is {argument.type}, but {param.name} takes .{param.type} ({size} bytes)")
    if not _is_number(argument.value):
        raise UsageError(f"argument {number}: {argument.value!r} is no {argument.type}")
    floating = argument.type in _FLOATS
    if floating != (param.type in _FLOATS) and not param.type.startswith("b"):
        raise UsageError(f"argument {number} is {argument.type}, but {param.name} takes .{param.type}")
    if not floating:
        value = int(argument.value) if isinstance(argument.value, int) or np.isfinite(argument.value) else 1 << 128
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if argument.type[0] == "s" else (0, (1 << bits) - 1)
        if value != argument.value or not low <= value <= high:
            raise UsageError(f"argument {number}: {argument.value} is no {argument.type}")


# ---------------------------------------------------------------- sizes


@dataclass(frozen=True, slots=True)
class Demands:
    """What an entry's directives demand of its launches; None where they say nothing."""

    exact_block: Dim3 | None = None                    # .reqntid
    largest_block: Dim3 | None = None                  # .maxntid
    cluster: Dim3 | None = None                        # .reqnctapercluster
    explicit_cluster: bool = False                     # .explicitcluster


def demands_of(entry: Function) -> Demands:
    """The directives of an entry that bind its launches."""
    return Demands(
        dimensions(entry, "reqntid"), dimensions(entry, "maxntid"), dimensions(entry, "reqnctapercluster"),
        any(directive.name == "explicitcluster" for directive in entry.directives),
    )


def refused_launch(demands: Demands, launch: Launch) -> str:
    """Why no device would take this launch, whatever the kernel does; "" where one would."""
    grid, block, cluster = launch.grid, launch.block, demands.cluster
    threads = math.prod(block)
    if min(block) < 1 or min(grid) < 1:
        return f"grid {grid} of blocks {block} has no threads"
    if threads > MOST_THREADS or any(n > most for n, most in zip(block, LARGEST_BLOCK, strict=True)):
        return f"a block of {block} is larger than {MOST_THREADS} threads or {LARGEST_BLOCK}"
    if any(n > most for n, most in zip(grid, LARGEST_GRID, strict=True)):
        return f"a grid of {grid} is larger than {LARGEST_GRID}"
    if launch.shared_bytes < 0:
        return f"{launch.shared_bytes} bytes of dynamic shared memory"
    if demands.exact_block is not None and block != demands.exact_block:
        return f"blocks of {block}, but the kernel requires {demands.exact_block} (.reqntid)"
    if demands.largest_block is not None and threads > math.prod(demands.largest_block):
        return f"blocks of {threads} threads, but the kernel allows {demands.largest_block} (.maxntid)"
    if cluster is None and demands.explicit_cluster:
        return "the kernel needs clusters of a size that is given with the launch (.explicitcluster)"
    if cluster is not None and any(c < 1 or g % c for g, c in zip(grid, cluster, strict=True)):
        return f"a grid of {grid} is no multiple of clusters of {cluster} (.reqnctapercluster)"
    if cluster is not None and math.prod(cluster) > LARGEST_CLUSTER:
        return f"clusters of {cluster} have more than {LARGEST_CLUSTER} blocks"
    return ""
