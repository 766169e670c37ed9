"""The process that compute-sanitizer watches: launches the kernels of a plan one after the other.

    python -P worker.py PLAN.json

It imports the CUDA packages only. On standard output it says `ready`, then `begin N` and `end N STATUS` for each
kernel by its number in the plan; `STATUS` is `done` or the driver's name for the error. It ends with exit status 3
after an error that leaves the context unusable, and the kernels that are left have not run.
"""

from __future__ import annotations

import base64
import json
import re
import sys
from pathlib import Path
from typing import Any

#: Bytes of stack a thread: as many as the emulator gives, or what the device has room for.
STACKS = (16384, 4096)


def _error_name(error: BaseException) -> str:
    found = re.search(r"CUDA_ERROR_[A-Z0-9_]+", str(error))
    return found.group(0) if found else type(error).__name__


class Driver:
    """The first device, one stream."""

    def __init__(self) -> None:
        import cuda.core
        import numpy as np
        from cuda.bindings import driver

        self._core, self._np, self._driver = cuda.core, np, driver
        device = cuda.core.Device(0)
        device.set_current()
        self._stream = device.create_stream()
        for stack in STACKS:
            if int(driver.cuCtxSetLimit(driver.CUlimit.CU_LIMIT_STACK_SIZE, stack)[0]) == 0:
                break

    def launch(self, job: dict[str, Any]) -> str:
        """Allocate, fill, launch, wait, free; the status."""
        try:
            code = Path(job["code"]).read_bytes()
            core = self._core.ObjectCode
            loaded = core.from_cubin(code) if job["format"] == "cubin" else core.from_ptx(code + b"\0")
            kernel = loaded.get_kernel(job["entry"])
            allocated, values = self._arguments(job["arguments"])
            config = self._core.LaunchConfig(
                grid=tuple(job["grid"]), block=tuple(job["block"]), shmem_size=job["shared_bytes"]
            )
            self._core.launch(self._stream, config, kernel, *values)
            self._stream.sync()
            for allocation in allocated:
                self._call(self._driver.cuMemFree, allocation)
        except Exception as error:
            return _error_name(error)
        return "done"

    def usable(self) -> bool:
        """Whether the context outlived what went wrong."""
        return int(self._driver.cuCtxSynchronize()[0]) == 0

    def _arguments(self, arguments: list[dict[str, Any]]) -> tuple[list[Any], list[Any]]:
        """(allocations, values to launch with). A buffer is an allocation of just its size, so that the tools know
        its bounds; what is not initialised is never written to."""
        allocated: list[Any] = []
        values: list[Any] = []
        for argument in arguments:
            data = base64.b64decode(argument["data"])
            if argument["kind"] == "scalar":
                values.append(self._np.frombuffer(data, dtype=f"<u{len(data)}")[0])
                continue
            offset = argument["offset"]
            allocation = self._call(self._driver.cuMemAlloc, offset + len(data))
            allocated.append(allocation)
            values.append(int(allocation) + offset)
            if argument["initialised"]:
                source = self._np.frombuffer(data, dtype=self._np.uint8)
                self._call(self._driver.cuMemcpyHtoD, values[-1], source.ctypes.data, len(data))
        return allocated, values

    @staticmethod
    def _call(function: Any, *arguments: Any) -> Any:
        error, *results = function(*arguments)
        if int(error) != 0:
            raise RuntimeError(getattr(error, "name", str(error)))
        return results[0] if results else None


def main() -> int:
    jobs = json.loads(Path(sys.argv[1]).read_text(encoding="ascii"))
    try:
        driver = Driver()
    except Exception as error:
        print(f"no-gpu {_error_name(error)}: {error}".splitlines()[0], flush=True)
        return 2
    print("ready", flush=True)
    for number, job in enumerate(jobs):
        print(f"begin {number}", flush=True)
        status = driver.launch(job)
        print(f"end {number} {status}", flush=True)
        if status != "done" and not driver.usable():
            return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
