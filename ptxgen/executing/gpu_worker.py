"""The process that owns the GPU: reads launches from its standard input, answers on its standard output.

It imports numpy and cuda only, so that it starts fast and runs where nothing else of this package is
installed. After any error that leaves the context unusable it answers and ends: its parent starts another.

A message is `<u64 length of what follows> <u32 length of the header> <header: JSON> <blobs>`; the header's
`sizes` lists the lengths of the blobs in bytes, little endian throughout.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import struct
import sys
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

#: Bytes of guard before and after every buffer. A multiple of 256, so that the natural alignment holds.
GUARD = 65536
#: How many loaded kernels are kept.
KERNELS_KEPT = 16

Bytes = npt.NDArray[np.uint8]


def write_message(stream: BinaryIO, header: Mapping[str, Any], blobs: Sequence[bytes]) -> None:
    """Send one message and flush. Raises OSError when the other side is gone."""
    head = json.dumps({**header, "sizes": [len(blob) for blob in blobs]}).encode()
    total = 4 + len(head) + sum(len(blob) for blob in blobs)
    stream.write(struct.pack("<QI", total, len(head)) + head)
    for blob in blobs:
        stream.write(blob)
    stream.flush()


def split_message(body: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """Header and blobs of a message without its leading length. Raises ValueError for a broken one."""
    try:
        (length,) = struct.unpack_from("<I", body)
        header = json.loads(body[4 : 4 + length])
        blobs = []
        at = 4 + length
        for size in header["sizes"]:
            blobs.append(body[at : at + size])
            at += size
    except (struct.error, KeyError, TypeError) as error:
        raise ValueError(f"broken message: {error}") from error
    if at != len(body):
        raise ValueError(f"broken message: {len(body)} bytes, {at} announced")
    return header, blobs


def read_message(stream: BinaryIO) -> tuple[dict[str, Any], list[bytes]] | None:
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
    """A CUDA call that failed: in which stage, and the driver's own name for it."""

    def __init__(self, stage: str, error: str, detail: str) -> None:
        self.stage = stage
        self.error = error
        self.detail = detail
        super().__init__(f"{stage}: {error}: {detail}")


def error_name(error: BaseException) -> str:
    """`CUDA_ERROR_…` from the text of an exception of cuda.core, or the exception's own name."""
    found = re.search(r"CUDA_ERROR_[A-Z0-9_]+", str(error))
    return found.group(0) if found else type(error).__name__


