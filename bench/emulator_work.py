"""One launch that `bench.emulator` measures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ptxgen.executing import Argument, Launch


@dataclass(frozen=True, slots=True)
class Work:
    """`numpy` gives what argument `output` must hold afterwards, up to `tolerance`, relative to a value's size."""

    ptx: str
    launch: Launch
    arguments: Sequence[Argument]
    output: int
    numpy: Callable[[], npt.NDArray[np.generic]]
    tolerance: float = 1e-4
