"""The same kernels under compute-sanitizer: its four tools, several kernels a process, several processes at once.

Kernels are assembled with the line of the PTX text at every instruction, so that reports name it; reports are told
apart by the kernel's name or its file's. A kernel that does not end costs its process, and the rest go on in another.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from bench.planted import worker
from bench.planted.kernels import Planted
from ptxgen.errors import PtxgenError
from ptxgen.executing.gpu_arguments import describe, select_entry

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
_OPTIONS: dict[str, tuple[str, ...]] = {
    "memcheck": ("--report-api-errors", "no"),
    "racecheck": ("--racecheck-deadlock-timeout", "3000"),
    "initcheck": (), "synccheck": (),
}
#: Seconds: for a process to start, for one kernel, for everything.
START_LIMIT, KERNEL_LIMIT, WHOLE_LIMIT = 60.0, 8.0, 210.0
PROCESSES = 8
_KERNELS_A_PROCESS = 12
_TRIES = 3
_INSTRUCTION = re.compile(r"\t(?:@|[a-z])")
_LINE_OF_REPORT = re.compile(r"^=========( *)(.*)$")


@dataclass(frozen=True)
class Job:
    """One variant of one kernel, under a name of its own."""

    kernel: Planted
    twin: bool

    @property
    def entry(self) -> str:
        """The name that the entry has in the assembled file."""
        return self.kernel.entry + ("__twin" if self.twin else "__faulty")

    def text(self) -> str:
        """The PTX under that name, with every instruction's line."""
        text = self.kernel.twin if self.twin else self.kernel.faulty
        lines: list[str] = []
        for number, line in enumerate(text.splitlines(), 1):
            if _INSTRUCTION.match(line):
                lines.append(f"\t.loc 1 {number} 1")
            lines.append(line)
        lines.append(f'.file 1 "{self.entry}.ptx"')
        return "\n".join(lines).replace(f".entry {self.kernel.entry}(", f".entry {self.entry}(") + "\n"


@dataclass(frozen=True)
class Report:
    """What a tool said of a kernel: the first line of it, the lines of the PTX text and the thread it names."""

    words: str
    lines: tuple[int, ...]
    thread: tuple[int, int] | None             # block and thread, x of each


@dataclass(frozen=True)
class Seen:
    """One job under one tool. `status`: "done", an error of the driver, "hangs", "died" or "not run"."""

    status: str
    reports: tuple[Report, ...] = ()


def find_sanitizer() -> str:
    """The path of compute-sanitizer. Raises PtxgenError."""
    places = [shutil.which("compute-sanitizer"), "/usr/local/cuda/bin/compute-sanitizer"]
    if os.environ.get("CUDA_HOME"):
        places.append(os.environ["CUDA_HOME"] + "/bin/compute-sanitizer")
    for place in places:
        if place and os.access(place, os.X_OK):
            return place
    raise PtxgenError(
        "compute-sanitizer is not here", why="neither on PATH nor in CUDA_HOME nor in /usr/local/cuda",
        fix="install the CUDA toolkit (pip install nvidia-cuda-sanitizer-api), or leave --sanitizer out",
    )


def _arguments(job: Job) -> list[dict[str, Any]]:
    chosen = select_entry(job.kernel.faulty, None)
    described, blobs = describe(chosen, job.kernel.arguments)
    made = []
    for given, argument, blob in zip(described, job.kernel.arguments, blobs, strict=True):
        made.append({
            "kind": "buffer" if given["kind"] == "buffer" else "scalar",
            "data": base64.b64encode(blob).decode(),
            "offset": getattr(argument, "offset", 0), "initialised": getattr(argument, "initialised", True),
        })
    return made


