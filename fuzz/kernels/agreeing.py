"""What must hold of every kernel without a GPU: the emulator agrees with itself, and with those who judge texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from fuzz.kernels.altering import ALTERATIONS
from fuzz.kernels.forms import ARCH
from fuzz.kernels.making import Kernel
from fuzz.kernels.running import Result, arguments, result_of, run
from ptxgen.assembling import Ptxas
from ptxgen.errors import PtxgenError
from ptxgen.executing import Launch
from ptxgen.executing.emulator import Emulator, Profile, Stepper, Trace, Watcher
from ptxgen.isa import load_table
from ptxgen.ptx import parse
from ptxgen.semantics import check_module


def disagreements(kernel: Kernel) -> Iterator[str]:
    """Each way in which the emulator contradicts itself on a kernel, with what it gave."""
    emulator = Emulator()
    plain = run(kernel, emulator)
    yield from (f"{fault.kind} at line {fault.line}: {fault.message}" for fault in plain.faults)
    if plain.faults:
        return
    for name, alter in ALTERATIONS.items():
        yield from _difference(name, plain, run(kernel, emulator, alter(kernel.ptx, kernel.seed)))
    one_block = kernel.launch.block[0] * kernel.launch.block[1] * kernel.launch.block[2]
    yield from _difference("block by block", plain, run(kernel, Emulator(lanes_at_once=one_block)))
    yield from _difference("two blocks at once", plain, run(kernel, Emulator(lanes_at_once=2 * one_block)))
    for name, launch in _other_grids(kernel.launch):
        yield from _difference(name, plain, run(replace(kernel, launch=launch), emulator))
    yield from _difference("watched", plain, watched(kernel, emulator))


def _difference(name: str, plain: Result, other: Result) -> Iterator[str]:
    if other.faults:
        fault = other.faults[0]
        yield f"{name}: {fault.kind} at line {fault.line}: {fault.message}"
    elif other.digest != plain.digest:
        places = np.flatnonzero(plain.words != other.words)
        yield f"{name}: {places.size} words differ, the first is {int(places[0])}"


def _other_grids(launch: Launch) -> Iterator[tuple[str, Launch]]:
    """Kernels number their blocks in the order of the grid, so that only the order counts."""
    blocks = launch.grid[0] * launch.grid[1] * launch.grid[2]
    for grid in {(blocks, 1, 1), (1, blocks, 1), (1, 1, blocks)} - {launch.grid}:
        yield f"grid {grid}", replace(launch, grid=grid)


def watched(kernel: Kernel, emulator: Emulator) -> Result:
    """With somebody who looks on."""
    given = arguments(kernel)
    watchers: list[Watcher] = [Trace((0, 0, 0), (0, 0, 0)), Profile()]
    return result_of(emulator.run(kernel.ptx, "k", kernel.launch, given, watchers=watchers))


def grown(kernel: Kernel, first: int) -> Result:
    """The kernel's first lines run, then the others appended one by one. Raises PtxgenError for real calls."""
    lines = kernel.ptx.rstrip("\n").splitlines()
    assert lines[-1] == "}"
    stepper = Stepper("\n".join(lines[:first]) + "\n", kernel.launch, arguments(kernel))
    stepper.go_on()
    scope: list[str] = []
    for line in lines[first:-1]:
        # The parameters of a call and the call itself are one statement.
        scope.append(line)
        if line == "\t}" or (line != "\t{" and scope[0] != "\t{"):
            stepper.append("\n".join(scope))
            stepper.go_on()
            scope = []
    return result_of(stepper.finish())


def refusals(kernel: Kernel, assemblers: Sequence[Ptxas]) -> Iterator[str]:
    """What the checker and the assemblers have against a kernel."""
    try:
        found = check_module(parse(kernel.ptx), load_table(), ARCH)
    except PtxgenError as error:
        yield f"check: {error}"
        return
    for diagnostic in found:
        if diagnostic.severity == "error":
            yield f"check: line {diagnostic.span.line}: {diagnostic.message}"
    for ptxas in assemblers:
        assembly = ptxas.assemble(kernel.ptx, ARCH, optimise=0)
        if not assembly.ok:
            yield from (f"ptxas {ptxas.version}: line {m.line}: {m.text}" for m in assembly.messages)
