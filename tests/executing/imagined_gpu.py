"""A GPU that is only imagined: the whole executor, with `fake_cuda/` in the place of `cuda` in its process."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import numpy as np

from ptxgen.executing import gpu_worker
from ptxgen.executing.gpu import GpuExecutor
from ptxgen.executing.protocol import Buffer, Launch, Scalar

LAUNCH = Launch((1, 1, 1), (32, 1, 1))
WORKER = (sys.executable, "-P", str(Path(gpu_worker.__file__)))
FAKE = Path(__file__).parent / "fake_cuda"


def imagined(mood: str = "", **options: object) -> GpuExecutor:
    environment = dict(os.environ, PYTHONPATH=str(FAKE), FAKE_CUDA=mood)
    return GpuExecutor(command=WORKER, environment=environment, **options)  # type: ignore[arg-type]


def kernel(name: str, *types: str, version: str = "8.0", target: str = "sm_80", module: str = "") -> str:
    names = [f"param_{i}" + ("[24]" if t == "align 8 .b8" else "") for i, t in enumerate(types)]
    params = ",\n".join(f"\t.param .{t} {name}" for t, name in zip(types, names, strict=True))
    return (
        f".version {version}\n.target {target}\n.address_size 64\n{module}\n"
        f".visible .entry {name}(\n{params}\n)\n{{\n\tret;\n}}\n"
    )


ADD_ONE = kernel("add_one", "u64", "u64", "u32")


def add_one(executor: GpuExecutor, count: int = 5, offset: int = 0) -> np.ndarray:
    source = np.arange(count, dtype=np.float32)
    out = np.full(count, np.nan, dtype=np.float32)
    target = Buffer(out, initialised=False, offset=offset)
    arguments = [Buffer(source, read_only=True), target, Scalar("u32", count)]
    outcome = executor.run(ADD_ONE, None, LAUNCH, arguments)
    assert outcome.ok, outcome.faults
    assert outcome.buffers[2] is None
    np.testing.assert_array_equal(outcome.buffers[0], source)
    return outcome.buffers[1]


def told(executor: GpuExecutor, name: str, module: str = "") -> float:
    """The number that a kernel leaves."""
    outcome = executor.run(kernel(name, "u64", module=module), None, LAUNCH, [Buffer(np.zeros(1, np.float32))])
    assert outcome.ok, outcome.faults
    return float(outcome.buffers[0][0])


def wait_for(path: Path) -> None:
    """Until a kernel that hangs has begun."""
    deadline = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def gone(pid: int) -> bool:
    try:
        return ") Z " in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True
