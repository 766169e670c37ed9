"""An executor whose kernels are NumPy functions, right ones and wrong ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ptxgen.executing.protocol import Argument, Buffer, Fault, Launch, Outcome, Scalar

Kernel = Callable[..., None]


class FakeExecutor:
    """Calls `kernel` with the arrays (to be written in place) and scalars, in the order of the parameters."""

    name = "fake"

    def __init__(self, kernel: Kernel, faults: Sequence[Fault] = ()) -> None:
        self.kernel = kernel
        self.faults = tuple(faults)
        self.launches: list[Launch] = []

    def run(
        self,
        ptx: str,
        entry: str | None,
        launch: Launch,
        arguments: Sequence[Argument],
        *,
        arch: str | None = None,
    ) -> Outcome:
        self.launches.append(launch)
        values: list[object] = []
        for argument in arguments:
            if isinstance(argument, Buffer):
                values.append(argument.data.copy())
            elif isinstance(argument, Scalar):
                kind = {"f32": np.float32, "f64": np.float64, "f16": np.float16}.get(argument.type, int)
                values.append(kind(argument.value))
        with np.errstate(all="ignore"):
            self.kernel(*values)
        buffers = tuple(value if isinstance(value, np.ndarray) else None for value in values)
        return Outcome(not self.faults, self.faults, buffers)

    def close(self) -> None:
        pass
