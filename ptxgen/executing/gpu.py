"""The GPU behind the executor protocol, through CUDA's driver in a process of its own. See docs/gpu.md.

A kernel that hangs, faults or kills its process costs one worker, never this program. What a GPU cannot
see (reads out of bounds inside the guards, uninitialised reads, races) the emulator sees; what an emulator
can only model, this runs.
"""

from __future__ import annotations

import ctypes
import importlib.util
import math
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ptxgen.errors import PtxgenError
from ptxgen.executing import gpu_worker
from ptxgen.executing.checking import refused_launch
from ptxgen.executing.gpu_arguments import Entry, describe, final_buffers, given_bytes, select_entry
from ptxgen.executing.gpu_process import INSTALL, Worker, WorkerLost
from ptxgen.executing.gpu_targets import Code, arch_of, best
from ptxgen.executing.protocol import Argument, Buffer, Dim3, Fault, FaultKind, Launch, Outcome

#: Seconds a launch may take, loading included.
TIME_LIMIT = 10.0

#: Assembles PTX for an architecture ("sm_90") into a cubin, None when it refuses.
Assemble = Callable[[str, str], bytes | None]

#: Blocks of a cluster that any device with clusters takes.
_SMALL_CLUSTER = 8

#: What the driver says of a kernel that it stopped; the rest, such as LAUNCH_FAILED, is a trap.
_FAULTS: Mapping[str, FaultKind] = {
    "CUDA_ERROR_ILLEGAL_ADDRESS": "out-of-bounds",
    "CUDA_ERROR_MISALIGNED_ADDRESS": "misaligned",
    "CUDA_ERROR_INVALID_ADDRESS_SPACE": "wrong-space",
    "CUDA_ERROR_INVALID_PC": "out-of-bounds",
    "CUDA_ERROR_HARDWARE_STACK_ERROR": "stack-overflow",
    "CUDA_ERROR_LAUNCH_TIMEOUT": "time-limit",
}
#: Errors that no kernel causes.
_MACHINE = frozenset({
    "CUDA_ERROR_ECC_UNCORRECTABLE", "CUDA_ERROR_NVLINK_UNCORRECTABLE", "CUDA_ERROR_DEVICE_UNAVAILABLE",
    "CUDA_ERROR_DEINITIALIZED", "CUDA_ERROR_SYSTEM_NOT_READY", "CUDA_ERROR_JIT_COMPILER_NOT_FOUND",
})  # fmt: skip
_ASSERTION = re.compile(
    r"block: \[(\d+),(\d+),(\d+)\], thread: \[(\d+),(\d+),(\d+)\] Assertion `(.*)` failed", re.DOTALL
)


class Missing(NamedTuple):
    """Why no GPU can be used, and what to do about it."""

    why: str
    fix: str


def gpu_available() -> str | None:
    """The name of the first GPU, None without a driver, a device or cuda-bindings."""
    found = first_device()
    return found if isinstance(found, str) else None


