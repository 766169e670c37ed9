"""The GPU behind the executor protocol, through `cuda.core` in a process of its own.

A kernel that hangs, faults or kills its process costs one worker, never this program. What a GPU cannot
see (reads out of bounds inside the guards, uninitialised reads, races) the emulator sees; what an emulator
can only model, this runs.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import os
import re
import select
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import numpy.typing as npt

from ptxgen.errors import PtxgenError
from ptxgen.executing import gpu_worker
from ptxgen.executing.gpu_arguments import describe, final_buffers, given_bytes, select_entry
from ptxgen.executing.protocol import Argument, Buffer, Fault, FaultKind, Launch, Outcome

#: Seconds a launch may take, loading included.
TIME_LIMIT = 10.0
#: Seconds the worker may take to start: importing cuda and making a context.
START_LIMIT = 120.0

#: Assembles PTX for an architecture ("sm_90") into a cubin, None when it refuses.
Assemble = Callable[[str, str], bytes | None]

_FAULTS: Mapping[str, FaultKind] = {
    "CUDA_ERROR_ILLEGAL_ADDRESS": "out-of-bounds",
    "CUDA_ERROR_MISALIGNED_ADDRESS": "misaligned",
    "CUDA_ERROR_INVALID_ADDRESS_SPACE": "wrong-space",
    "CUDA_ERROR_HARDWARE_STACK_ERROR": "stack-overflow",
    "CUDA_ERROR_LAUNCH_TIMEOUT": "time-limit",
    "CUDA_ERROR_ASSERT": "trap",
}
_TRAPS = frozenset({"CUDA_ERROR_LAUNCH_FAILED", "CUDA_ERROR_ILLEGAL_INSTRUCTION"})
_INSTALL = "install the GPU packages (pip install 'ptxgen-local[gpu]'), or use --executor emulator"


@cache
def gpu_available() -> str | None:
    """The name of the first GPU, None without a driver, a device or cuda-core. Asks the driver's library
    itself, so that nothing of cuda is imported into this process."""
    if importlib.util.find_spec("cuda") is None or importlib.util.find_spec("cuda.core") is None:
        return None
    return _driver_device()


def _driver_device() -> str | None:
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    device = ctypes.c_int()
    name = ctypes.create_string_buffer(256)
    if driver.cuInit(0) or driver.cuDeviceGet(ctypes.byref(device), 0):
        return None
    if driver.cuDeviceGetName(name, len(name), device):
        return None
    return name.value.decode(errors="replace")


class GpuExecutor:
    """Runs kernels on the first GPU. Raises PtxgenError, saying what to install, when there is none.

    `time_limit`: seconds a launch may take. `assemble`: gives the cubin to load instead of letting the
    driver compile the PTX, so that another ptxas or another optimisation level can be tried.
    `command`, `environment`: the worker to start, for tests.
    """

    name = "gpu"

    def __init__(
        self,
        *,
        time_limit: float = TIME_LIMIT,
        assemble: Assemble | None = None,
        command: Sequence[str] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._time_limit = time_limit
        self._assemble = assemble
        # By path and with -P: importing the package around the worker would load what it does not need.
        self._command = list(command or (sys.executable, "-P", str(Path(gpu_worker.__file__))))
        self._environment = dict(environment) if environment is not None else None
        if command is None and gpu_available() is None:
            why = "cuda-core is not installed" if _driver_device() else "no NVIDIA GPU with a driver is here"
            raise PtxgenError("the GPU executor cannot work here", why=why, fix=_INSTALL)
        self._worker: _Worker | None = None
        self.device, self.arch = self._started().device, self._started().arch

    def run(
        self,
        ptx: str,
        entry: str | None,
        launch: Launch,
        arguments: Sequence[Argument],
        *,
        arch: str | None = None,
    ) -> Outcome:
        """See `Executor.run`. `arch` is the target the PTX was written for; the code runs on this device.

        A grid with a zero extent launches nothing and succeeds, as no CUDA call would accept it.
        """
        chosen = select_entry(ptx, entry)
        described, blobs = describe(chosen.parameters, arguments)
        if 0 in launch.grid:
            return Outcome(True, (), final_buffers(arguments, given_bytes(arguments)))
        code, form = self._code(ptx)
        header = {
            "entry": chosen.name,
            "format": form,
            "arguments": described,
            "launch": {"grid": launch.grid, "block": launch.block, "shared_bytes": launch.shared_bytes},
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
            if answer["stage"] not in gpu_worker.HARMLESS_STAGES:
                self.close()
            return self._error(answer, ptx, arguments)
        buffers = final_buffers(arguments, contents)
        faults = [_guard_fault(touched, arguments) for touched in answer["touched"]]
        faults += _read_only_faults(arguments, buffers)
        return Outcome(not faults, tuple(faults), buffers)

    def close(self) -> None:
        """End the worker; the next run starts another."""
        if self._worker is not None:
            self._worker.end()
            self._worker = None

    def _started(self) -> _Worker:
        if self._worker is None or not self._worker.alive:
            self._worker = _Worker(self._command, self._environment)
        return self._worker

    def _code(self, ptx: str) -> tuple[bytes, str]:
        if self._assemble is not None:
            cubin = self._assemble(ptx, self.arch)
            if cubin is not None:
                return cubin, "cubin"
        return ptx.encode() + b"\0", "ptx"

    def _error(self, answer: Mapping[str, Any], ptx: str, arguments: Sequence[Argument]) -> Outcome:
        """The outcome for a CUDA error. Raises PtxgenError where the kernel is not to blame."""
        error, stage, detail = str(answer["error"]), str(answer["stage"]), str(answer["detail"])
        if error == "CUDA_ERROR_UNSUPPORTED_PTX_VERSION":
            raise PtxgenError(
                "the GPU's driver is too old for this kernel's .version",
                why=detail or error,
                fix="lower `ptx` under [target] in the spec, or update the driver",
            )
        if error == "CUDA_ERROR_NO_BINARY_FOR_GPU" or (stage == "load" and "NO_BINARY" in detail):
            raise PtxgenError(f"the kernel's target does not run on this GPU ({self.device}, {self.arch})",
                              why=detail or error, fix="use --executor emulator")
        if stage in ("allocate", "copy in"):
            raise PtxgenError("the GPU could not take the kernel's buffers", why=f"{stage}: {error}",
                              fix="use smaller sizes, or free memory on the GPU")
        kind = _FAULTS.get(error, "launch")
        if error in _TRAPS and re.search(r"\btrap\s*;", ptx):
            kind = "trap"
        words = {"load": "the driver refused the code", "launch": "the launch was refused"}
        message = f"{words.get(stage, 'the kernel failed')}: {detail or error}"
        return _failed(kind, message, arguments)


class WorkerLost(Exception):
    """The worker ended without answering."""


class _Worker:
    """One worker process and the pipes to it. Raises PtxgenError when it finds no GPU."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str] | None) -> None:
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the worker
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, env=environment,
            # Ctrl-C is for this program to handle; the worker is ended by `close`.
            start_new_session=True,
        )
        self.alive = True
        try:
            hello, _ = self._receive(START_LIMIT)
        except (TimeoutError, WorkerLost) as error:
            self.end()
            raise PtxgenError("the GPU process did not start", why=str(error) or "it did not answer",
                              fix=_INSTALL) from error
        except BaseException:
            self.end()
            raise
        if hello["status"] != "ready":
            self.end()
            raise PtxgenError("the GPU executor cannot work here", why=f"{hello['error']}: {hello['detail']}",
                              fix=_INSTALL)
        self.device, self.arch = str(hello["device"]), str(hello["arch"])

    def ask(
        self, header: Mapping[str, Any], blobs: Sequence[bytes], limit: float
    ) -> tuple[dict[str, Any], list[bytes]]:
        """Send one launch, wait for its answer. Raises TimeoutError after `limit` seconds, WorkerLost."""
        assert self._process.stdin is not None
        try:
            gpu_worker.write_message(cast(Any, self._process.stdin), header, blobs)
            return self._receive(limit)
        except OSError as error:
            if isinstance(error, TimeoutError):
                raise
            raise WorkerLost(self._last_words()) from error
        except KeyboardInterrupt:
            # A late answer to this launch must never be taken for the answer to the next.
            self.end()
            raise

    def end(self) -> None:
        self.alive = False
        self._process.kill()
        with contextlib.suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._process.wait()
        self._errors.close()

    def _receive(self, limit: float) -> tuple[dict[str, Any], list[bytes]]:
        deadline = time.monotonic() + limit
        (length,) = struct.unpack("<Q", self._read(8, deadline))
        return gpu_worker.split_message(self._read(length, deadline))

    def _read(self, count: int, deadline: float) -> bytes:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        parts = bytearray()
        while len(parts) < count:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([descriptor], [], [], left)[0]:
                raise TimeoutError
            part = os.read(descriptor, min(count - len(parts), 1 << 20))
            if not part:
                raise WorkerLost(self._last_words())
            parts += part
        return bytes(parts)

    def _last_words(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=5)       # its pipe closes a little before it has ended
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"exit status {self._process.poll()}"


def _failed(kind: FaultKind, message: str, arguments: Sequence[Argument]) -> Outcome:
    """After an error the buffers' contents are unknown: they come back as they were given."""
    return Outcome(False, (Fault(kind, message),), final_buffers(arguments, given_bytes(arguments)))


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
