"""Arguments on their way to the GPU process: checked against the kernel's signature, turned into bytes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ptxgen.errors import UsageError
from ptxgen.executing.protocol import Alias, Argument, Buffer, Scalar, Value
from ptxgen.ptx import parse
from ptxgen.ptx.tree import Variable

_DTYPES = {"f16": "<f2", "f32": "<f4", "f64": "<f8"}


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry and the size of each of its parameters in bytes."""

    name: str
    parameters: tuple[int, ...]


@lru_cache(maxsize=32)
def select_entry(ptx: str, name: str | None) -> Entry:
    """The entry called `name`, or the only one. Raises UsageError, PtxSyntaxError."""
    entries = {entry.name: entry for entry in parse(ptx).entries()}
    if name is None:
        if len(entries) != 1:
            raise UsageError(
                f"the PTX has {len(entries)} entries",
                why=", ".join(entries) or "there is no `.entry`",
                fix="name one with --entry" if entries else "",
            )
        (name,) = entries
    if name not in entries:
        raise UsageError(f"the PTX has no entry {name!r}", why=f"its entries: {', '.join(entries) or 'none'}")
    return Entry(name, tuple(_size(parameter) for parameter in entries[name].params))


def _size(parameter: Variable) -> int:
    width = int("".join(c for c in parameter.type if c.isdigit()) or "64") // 8
    return width * parameter.vector * math.prod(extent or 0 for extent in parameter.dimensions)


def pack_scalar(scalar: Scalar) -> bytes:
    """The little-endian bytes of a by-value argument. Raises UsageError for a value its type cannot hold."""
    kind, value = scalar.type, scalar.value
    try:
        if kind in _DTYPES:
            with np.errstate(over="ignore"):
                return np.array(value, dtype=_DTYPES[kind]).tobytes()
        if kind == "bf16":
            return _bfloat16(float(value)).to_bytes(2, "little")
        size = int(kind[1:]) // 8
        return int(value).to_bytes(size, "little", signed=value < 0)
    except (OverflowError, ValueError) as error:
        raise UsageError(f"the value {value!r} does not fit the type {kind!r}", why=str(error)) from error


def _bfloat16(value: float) -> int:
    """Round to nearest even, by way of float32; NaN stays a NaN."""
    with np.errstate(over="ignore"):
        bits = int(np.array(value, dtype="<f4").view("<u4"))
    if (bits & 0x7FFFFFFF) > 0x7F800000:
        return (bits >> 16) | 0x40
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16) & 0xFFFF


def describe(
    parameters: Sequence[int], arguments: Sequence[Argument]
) -> tuple[list[dict[str, Any]], list[bytes]]:
    """What the worker is told of each argument, and its bytes. Raises UsageError where they do not fit the
    signature (`parameters`: the size of each in bytes)."""
    if len(parameters) != len(arguments):
        raise UsageError(f"the kernel takes {len(parameters)} arguments, {len(arguments)} were given")
    described: list[dict[str, Any]] = []
    blobs: list[bytes] = []
    for index, (size, argument) in enumerate(zip(parameters, arguments, strict=True)):
        width = 8
        if isinstance(argument, Buffer):
            if argument.offset < 0:
                raise UsageError(f"argument {index} has a negative offset")
            blobs.append(argument.data.tobytes())
            described.append({"kind": "buffer", "offset": argument.offset})
        elif isinstance(argument, Alias):
            if not (0 <= argument.index < index and isinstance(arguments[argument.index], Buffer)):
                raise UsageError(f"argument {index} repeats {argument.index}, which is no earlier buffer")
            blobs.append(b"")
            described.append({"kind": "alias", "index": argument.index})
        else:
            blobs.append(argument.data.tobytes() if isinstance(argument, Value) else pack_scalar(argument))
            described.append({"kind": "scalar"})
            width = len(blobs[-1])
        if width != size:
            raise UsageError(f"argument {index} has {width} bytes, the kernel's parameter has {size}")
    return described, blobs


def given_bytes(arguments: Sequence[Argument]) -> list[bytes]:
    """The contents every buffer was given with, in order."""
    return [argument.data.tobytes() for argument in arguments if isinstance(argument, Buffer)]


def final_buffers(
    arguments: Sequence[Argument], contents: Sequence[bytes]
) -> tuple[npt.NDArray[np.generic] | None, ...]:
    """Final contents for each argument, in the shape and type it was given with; None for scalars.
    `contents` holds the bytes of each buffer, in order."""
    remaining = iter(contents)
    final: list[npt.NDArray[np.generic] | None] = []
    for argument in arguments:
        if isinstance(argument, Buffer):
            data = np.frombuffer(next(remaining), dtype=argument.data.dtype)
            final.append(data.reshape(argument.data.shape).copy())
        else:
            final.append(final[argument.index] if isinstance(argument, Alias) else None)
    return tuple(final)