def prepare(jobs: Sequence[Job], folder: Path, arch: str) -> list[dict[str, Any]]:
    """Each job as the worker takes it, assembled without optimisation where ptxas is there, else as PTX text. Raises
    PtxgenError where ptxas refuses a kernel."""
    ptxas = shutil.which("ptxas") or shutil.which("/usr/local/cuda/bin/ptxas")

    def one(job: Job) -> dict[str, Any]:
        source, cubin = folder / f"{job.entry}.ptx", folder / f"{job.entry}.cubin"
        source.write_text(job.text(), encoding="ascii")
        if ptxas is not None:
            command = [ptxas, "-O0", "-lineinfo", f"-arch={arch}", "-o", str(cubin), str(source)]
            made = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
            if made.returncode != 0:
                raise PtxgenError(f"ptxas refuses {job.entry}", why=made.stderr.strip(), fix="mend the kernel")
        launch = job.kernel.launch
        return {
            "entry": job.entry, "code": str(source if ptxas is None else cubin),
            "format": "ptx" if ptxas is None else "cubin", "grid": launch.grid, "block": launch.block,
            "shared_bytes": launch.shared_bytes, "arguments": _arguments(job),
        }

    with ThreadPoolExecutor(PROCESSES) as pool:
        return list(pool.map(one, jobs))


# ---------------------------------------------------------------- reading reports


def read_reports(log: str, names: Sequence[str]) -> dict[str, list[Report]]:
    """The log's reports by the kernel that they name, by itself or by its file."""
    found: dict[str, list[Report]] = {}
    for block in _blocks(log):
        whole = "\n".join(block)
        # A report can name several: a name within another's is no match, as names end where words do.
        name = next((name for name in names if re.search(rf"\b{name}\b", whole)), None)
        if name is None:
            continue
        lines = tuple(sorted({int(line) for line in re.findall(rf"{name}\.ptx:(\d+)", whole)}))
        who = re.search(r"by thread \((\d+),\d+,\d+\) in block \((\d+),\d+,\d+\)", whole)
        thread = (int(who.group(2)), int(who.group(1))) if who else None
        found.setdefault(name, []).append(Report(block[0], lines, thread))
    return found


def _blocks(log: str) -> Iterator[list[str]]:
    """Lines that begin right after the mark begin a report; those set in go on with it."""
    block: list[str] = []
    for text in log.splitlines():
        match = _LINE_OF_REPORT.match(text)
        if match is None or not match.group(2):
            continue
        if len(match.group(1)) <= 1 and block:
            yield block
            block = []
        block.append(match.group(2))
    if block:
        yield block


# ---------------------------------------------------------------- running


class _Running:
    """One process of the worker under a tool, read line by line."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._rest = b""

    def line(self, limit: float) -> str | None:
        """The next line, None at the end. Raises TimeoutError."""
        assert self._process.stdout is not None
        deadline = time.monotonic() + limit
        while b"\n" not in self._rest:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._process.stdout], [], [], left)[0]:
                raise TimeoutError
            part = os.read(self._process.stdout.fileno(), 65536)
            if not part:
                return None
            self._rest += part
        text, self._rest = self._rest.split(b"\n", 1)
        return text.decode(errors="replace")

    def end(self, patience: float) -> None:
        """Wait a little for what the tool has still to write, then end the whole group."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(patience)
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._process.wait()


def _run_some(
    command: Sequence[str], plan: Sequence[dict[str, Any]], folder: Path, number: int, deadline: float
) -> tuple[list[str], str]:
    """(statuses of the plan's first kernels, the tool's log) of one process. Raises PtxgenError where the worker
    finds no GPU."""
    path, log = folder / f"plan-{number}.json", folder / f"log-{number}.txt"
    path.write_text(json.dumps(plan), encoding="ascii")
    port = 49152 + 32 * (number % 256)
    running = _Running([
        *command, "--port", str(port), "--log-file", str(log), sys.executable, "-P", worker.__file__, str(path),
    ])
    statuses: list[str] = []
    open_job = False
    limit, patience = START_LIMIT, 10.0
    try:
        while (text := running.line(max(0.1, min(limit, deadline - time.monotonic())))) is not None:
            if text.startswith("begin "):
                open_job, limit = True, KERNEL_LIMIT
            elif text.startswith("end "):
                statuses.append(text.split()[2])
                open_job, limit = False, START_LIMIT
            elif text.startswith("no-gpu"):
                raise PtxgenError("the kernels cannot run here", why=text, fix="run on a machine with a GPU")
        if open_job:
            statuses.append("died")
    except TimeoutError:
        patience = 0.0
        if open_job:
            statuses.append("not run" if time.monotonic() >= deadline else "hangs")
    finally:
        running.end(patience)
    words = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
    return statuses, words


