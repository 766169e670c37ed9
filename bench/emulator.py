"""How fast the emulator is: `python -m bench.emulator [--largest N] [--kernel NAME] [--stepping] [--json FILE]`.

Each kernel runs over 2^10 threads and four times as many, up to `--largest`, each size in a process of its own,
beside NumPy doing the same mathematics. `--stepping` measures appended statements instead.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench.emulator_kernels import HEAD, KERNELS
from bench.emulator_work import Work
from ptxgen.executing import Launch
from ptxgen.executing.emulator import Emulator, Stepper

_SMALLEST = 1 << 10
#: Threads of the launch before the measured one, which decodes the kernel.
_WARMING = 1 << 8
_REPEATS = 3
#: Seconds from which on a launch is run once.
_LONG = 2.0


@dataclass(frozen=True, slots=True)
class Figure:
    """Seconds are the process's own (nothing else it waited for) of the fastest of three runs, of long ones of one;
    bytes are the growth of the process's peak."""

    kernel: str
    threads: int
    instructions: int
    seconds: float
    numpy_seconds: float
    bytes_a_thread: float


def _fastest(run: Callable[[], Any], repeats: int = _REPEATS) -> float:
    seconds = []
    for _ in range(repeats):
        begin = time.process_time()
        run()
        seconds.append(time.process_time() - begin)
    return min(seconds)


def _peak() -> int:
    """Bytes of the largest resident size so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure(name: str, threads: int) -> Figure:
    """One kernel over so many threads, in this process. Raises RuntimeError where the emulator finds a fault or gives
    something else than NumPy."""
    work: Work = KERNELS[name](threads)
    emulator = Emulator(time_limit=600.0, step_limit=1 << 40)
    small = KERNELS[name](_WARMING)
    emulator.run(small.ptx, None, small.launch, small.arguments)
    before, begin = _peak(), time.process_time()
    outcome = emulator.run(work.ptx, None, work.launch, work.arguments)
    seconds, grown = time.process_time() - begin, _peak() - before
    if not outcome.ok:
        raise RuntimeError(f"{name}: {outcome.faults[0]}")
    expected, found = work.numpy(), outcome.buffers[work.output]
    assert found is not None
    if not np.allclose(found, expected, rtol=work.tolerance, atol=work.tolerance / 10):
        raise RuntimeError(f"{name}: not what NumPy gives")
    if seconds < _LONG:
        seconds = _fastest(lambda: emulator.run(work.ptx, None, work.launch, work.arguments))
    return Figure(name, threads, outcome.instructions, seconds, _fastest(work.numpy), grown / threads)


def _in_a_process(name: str, threads: int) -> Figure:
    command = [sys.executable, "-m", "bench.emulator", "--one", name, str(threads)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise RuntimeError(f"{name}, {threads} threads: {done.stderr.strip().splitlines()[-1:]}")
    return Figure(**json.loads(done.stdout))


def measure_all(largest: int, names: Iterable[str]) -> Iterator[Figure]:
    """These kernels at every size up to `largest` threads."""
    for name in names:
        threads = _SMALLEST
        while threads <= largest:
            print(f"{name}, {threads} threads", file=sys.stderr, flush=True)
            yield _in_a_process(name, threads)
            threads *= 4


def table(figures: Iterable[Figure]) -> Iterator[str]:
    """Markdown. Growth is the time against that of a quarter of the threads: 4 is linear."""
    yield from (
        "| kernel | threads | thread-instructions | seconds | million a second | growth | bytes a thread |"
        " NumPy, ms |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    )
    before: Figure | None = None
    for figure in figures:
        grown = before is not None and before.kernel == figure.kernel
        growth = f"{figure.seconds / before.seconds:.1f}" if grown and before is not None else ""
        yield (
            f"| {figure.kernel} | {figure.threads:,} | {figure.instructions:,} | {figure.seconds:.4f} |"
            f" {figure.instructions / figure.seconds / 1e6:.1f} | {growth} | {figure.bytes_a_thread:.0f} |"
            f" {figure.numpy_seconds * 1e3:.3f} |"
        )
        before = figure


# ---------------------------------------------------------------- stepping

_STATEMENTS = ("add.u32 %r2, %r1, %r3;", "mul.lo.u32 %r3, %r2, %r1;", "xor.b32 %r4, %r3, %r2;",
               "fma.rn.f32 %f2, %f1, %f1, %f2;")
_START = ("mov.u32 %r1, %tid.x;", "mov.u32 %r3, 5;", "mov.f32 %f1, 0f3F800000;", "mov.f32 %f2, 0f00000000;")


def stepping(lengths: Sequence[int] = (10, 100, 1000), appended: int = 200, threads: int = 32) -> list[str]:
    """Microseconds of appending a statement and running it, of saving and of restoring, by the kernel's length."""
    lines = ["| statements before | µs an appended statement | µs to save | µs to restore |", "|---:|---:|---:|---:|"]
    for length in lengths:
        body = [*_START, *(_STATEMENTS[n % len(_STATEMENTS)] for n in range(length - len(_START)))]
        stepper = Stepper(HEAD + "\n".join(body) + "\n", Launch((1, 1, 1), (threads, 1, 1)), [])
        stepper.go_on()
        state = stepper.save()

        def grow(stepper: Stepper = stepper, state: Any = state) -> float:
            stepper.restore(state)
            begin = time.process_time()
            for number in range(appended):
                stepper.append(_STATEMENTS[number % len(_STATEMENTS)])
                stepper.go_on()
            return (time.process_time() - begin) / appended

        each = min(grow() for _ in range(_REPEATS))
        stepper.restore(state)
        save, restore = _fastest(stepper.save, 20), _fastest(partial(stepper.restore, state), 20)
        lines.append(f"| {length:,} | {each * 1e6:.0f} | {save * 1e6:.0f} | {restore * 1e6:.0f} |")
    return lines


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.emulator", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--largest", type=int, default=1 << 22, help="threads of the largest launch, 1,024 at least")
    parser.add_argument("--kernel", action="append", choices=list(KERNELS), help="only this one (may be given again)")
    parser.add_argument("--stepping", action="store_true", help="measure appended statements instead")
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--one", nargs=2, metavar=("KERNEL", "THREADS"), help="one figure as JSON, in this process")
    options = parser.parse_args()
    if options.largest < _SMALLEST:
        parser.error(f"--largest {options.largest} leaves no launch: the smallest has {_SMALLEST} threads")
    if options.one:
        print(json.dumps(asdict(measure(options.one[0], int(options.one[1])))))
        return 0
    if options.stepping:
        print("\n".join(stepping()))
        return 0
    figures: list[Figure] = []

    def kept() -> Iterator[Figure]:
        for figure in measure_all(options.largest, options.kernel or KERNELS):
            figures.append(figure)
            yield figure

    for row in table(kept()):
        print(row, flush=True)
    if options.json:
        options.json.write_text(json.dumps([asdict(figure) for figure in figures], indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
