"""Whether a kernel is right: assembled for every target, held against its constraints, verified."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass

from ptxgen.assembling import Assembly, Ptxas, annotate
from ptxgen.executing.gpu import GpuExecutor
from ptxgen.executing.protocol import Executor
from ptxgen.generating.candidates import Status
from ptxgen.ptx import parse
from ptxgen.ptx.tree import Block, Instruction, Statement
from ptxgen.spec import Spec
from ptxgen.verifying import Failure, Verdict, verify

#: Counterexamples and messages of ptxas that are told; a small model loses itself in more.
TOLD = 3


@dataclass(frozen=True, slots=True)
class Judgement:
    """`trouble` in a line, `report` as the model is told; both "" where the kernel is right."""

    status: Status
    assemblies: tuple[Assembly, ...] = ()
    verdict: Verdict | None = None
    trouble: str = ""
    report: str = ""


def cubin_by(ptxas: Ptxas, level: int = 3) -> Callable[[str, str], bytes | None]:
    """What makes cubins of PTX for a target, None where `ptxas` refuses it."""
    return lambda ptx, arch: ptxas.assemble(ptx, arch, optimise=level).cubin


def recompiled(ptxas: Ptxas, level: int) -> Executor:
    """An executor that runs what `ptxas` makes at that optimisation level."""
    return GpuExecutor(assemble=cubin_by(ptxas, level))


@dataclass(frozen=True)
class Judge:
    """What a kernel is judged by. `arch` lists the targets, the one it was written for first."""

    spec: Spec
    arch: tuple[str, ...]
    ptxas: tuple[Ptxas, ...]
    executor: Executor
    seed: int = 0
    recompiled: Callable[[Ptxas, int], Executor] = recompiled

    def judge(self, ptx: str, progress: Callable[[str], None] = lambda stage: None) -> Judgement:
        """The verdict on a whole kernel. Raises PtxgenError where no verdict can be had."""
        progress("assembling")
        assemblies = tuple(self.ptxas[0].assemble(ptx, arch) for arch in self.arch)
        refused = [assembly for assembly in assemblies if not assembly.ok]
        if refused:
            return Judgement("rejected", assemblies, None, *_refusal(ptx, refused[0]))
        broken = [*_over_limits(self.spec, assemblies), *_wrong_instructions(self.spec, ptx)]
        if broken:
            return Judgement("over-budget", assemblies, None, broken[0], "\n".join(broken))
        progress("verifying")
        verdict = verify(self.spec, ptx, self.executor, seed=self.seed, arch=self.arch[0])
        if not verdict.ok:
            if self.executor.name == "gpu" and (culprit := self._miscompiled(ptx, progress)):
                return Judgement("miscompiled", assemblies, verdict, culprit)
            return Judgement("failed", assemblies, verdict, *_counterexamples(verdict.failures))
        progress("verifying on inputs held out")
        final = verify(self.spec, ptx, self.executor, seed=self.seed, held_out=True, arch=self.arch[0])
        if not final.ok:
            # What is held out decides, so the model must never learn from it: no report.
            trouble, _ = _counterexamples(final.failures)
            return Judgement("failed", assemblies, final, f"on inputs held out: {trouble}")
        return Judgement("verified", assemblies, final)

    def _miscompiled(self, ptx: str, progress: Callable[[str], None]) -> str:
        """Which compiler is to blame for a difference, "" where none is: the kernel itself is wrong."""
        for ptxas, level in [(self.ptxas[0], 0), *((other, 3) for other in self.ptxas[1:2])]:
            progress(f"verifying again, ptxas {ptxas.version} at -O{level}")
            with closing(self.recompiled(ptxas, level)) as executor:
                if verify(self.spec, ptx, executor, seed=self.seed, arch=self.arch[0]).ok:
                    return f"right with ptxas {ptxas.version} at -O{level}, wrong as the driver compiles it"
        return ""


def _refusal(ptx: str, assembly: Assembly) -> tuple[str, str]:
    errors = [message for message in assembly.messages if message.severity != "warning"]
    told = (errors or list(assembly.messages))[:TOLD]
    first = told[0]
    line = f", line {first.line}" if first.line else ""
    return f"ptxas for {assembly.arch}{line}: {first.text}", annotate(ptx, told)


def _over_limits(spec: Spec, assemblies: Sequence[Assembly]) -> list[str]:
    """Registers, spills and shared memory against the spec's constraints."""
    limits = spec.constraints
    broken = []
    for assembly in assemblies:
        used, spilled = assembly.registers or 0, assembly.spill_bytes or 0
        if limits.registers is not None and used > limits.registers:
            broken.append(f"{assembly.arch}: {used} registers a thread, {limits.registers} allowed")
        if limits.registers is not None and spilled:
            broken.append(f"{assembly.arch}: {spilled} bytes of registers spilled, none allowed")
        shared = assembly.shared_bytes or 0
        if limits.shared_bytes is not None and shared > limits.shared_bytes:
            broken.append(f"{assembly.arch}: {shared} bytes of shared memory, {limits.shared_bytes} allowed")
    return broken


def _wrong_instructions(spec: Spec, ptx: str) -> list[str]:
    """Required opcodes that are missing and forbidden ones that are there."""
    required, forbidden = tuple(spec.constraints.require or ()), tuple(spec.constraints.forbid or ())
    if not required and not forbidden:
        return []
    opcodes = [opcode for entry in parse(ptx).entries() for opcode in _opcodes(entry.body or ())]
    broken = [
        f"the instruction {name} is required and missing"
        for name in required
        if not any(_is_a(opcode, name) for opcode in opcodes)
    ]
    broken += [
        f"the instruction {opcode} is forbidden"
        for name in forbidden
        for opcode in dict.fromkeys(opcodes)
        if _is_a(opcode, name)
    ]
    return broken


def _is_a(opcode: str, name: str) -> bool:
    return opcode == name or opcode.startswith(name + ".")


def _opcodes(statements: Sequence[Statement]) -> list[str]:
    found = []
    for statement in statements:
        if isinstance(statement, Instruction):
            found.append(statement.opcode)
        elif isinstance(statement, Block):
            found += _opcodes(statement.statements)
    return found


def _counterexamples(failures: Sequence[Failure]) -> tuple[str, str]:
    if not failures:
        return "it failed without a counterexample", "The result is wrong."
    return failures[0].message, "\n".join(failure.message for failure in failures[:TOLD])
