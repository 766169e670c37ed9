"""The process that owns the GPU, as its parent sees it: started, asked, waited for, ended."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import struct
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import IO, Any

from ptxgen.errors import PtxgenError
from ptxgen.executing import gpu_worker
from ptxgen.executing.gpu_worker import Blob

#: Seconds the worker may take to start: importing cuda and making a context.
START_LIMIT = 120.0
#: Seconds without a byte going through after which a worker that is sent something counts as dead.
STALL_LIMIT = 30.0
#: Bytes that a pipe holds, where the system lets it.
_PIPE = 1 << 20
#: Bytes an answer may have besides the contents of the buffers; what is printed can grow sixfold on its way.
_ANSWER = 8 * gpu_worker.PRINTED_KEPT

INSTALL = "install the GPU packages (pip install 'ptxgen-local[gpu]'), or use --executor emulator"
#: What to do when the worker cannot begin, by the driver's name for the error.
_FIXES: Mapping[str, str] = {
    "CUDA_ERROR_NO_DEVICE": "look at CUDA_VISIBLE_DEVICES and nvidia-smi, or use --executor emulator",
    "CUDA_ERROR_INVALID_DEVICE": "choose a device that nvidia-smi lists, or use --executor emulator",
    "CUDA_ERROR_OUT_OF_MEMORY": "free memory on the GPU (nvidia-smi shows who has it), or use --executor emulator",
    "CUDA_ERROR_DEVICE_UNAVAILABLE": "wait for the process that has the GPU, or use --executor emulator",
    "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH": "restart the machine after the driver's update, or use --executor emulator",
    "RuntimeError": "update the driver to what cuda-bindings needs, or use --executor emulator",
}


class WorkerLost(Exception):
    """The worker ended without answering, or what it answered makes no sense."""


class Worker:
    """One worker process and the pipes to it. Raises PtxgenError when it finds no GPU."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str] | None) -> None:
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the worker
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, env=environment, bufsize=0,
            # Ctrl-C is for this program to handle; the worker is ended by `end`, or when this program is gone.
            start_new_session=True,
        )
        assert self._process.stdin is not None
        os.set_blocking(self._process.stdin.fileno(), False)
        for pipe in (self._process.stdin, self._process.stdout):
            _widen(pipe)
        self.alive = True
        try:
            hello, _ = self._receive(START_LIMIT, 0)
        except (TimeoutError, WorkerLost) as error:
            self.end()
            raise PtxgenError(
                "the GPU process did not start", why=str(error) or "it did not answer", fix=INSTALL
            ) from error
        except BaseException:
            self.end()
            raise
        if hello.get("status") != "ready":
            self.end()
            name, detail = str(hello.get("error")), str(hello.get("detail"))
            why = detail if name in detail else f"{name}: {detail}"
            raise PtxgenError("the GPU executor cannot work here", why=why, fix=_FIXES.get(name, INSTALL))
        self.device = str(hello["device"])
        major, minor = hello["capability"]
        self.capability = int(major), int(minor)
        self.driver = int(hello["driver"])

    def ask(
        self, header: Mapping[str, Any], blobs: Sequence[Blob], limit: float
    ) -> tuple[dict[str, Any], list[Blob]]:
        """Send one launch, wait for its answer and the contents of its buffers. Raises TimeoutError after `limit`
        seconds, WorkerLost."""
        try:
            self._send(gpu_worker.message_parts(header, blobs))
            answer, contents = self._receive(limit, sum(len(blob) for blob in blobs))
            kinds = [argument["kind"] for argument in header["arguments"]]
            wanted = [len(blob) for kind, blob in zip(kinds, blobs[1:], strict=True) if kind == "buffer"]
            if answer["status"] == "done" and [len(each) for each in contents] != wanted:
                raise WorkerLost(f"broken message: {len(contents)} buffers for {len(wanted)}, or of other sizes")
            return answer, contents
        except OSError as error:
            if isinstance(error, TimeoutError):
                raise
            raise WorkerLost(self._last_words()) from error
        except WorkerLost:
            raise
        except BaseException:
            # A late answer to this launch must never be taken for the answer to the next.
            self.end()
            raise

    def complaints(self) -> str:
        """All that the worker, and the driver in it, wrote to standard error."""
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace")

    def end(self) -> None:
        """Kill the process; nothing of it is left when this returns."""
        self.alive = False
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        self._process.wait()
        self._errors.close()

    def _send(self, parts: Sequence[Blob]) -> None:
        assert self._process.stdin is not None
        descriptor = self._process.stdin.fileno()
        for part in parts:
            rest = memoryview(part)
            while rest:
                if not select.select([], [descriptor], [], STALL_LIMIT)[1]:
                    raise WorkerLost(f"it took nothing for {STALL_LIMIT:g} s")
                with contextlib.suppress(BlockingIOError):
                    rest = rest[os.write(descriptor, rest[: 1 << 20]) :]

    def _receive(self, limit: float, contents: int) -> tuple[dict[str, Any], list[Blob]]:
        deadline = time.monotonic() + limit
        (length,) = struct.unpack("<Q", self._read(8, deadline))
        if length > contents + _ANSWER:
            raise WorkerLost(f"its answer begins with a length of {length} bytes")
        body = self._read(length, deadline)
        try:
            header, blobs = gpu_worker.split_message(body)
        except ValueError as error:
            raise WorkerLost(str(error)) from error
        if header.get("status") not in ("ready", "no-gpu", "done", "error"):
            raise WorkerLost("broken message: it says nothing that a worker says")
        return header, blobs

    def _read(self, count: int, deadline: float) -> bytearray:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        whole = bytearray(count)
        rest = memoryview(whole)
        while rest:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([descriptor], [], [], left)[0]:
                raise TimeoutError
            got = os.readv(descriptor, [rest])
            if not got:
                raise WorkerLost(self._last_words())
            rest = rest[got:]
        return whole

    def _last_words(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=5)       # its pipe closes a little before it has ended
        status = self._process.poll()
        if status is not None and status < 0:
            return f"ended by {signal.Signals(-status).name}"
        lines = self.complaints().strip().splitlines()
        return lines[-1] if lines else f"exit status {status}"


def _widen(pipe: IO[bytes] | None) -> None:
    """Let a pipe hold more, where the system has that and allows it."""
    with contextlib.suppress(OSError, AttributeError, ImportError):
        import fcntl

        if pipe is not None:
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE)
