"""Executors: launch one kernel over buffers, on the emulator or on a GPU."""

from __future__ import annotations

from ptxgen.errors import UsageError
from ptxgen.executing.protocol import (
    Alias,
    Argument,
    Buffer,
    Dim3,
    Executor,
    Fault,
    FaultKind,
    Launch,
    Outcome,
    Scalar,
    Value,
)

EXECUTORS = ("auto", "emulator", "gpu")

__all__ = [
    "EXECUTORS",
    "Alias",
    "Argument",
    "Buffer",
    "Dim3",
    "Executor",
    "Fault",
    "FaultKind",
    "Launch",
    "Outcome",
    "Scalar",
    "Value",
    "make_executor",
]


def make_executor(name: str = "auto", arch: str | None = None) -> Executor:
    """The executor of that name; "auto" takes the GPU where there is one and the emulator elsewhere.

    `arch` is accepted for every executor: the emulator's semantics do not depend on the target, and the GPU runs
    what its driver can load. Raises UsageError for another name, PtxgenError when no GPU can be used.
    """
    del arch
    if name == "emulator":
        from ptxgen.executing.emulator import Emulator

        return Emulator()
    if name not in EXECUTORS:
        raise UsageError(f"there is no executor {name!r}", fix=f"choose one of {', '.join(EXECUTORS)}")
    from ptxgen.executing.gpu import GpuExecutor, gpu_available

    if name == "auto" and gpu_available() is None:
        return make_executor("emulator")
    return GpuExecutor()
