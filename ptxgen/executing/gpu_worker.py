"""The process that owns the GPU: reads launches from its standard input, answers on its standard output.

It imports numpy and cuda only, so that it starts fast and runs where nothing else of this package is
installed. After any error that leaves the context unusable it answers and ends: its parent starts another. When its
parent is gone it ends at once, whatever the kernel does.

A message is `<u64 length of what follows> <u32 length of the header> <header: JSON> <blobs>`; the header's
`sizes` lists the lengths of the blobs in bytes, little endian throughout.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import re
import select
import struct
import sys
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO, TypeAlias

import numpy as np
import numpy.typing as npt

#: Bytes of guard before and after every buffer. A multiple of 256, so that the natural alignment holds.
GUARD = 65536
#: How many loaded modules are kept.
MODULES_KEPT = 16
#: Bytes of the buffer that the device prints into (what is more than that in one launch is lost), and of its text
#: that are handed on.
PRINT_BUFFER = 1 << 25
PRINTED_KEPT = 1 << 24
#: Bytes of stack a thread for kernels that call, as many as the emulator gives or the device has room for.
STACKS = (16384, 4096)
_LOG = 8192

Bytes = npt.NDArray[np.uint8]
#: Bytes on their way, in whoever's memory.
Blob: TypeAlias = "bytes | memoryview"


def message_parts(header: Mapping[str, Any], blobs: Sequence[Blob]) -> list[Blob]:
    """One message, in pieces to be sent one after the other."""
    head = json.dumps({**header, "sizes": [len(blob) for blob in blobs]}).encode()
    total = 4 + len(head) + sum(len(blob) for blob in blobs)
    return [struct.pack("<QI", total, len(head)) + head, *blobs]


def write_message(stream: BinaryIO, header: Mapping[str, Any], blobs: Sequence[Blob]) -> None:
    """Send one message and flush. Raises OSError when the other side is gone."""
    for part in message_parts(header, blobs):
        stream.write(part)
    stream.flush()


def split_message(body: bytes | bytearray) -> tuple[dict[str, Any], list[Blob]]:
    """Header and blobs of a message without its leading length. Raises ValueError for a broken one."""
    try:
        (length,) = struct.unpack_from("<I", body)
        header = json.loads(body[4 : 4 + length])
        blobs: list[Blob] = []
        at = 4 + length
        for size in header["sizes"]:
            if size < 0:
                raise ValueError(f"{size} bytes announced")
            blobs.append(memoryview(body)[at : at + size])
            at += size
    except (struct.error, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"broken message: {error}") from error
    if at != len(body):
        raise ValueError(f"broken message: {len(body)} bytes, {at} announced")
    return header, blobs


def read_message(stream: BinaryIO) -> tuple[dict[str, Any], list[Blob]] | None:
    """The next message, None at the end of the stream. Raises ValueError for a broken one."""
    start = stream.read(8)
    if not start:
        return None
    if len(start) < 8:
        raise ValueError("broken message: the stream ended inside a length")
    (total,) = struct.unpack("<Q", start)
    body = stream.read(total)
    if len(body) < total:
        raise ValueError("broken message: the stream ended inside a body")
    return split_message(body)


class StageError(Exception):
    """A call of the driver that failed: in which stage, and the driver's own name for it."""

    def __init__(self, stage: str, error: str, detail: str = "") -> None:
        self.stage = stage
        self.error = error
        self.detail = detail
        super().__init__(f"{stage}: {error}: {detail}")


def error_name(error: BaseException) -> str:
    """`CUDA_ERROR_…` from the text of an exception, or the exception's own name."""
    if isinstance(error, StageError):
        return error.error
    found = re.search(r"CUDA_ERROR_[A-Z0-9_]+", str(error))
    return found.group(0) if found else type(error).__name__


