"""Executors: launch one kernel over buffers, on the emulator or on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
    unwritten,
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
    "unwritten",
]


def make_executor(
    name: str = "auto", arch: str | Sequence[str] | None = None, *,
    assemble: Callable[[str, str], bytes | None] | None = None,
) -> Executor:
    """The executor of that name; "auto" takes the GPU where there is one and the emulator elsewhere.

    `arch`: the target or targets of the kernels. Of several, a GPU runs the cubin for the one that suits it best,
    made by `assemble` (text and target in, cubin or None out); otherwise what its driver makes of the PTX. The
    emulator's semantics depend on no target. Raises UsageError for another name, PtxgenError when no GPU can be used.
    """
    if name == "emulator":
        from ptxgen.executing.emulator import Emulator

        return Emulator()
    if name not in EXECUTORS:
        raise UsageError(f"there is no executor {name!r}", fix=f"choose one of {', '.join(EXECUTORS)}")
    from ptxgen.executing.gpu import GpuExecutor, gpu_available

    if name == "auto" and gpu_available() is None:
        return make_executor("emulator")
    if assemble is not None and arch is not None and not isinstance(arch, str) and len(arch) > 1:
        return GpuExecutor(assemble=assemble, targets=arch)
    return GpuExecutor()
