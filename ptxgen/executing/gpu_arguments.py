"""Arguments on their way to the GPU process: checked against the kernel's signature, turned into bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ptxgen.executing.checking import (
    WIDTHS,
    Demands,
    check_arguments,
    check_buffers,
    demands_of,
    find_entry,
)
from ptxgen.executing.gpu_worker import Blob
from ptxgen.executing.protocol import Alias, Argument, Buffer, Scalar, Value
from ptxgen.ptx import parse
from ptxgen.ptx.tree import Block, Function, Module, Statement, Variable

_DTYPES = {"f16": "<f2", "f32": "<f4", "f64": "<f8"}


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry, and what its module asks of a launch.

    `target` is the module's "sm_…"; `variables`: it has variables in global memory, which begin afresh with every
    launch; `calls`: it needs a stack for calls; `allocates`: it takes memory from the device's heap.
    """

    name: str
    parameters: tuple[Variable, ...]
    demands: Demands
    target: str
    variables: bool
    calls: bool
    allocates: bool


@lru_cache(maxsize=32)
def select_entry(ptx: str, name: str | None) -> Entry:
    """The entry called `name`, or the only one. Raises UsageError, PtxSyntaxError."""
    module = parse(ptx)
    entry = find_entry(module, name)
    target = next((word for word in module.target if word.startswith("sm_")), "")
    functions = [item for item in module.items if isinstance(item, Function) and item.kind == "func"]
    return Entry(
        entry.name, entry.params, demands_of(entry), target,
        variables=any(variable.space == "global" for variable in _variables(module)),
        calls=any(function.body is not None for function in functions) or re.search(r"\balloca\b", ptx) is not None,
        allocates=any(function.name == "malloc" for function in functions),
    )


def _variables(module: Module) -> Iterator[Variable]:
    for item in module.items:
        if isinstance(item, Variable):
            yield item
        elif isinstance(item, Function):
            yield from _declared(item.body or ())


def _declared(statements: Sequence[Statement]) -> Iterator[Variable]:
    for statement in statements:
        if isinstance(statement, Variable):
            yield statement
        elif isinstance(statement, Block):
            yield from _declared(statement.statements)


def pack_scalar(scalar: Scalar) -> bytes:
    """The little-endian bytes of a by-value argument, rounded to nearest even; of a packed type both halves are the
    value."""
    kind, value = scalar.type, scalar.value
    halves = 2 if kind.endswith("x2") else 1
    kind = kind.removesuffix("x2")
    if kind in _DTYPES:
        with np.errstate(over="ignore"):
            return np.array(float(value), dtype=_DTYPES[kind]).tobytes() * halves
    if kind == "bf16":
        return _bfloat16(float(value)).to_bytes(2, "little") * halves
    bits = WIDTHS[kind]
    return (int(value) & (1 << bits) - 1).to_bytes(bits // 8, "little")


def _bfloat16(value: float) -> int:
    """Rounded once: by way of a float32 that is rounded to odd. Every NaN is the canonical one."""
    if value != value:
        return 0x7FFF
    with np.errstate(over="ignore"):
        single = np.float32(value)
    bits = int(single.view(np.uint32))
    if float(single) != value:
        bits = (bits - 1 if abs(float(single)) > abs(value) else bits) | 1
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 & 0xFFFF


def describe(entry: Entry, arguments: Sequence[Argument]) -> tuple[list[dict[str, Any]], list[Blob]]:
    """What the worker is told of each argument, and its bytes. Raises UsageError where they do not fit the
    signature."""
    check_buffers(arguments)
    check_arguments(entry.name, entry.parameters, arguments)
    described: list[dict[str, Any]] = []
    blobs: list[Blob] = []
    for argument in arguments:
        if isinstance(argument, Buffer):
            blobs.append(_bytes_of(argument.data))
            described.append({"kind": "buffer", "offset": argument.offset})
        elif isinstance(argument, Alias):
            blobs.append(b"")
            described.append({"kind": "alias", "index": argument.index})
        else:
            blobs.append(argument.data.tobytes() if isinstance(argument, Value) else pack_scalar(argument))
            described.append({"kind": "value"})
    return described, blobs


def _bytes_of(data: npt.NDArray[np.generic]) -> Blob:
    """The array in C order, without a copy where it is so already."""
    return np.ascontiguousarray(data).reshape(-1).view(np.uint8).data


def given_bytes(arguments: Sequence[Argument]) -> list[Blob]:
    """The contents every buffer was given with, in order."""
    return [_bytes_of(argument.data) for argument in arguments if isinstance(argument, Buffer)]


def final_buffers(
    arguments: Sequence[Argument], contents: Sequence[Blob]
) -> tuple[npt.NDArray[np.generic] | None, ...]:
    """Final contents for each argument, in the shape and type it was given with; None for what is passed by value.
    `contents` holds the bytes of each buffer, in order."""
    remaining = iter(contents)
    arrays = {
        number: np.frombuffer(next(remaining), dtype=argument.data.dtype).reshape(argument.data.shape).copy()
        for number, argument in enumerate(arguments)
        if isinstance(argument, Buffer)
    }
    return tuple(
        arrays.get(argument.index if isinstance(argument, Alias) else number)
        for number, argument in enumerate(arguments)
    )
