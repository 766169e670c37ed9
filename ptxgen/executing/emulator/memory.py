"""State spaces as flat byte arrays with a flag byte for every granule.

A region holds one state space. Shared memory has one instance a block and local memory one a lane, `stride` bytes
apart; the other spaces have one instance. A granule is the smallest access that the kernel makes in the space, so
one flag byte answers at once whether an access is mapped, initialised and writable.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ptxgen.executing.emulator.races import Trace
from ptxgen.executing.emulator.values import UNSIGNED, Array

MAPPED, INITIALISED, WRITABLE = 1, 2, 4

#: Addresses of the first byte of each space. Generic addresses carry the space in their upper bits; shared,
#: local, const and param addresses inside their space are offsets from the window.
WINDOW_SHIFT = 40
WINDOWS: dict[str, int] = {
    "shared": 0x7A << WINDOW_SHIFT, "local": 0x7B << WINDOW_SHIFT, "global": 0x7C << WINDOW_SHIFT,
    "const": 0x7D << WINDOW_SHIFT, "param": 0x7E << WINDOW_SHIFT,
}
#: Bits of a shared address from here on name another block of the cluster.
RANK_SHIFT = 24
#: Addresses of functions begin here; no space has them.
FUNCTIONS = 0x7F << WINDOW_SHIFT
#: Where a space's own addresses begin; never 0, so that a null pointer points nowhere.
FIRST_ADDRESS: dict[str, int] = {
    "shared": 1024, "local": 1024, "global": WINDOWS["global"] + 4096, "const": 1024, "param": 1024,
}
#: What a generic address is larger by than the address inside the space.
GENERIC_BIAS: dict[str, int] = {
    space: 0 if space == "global" else window for space, window in WINDOWS.items()
}
#: Unmapped bytes before and after every extent.
GAP = 256


@dataclass(frozen=True, slots=True)
class Extent:
    """A mapped range: `start` is the address of its first byte."""

    name: str
    start: int
    size: int
    initialised: bool = True
    writable: bool = True

    @property
    def stop(self) -> int:
        return self.start + self.size


@dataclass(slots=True)
class Region:
    """One state space. `base` is the address that byte 0 of an instance stands for."""

    space: str
    base: int
    stride: int
    instances: int
    shift: int
    extents: tuple[Extent, ...]
    data: npt.NDArray[np.uint8]
    flags: npt.NDArray[np.uint8]
    uninitialised: bool
    reads: Trace | None = None
    writes: Trace | None = None
    atomics: Trace | None = None
    strong_reads: Trace | None = None
    pending: Array | None = None           # by granule: the line of what has yet to write it, negative: to read it
    generic: Array | None = None           # by granule: after the last write by the generic proxy
    views: dict[int, Array] = field(default_factory=dict)
    starts: Array = None                       # by lane: what turns an address into an offset into `data`
    sure: list[int] = field(default_factory=list)      # by extent: flags that each of its granules has
    doubts: int = 0                            # accesses by lanes since it was last looked what is sure
    origins: npt.NDArray[np.int32] | None = None       # by granule: where what it holds was left undefined
    shadows: npt.NDArray[np.uint8] | None = None       # by byte: its undefined bits, where the granule has any

    def view(self, width: int) -> Array:
        """The bytes as unsigned integers of `width` bytes."""
        found = self.views.get(width)
        if found is None:
            found = self.views[width] = self.data.view(UNSIGNED[width * 8])
        return found

    def undefined_bytes(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
        """`origins` and `shadows`, made when first needed."""
        if self.origins is None or self.shadows is None:
            self.origins, self.shadows = np.zeros(self.flags.size, np.int32), np.full(self.data.size, 255, np.uint8)
        return self.origins, self.shadows

    def granules(self, offset: Any, width: int) -> Any:
        """The granules of `width` bytes at each of these places (an array or a range), as an array or a slice."""
        if isinstance(offset, range):
            return slice(offset.start >> self.shift, offset.stop >> self.shift)
        place = offset >> self.shift
        parts = width >> self.shift
        return place if parts <= 1 else np.asarray((place[:, None] + np.arange(parts)).reshape(-1))

    def bytes_of(self, extent: Extent) -> npt.NDArray[np.uint8]:
        start = extent.start - self.base
        return self.data[start : start + extent.size]

    def surely(self, low: int, high: int, need: int, lanes: int) -> int:
        """Flags that every byte from `low` to before `high` (addresses) has in all instances; 0 if they may differ.

        It is cheaper to know than to look, so when `need` is not known of an extent, all of it is looked at as soon
        as accesses of so many `lanes` have looked at as many granules.
        """
        for number, extent in enumerate(self.extents):
            if extent.start <= low and high <= extent.stop:
                flags = self.sure[number]
                if flags & need != need and flags & MAPPED:
                    self.doubts += lanes
                    first, last = (extent.start - self.base) >> self.shift, (extent.stop - self.base) >> self.shift
                    if self.doubts >= (last - first) * self.instances:
                        self.doubts = 0
                        rows = self.flags.reshape(self.instances, -1)[:, first:last]
                        flags = self.sure[number] = int(np.bitwise_and.reduce(rows, axis=None))
                return flags
        return 0

    def forget(self, flags: int = INITIALISED, at: int | None = None) -> None:
        """Some granules, of the extent with address `at`, may have lost these flags."""
        self.sure = [
            known & ~flags if at is None or extent.start <= at < extent.stop else known
            for known, extent in zip(self.sure, self.extents, strict=True)
        ]

    def copy(self) -> Region:
        """An independent copy, traces included."""
        traces = (self.reads, self.writes, self.atomics, self.strong_reads)
        twin = [trace.copy() if trace else None for trace in traces]
        return Region(
            self.space, self.base, self.stride, self.instances, self.shift, self.extents, self.data.copy(),
            self.flags.copy(), self.uninitialised, twin[0], twin[1], twin[2], twin[3],
            pending=None if self.pending is None else self.pending.copy(),
            generic=None if self.generic is None else self.generic.copy(),
            origins=None if self.origins is None else self.origins.copy(),
            shadows=None if self.shadows is None else self.shadows.copy(), sure=list(self.sure),
        )


def granule_shift(smallest: int, extents: tuple[Extent, ...]) -> int:
    """log2 of the largest granule that divides the smallest access and every extent's ends."""
    ends = smallest
    for extent in extents:
        ends |= extent.start | extent.size
    return (ends & -ends).bit_length() - 1


