"""What happens along the paths of a function: registers read before anything wrote them, a missing end.

Every register is a bit. Forward over the blocks, `may` holds what some path has written and `must` what every
path has. A write under a guard counts, within its block, only where the same guard holds or the opposite
one has written too; beyond the block it is trusted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ptxgen.ptx.tree import Span
from ptxgen.semantics.checking_scopes import Findings, Register

End = Literal["falls", "branches", "jumps", "leaves"]


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction, as the flow sees it. `targets` are labels."""

    span: Span
    reads: tuple[tuple[Register, Span], ...] = ()
    writes: tuple[Register, ...] = ()
    guard: tuple[Register, bool] | None = None
    end: End = "falls"
    targets: tuple[Register, ...] = ()


@dataclass
class Flow:
    """The steps of a function in order, and where its labels stand."""

    steps: list[Step] = field(default_factory=list)
    labels: dict[Register, int] = field(default_factory=dict)
    entered_with: set[Register] = field(default_factory=set)
    end: Span = field(default_factory=Span)


@dataclass
class _Block:
    first: int
    last: int
    successors: list[int] = field(default_factory=list)
    predecessors: list[int] = field(default_factory=list)
    writes: int = 0
    may_in: int = 0
    must_in: int = 0


def check_flow(flow: Flow, findings: Findings) -> None:
    """Report the first doubtful read of every register, and an end that is missing."""
    if not flow.steps:
        findings.warn(flow.end, "missing-return", "the body does nothing, and does not return", "end it with ret;")
        return
    blocks, falls_off = _blocks(flow)
    bits: dict[Register, int] = {}
    for step in flow.steps:
        for register in (*step.writes, *(r for r, _ in step.reads)):
            bits.setdefault(register, 1 << len(bits))
    for register in flow.entered_with:
        bits.setdefault(register, 1 << len(bits))
    everything = (1 << len(bits)) - 1
    for block in blocks:
        for step in flow.steps[block.first : block.last]:
            for register in step.writes:
                block.writes |= bits[register]
    reachable = _solve(blocks, sum(bits[r] for r in flow.entered_with), everything)
    _report_unreachable(flow, blocks, reachable, findings)
    written = 0
    for block in blocks:
        written |= block.writes
    reported: set[Register] = set()
    for number, block in enumerate(blocks):
        if number in reachable:
            _report(flow, block, bits, written, reported, findings)
    if any(block in reachable for block in falls_off):
        findings.warn(flow.end, "missing-return", "execution runs past the last instruction", "end it with ret;")


def _report_unreachable(flow: Flow, blocks: list[_Block], reachable: set[int], findings: Findings) -> None:
    """The first instruction that no path reaches, of each stretch; compilers leave ends and jumps there, which do
    no harm."""
    for number, block in enumerate(blocks):
        if number in reachable or number - 1 not in reachable:
            continue
        step = flow.steps[block.first]
        if step.end == "falls":
            findings.warn(step.span, "unreachable-code", "no path leads here",
                          "a label before it that something branches to would make it reachable")


def _blocks(flow: Flow) -> tuple[list[_Block], list[int]]:
    count = len(flow.steps)
    starts = {0, *(at for at in flow.labels.values() if at < count)}
    starts.update(i + 1 for i, step in enumerate(flow.steps) if step.end != "falls" and i + 1 < count)
    order = sorted(starts)
    number = {start: i for i, start in enumerate(order)}
    blocks = [_Block(start, end) for start, end in zip(order, [*order[1:], count], strict=True)]
    falls_off: list[int] = []
    for i, block in enumerate(blocks):
        step = flow.steps[block.last - 1]
        for label in step.targets:
            at = flow.labels.get(label)
            if at is not None and at < count:
                block.successors.append(number[at])
            elif at is not None:
                falls_off.append(i)
        if step.end in ("falls", "branches"):
            if block.last < count:
                block.successors.append(i + 1)
            else:
                falls_off.append(i)
        for successor in block.successors:
            blocks[successor].predecessors.append(i)
    return blocks, falls_off


def _solve(blocks: list[_Block], entered_with: int, everything: int) -> set[int]:
    """Fill in `may_in` and `must_in`; the numbers of the blocks that can be reached."""
    order = _forwards(blocks)
    reachable = set(order)
    for block in blocks[1:]:
        block.must_in = everything
    blocks[0].may_in = blocks[0].must_in = entered_with
    changed = True
    while changed:
        changed = False
        for i in order:
            block = blocks[i]
            may = must = entered_with if i == 0 else None
            for p in block.predecessors:
                if p not in reachable:
                    continue
                may_out = blocks[p].may_in | blocks[p].writes
                must_out = blocks[p].must_in | blocks[p].writes
                may = may_out if may is None else may | may_out
                must = must_out if must is None else must & must_out
            if may is not None and must is not None and (may, must) != (block.may_in, block.must_in):
                block.may_in, block.must_in = may, must
                changed = True
    return reachable


def _forwards(blocks: list[_Block]) -> list[int]:
    """The blocks that can be reached, each before those behind it where no loop forbids that: whatever order they
    are written in, few rounds over them are enough."""
    finished: list[int] = []
    seen = {0}
    pending = [(0, iter(blocks[0].successors))]
    while pending:
        number, successors = pending[-1]
        following = next((s for s in successors if s not in seen), None)
        if following is None:
            finished.append(number)
            pending.pop()
        else:
            seen.add(following)
            pending.append((following, iter(blocks[following].successors)))
    finished.reverse()
    return finished


def _report(
    flow: Flow, block: _Block, bits: dict[Register, int], written: int, reported: set[Register], findings: Findings
) -> None:
    may, must = block.may_in, block.must_in
    guarded: dict[Register, set[tuple[Register, bool]]] = {}
    for step in flow.steps[block.first : block.last]:
        for register, span in step.reads:
            bit = bits[register]
            covered = must & bit or (step.guard is not None and step.guard in guarded.get(register, ()))
            if covered or register in reported:
                continue
            reported.add(register)
            if not written & bit:
                findings.warn(span, "uninitialised-register", f"{register.name} is read, but nothing writes it")
            elif not may & bit:
                told = f"{register.name} is read before anything writes it"
                findings.warn(span, "uninitialised-register", told)
            else:
                told = f"{register.name} is read, but not every path here has written it"
                findings.warn(span, "uninitialised-register", told)
        for register in step.writes:
            bit = bits[register]
            may |= bit
            if step.guard is None:
                must |= bit
            else:
                seen = guarded.setdefault(register, set())
                seen.add(step.guard)
                if (step.guard[0], not step.guard[1]) in seen:
                    must |= bit
            # A predicate that changes makes what was written under it uncertain.
            for guards in guarded.values():
                guards.difference_update({(register, False), (register, True)})