def _run_tool(
    sanitizer: str, tool: str, jobs: Sequence[Job], plans: Sequence[dict[str, Any]], folder: Path,
    numbers: Iterator[int], deadline: float,
) -> dict[tuple[str, str], Seen]:
    """All these jobs under one tool, in as many processes as it takes, one after the other. Raises PtxgenError where
    none of them can start."""
    command = [
        sanitizer, "--tool", tool, *_OPTIONS[tool], "--print-limit", "0", "--show-backtrace", "device",
        "--destroy-on-device-error", "kernel",
    ]
    seen: dict[tuple[str, str], Seen] = {}
    left = list(zip(jobs, plans, strict=True))
    tries = 0
    while left:
        if time.monotonic() >= deadline:
            seen.update({(job.entry, tool): Seen("not run") for job, _ in left})
            break
        statuses, log = _run_some(command, [plan for _, plan in left], folder, next(numbers), deadline)
        tries = 0 if statuses else tries + 1
        if tries == _TRIES and not seen:
            raise PtxgenError(
                "a process under compute-sanitizer ran no kernel", why=log.strip()[:400] or "it said nothing",
                fix="run `compute-sanitizer python -c pass` to see what is wrong",
            )
        if tries == _TRIES:
            seen.update({(job.entry, tool): Seen("not run") for job, _ in left})
            break
        ran = [job for job, _ in left[: len(statuses)]]
        reports = read_reports(log, [job.entry for job in ran])
        for job, status in zip(ran, statuses, strict=True):
            seen[job.entry, tool] = Seen(status, tuple(reports.get(job.entry, ())))
        left = left[len(statuses) :]
    return seen


def _chunks(jobs: Sequence[Job]) -> Iterator[tuple[str, list[Job]]]:
    """Who runs together. Kernels that never end take their process with them, whatever the tool: once is enough."""
    for twin in (False, True):
        for tool in TOOLS:
            some = [
                job for job in jobs
                if job.twin == twin and (twin or tool == "memcheck" or job.kernel.kind != "step-limit")
            ]
            size = _KERNELS_A_PROCESS * (2 if twin else 1)
            for begin in range(0, len(some), size):
                yield tool, some[begin : begin + size]


def examine(kernels: Sequence[Planted], arch: str) -> dict[tuple[str, str], Seen]:
    """Both variants of every kernel under every tool, by (entry, tool). Raises PtxgenError."""
    sanitizer = find_sanitizer()
    jobs = [Job(kernel, twin) for kernel in kernels for twin in (False, True)]
    deadline = time.monotonic() + WHOLE_LIMIT
    numbers = count()
    seen: dict[tuple[str, str], Seen] = {}
    with tempfile.TemporaryDirectory(prefix="planted-") as name:
        folder = Path(name)
        plans = {plan["entry"]: plan for plan in prepare(jobs, folder, arch)}
        with ThreadPoolExecutor(PROCESSES) as pool:
            waiting = []
            for tool, some in _chunks(jobs):
                chosen = [plans[job.entry] for job in some]
                waiting.append(pool.submit(_run_tool, sanitizer, tool, some, chosen, folder, numbers, deadline))
            for done in waiting:
                seen.update(done.result())
    return seen
