"""A kernel under way: its lines, its registers, and what holds where the next line goes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeVar

#: Pools of registers that a kernel's statements read and write; all of them hold something from the beginning.
REGISTERS = {
    "pred": "pred", "b8": "b8", "b16": "b16", "b32": "b32", "b64": "b64", "b128": "b128", "f16": "b16",
    "bf16": "b16", "f16x2": "b32", "bf16x2": "b32", "f32": "b32", "f64": "b64",
}  # fmt: skip
#: Odd, so that multiplying by it loses nothing.
_FACTOR = "0x9E3779B97F4A7C15"
T = TypeVar("T")

if TYPE_CHECKING:
    from fuzz.kernels.calls import Signature


class Dice:
    """Random choices that depend on the seed alone, whatever the version of Python."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed).random

    def below(self, count: int) -> int:
        """A number from 0, less than `count`."""
        return int(self._random() * count)

    def between(self, low: int, high: int) -> int:
        """Both ends included."""
        return low + self.below(high - low + 1)

    def chance(self, probability: float) -> bool:
        """True so often."""
        return self._random() < probability

    def pick(self, choices: Sequence[T]) -> T:
        """One of them."""
        return choices[self.below(len(choices))]


@dataclass(frozen=True)
class Place:
    """What is known of the threads that come to the next line.

    `mask`: a register that holds the lanes of the warp that come here together; "" where that is not known, and
    then nothing warp-wide may stand here. `full`: whole warps of 32. `uniform`: the whole block comes here, so
    barriers may. `top`: outside of every loop and branch. `phase`: threads own their cells of shared and global
    memory, or read everybody's. `targets`: labels that anybody here may jump to.
    """

    mask: str = ""
    full: bool = False
    uniform: bool = False
    top: bool = False
    phase: Literal["own", "read"] = "own"
    depth: int = 0
    targets: tuple[str, ...] = ()

    def inside(self, mask: str = "", *, uniform: bool = False) -> Place:
        """Within a branch or a loop; a mask of its own unless everybody comes along."""
        full = self.full and uniform
        return replace(self, mask=mask, full=full, uniform=uniform, top=False, depth=self.depth + 1)


@dataclass(frozen=True)
class Layout:
    """What a kernel has around its statements. Sizes in bytes; a size of 0 means that there is none."""

    block: tuple[int, int, int] = (32, 1, 1)
    grid: tuple[int, int, int] = (1, 1, 1)
    cell: int = 0                                    # of shared and of global memory, for each thread
    local: int = 0
    constants: int = 0                               # words of constant memory
    dynamic: bool = False                            # shared memory is given by the launch

    @property
    def threads(self) -> int:
        """Of a block."""
        return self.block[0] * self.block[1] * self.block[2]


@dataclass
class Writer:
    """Lines of one function's body, without declarations."""

    dice: Dice
    layout: Layout
    pools: dict[str, list[str]]
    is_kernel: bool
    lines: list[str] = field(default_factory=list)
    fresh: dict[str, int] = field(default_factory=dict)
    statements: int = 0
    labels: int = 0
    checkpoints: int = 0
    scalar_only: bool = False                        # integers, no packing: what a simple interpreter can follow
    functions: list[tuple[str, Signature]] = field(default_factory=list)
    prototypes: set[Signature] = field(default_factory=set)                 # of calls through registers
    signature: Signature | None = None               # of the function that is being written
    somebody_left: bool = False
    constants: bool = True                           # whether constants may stand for registers
    kept: list[str] = field(default_factory=list)    # registers to be filled before anything else

    def line(self, text: str) -> None:
        """A statement, without its semicolon."""
        self.lines.append(f"\t{text};")
        self.statements += 1

    def scope(self, text: str) -> None:
        """A brace."""
        self.lines.append(f"\t{text}")

    def label(self, name: str) -> None:
        """The label stands here."""
        self.lines.append(f"{name}:")

    def new_label(self) -> str:
        """A name that no other label has."""
        self.labels += 1
        return f"$L_{self.labels}"

    def temporary(self, kind: str) -> str:
        """A register that no other statement uses."""
        number = self.fresh.get(kind, 0)
        self.fresh[kind] = number + 1
        return f"%t{kind}_{number}"

    def beginning(self, kind: str) -> str:
        """A register that holds something from the beginning, because jumps may skip where it is set."""
        register = self.temporary(kind)
        self.kept.append(f"setp.eq.u32 {register}, 0, 1" if kind == "pred" else f"mov.{kind} {register}, 1")
        return register

    def register(self, kind: str) -> str:
        """One that holds something; now and then of another pool of the same width."""
        if kind != "pred" and self.dice.chance(0.1):
            alike = [name for name in self.pools if REGISTERS[name] == REGISTERS[kind]] or [kind]
            kind = self.dice.pick(alike)
        return self.dice.pick(self.pools[kind])

    def distinct(self, kind: str, count: int) -> list[str]:
        """So many registers of one pool, each once."""
        pool = list(self.pools[kind])
        return [pool.pop(self.dice.below(len(pool))) for _ in range(count)]

    def predicate(self) -> str:
        """A copy of a predicate, which nothing changes."""
        copied = self.temporary("pred")
        if self.dice.chance(0.5):
            self.line(f"mov.pred {copied}, {self.register('pred')}")
        else:
            comparison = self.dice.pick(("lt", "ge", "eq", "ne", "gt"))
            self.line(f"setp.{comparison}.s32 {copied}, {self.register('b32')}, {self.register('b32')}")
        return copied

    def mix(self, register: str, kind: str) -> None:
        """Take a value into the thread's hash: no difference in it is ever lost again."""
        bits = REGISTERS[kind]
        if bits == "b128":
            low, high = self.temporary("b64"), self.temporary("b64")
            self.line(f"mov.b128 {{{low}, {high}}}, {register}")
            self.mix(low, "b64")
            self.mix(high, "b64")
            return
        wide = register
        if bits == "pred":
            wide = self.temporary("b64")
            self.line(f"selp.b64 {wide}, 1, 0, {register}")
        elif bits != "b64":
            wide = self.temporary("b64")
            self.line(f"cvt.u64.u{bits[1:]} {wide}, {register}")
        self.line(f"mad.lo.u64 %hash, %hash, {_FACTOR}, {wide}")

    def declarations(self) -> list[str]:
        """Of every register that the lines name."""
        found = []
        for kind, pool in self.pools.items():
            found += [f"\t.reg .{REGISTERS[kind]} {', '.join(pool)};"]
        found += [f"\t.reg .{kind} %t{kind}_<{count}>;" for kind, count in self.fresh.items()]
        return found


def make_pools(dice: Dice, kinds: Sequence[str], low: int, high: int) -> dict[str, list[str]]:
    """Between `low` and `high` registers of each kind, and at least as many as the widest vector."""
    least = {"pred": 2, "b128": 2}
    return {
        kind: [f"%{kind}_{number}" for number in range(max(least.get(kind, 4), dice.between(low, high)))]
        for kind in kinds
    }