def _lay_out(space: str, extents: tuple[Extent, ...], smallest: int) -> tuple[int, int, int]:
    """(base, stride, log2 of a granule's bytes)."""
    base = min([FIRST_ADDRESS[space], *(e.start for e in extents)]) - GAP
    stop = max((e.stop for e in extents), default=base + GAP)
    return base, -(-(stop + GAP - base) // 16) * 16, granule_shift(min(smallest, 8), extents)


def region_size(
    space: str, extents: tuple[Extent, ...], *, smallest: int, instances: int = 1, traced: bool = False,
    strong: bool = False, wide: bool = False,
) -> int:
    """Bytes that `make_region` of the same would take."""
    _, stride, shift = _lay_out(space, extents, smallest)
    traces = (4 if strong else 2) * (12 if wide else 8) if traced else 0
    return stride * instances + (stride * instances >> shift) * (1 + traces)


def make_region(
    space: str, extents: tuple[Extent, ...], *, smallest: int, instances: int = 1, traced: bool = False,
    strong: bool = False, wide: bool = False,
) -> Region:
    """Lay out a region over its extents. `smallest`: bytes of the smallest access the kernel makes here; `wide`: the
    launch has more threads than tags of 32 bits tell apart."""
    base, stride, shift = _lay_out(space, extents, smallest)
    data = np.zeros(stride * instances, np.uint8)
    flags = np.zeros(data.size >> shift, np.uint8)
    rows = flags.reshape(instances, stride >> shift)
    sure = []
    for extent in extents:
        value = MAPPED | (INITIALISED if extent.initialised else 0) | (WRITABLE if extent.writable else 0)
        rows[:, (extent.start - base) >> shift : (extent.stop - base) >> shift] = value
        sure.append(value)
    both = traced and strong
    traces = [Trace.over(flags.size, wide=wide) if wanted else None for wanted in (traced, traced, both, both)]
    return Region(
        space, base, stride, instances, shift, extents, data, flags, any(not e.initialised for e in extents),
        traces[0], traces[1], traces[2], traces[3], sure=sure,
    )


def describe(region: Region | None, address: int) -> str:
    """Where an address lies relative to the nearest extent, in words."""
    if region is None or not region.extents:
        if region is not None and region.space == "shared":
            return "where none is declared, and the launch gives none (--shared BYTES)"
        return "the kernel has no memory there"
    for extent in region.extents:
        if extent.start <= address < extent.stop:
            return f"{address - extent.start} bytes into {extent.name} ({extent.size} bytes)"
    nearest = min(
        region.extents, key=lambda e: e.start - address if address < e.start else address - e.stop
    )
    if address < nearest.start:
        away = nearest.start - address
        words = f"{away} bytes before {nearest.name} ({nearest.size} bytes)"
    else:
        away = address - nearest.stop
        words = f"{away} bytes past the end of {nearest.name} ({nearest.size} bytes)"
    return words if away < 1 << 32 else "near no memory of the kernel"


def window_of(address: int) -> str:
    """The state space whose generic window an address lies in, "" for none."""
    for space, start in WINDOWS.items():
        if address >> WINDOW_SHIFT == start >> WINDOW_SHIFT:
            return space
    return ""
