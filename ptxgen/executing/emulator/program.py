"""A decoded kernel: flat steps, symbols laid out, and what it needs of memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from ptxgen.executing.checking import Demands
from ptxgen.executing.emulator.lanes import Lanes
from ptxgen.executing.emulator.memory import Extent
from ptxgen.ptx.tree import Variable

if TYPE_CHECKING:
    from ptxgen.executing.emulator.machine import Machine
    from ptxgen.executing.emulator.undefined_bits import Settle

#: Carries one instruction out for a set of lanes.
Run = Callable[["Machine", Lanes], None]

Action = Literal["plain", "jump", "table", "exit", "barrier", "warp", "cluster", "call", "return"]


@dataclass(slots=True)
class Step:
    """One instruction. `reads` and `writes` are register slots; `unproven` those reads that some path may reach
    before a write; `tracked` the writes to registers that are read unproven somewhere; `deferred` the reads that
    `run` watches itself, because not every lane's value is used.

    Of undefined values (`undefined`): `hands_on` says that the results are as undefined as the sources, or as
    `settle` says, `moves` that nothing else is done to them; `values` are the registers behind each element that is
    stored, `needs` those that must be defined all the same, because an address comes of them."""

    action: Action
    line: int
    opcode: str
    run: Run | None = None
    guard: int | None = None
    negated: bool = False
    target: int = -1
    targets: tuple[int, ...] = ()
    selector: Callable[[Machine, Lanes], Any] | None = None
    member_mask: Callable[[Machine, Lanes], Any] | None = None
    barrier: BarrierStep | None = None
    atomic: bool = False
    reads: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()
    unproven: tuple[int, ...] = ()
    tracked: tuple[int, ...] = ()
    deferred: tuple[int, ...] = ()
    hands_on: bool = False
    moves: bool = False
    settle: Settle | None = None
    values: tuple[tuple[int, ...], ...] = ()
    needs: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class BarrierStep:
    """bar/barrier: which barrier, how many threads (None: all), and what becomes of it."""

    number: Callable[[Machine, Lanes], Any]
    count: Callable[[Machine, Lanes], Any] | None
    waits: bool
    aligned: bool
    reduce: str = ""                                   # "", "popc", "and", "or"
    predicate: Callable[[Machine, Lanes], Any] | None = None
    target: int = -1                                   # register slot of the reduction's result


@dataclass(slots=True)
class Program:
    """One entry, ready to run under any launch."""

    name: str
    params: tuple[Variable, ...]
    param_extents: tuple[Extent, ...]
    steps: list[Step]
    register_types: list[str]
    register_names: list[str]
    unproven: frozenset[int]
    extents: dict[str, tuple[Extent, ...]]             # static memory by space, module-scope variables included
    initial: dict[str, list[tuple[int, bytes]]]        # by space: address and bytes of initialised variables
    dynamic_shared: int                                # address where extern shared memory begins
    static_shared: int                                 # bytes
    smallest: dict[str, int]                           # by space: bytes of the smallest access
    writes_global: bool
    strong: frozenset[str]                             # spaces with atomic or otherwise strong accesses
    fenced: bool
    demands: Demands
    preset: dict[int, int] = field(default_factory=dict)                    # by register slot: what it begins with
    saved_at: dict[int, tuple[int, ...]] = field(default_factory=dict)      # by step after a call: slots kept over it

    @property
    def late(self) -> bool:
        """Whether it has asynchronous operations."""
        return self.bulk or any(step.opcode.startswith(("cp.async", "st.async", "red.async")) for step in self.steps)

    @property
    def bulk(self) -> bool:
        """Whether it has operations of the asynchronous proxy."""
        return any(step.opcode.startswith(("cp.async.bulk", "cp.reduce.async.bulk")) for step in self.steps)

    @property
    def cancels(self) -> bool:
        """Whether it asks for the work of clusters that have not begun."""
        return any(step.opcode.startswith("clusterlaunchcontrol.try_cancel") for step in self.steps)