class Gpu:
    """The first device, its context and one stream. Raises whatever cuda raises when there is none."""

    def __init__(self) -> None:
        import cuda.core
        from cuda.bindings import driver

        self._core = cuda.core
        self._driver = driver
        self._device = cuda.core.Device(0)
        self._device.set_current()
        self._stream = self._device.create_stream()
        self._kernels: OrderedDict[str, Any] = OrderedDict()
        self._before: list[Any] = []
        # Random guards: what a kernel reads past its buffers is garbage rather than a plausible zero.
        self._guard: Bytes = np.random.default_rng(0x6A09E667).integers(0, 256, GUARD, dtype=np.uint8)

    def describe(self) -> dict[str, Any]:
        """Name, architecture and driver version, for reports."""
        major, minor = self._device.compute_capability
        return {
            "device": self._device.name,
            "arch": f"sm_{major}{minor}",
            "driver": self._call("start", self._driver.cuDriverGetVersion),
        }

    def run(self, header: Mapping[str, Any], blobs: Sequence[bytes]) -> tuple[dict[str, Any], list[bytes]]:
        """Launch once. `blobs[0]` is the code, then one blob an argument: the contents of a buffer, the
        bytes of a scalar, nothing for an alias. Answers the final contents of the buffers, in order, and
        the arguments whose guards were overwritten. Raises StageError."""
        kernel = self._kernel(blobs[0], str(header["format"]), str(header["entry"]))
        pointers: dict[int, tuple[Any, int, int]] = {}          # argument: allocation, base, bytes
        values: list[Any] = []
        allocated: list[Any] = []
        try:
            for index, (argument, blob) in enumerate(zip(header["arguments"], blobs[1:], strict=True)):
                if argument["kind"] == "buffer":
                    offset = int(argument["offset"])
                    allocation = self._upload(blob, offset)
                    allocated.append(allocation)
                    pointers[index] = (allocation, offset, len(blob))
                    values.append(int(allocation) + GUARD + offset)
                elif argument["kind"] == "alias":
                    values.append(values[int(argument["index"])])
                else:
                    values.append(np.frombuffer(blob, dtype=f"<u{len(blob)}")[0])
            self._launch(kernel, header["launch"], values)
            return self._download(pointers)
        finally:
            # The previous launch's memory is given back only now, so that no two launches in a row see
            # the same addresses.
            for allocation in self._before:
                self._driver.cuMemFree(allocation)
            self._before = allocated

    def _kernel(self, code: bytes, form: str, entry: str) -> Any:
        key = hashlib.sha256(code).hexdigest() + form + entry
        if key in self._kernels:
            self._kernels.move_to_end(key)
            return self._kernels[key]
        try:
            load = self._core.ObjectCode.from_cubin if form == "cubin" else self._core.ObjectCode.from_ptx
            kernel = load(code).get_kernel(entry)
        except Exception as error:
            raise StageError("load", error_name(error), str(error)) from error
        self._kernels[key] = kernel
        if len(self._kernels) > KERNELS_KEPT:
            self._kernels.popitem(last=False)
        return kernel

    def _upload(self, data: bytes, offset: int) -> Any:
        before = self._guard if offset == 0 else np.concatenate([self._guard, self._guard[:offset]])
        image = np.concatenate([before, np.frombuffer(data, dtype=np.uint8), self._guard])
        allocation = self._call("allocate", self._driver.cuMemAlloc, image.size)
        self._call("copy in", self._driver.cuMemcpyHtoD, allocation, image.ctypes.data, image.size)
        return allocation

    def _launch(self, kernel: Any, launch: Mapping[str, Any], values: Sequence[Any]) -> None:
        shared = int(launch["shared_bytes"])
        if shared > 49152:
            attribute = self._driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            self._call("launch", self._driver.cuKernelSetAttribute, attribute, shared, kernel.handle, 0)
        try:
            config = self._core.LaunchConfig(
                grid=tuple(launch["grid"]), block=tuple(launch["block"]), shmem_size=shared
            )
            self._core.launch(self._stream, config, kernel, *values)
        except Exception as error:
            raise StageError("launch", error_name(error), str(error)) from error
        try:
            self._stream.sync()
        except Exception as error:
            raise StageError("run", error_name(error), str(error)) from error

    def _download(self, pointers: Mapping[int, tuple[Any, int, int]]) -> tuple[dict[str, Any], list[bytes]]:
        touched = []
        contents = []
        for index, (allocation, offset, size) in pointers.items():
            image = np.empty(2 * GUARD + offset + size, dtype=np.uint8)
            self._call("run", self._driver.cuMemcpyDtoH, image.ctypes.data, allocation, image.size)
            base = GUARD + offset
            contents.append(image[base : base + size].tobytes())
            before = np.flatnonzero(image[:GUARD] != self._guard)
            shift = np.flatnonzero(image[GUARD:base] != self._guard[:offset])
            after = np.flatnonzero(image[base + size :] != self._guard)
            # Distances in bytes from the buffer's first byte; the first byte after it is at `size`.
            if before.size or shift.size:
                nearest = int(shift[-1]) - offset if shift.size else int(before[-1]) - base
                touched.append({"argument": index, "offset": nearest})
            elif after.size:
                touched.append({"argument": index, "offset": size + int(after[0])})
        return {"status": "done", "touched": touched}, contents

    def _call(self, stage: str, function: Any, *arguments: Any) -> Any:
        """Call the driver, raise StageError unless it succeeded, give its result."""
        error, *results = function(*arguments)
        if int(error) != 0:
            raise StageError(stage, getattr(error, "name", str(error)), "")
        return results[0] if results else None


#: Stages after which the context can still be trusted.
HARMLESS_STAGES = ("load", "allocate", "launch")


def serve(source: BinaryIO, sink: BinaryIO) -> None:
    """Say what device there is, then answer launches until the stream ends or the context is lost."""
    try:
        gpu = Gpu()
        write_message(sink, {"status": "ready", **gpu.describe()}, [])
    except Exception as error:
        write_message(sink, {"status": "no-gpu", "error": error_name(error), "detail": str(error)}, [])
        return
    while (message := read_message(source)) is not None:
        header, blobs = message
        try:
            answer, contents = gpu.run(header, blobs)
        except StageError as error:
            answer = {"status": "error", "stage": error.stage, "error": error.error, "detail": error.detail}
            write_message(sink, answer, [])
            if error.stage not in HARMLESS_STAGES:
                return
        else:
            write_message(sink, answer, contents)


def main() -> None:
    # A kernel's own printf writes to descriptor 1: keep the pipe to ourselves and send that to stderr.
    pipe = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(sys.stdin.buffer, pipe)
    pipe.flush()
    # Tearing down a lost context can hang; nothing here needs it.
    os._exit(0)


if __name__ == "__main__":
    main()
