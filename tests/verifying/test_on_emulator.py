"""With the real emulator: kernels of the examples pass, and small changes to their text do not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ptxgen.executing import make_executor
from ptxgen.spec import load_spec
from ptxgen.verifying import verify

ROOT = Path(__file__).parents[2]
KERNELS = {path.stem: path.read_text() for path in sorted((ROOT / "tests" / "kernels").glob("*.ptx"))}

#: kernel, what is replaced (once), by what, and the check that must find it
MUTANTS = [
    ("vector_add", r"setp\.ge\.u32", "setp.gt.u32", "out-of-bounds"),
    ("vector_add", r"add\.f32", "sub.f32", "wrong-value"),
    ("saxpy", r"fma\.rn\.f32 (%f\d+), (%f\d+), (%f\d+), (%f\d+)", r"fma.rn.f32 \1, \2, \4, \3", "wrong-value"),
    ("relu", r"max\.f32", "min.f32", "wrong-value"),
    ("lerp", r"sub\.f32 (%f\d+), (%f\d+), (%f\d+)", r"sub.f32 \1, \3, \2", "wrong-value"),
    ("hypot", r"sqrt\.", "rsqrt.", None),
    ("half_add", r"add(\.rn)?\.f16", r"sub\1.f16", "wrong-value"),
    ("block_sum", r"\tbar\.sync[^;]*;\n", "", "race"),
    ("histogram", r"(red|atom)\.global\.add\.u32", r"\1.global.max.u32", "wrong-value"),
]


@pytest.fixture(scope="module")
def emulator():
    executor = make_executor("emulator", "sm_80")
    yield executor
    executor.close()


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_of_the_examples_pass(name, emulator):
    spec = load_spec(ROOT / "examples" / f"{name}.toml")
    verdict = verify(spec, KERNELS[name], emulator, examples=24)
    assert verdict.ok, verdict.failures


@pytest.mark.parametrize(("name", "old", "new", "check"), MUTANTS)
def test_mutants_are_killed(name, old, new, check, emulator):
    text, changes = re.subn(old, new, KERNELS[name], count=1)
    assert changes == 1
    verdict = verify(load_spec(ROOT / "examples" / f"{name}.toml"), text, emulator, examples=40)
    assert not verdict.ok
    assert check is None or verdict.failures[0].check == check, verdict.failures


def test_another_entry_is_told_as_such(emulator):
    spec = load_spec(ROOT / "examples" / "saxpy.toml")
    (failure,) = verify(spec, KERNELS["relu"], emulator).failures
    assert failure.check == "signature"