@cache
def first_device() -> str | Missing:
    """The name of the first GPU, or what is missing. Asks the driver's library itself, so that nothing of cuda is
    imported into this process."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        fix = "use --executor emulator, or a machine with an NVIDIA GPU and its driver"
        return Missing("there is no NVIDIA driver (libcuda.so.1)", fix)
    device = ctypes.c_int()
    name = ctypes.create_string_buffer(256)
    error = driver.cuInit(0) or driver.cuDeviceGet(ctypes.byref(device), 0)
    error = error or driver.cuDeviceGetName(name, len(name), device)
    if error:
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        hint = "" if visible is None else f"; CUDA_VISIBLE_DEVICES is {visible!r}"
        fix = "see what nvidia-smi says, or use --executor emulator"
        return Missing(f"the NVIDIA driver shows no device (CUDA error {error}{hint})", fix)
    if importlib.util.find_spec("cuda") is None or importlib.util.find_spec("cuda.bindings") is None:
        return Missing("there is a GPU, but cuda-bindings is not installed", INSTALL)
    return name.value.decode(errors="replace")


class GpuExecutor:
    """Runs kernels on a GPU. Raises PtxgenError, saying what to install, when there is none.

    `time_limit`: seconds a launch may take. `assemble`: gives the cubin to load instead of letting the
    driver compile the PTX, so that another ptxas or another optimisation level can be tried. `targets`: what it can
    be asked for; the one that fits the device best is (`gpu_targets.best`), and PTX where none does. Without targets
    that is the device's own. `device`: its number among those that CUDA_VISIBLE_DEVICES leaves.
    `command`, `environment`: the worker to start, for tests.
    """

    name = "gpu"

    def __init__(
        self,
        *,
        time_limit: float = TIME_LIMIT,
        assemble: Assemble | None = None,
        targets: Sequence[str] = (),
        device: int = 0,
        command: Sequence[str] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._time_limit = time_limit
        self._assemble = assemble
        self._targets = tuple(targets)
        # By path and with -P: importing the package around the worker would load what it does not need.
        self._command = [*(command or (sys.executable, "-P", str(Path(gpu_worker.__file__)))), str(device)]
        self._environment = dict(environment) if environment is not None else None
        if command is None and isinstance(missing := first_device(), Missing):
            raise PtxgenError("the GPU executor cannot work here", why=missing.why, fix=missing.fix)
        self._worker: Worker | None = None
        worker = self._started()
        self.device, self.capability, self.driver = worker.device, worker.capability, worker.driver
        self.arch = arch_of(self.capability)

    def run(
        self,
        ptx: str,
        entry: str | None,
        launch: Launch,
        arguments: Sequence[Argument],
        *,
        arch: str | None = None,
    ) -> Outcome:
        """See `Executor.run`. `arch` changes nothing: the code runs on this device, whatever it was written for."""
        chosen = select_entry(ptx, entry)
        described, blobs = describe(chosen, arguments)
        refused = refused_launch(chosen.demands, launch)
        if refused:
            return _failed("launch", refused, arguments)
        code, form = self._code(ptx, chosen)
        header = {
            "entry": chosen.name,
            "format": form,
            "arguments": described,
            "launch": {
                "grid": launch.grid, "block": launch.block, "shared_bytes": launch.shared_bytes,
                "large_cluster": math.prod(chosen.demands.cluster or (1,)) > _SMALL_CLUSTER,
            },
            "afresh": chosen.variables,
            "calls": chosen.calls,
        }
        try:
            answer, contents = self._started().ask(header, [code, *blobs], self._time_limit)
        except TimeoutError:
            self.close()
            return _failed("time-limit", f"the kernel did not end within {self._time_limit:g} s", arguments)
        except WorkerLost as error:
            self.close()
            return _failed("launch", f"the GPU process died during the launch: {error}", arguments)
        if answer["status"] == "error":
            return self._error(answer, arguments)
        if chosen.allocates:
            self.close()                        # what was never freed stays in the heap of the process
        buffers = final_buffers(arguments, contents)
        faults = [_guard_fault(touched, arguments) for touched in answer["touched"]]
        faults += _read_only_faults(arguments, buffers)
        return Outcome(not faults, tuple(faults), buffers, printed=str(answer["printed"]))

    def close(self) -> None:
        """End the worker; the next run starts another."""
        if self._worker is not None:
            self._worker.end()
            self._worker = None

    def _started(self) -> Worker:
        if self._worker is None or not self._worker.alive:
            self._worker = Worker(self._command, self._environment)
        return self._worker

    def _code(self, ptx: str, entry: Entry) -> tuple[bytes, str]:
        """The code for this device and its form, "cubin" or "ptx". Raises PtxgenError where none runs here."""
        text = Code(entry.target, "ptx")
        own = entry.target if entry.target.endswith(("a", "f")) else self.arch
        cubins = [Code(name, "cubin") for name in self._targets or (own,)] if self._assemble is not None else []
        while (chosen := best([*cubins, text], self.capability)) is not None and chosen != text:
            assert self._assemble is not None
            cubin = self._assemble(ptx, chosen.target)
            if cubin is not None:
                return cubin, "cubin"
            cubins.remove(chosen)
        if chosen is None:
            there = ", ".join([*(f"a cubin for {code.target}" for code in cubins), f"PTX for {text.target}"])
            major, minor = self.capability
            raise PtxgenError(
                f"nothing of this kernel runs on this GPU ({self.device}, compute capability {major}.{minor})",
                why=f"there is: {there}",
                fix=f"write it for {self.arch} or an older target, or use --executor emulator",
            )
        return ptx.encode() + b"\0", "ptx"

    def _error(self, answer: Mapping[str, Any], arguments: Sequence[Argument]) -> Outcome:
        """The outcome for a CUDA error. Raises PtxgenError where the kernel is not to blame."""
        error, stage, detail = str(answer["error"]), str(answer["stage"]), str(answer["detail"])
        said = self._worker.complaints() if self._worker is not None else ""
        if answer["lost"]:
            self.close()
        if error == "CUDA_ERROR_UNSUPPORTED_PTX_VERSION":
            raise PtxgenError(
                "the GPU's driver is too old for this kernel's .version",
                why=detail or f"the driver is that of CUDA {self.driver // 1000}.{self.driver % 1000 // 10}",
                fix="lower `ptx` under [target] in the spec, or update the driver",
            )
        if stage in ("allocate", "copy in") or error == "CUDA_ERROR_OUT_OF_MEMORY":
            raise PtxgenError("the GPU has no room for this launch", why=f"{stage}: {error}",
                              fix="use smaller sizes, or free memory on the GPU (nvidia-smi shows who has it)")
        if error in _MACHINE:
            raise PtxgenError("the GPU cannot run anything now", why=f"{stage}: {error}",
                              fix="see what nvidia-smi says, or use --executor emulator")
        words = {"load": "the driver refused the code", "launch": "the launch was refused"}
        message = f"{words.get(stage, 'the kernel failed')}: {f'{error}: {detail}' if detail else error}"
        kind: FaultKind = "launch" if stage in words else _FAULTS.get(error, "trap")
        if error == "CUDA_ERROR_ASSERT" and (found := _ASSERTION.search(said)):
            message, block, thread = f"an assertion failed: {found[7]}", _three(found, 1), _three(found, 4)
            fault = Fault(kind, message, block=block, thread=thread)
        else:
            fault = Fault(kind, message)
        return _stopped(fault, arguments, str(answer["printed"]))


def _three(found: re.Match[str], first: int) -> Dim3:
    x, y, z = (int(found[number]) for number in range(first, first + 3))
    return x, y, z


def _failed(kind: FaultKind, message: str, arguments: Sequence[Argument]) -> Outcome:
    return _stopped(Fault(kind, message), arguments, "")


def _stopped(fault: Fault, arguments: Sequence[Argument], printed: str) -> Outcome:
    """After an error the buffers' contents are unknown: they come back as they were given."""
    return Outcome(False, (fault,), final_buffers(arguments, given_bytes(arguments)), printed=printed)


def _guard_fault(touched: Mapping[str, Any], arguments: Sequence[Argument]) -> Fault:
    index, offset = int(touched["argument"]), int(touched["offset"])
    buffer = arguments[index]
    assert isinstance(buffer, Buffer)
    size = buffer.data.nbytes
    where = f"{-offset} bytes before its start" if offset < 0 else f"at byte {offset} of its {size}"
    return Fault("guard-band", f"a write outside argument {index}, {where}")


def _read_only_faults(
    arguments: Sequence[Argument], buffers: Sequence[npt.NDArray[np.generic] | None]
) -> list[Fault]:
    faults = []
    for index, (argument, after) in enumerate(zip(arguments, buffers, strict=True)):
        if not (isinstance(argument, Buffer) and argument.read_only) or after is None:
            continue
        given = np.frombuffer(argument.data.tobytes(), dtype=np.uint8)
        changed = np.flatnonzero(given != np.frombuffer(after.tobytes(), dtype=np.uint8))
        if changed.size:
            element = int(changed[0]) // argument.data.dtype.itemsize
            message = f"argument {index} is read-only; element {element} was changed"
            faults.append(Fault("read-only-write", message))
    return faults
