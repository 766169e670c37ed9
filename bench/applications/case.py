"""What is run: a kernel of one of the sources with its launch and arguments, and what must come of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ptxgen.executing import Argument, Buffer, Launch

AnyArray = npt.NDArray[Any]


def _as_it_is(found: AnyArray) -> AnyArray:
    return found


@dataclass(frozen=True, slots=True)
class Expected:
    """What a buffer must hold afterwards: `value`, give or take `bound` (absolute; 0: the same to the bit).

    NaN and infinity must stand where they stand in `value`. `view` is applied to what is found before it is compared
    (`np.sort` where the order is open).
    """

    value: AnyArray
    bound: AnyArray | float = 0.0
    view: Callable[[AnyArray], AnyArray] = _as_it_is

    def fault(self, buffer: AnyArray) -> str | None:
        """None, or what is wrong with the buffer."""
        found = self.view(buffer).reshape(-1)
        wanted = np.asarray(self.value).reshape(-1)
        if found.size != wanted.size:
            return f"{found.size} elements, expected {wanted.size}"
        if np.isscalar(self.bound) and self.bound == 0:
            wrong = np.flatnonzero(found != wanted.astype(found.dtype))
            if found.dtype.kind == "f":
                wrong = wrong[~(np.isnan(found[wrong]) & np.isnan(wanted[wrong]))]
        else:
            with np.errstate(all="ignore"):
                finite = np.isfinite(wanted)
                error = np.abs(found.astype(wanted.dtype) - wanted)
                same = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
                close = finite & (error <= np.broadcast_to(np.asarray(self.bound), self.value.shape).reshape(-1))
            wrong = np.flatnonzero(~(same | close))
        if not wrong.size:
            return None
        first = int(wrong[0])
        return f"{wrong.size} of {wanted.size} elements; [{first}] is {found[first]}, expected {wanted[first]}"


@dataclass(frozen=True, slots=True)
class Case:
    """A kernel (`entry`, None: the only one of its file) of `source`, whatever compiler made it.

    Triton decides the threads of a block and the shared memory itself, so that `launch` counts for the grid only.
    `expected` is by the argument's number. `loose` says why integers may differ from run to run ("" where not).
    """

    source: str
    entry: str | None
    launch: Launch
    arguments: tuple[Argument, ...]
    expected: Mapping[int, Expected]
    printed: str | None = None
    loose: str = ""
    name: str = ""

    @property
    def title(self) -> str:
        """Source and kernel."""
        return f"{self.source}.{self.name or self.entry}"


def grid(blocks: int | tuple[int, ...], threads: int | tuple[int, ...], shared: int = 0) -> Launch:
    """A launch with missing extents of 1."""
    def whole(extent: int | tuple[int, ...]) -> tuple[int, int, int]:
        x, y, z = (*((extent,) if isinstance(extent, int) else extent), 1, 1)[:3]
        return x, y, z

    return Launch(whole(blocks), whole(threads), shared)


def generator(name: str) -> np.random.Generator:
    """Random numbers that are the same every time, for one topic."""
    return np.random.default_rng(list(name.encode("ascii")))


def given(data: object, dtype: str | None = None) -> Buffer:
    """An input that must not change."""
    return Buffer(np.ascontiguousarray(data, dtype=dtype), read_only=True)


def output(shape: int | tuple[int, ...], dtype: str) -> Buffer:
    """An output that nothing may read before it is written."""
    return Buffer(np.zeros(shape, dtype), initialised=False)


def zeros(shape: int | tuple[int, ...], dtype: str) -> Buffer:
    """A buffer that is added to, or changed where it stands."""
    return Buffer(np.zeros(shape, dtype))


def exact(value: object, view: Callable[[AnyArray], AnyArray] = _as_it_is) -> Expected:
    """Equal to the bit."""
    return Expected(np.asarray(value), 0.0, view)


def within(value: object, absolute: float | AnyArray = 0.0, relative: float = 0.0,
           view: Callable[[AnyArray], AnyArray] = _as_it_is) -> Expected:
    """`absolute` plus `relative` of the value's size away at most; compared in float64."""
    whole = np.asarray(value, np.float64)
    with np.errstate(all="ignore"):
        return Expected(whole, np.asarray(absolute + relative * np.abs(whole)), view)


def ulps(value: npt.NDArray[np.floating], units: float | AnyArray, dtype: str) -> Expected:
    """`units` in the last place of `dtype` away at most. `value` is wider than that (float64, or longdouble)."""
    with np.errstate(all="ignore"):
        near = np.abs(value.astype(dtype))
        largest = np.finfo(dtype).max
        unit = np.spacing(np.where(np.isfinite(near), near, largest).astype(dtype)).astype(value.dtype)
    return Expected(value, np.asarray(units * unit + unit / 2))
