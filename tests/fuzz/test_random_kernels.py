"""Random whole kernels on the emulator: it agrees with itself, with a simple interpreter and with who judges texts.

`python -m fuzz.emulator_against_itself` does the same on as many kernels as there is time for.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from simple_interpreter import Machine

from fuzz.kernels import agreeing, altering
from fuzz.kernels.agreeing import disagreements, grown, refusals
from fuzz.kernels.forms import survey, usable
from fuzz.kernels.making import Kernel, make
from fuzz.kernels.running import arguments, run
from fuzz.kernels.shrinking import shrink
from ptxgen.assembling import ToolMissing, find_ptxas
from ptxgen.executing.emulator import Emulator

EMULATOR = Emulator()


def interpreted(kernel: Kernel) -> np.ndarray:
    """What the simple interpreter gives, as `run` has it."""
    buffers = [bytearray(np.ascontiguousarray(given.data).tobytes()) for given in arguments(kernel)]
    Machine(kernel.ptx, buffers).run(kernel.launch.grid, kernel.launch.block)
    return np.concatenate([np.frombuffer(buffers[number], np.uint64) for number in (1, 3)])


@pytest.mark.parametrize("seed", range(1000, 1005))
def test_the_emulator_agrees_with_itself(seed: int) -> None:
    """Whatever runs at once, whoever looks on, and however the kernel is written down."""
    assert list(disagreements(make(seed, statements=30))) == []


@pytest.mark.parametrize("seed", range(2000, 2020))
def test_the_emulator_agrees_with_a_simple_interpreter(seed: int) -> None:
    kernel = make(seed, statements=60, scalar_only=True)
    result = run(kernel, EMULATOR)
    assert not result.faults
    np.testing.assert_array_equal(result.words, interpreted(kernel))


@pytest.mark.parametrize("seed", [3002, 3003, 3005])
def test_a_kernel_that_grows_gives_what_the_whole_one_gives(seed: int) -> None:
    kernel = next(k for k in (make(s, statements=40, scalar_only=True) for s in range(seed, seed + 100))
                  if "brx.idx" not in k.ptx)  # fmt: skip
    begun = next(n for n, line in enumerate(kernel.ptx.splitlines()) if "first_values, %x" in line)
    assert grown(kernel, begun).digest == run(kernel, EMULATOR).digest


@pytest.mark.parametrize("seed", range(4000, 4005))
def test_the_checker_and_the_assemblers_take_every_kernel(seed: int) -> None:
    try:
        assemblers = find_ptxas()
    except ToolMissing:
        assemblers = ()
    assert list(refusals(make(seed, statements=80), assemblers)) == []


def test_a_kernel_depends_on_its_seed_alone() -> None:
    assert make(7) == make(7)
    assert make(7).ptx != make(8).ptx


def test_every_kind_of_kernel_is_made() -> None:
    """What the generator is for comes up again and again."""
    text = "\n".join(make(seed, statements=150).ptx for seed in range(60))
    for sign in (
        r"brx\.idx", r"\.callprototype", r"call \(returned\), function", r"call \(returned\), %", r"\texit;",
        r"shfl\.sync\.bfly", r"vote\.sync\.ballot", r"match\.any", r"redux\.sync", r"mma\.sync", r"bar\.red",
        r"barrier\.sync", r"addc\.cc",
        r"madc", r"subc", r"atom\.", r"red\.shared", r"ld\.local\.v4", r"st\.shared\.v4", r"ld\.const",
        r"ld\.global\.nc",
        r"\.extern \.shared", r"fma\.rn", r"\.f16x2", r"\.bf16", r"cvt\.", r"mov\.b64 \{", r"lop3", r"v(add|sub)[24]",
    ):
        assert re.search(sign, text), sign
    blocks = [make(seed, statements=20).launch.block for seed in range(60)]
    assert any(x * y * z % 32 for x, y, z in blocks)
    assert any(z > 1 for _, _, z in blocks)


def test_every_instruction_of_the_table_is_used_unless_it_is_an_approximation() -> None:
    """A new row comes in by itself; what is left out has no one right answer. Of integers nothing is left out but
    what assemblers are known to get wrong."""
    used = usable()
    groups = (used.scalar, used.carries, used.warps, used.loads, used.stores, used.atomics, {"": used.matrices})
    taken = {form.opcode for group in groups for every in group.values() for form in every}
    every = survey()
    names = {form.name for form in every} - {opcode.split(".")[0] for opcode in taken}
    assert names == {"cos", "ex2", "lg2", "rsqrt", "sin", "tanh"}
    whole = [form for form in every if all(o.type[:1] in ("u", "s") for o in form.operands)]
    left = {form.opcode for form in whole} - taken
    assert all(re.search(r"v\w+\.u32\.u32\.u32|cache_hint|::cluster|mmio|param", opcode) for opcode in left), left


def test_what_differs_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = {
        "wrong": lambda text, seed: text.replace("%hash, %thread", "%hash, %block", 1),
        "faulty": lambda text, seed: text.replace("ld.param.u64 %out_at", "ld.param.u64 %values_at", 1),
    }
    monkeypatch.setattr(agreeing, "ALTERATIONS", wrong)
    found = [line.split(":")[0] for line in disagreements(make(1000, statements=20))]
    assert found == ["wrong", "faulty"]


def test_every_alteration_changes_the_text() -> None:
    kernels = [make(seed, statements=80) for seed in range(1000, 1010)]
    for name, alter in altering.ALTERATIONS.items():
        assert any(alter(kernel.ptx, kernel.seed) != kernel.ptx for kernel in kernels), name


def test_shrinking_leaves_what_matters() -> None:
    text = "".join(f"line {number}\n" for number in range(200))
    assert shrink(text, lambda cut: "line 17\n" in cut and "line 150\n" in cut) == "line 17\nline 150\n"
    assert shrink(text, lambda cut: False) == text
    assert shrink(text, lambda cut: True, seconds=0) == text