class Printed:
    """What kernels print. The driver writes it to descriptor 1, which from now on is a file."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - lives as long as the process
        os.dup2(self._file.fileno(), 1)
        self._libc = ctypes.CDLL(None)

    def take(self) -> str:
        """The text since the last time."""
        self._libc.fflush(None)
        self._file.seek(0)
        text = self._file.read(PRINTED_KEPT) or b""
        self._file.seek(0)
        self._file.truncate()
        return text.decode(errors="replace")


class Gpu:
    """One device and its context. Raises StageError, or whatever loading the driver raises, when there is none."""

    def __init__(self, ordinal: int) -> None:
        from cuda.bindings import driver

        self._driver = driver
        self._call("start", driver.cuInit, 0)
        self._device = self._call("start", driver.cuDeviceGet, ordinal)
        context = self._call("start", driver.cuDevicePrimaryCtxRetain, self._device)
        self._call("start", driver.cuCtxSetCurrent, context)
        driver.cuCtxSetLimit(driver.CUlimit.CU_LIMIT_PRINTF_FIFO_SIZE, PRINT_BUFFER)
        self._stack = 0
        self._modules: OrderedDict[str, Any] = OrderedDict()
        self._before: list[Any] = []
        # Guards are random, and NaN in every float type of registers, odd as integers: what a kernel reads past its
        # buffers is never a plausible number. None of their words is that of -1.
        words = np.random.default_rng(0x6A09E667).integers(0, 7, GUARD // 2, dtype=np.uint16)
        self._guard: Bytes = (0xFFF1 + 2 * words).astype("<u2").view(np.uint8)

    def describe(self) -> dict[str, Any]:
        """Name, compute capability, the driver's version, for reports."""
        kinds = self._driver.CUdevice_attribute
        parts = (
            kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
            kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
        )
        capability = [self._call("start", self._driver.cuDeviceGetAttribute, part, self._device) for part in parts]
        name = self._call("start", self._driver.cuDeviceGetName, 256, self._device)
        return {
            "device": name.split(b"\0")[0].decode(errors="replace"),
            "capability": [int(part) for part in capability],
            "driver": int(self._call("start", self._driver.cuDriverGetVersion)),
        }

    def usable(self) -> bool:
        """Whether the context outlived what went wrong."""
        return int(self._driver.cuCtxSynchronize()[0]) == 0

    def run(self, header: Mapping[str, Any], blobs: Sequence[Blob]) -> tuple[dict[str, Any], list[Blob]]:
        """Launch once. `blobs[0]` is the code, then one blob an argument: the contents of a buffer, the
        bytes of what is passed by value, nothing for an alias. Answers the final contents of the buffers, in order,
        and the arguments whose guards were overwritten. Raises StageError."""
        if header["calls"]:
            self._need_stack()
        code, form = bytes(blobs[0]), str(header["format"])
        module = self._module(code, form, kept=not header["afresh"])
        pointers: dict[int, tuple[Any, int, int]] = {}          # argument: allocation, offset, bytes
        allocated: list[Any] = []
        try:
            try:
                function = self._function(module, str(header["entry"]))
            except StageError as error:
                raise self._explained(error, code, form) from error
            for index, (argument, blob) in enumerate(zip(header["arguments"], blobs[1:], strict=True)):
                if argument["kind"] == "buffer":
                    offset = int(argument["offset"])
                    allocated.append(self._upload(blob, offset))
                    pointers[index] = (allocated[-1], offset, len(blob))
            values: list[Blob] = []
            for index, (argument, blob) in enumerate(zip(header["arguments"], blobs[1:], strict=True)):
                if argument["kind"] == "value":
                    values.append(blob)
                else:
                    allocation, offset, _ = pointers[int(argument.get("index", index))]
                    values.append((int(allocation) + GUARD + offset).to_bytes(8, "little"))
            self._launch(function, header["launch"], values)
            return self._download(pointers)
        finally:
            # The previous launch's memory is given back only now, so that no two launches in a row see
            # the same addresses.
            self._free(allocated)
            if header["afresh"]:
                self._driver.cuLibraryUnload(module)

    def _free(self, kept: Sequence[Any] = ()) -> None:
        for allocation in self._before:
            self._driver.cuMemFree(allocation)
        self._before = list(kept)

    def _need_stack(self) -> None:
        for size in STACKS if not self._stack else ():
            if int(self._driver.cuCtxSetLimit(self._driver.CUlimit.CU_LIMIT_STACK_SIZE, size)[0]) == 0:
                self._stack = size
                break

    def _module(self, code: bytes, form: str, *, kept: bool) -> Any:
        """The loaded code. Its variables are those of the last launch where it is `kept`."""
        key = hashlib.sha256(code).hexdigest() + form
        if kept and key in self._modules:
            self._modules.move_to_end(key)
            return self._modules[key]
        try:
            module = self._call("load", self._driver.cuLibraryLoadData, code, [], [], 0, [], [], 0)
        except StageError as error:
            raise self._explained(error, code, form) from error
        if kept:
            self._modules[key] = module
            if len(self._modules) > MODULES_KEPT:
                self._driver.cuLibraryUnload(self._modules.popitem(last=False)[1])
        return module

    def _explained(self, error: StageError, code: bytes, form: str) -> StageError:
        """With what the driver's compiler says of PTX that it refuses. A library is compiled when its first kernel is
        asked for, and leaves no log; loading the code as a module does."""
        if form != "ptx":
            return error
        options = self._driver.CUjit_option
        log = bytearray(_LOG)
        names = [options.CU_JIT_ERROR_LOG_BUFFER, options.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES]
        status, module = self._driver.cuModuleLoadDataEx(code, len(names), names, [log, len(log)])
        if int(status) == 0:
            self._driver.cuModuleUnload(module)
        said = " ".join(bytes(log).split(b"\0")[0].decode(errors="replace").split())
        return StageError(error.stage, error.error, said)

    def _function(self, module: Any, entry: str) -> Any:
        kernel = self._call("load", self._driver.cuLibraryGetKernel, module, entry.encode())
        return self._call("load", self._driver.cuKernelGetFunction, kernel)

    def _upload(self, data: Blob, offset: int) -> Any:
        shift = np.resize(self._guard, offset)
        image = np.concatenate([self._guard, shift, np.frombuffer(data, dtype=np.uint8), self._guard])
        try:
            allocation = self._call("allocate", self._driver.cuMemAlloc, image.size)
        except StageError:
            if not self._before:
                raise
            self._free()
            allocation = self._call("allocate", self._driver.cuMemAlloc, image.size)
        self._call("copy in", self._driver.cuMemcpyHtoD, allocation, image.ctypes.data, image.size)
        return allocation

    def _launch(self, function: Any, launch: Mapping[str, Any], values: Sequence[Blob]) -> None:
        kinds = self._driver.CUfunction_attribute
        shared = int(launch["shared_bytes"])
        if shared:
            attribute = kinds.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            self._call("launch", self._driver.cuFuncSetAttribute, function, attribute, shared)
        if launch["large_cluster"]:
            attribute = kinds.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
            self._call("launch", self._driver.cuFuncSetAttribute, function, attribute, 1)
        stored = [np.frombuffer(value, dtype=np.uint8) for value in values]
        places = np.array([each.ctypes.data for each in stored], dtype=np.uint64)
        where = places.ctypes.data if values else 0
        self._call(
            "launch", self._driver.cuLaunchKernel, function, *launch["grid"], *launch["block"], shared, 0, where, 0
        )
        self._call("run", self._driver.cuCtxSynchronize)

    def _download(self, pointers: Mapping[int, tuple[Any, int, int]]) -> tuple[dict[str, Any], list[Blob]]:
        touched = []
        contents: list[Blob] = []
        for index, (allocation, offset, size) in pointers.items():
            image = np.empty(2 * GUARD + offset + size, dtype=np.uint8)
            self._call("run", self._driver.cuMemcpyDtoH, image.ctypes.data, allocation, image.size)
            base = GUARD + offset
            contents.append(image[base : base + size].data)
            before = np.flatnonzero(image[:base] != np.concatenate([self._guard, np.resize(self._guard, offset)]))
            after = np.flatnonzero(image[base + size :] != self._guard)
            # Distances in bytes from the buffer's first byte; the first byte after it is at `size`.
            if before.size:
                touched.append({"argument": index, "offset": int(before[-1]) - base})
            if after.size:
                touched.append({"argument": index, "offset": size + int(after[0])})
        return {"status": "done", "touched": touched}, contents

    def _call(self, stage: str, function: Any, *arguments: Any) -> Any:
        """Call the driver, raise StageError unless it succeeded, give its result."""
        error, *results = function(*arguments)
        if int(error) != 0:
            raise StageError(stage, getattr(error, "name", str(error)))
        return results[0] if results else None


