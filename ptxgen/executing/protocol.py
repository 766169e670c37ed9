"""What every executor does: launch one kernel over buffers, report faults, give the buffers back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import index
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from ptxgen.errors import UsageError

Dim3 = tuple[int, int, int]

#: The kinds of fault, those of compute-sanitizer's memcheck, racecheck, initcheck and synccheck, and ours.
FaultKind = Literal[
    "out-of-bounds", "misaligned", "wrong-space", "uninitialised-read", "uninitialised-register",
    "race", "barrier", "shuffle", "member-mask", "stack-overflow", "read-only-write",
    "step-limit", "time-limit", "trap", "unsupported", "launch", "guard-band",
]


def three(what: str, numbers: Sequence[int]) -> Dim3:
    """x, y and z as Python's integers. Raises UsageError for anything but three whole numbers; `what` names them."""
    try:
        x, y, z = map(index, numbers)
    except (TypeError, ValueError):
        raise UsageError(
            f"{what} is not three whole numbers: {numbers!r}", fix="write x, y and z, such as (4, 1, 1)"
        ) from None
    return x, y, z


@dataclass(frozen=True, slots=True)
class Launch:
    """Grid in blocks, block in threads, dynamic shared memory in bytes. Integers of NumPy become Python's.

    Raises UsageError where grid or block is not three whole numbers.
    """

    grid: Dim3
    block: Dim3
    shared_bytes: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "grid", three("grid", self.grid))
        object.__setattr__(self, "block", three("block", self.block))
        object.__setattr__(self, "shared_bytes", index(self.shared_bytes))


@dataclass(frozen=True, slots=True)
class Buffer:
    """A pointer argument: global memory that starts as `data` (any shape, C order, copied in). Its bytes
    are taken as they are: a kernel reads a big-endian array's numbers with their bytes reversed.

    `initialised` False means the bytes are poison to be overwritten: reading one is a fault where the
    executor can see it. `read_only` True: a write is a fault. `offset`: bytes by which the base address is
    shifted from the executor's natural 256-byte alignment (a multiple of the element size).
    """

    data: npt.NDArray[np.generic]
    initialised: bool = True
    read_only: bool = False
    offset: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "offset", index(self.offset))


def unwritten(shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> Buffer:
    """A buffer that is not initialised. Its words are NaN in every float type of registers and odd as integers of any
    width, so a kernel that reads them where nobody sees it does not come by right results."""
    kind = np.dtype(dtype)
    count = int(np.prod(shape)) * kind.itemsize
    words = np.full(-(-count // 2), 0xFFF5, "<u2").view(np.uint8)[:count]
    return Buffer(words.view(kind).reshape(shape), initialised=False)


@dataclass(frozen=True, slots=True)
class Scalar:
    """A by-value argument of PTX type `type` ("u32", "f32", "f16", ...)."""

    type: str
    value: int | float


@dataclass(frozen=True, slots=True)
class Alias:
    """The same buffer as argument `index`."""

    index: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "index", index(self.index))


@dataclass(frozen=True, slots=True)
class Value:
    """A by-value argument of several numbers, such as a structure: the bytes of `data`, in C order."""

    data: npt.NDArray[np.generic]


Argument = Buffer | Scalar | Alias | Value


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault, at the first place it was seen. `line` is 1-based in the PTX text, 0 if unknown."""

    kind: FaultKind
    message: str
    line: int = 0
    block: Dim3 | None = None
    thread: Dim3 | None = None
    address: int | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """`buffers` holds the final contents for each argument, None for scalars. `instructions` counts
    thread-instructions, 0 where the executor cannot. `printed` is what the kernel gave to printf, where the executor
    sees that."""

    ok: bool
    faults: tuple[Fault, ...]
    buffers: tuple[npt.NDArray[np.generic] | None, ...]
    instructions: int = 0
    printed: str = ""


class Executor(Protocol):
    """Runs kernels. `name` is "emulator" or "gpu"."""

    name: str

    def run(
        self, ptx: str, entry: str | None, launch: Launch, arguments: Sequence[Argument], *, arch: str | None = None
    ) -> Outcome:
        """Launch `entry` (None: the only one) of `ptx` once.

        Faults of the kernel come back in the Outcome; PtxgenError is raised for what the caller did wrong
        (no such entry, wrong argument count or type) or for an executor that cannot work.
        """
        ...

    def close(self) -> None: ...
