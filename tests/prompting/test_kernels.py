"""Our own kernels: house style, the ISA table's spelling, ptxas, and the emulator's verdict."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from ptxgen.assembling import find_ptxas
from ptxgen.errors import PtxgenError
from ptxgen.executing import make_executor
from ptxgen.isa import load_table
from ptxgen.verifying import check_oracle, verify

from .kernels import EXAMPLES, Kernel, correct_kernels, opcodes, references

OURS = [*references(), *correct_kernels()]
#: One of each way to move data.
QUICK = ["scale", "gather", "warp_centre", "transpose", "histogram", "clamp__if_else"]

every_kernel = pytest.mark.parametrize("kernel", OURS, ids=lambda kernel: kernel.name)


def test_each_example_has_a_kernel():
    assert {path.stem for path in EXAMPLES} <= {kernel.name for kernel in correct_kernels()}


def test_each_reference_has_its_spec_and_its_own_name():
    for kernel in references():
        assert kernel.spec.kernel.name == kernel.name


@every_kernel
def test_header_is_that_of_the_spec(kernel: Kernel):
    assert kernel.ptx.startswith(kernel.header())


@every_kernel
def test_ends_at_the_end_label(kernel: Kernel):
    assert kernel.body()[-3:] == ["$L_end:", "\tret;", "}"]


@every_kernel
def test_registers_are_numbered_in_order_of_definition(kernel: Kernel):
    seen: dict[str, int] = {}
    for line in kernel.body():
        for prefix, number in re.findall(r"%(pred|p|rs|rd|r|fd|f)(\d+)", line):
            assert int(number) <= seen.get(prefix, 0) + 1, line
            seen[prefix] = max(seen.get(prefix, 0), int(number))


@every_kernel
def test_labels_are_numbered_in_order_of_first_mention(kernel: Kernel):
    seen: list[int] = []
    for number in re.findall(r"\$L_(\d+)", "\n".join(kernel.body())):
        if int(number) not in seen:
            seen.append(int(number))
    assert seen == list(range(1, len(seen) + 1))


@every_kernel
def test_pointers_are_converted_where_they_are_loaded(kernel: Kernel):
    lines = kernel.body()
    for line, following in pairwise(lines):
        loaded = re.fullmatch(r"\tld\.param\.u64 (%rd\d+), .*;", line)
        if loaded:
            assert re.fullmatch(rf"\tcvta\.to\.global\.u64 %rd\d+, {loaded[1]};", following), line


@every_kernel
def test_opcodes_are_spelt_as_the_table_spells_them(kernel: Kernel):
    table = load_table()
    for opcode in opcodes(kernel.body()):
        assert any(expansion.opcode == opcode for expansion in table.candidates(opcode)), opcode


@every_kernel
def test_ptxas_accepts(kernel: Kernel):
    try:
        ptxas = find_ptxas()[0]
    except PtxgenError as error:
        pytest.skip(str(error))
    for arch in kernel.spec.target.arch:
        assembly = ptxas.assemble(kernel.ptx, arch)
        assert assembly.ok, assembly.messages
        assert assembly.spill_bytes == 0


def is_right(kernel: Kernel, examples: int) -> None:
    spec = kernel.spec
    check_oracle(spec)
    executor = make_executor("emulator", spec.target.arch[0])
    try:
        verdict = verify(spec, kernel.ptx, executor, examples=examples)
    finally:
        executor.close()
    assert verdict.ok, verdict.failures


@pytest.mark.parametrize("kernel", [k for k in OURS if k.name in QUICK], ids=lambda kernel: kernel.name)
def test_is_right(kernel: Kernel):
    is_right(kernel, 5)


@pytest.mark.slow
@every_kernel
def test_is_right_on_many_examples(kernel: Kernel):
    is_right(kernel, 40)