def serve(source: BinaryIO, sink: BinaryIO, printed: Printed, ordinal: int) -> None:
    """Say what device there is, then answer launches until the stream ends or the context is lost."""
    try:
        gpu = Gpu(ordinal)
        write_message(sink, {"status": "ready", **gpu.describe()}, [])
    except Exception as error:
        write_message(sink, {"status": "no-gpu", "error": error_name(error), "detail": str(error)}, [])
        return
    while (message := read_message(source)) is not None:
        header, blobs = message
        try:
            answer, contents = gpu.run(header, blobs)
        except StageError as error:
            lost = not gpu.usable()
            answer = {
                "status": "error", "stage": error.stage, "error": error.error, "detail": error.detail, "lost": lost,
                "printed": printed.take(),
            }
            write_message(sink, answer, [])
            if lost:
                return
        else:
            write_message(sink, {**answer, "printed": printed.take()}, contents)


def _end_with_parent() -> None:
    """End this process when the other end of its standard input is closed, even while a kernel hangs."""
    poll = select.poll()
    poll.register(0, 0)
    poll.poll()
    os._exit(0)


def main() -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    pipe = os.fdopen(os.dup(1), "wb")
    serve(sys.stdin.buffer, pipe, Printed(), int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    pipe.flush()
    # Tearing down a lost context can hang; nothing here needs it.
    os._exit(0)


if __name__ == "__main__":
    main()
