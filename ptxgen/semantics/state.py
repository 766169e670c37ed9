"""The abstract state of a kernel while it is being written.

A `State` is a value: stepping makes a new one, so that decoding can go back to any earlier statement.
Control flow is structured: forward regions and loops nest, labels are numbered in order, and the one
free jump is to the kernel's end. That makes availability of registers a matter of a stack, and it
makes closing the kernel possible from everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ptxgen.semantics.contract import Contract, Level, Parameter
from ptxgen.semantics.values import NO_FACTS, NO_NAMES, Value


@dataclass(frozen=True, slots=True)
class Region:
    """A label that a branch has promised (`forward`) or that may still be branched back to (`loop`).

    `registers` and `facts` are those at the branches to a forward label (intersected), or at the loop's
    head, `decided` the predicates decided there. `relied` are bounds of carried registers that an access in
    the loop has relied on: the branch back has to establish them anew.
    """

    kind: Literal["forward", "loop"]
    label: str
    registers: Mapping[str, int]
    facts: frozenset[int]
    decided: frozenset[int] = NO_FACTS
    diverges: bool = False
    synchronises: bool = False  # loop: a barrier or warp operation stands in its body
    rewritten: frozenset[str] = NO_NAMES  # loop: registers written anew in its body
    carried: Mapping[int, str] = field(default_factory=dict)  # loop: number at the head -> register
    relied: frozenset[int] = NO_FACTS
    left: bool = False  # loop: some branch leads out of it


@dataclass(frozen=True, slots=True)
class State:
    """What is known after the statements so far. Built by `State.start` and `stepping.step` only."""

    contract: Contract
    level: Level
    registers: Mapping[str, int] = field(default_factory=dict)  # available here -> value number
    values: Mapping[int, Value] = field(default_factory=dict)
    fresh: Mapping[str, int] = field(default_factory=dict)  # class -> how many are used up
    held: Mapping[tuple[object, ...], int] = field(default_factory=dict)
    variables: frozenset[str] = NO_NAMES  # registers set by `mov`: the kernel's own choice to be rewritten
    facts: frozenset[int] = NO_FACTS  # value numbers bounded above on this path
    decided: frozenset[int] = NO_FACTS  # predicates that a branch on this path has decided
    regions: tuple[Region, ...] = ()
    labels: int = 0
    reachable: bool = True
    diverged: bool = False  # some threads of a block may have left the kernel
    ending: Literal["", "label", "ret", "closed"] = ""
    end_used: bool = False
    stored: frozenset[str] = NO_NAMES  # output parameters written
    consumed: frozenset[str] = NO_NAMES  # parameters that reached a store, an address or a branch
    met: frozenset[str] = NO_NAMES  # required opcode prefixes seen
    epochs: Mapping[str, int] = field(default_factory=dict)  # memory versions, by state space
    addressed: frozenset[int] = NO_FACTS     # addresses of input elements made on this stretch, not loaded yet
    shared_element: str = ""
    shared_dirty: tuple[int, ...] = ()  # addresses stored since the last barrier
    shared_made_of: frozenset[str] = NO_NAMES
    shared_written: bool = False
    since_barrier: bool = False  # memory that other threads see was touched since the last barrier
    next_number: int = 1
    statements: int = 0
    #: What was derived from this very state; never carried over to another.
    memo: dict[object, Any] = field(init=False, default_factory=dict, compare=False, repr=False)

    @classmethod
    def start(cls, contract: Contract, level: Level) -> State:
        """The state just after the header."""
        return cls(contract, level)

    # ------------------------------------------------------------ registers

    def next_register(self, register_type: str, ahead: int = 0) -> str | None:
        """The next fresh register of a class, `ahead` more further on; None when the budget is used up."""
        order = self.contract.orders[register_type]
        position = self.fresh.get(register_type, 0) + ahead
        return order[position] if position < len(order) else None

    def left(self, register_type: str) -> int:
        """How many fresh registers of a class the budget still has."""
        return self.contract.classes[register_type].default - self.fresh.get(register_type, 0)

    def value(self, register: str) -> Value:
        return self.values[self.registers[register]]

    def holders(self, number: int) -> list[str]:
        """The registers, available here, that hold a value."""
        return [r for r, n in self.registers.items() if n == number]

    def innermost_loop(self) -> Region | None:
        return next((r for r in reversed(self.regions) if r.kind == "loop"), None)

    def rewritable(self, guarded: bool) -> list[str]:
        found: list[str] | None = self.memo.get(("rewritable", guarded))
        if found is None:
            found = self.memo["rewritable", guarded] = self._rewritable(guarded)
        return found

    def _rewritable(self, guarded: bool) -> list[str]:
        """Registers that may be written although they hold something: variables, where the write is
        conditional or inside a region that was entered with them; and in loops also what is carried."""
        loop = self.innermost_loop()
        out = []
        for register in self.registers:
            inside = bool(self.regions) and register in self.regions[-1].registers
            if register in self.variables:
                if guarded or inside:
                    out.append(register)
            elif loop is not None and register in loop.registers and self._carriable(register):
                out.append(register)
        return out

    def _carriable(self, register: str) -> bool:
        value = self.value(register)
        if value.kind == "pred" or value.operation.startswith(("param ", "special ")):
            return False
        return value.pointer is None or bool(value.pointer.index)

    # ------------------------------------------------------------ what is known

    def guarded(self, number: int, extra: frozenset[int] = NO_FACTS) -> bool:
        """Whether a value is bounded on this path (`extra`: facts of the instruction's own predicate).

        Bounded is: compared against something all threads agree on, the same for all threads of the block,
        bounded by construction, or computed from bounded values only.
        """
        value = self.values[number]
        if number in self.facts or number in extra or value.bounded or not value.varying:
            return True
        if not value.arguments or value.operation == "carried":
            return False
        return all(self.guarded(a, extra) for a in value.arguments)

    def reliances(self, number: int, extra: frozenset[int] = NO_FACTS) -> frozenset[int]:
        """The facts that `guarded` rests on."""
        value = self.values[number]
        if number in self.facts or number in extra:
            return frozenset({number})
        if value.bounded or not value.varying:
            return NO_FACTS
        found: frozenset[int] = NO_FACTS
        for argument in value.arguments:
            found |= self.reliances(argument, extra)
        return found

    def depends_on(self, number: int, targets: frozenset[int]) -> bool:
        """Whether a value was computed from any of `targets`."""
        pending, seen = [number], set()
        while pending:
            current = pending.pop()
            if current in targets:
                return True
            if current not in seen:
                seen.add(current)
                pending.extend(self.values[current].arguments)
        return False

    def divergent(self) -> bool:
        """Whether only part of a block's threads may be here."""
        return self.diverged or any(r.diverges for r in self.regions if r.kind == "forward")

    def parameter(self, symbol: str) -> Parameter:
        return self.contract.parameters[symbol]

    # ------------------------------------------------------------ obligations

    def unstored(self) -> list[Parameter]:
        return [p for p in self.contract.outputs if p.symbol not in self.stored]

    def unconsumed(self) -> list[Parameter]:
        return [
            p
            for s, p in self.contract.parameters.items()
            if s not in self.consumed and not (p.pointer and p.access != "in")
        ]

    def unmet(self) -> list[str]:
        return [prefix for prefix in self.contract.require if prefix not in self.met]

    def fulfilled(self) -> bool:
        """Whether every obligation of `full` is met."""
        return not (self.unstored() or self.unconsumed() or self.unmet())

    @property
    def closed(self) -> bool:
        return self.ending == "closed"
