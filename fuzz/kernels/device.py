"""Kernels on the GPU of this machine, compiled by the driver with and without optimisation.

Nothing here is isolated: a kernel that faults or hangs takes its process along, and the caller starts another.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from fuzz.kernels.making import WORDS, Kernel
from fuzz.kernels.memory import ACCUMULATORS
from fuzz.kernels.running import Words, values

#: Optimisation levels of the driver's compiler that kernels are run with.
LEVELS = (0, 3)
_STACK = 16 << 10


class Device:
    """The first GPU. Raises whatever cuda raises when there is none."""

    def __init__(self) -> None:
        from cuda.bindings import driver

        self._driver = driver
        self._call(driver.cuInit, 0)
        device = self._call(driver.cuDeviceGet, 0)
        self._call(driver.cuCtxSetCurrent, self._call(driver.cuDevicePrimaryCtxRetain, device))
        name = self._call(driver.cuDeviceGetName, 64, device)
        self.name = f"{name.split(bytes(1))[0].decode()}, driver {self._call(driver.cuDriverGetVersion)}"
        self._call(driver.cuCtxSetLimit, driver.CUlimit.CU_LIMIT_STACK_SIZE, _STACK)
        self._values = self._upload(values())
        self._memory: dict[int, Any] = {}

    def run(self, kernel: Kernel, level: int, ptx: str = "", words: int = WORDS) -> Words:
        """What `running.run` gives of words, after compiling at an optimisation level. Raises RuntimeError."""
        driver = self._driver
        option = driver.CUjit_option.CU_JIT_OPTIMIZATION_LEVEL
        text = (ptx or kernel.ptx).encode() + b"\0"
        module = self._call(driver.cuModuleLoadDataEx, text, 1, [option], [level])
        try:
            function = self._call(driver.cuModuleGetFunction, module, b"k")
            words *= kernel.threads
            out, cells = self._zeros(0, words * 8), self._zeros(1, kernel.cells)
            sums = self._zeros(2, 8 * len(ACCUMULATORS))
            pointers = [np.array([int(p)], np.uint64) for p in (self._values, out, cells, sums)]
            addresses = np.array([pointer.ctypes.data for pointer in pointers], np.uint64)
            launch = kernel.launch
            self._call(
                driver.cuLaunchKernel, function, *launch.grid, *launch.block, launch.shared_bytes, 0,
                addresses.ctypes.data, 0,
            )  # fmt: skip
            self._call(driver.cuCtxSynchronize)
            found = np.zeros(words + len(ACCUMULATORS), np.uint64)
            self._call(driver.cuMemcpyDtoH, found.ctypes.data, out, words * 8)
            self._call(driver.cuMemcpyDtoH, found.ctypes.data + words * 8, sums, 8 * len(ACCUMULATORS))
            return found
        finally:
            self._call(driver.cuModuleUnload, module)

    def _zeros(self, slot: int, size: int) -> Any:
        """Zeroed memory, kept for the next launch."""
        known = self._memory.get(slot)
        if known is None or known[1] < size:
            known = self._call(self._driver.cuMemAlloc, max(size, 1 << 20)), max(size, 1 << 20)
            self._memory[slot] = known
        self._call(self._driver.cuMemsetD8, known[0], 0, size)
        return known[0]

    def _upload(self, words: Words) -> Any:
        memory = self._call(self._driver.cuMemAlloc, words.nbytes)
        self._call(self._driver.cuMemcpyHtoD, memory, words.ctypes.data, words.nbytes)
        return memory

    def _call(self, function: Any, *arguments: Any) -> Any:
        error, *results = function(*arguments)
        if int(error) != 0:
            raise RuntimeError(f"{function.__name__}: {getattr(error, 'name', error)}")
        return results[0] if results else None


def fingerprint(kernel: Kernel) -> str:
    """Of the text and the launch: a digest is of no use for another kernel."""
    return hashlib.sha256(f"{kernel.launch}{kernel.ptx}".encode()).hexdigest()[:16]
