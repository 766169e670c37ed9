"""Running ptxas on a text: accepted or not, what it says, what the kernel costs."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ptxgen.assembling.messages import Message, parse_figures, parse_messages
from ptxgen.errors import PtxgenError, UsageError

#: seconds one run may take; small kernels take about 0.01
TIME_LIMIT = 60.0
#: ptxas lists every semantic error of a file; more than this of its output is of no use to anyone
_OUTPUT_LIMIT = 1 << 20
_ELF = b"\x7fELF"


class ToolCrashed(PtxgenError):
    """ptxas ended in a way that is neither yes nor no: a signal, a hang, output that cannot be read."""


@dataclass(frozen=True, slots=True)
class Assembly:
    """What one ptxas said of one text for one target. Figures are None where it was not accepted."""

    arch: str
    ok: bool
    registers: int | None            # most a thread of any entry uses, after allocation
    spill_bytes: int | None          # spill stores and loads of all entries
    shared_bytes: int | None         # static shared memory, bytes a block
    messages: tuple[Message, ...]
    cubin: bytes | None


@dataclass(frozen=True, slots=True)
class Ptxas:
    """A ptxas that has been seen to run. `origin` says where it was found, in words."""

    path: Path
    version: str                     # "13.0.88"
    origin: str

    def assemble(self, ptx: str, arch: str, *, optimise: int = 3, time_limit: float = TIME_LIMIT) -> Assembly:
        """Assemble for `arch` (a real target such as "sm_80"), at `-O0` to `-O3`.

        Raises UsageError where `arch` is no real target, ToolCrashed where the tool gives no verdict.
        """
        if not arch.startswith("sm_") or not arch[3:].isalnum():
            # compute_XX makes ptxas parse only, and miss shared memory that is too large, among others
            raise UsageError(f"{arch!r} is no target to assemble for", fix="name a real one, such as sm_80")
        with tempfile.TemporaryDirectory(prefix="ptxgen-") as folder:
            source, target = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
            source.write_text(ptx, encoding="utf-8", errors="surrogateescape", newline="\n")
            command = [
                str(self.path), "-v", "--warn-on-spills", f"-O{optimise}", f"-arch={arch}",
                str(source), "-o", str(target),
            ]  # fmt: skip
            status, output = run_tool(command, time_limit)
            cubin = target.read_bytes() if target.is_file() else b""
        return self._read(arch, status, output, cubin)

    def _read(self, arch: str, status: int, output: str, cubin: bytes) -> Assembly:
        messages = parse_messages(output)
        if status == 0 and cubin.startswith(_ELF):
            figures = parse_figures(output)
            return Assembly(
                arch, True, figures.registers, figures.spill_bytes, figures.shared_bytes, messages, cubin
            )
        # A refusal is an exit status of its own making together with a reason. Anything else is no verdict: a
        # signal (negative here, 128 and up through a shell), success without a cubin, failure without words.
        crashed = status < 0 or (status >= 128 and status != 255)
        if crashed or status == 0 or not any(message.severity != "warning" for message in messages):
            raise ToolCrashed(
                "ptxas gave no verdict",
                where=str(self.path),
                why=_ending(status) + _last_words(output),
                fix="try another ptxas (--ptxas or PTXGEN_PTXAS), or a lower optimisation level",
            )
        return Assembly(arch, False, None, None, None, messages, None)


def run_tool(command: list[str], time_limit: float) -> tuple[int, str]:
    """Exit status (negative: the signal that ended it) and all that was printed.

    The tool runs in a process group of its own, ended as a whole when the time is over or we are interrupted.
    Raises ToolCrashed on a hang; OSError where it cannot be started.
    """
    with tempfile.TemporaryFile() as sink:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            status = process.wait(timeout=time_limit)
        except subprocess.TimeoutExpired:
            raise ToolCrashed(
                f"ptxas did not finish within {time_limit:g} seconds",
                where=command[0],
                fix="try another ptxas (--ptxas or PTXGEN_PTXAS)",
            ) from None
        finally:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        sink.seek(0)
        return status, sink.read(_OUTPUT_LIMIT).decode("utf-8", errors="replace")


def _ending(status: int) -> str:
    number = -status if status < 0 else status - 128
    if status != 255 and (status < 0 or status > 128):
        try:
            return f"ended by signal {number} ({signal.Signals(number).name})"
        except ValueError:
            return f"ended with status {status}"
    if status == 0:
        return "it reported success but wrote no cubin"
    return f"ended with status {status} and no error message"


def _last_words(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    if not lines:
        return ""
    return f"; its last line: {lines[-1][:200]}"
