"""The kernels of `examples/`, run by an executor and beside the oracle of their specs.

Each correct kernel of `tests/kernels/` meets the first cases of its spec's schedule that launch anything. A record
has the bytes of its outputs, one after the other; two executors give the same ones but where a kernel approximates,
and there both must be as near to the oracle as the spec asks.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench.gpu_check import kernels
from ptxgen.executing import Argument, Buffer, Executor, Launch, Scalar
from ptxgen.spec import Spec, load_spec
from ptxgen.verifying.checks import poisoned
from ptxgen.verifying.inputs import Inputs, build, schedule
from ptxgen.verifying.oracle import expected_outputs
from ptxgen.verifying.storage import DTYPES
from ptxgen.verifying.tolerance import wrong_elements

Bytes = npt.NDArray[np.uint8]
ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (ROOT / "tests/kernels", ROOT / "tests/kernels/variants")
#: Cases of a kernel, and how many of the schedule are looked at for them.
_CASES, _LOOKED_AT = 4, 12
_SEED = 20
_POISON = 0xA5
_APPROXIMATE = re.compile(r"\.approx\b|\.full\b")


@dataclass(frozen=True)
class Example:
    """A kernel and the arguments of one launch."""

    name: str
    spec: Spec
    ptx: str
    inputs: Inputs
    launch: Launch

    @property
    def approximate(self) -> bool:
        """Whether the kernel has approximate instructions."""
        return _APPROXIMATE.search(self.ptx) is not None

    @property
    def arguments(self) -> list[Argument]:
        """Fresh ones; what the kernel is to write is poison."""
        made: list[Argument] = []
        for param in self.spec.kernel.params:
            if not param.pointer:
                made.append(Scalar(param.type, self.inputs.scalars[param.name]))
            elif param.access == "out":
                shape = self.inputs.shapes[param.name]
                made.append(Buffer(poisoned(param.element, shape, _POISON), initialised=False))
            else:
                made.append(Buffer(self.inputs.arrays[param.name].copy(), read_only=param.access == "in"))
        return made

    @property
    def fingerprint(self) -> str:
        """Of the kernel, its launch and what it reads."""
        digest = hashlib.sha256(f"{self.ptx}{self.launch}{self.inputs.scalars}".encode())
        for _, array in sorted(self.inputs.arrays.items()):
            digest.update(array.tobytes())
        return digest.hexdigest()[:16]


def examples() -> Iterator[Example]:
    """The same ones on every machine."""
    for path, spec_path in kernels(FOLDERS):
        spec, ptx = load_spec(spec_path), path.read_text(encoding="utf-8")
        made = 0
        for case in islice(schedule(spec, _SEED), _LOOKED_AT):
            inputs = build(spec, case)
            launch = spec.launch_at(inputs.sizes)
            if made < _CASES and 0 not in launch.grid:
                made += 1
                yield Example(f"{path.stem} {made}", spec, ptx, inputs, launch)


def run(example: Example, executor: Executor) -> tuple[Bytes | None, str]:
    """The bytes of all outputs as one row, or None and what went wrong."""
    outcome = executor.run(example.ptx, example.spec.kernel.name, example.launch, example.arguments)
    if not outcome.ok:
        return None, "; ".join(fault.message for fault in outcome.faults[:2])
    parts = [b""]
    for param, buffer in zip(example.spec.kernel.params, outcome.buffers, strict=True):
        if param.access != "in" and buffer is not None:
            parts.append(np.ascontiguousarray(buffer).tobytes())
    return np.frombuffer(b"".join(parts), np.uint8).reshape(1, -1), ""


def wrong(example: Example, output: Bytes) -> int:
    """Elements of a launch's outputs that the oracle refuses."""
    expected, raw, count = expected_outputs(example.spec, example.inputs), output.tobytes(), 0
    for param in example.spec.outputs:
        shape = example.inputs.shapes[param.name]
        kind = np.dtype(DTYPES[param.element])
        size = int(np.prod(shape)) * kind.itemsize
        stored = np.frombuffer(raw[:size], kind).reshape(shape)
        raw = raw[size:]
        count += int(wrong_elements(expected[param.name], stored, example.spec.verify.tolerance).sum())
    return count
