"""What a launch costs on a GPU: starting the process, the first launch of a kernel, later ones.

    python -m bench.gpu_launches --json launches.json

Needs numpy, lark and cuda-bindings. Figures are medians over `--rounds` launches, each as a whole: arguments checked,
sent, copied with their guards, run, copied back and compared.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np

from ptxgen.errors import PtxgenError
from ptxgen.executing import Buffer, Executor, Launch
from ptxgen.executing.gpu import GpuExecutor

_BODY = """
.visible .entry k(.param .u64 out)
{
	.reg .b32 %r<8>;
	.reg .b64 %rd<4>;
	ld.param.u64 %rd1, [out];
	mov.u32 %r1, %tid.x;
	mov.u32 %r2, %ctaid.x;
	mov.u32 %r3, %ntid.x;
	mad.lo.u32 %r4, %r2, %r3, %r1;
	mad.wide.u32 %rd2, %r4, 4, %rd1;
	add.u32 %r5, %r4, NUMBER;
	st.global.u32 [%rd2], %r5;
	ret;
}
"""
_HEAD = ".version 7.0\n.target sm_80\n.address_size 64\n"


def kernel(number: int, module: str = "") -> str:
    """Stores its thread's number plus `number`; another number, another kernel."""
    return _HEAD + module + _BODY.replace("NUMBER", str(number))


def timed(what: Callable[[], object]) -> float:
    """Milliseconds."""
    started = time.perf_counter()
    what()
    return (time.perf_counter() - started) * 1000


def launch(executor: Executor, ptx: str, elements: int = 256) -> None:
    """One launch, and that it was right."""
    out = Buffer(np.zeros(elements, np.uint32), initialised=False)
    outcome = executor.run(ptx, "k", Launch((elements // 256, 1, 1), (256, 1, 1)), [out])
    after = outcome.buffers[0]
    assert outcome.ok, outcome.faults
    assert after is not None
    assert after[-1] == after[0] + elements - 1


def measure(rounds: int) -> list[tuple[str, float]]:
    """What was done, and the median of its milliseconds."""
    first = time.time_ns() % 1_000_000_000              # kernels that no cache on disk has
    rows: list[tuple[str, float]] = []

    def row(what: str, each: Callable[[int], object], times: int = rounds) -> None:
        rows.append((what, statistics.median(timed(partial(each, number)) for number in range(times))))

    def start(_: int) -> None:
        with closing(GpuExecutor()):
            pass

    row("start and end of the process", start, max(rounds // 10, 3))
    with closing(GpuExecutor()) as executor:
        print(f"device {executor.device}, {executor.arch}, driver {executor.driver}", file=sys.stderr)
        row("the first launch in a process", lambda _: launch(executor, kernel(first)), 1)
        row("first launch of another kernel, PTX", lambda n: launch(executor, kernel(first + 1 + n)))
        row("later launches, 256 elements", lambda _: launch(executor, kernel(first)))
        row("later launches, 2^20 elements", lambda _: launch(executor, kernel(first), 1 << 20))
        row("later launches, 2^24 elements", lambda _: launch(executor, kernel(first), 1 << 24), max(rounds // 10, 3))
        variables = ".global .u32 variable = 5;\n"
        row("later launches, a module with variables", lambda _: launch(executor, kernel(first, variables)))
        row("a fault, and the launch after it", lambda _: fault(executor, kernel(first)), max(rounds // 10, 3))
    return rows


def fault(executor: GpuExecutor, good: str) -> None:
    """A launch that costs the context, then one that needs another."""
    bad = good.replace("ld.param.u64 %rd1, [out];", "mov.u64 %rd1, 64;")
    outcome = executor.run(bad, "k", Launch((1, 1, 1), (256, 1, 1)), [Buffer(np.zeros(256, np.uint32))])
    assert [found.kind for found in outcome.faults] == ["out-of-bounds"], outcome.faults
    launch(executor, good)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="bench.gpu_launches", description="What a launch costs on a GPU.")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--json", type=Path, help="write the figures there")
    given = parser.parse_args(arguments)
    try:
        rows = measure(given.rounds)
    except PtxgenError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    print("| what | median, ms |\n|---|---:|")
    for what, milliseconds in rows:
        print(f"| {what} | {milliseconds:.2f} |")
    if given.json is not None:
        given.json.write_text(json.dumps(dict(rows), indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
