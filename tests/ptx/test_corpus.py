"""What compilers emit: the recorded corpus, parsed whole, found in the table, the same after printing.

A fixed share runs by default, spread over compilers, sources and targets; `-m slow` runs everything.
"""

from __future__ import annotations

import struct
from functools import cache
from pathlib import Path

import pytest

from bench.corpus.assembled import assemble
from bench.corpus.machine_code import machine_code, sections
from bench.corpus.measuring import Outcome, measure
from bench.corpus.recording import Compiled, compilers, record, recorded
from ptxgen.assembling import Ptxas, ToolMissing, find_ptxas
from ptxgen.isa import load_table
from ptxgen.ptx import parse, print_module

COMPILERS = ("llvm", "numba", "nvcc", "nvrtc", "triton")
#: Least share of instructions that the table knows, by compiler.
RECOGNISED = 0.999
#: Longer files are left to the slow run.
_SHORT = 30_000


@cache
def _share(compiler: str) -> tuple[Compiled, ...]:
    """One short file in seven; which target and variant comes changes from source to source."""
    return tuple(f for f in recorded(compiler) if len(f.text) < _SHORT)[::7]


@cache
def _measured(compiler: str) -> tuple[Outcome, ...]:
    return tuple(measure(file, load_table()) for file in _share(compiler))


def _check(outcomes: tuple[Outcome, ...]) -> None:
    assert [(o.file.name, o.syntax[0]) for o in outcomes if o.syntax] == []
    assert [o.file.name for o in outcomes if not o.round_trip] == []
    unknown = [(o.file.name, u) for o in outcomes for u in o.unknown]
    assert len(unknown) <= (1 - RECOGNISED) * sum(o.instructions for o in outcomes), unknown[:20]


def test_every_compiler_is_there() -> None:
    assert compilers() == COMPILERS
    for compiler in COMPILERS:
        files = recorded(compiler)
        assert len(files) >= 60
        assert len({f.target for f in files}) >= 5


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_share_of_the_corpus(compiler: str) -> None:
    outcomes = _measured(compiler)
    assert sum(o.instructions for o in outcomes) > 500
    _check(outcomes)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_line_ends_blanks_and_comments_do_not_matter(compiler: str) -> None:
    for file in _share(compiler)[1::4]:
        module = parse(file.text)
        assert parse(file.text.replace("\n", "\r\n")) == module, file.name
        assert parse(file.text.replace("\t", "  \f ")) == module, file.name
        assert parse(f"// one\n/* two\n*/{file.text}// three") == module, file.name


@pytest.mark.slow
@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_whole_corpus(compiler: str) -> None:
    _check(tuple(measure(file, load_table()) for file in recorded(compiler)))


def _ptxas() -> Ptxas:
    try:
        return find_ptxas()[0]
    except ToolMissing as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_printed_file_is_the_same_program(compiler: str) -> None:
    ptxas = _ptxas()
    compared = [assemble(o, ptxas) for o in _measured(compiler)[::3]]
    assert [a.outcome.file.name for a in compared if a.same_code is False] == []
    assert any(a.same_code for a in compared)


@pytest.mark.slow
@pytest.mark.parametrize("compiler", COMPILERS)
def test_all_printed_files_are_the_same_programs(compiler: str) -> None:
    """And `check` finds no error in what ptxas takes."""
    ptxas, table = _ptxas(), load_table()
    compared = [assemble(measure(file, table), ptxas) for file in recorded(compiler)]
    assert [a.outcome.file.name for a in compared if a.same_code is False] == []
    assert [(a.outcome.file.name, d) for a in compared for d in a.false_alarms] == []


def test_other_code_is_told_apart() -> None:
    """The comparison sees a changed constant, and does not see names of registers."""
    ptxas = _ptxas()
    text = (
        ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a)\n{\n.reg .b64 %rd<3>;\n"
        ".reg .b32 %r<2>;\nld.param.u64 %rd1, [a];\nmov.u32 %r1, 5;\nst.global.u32 [%rd1], %r1;\nret;\n}\n"
    )
    one = machine_code(text, "sm_80", ptxas)
    assert one
    assert any(name.startswith(".text") for name in one)
    renamed = print_module(parse(text.replace("%r1", "other").replace("%r<2>", "other")))
    assert machine_code(renamed, "sm_80", ptxas) == one
    assert machine_code(text.replace(" 5;", " 6;"), "sm_80", ptxas) != one
    assert machine_code(text.replace("ld.param.u64", "ld.parm.u64"), "sm_80", ptxas) is None


def test_sections_of_an_elf_file() -> None:
    names = b"\0.text.k\0.debug_line\0.nv.shared.k\0"
    data = b"code" + b"line" + names
    headers = (
        struct.pack("<2I4Q24x", 0, 0, 0, 0, 0, 0)
        + struct.pack("<2I4Q24x", 1, 1, 0, 0, 64, 4)
        + struct.pack("<2I4Q24x", 9, 1, 0, 0, 68, 4)
        + struct.pack("<2I4Q24x", 21, 8, 0, 0, 0, 400)
        + struct.pack("<2I4Q24x", 0, 3, 0, 0, 72, len(names))
    )
    head = b"\x7fELF\x02\x01" + bytes(34) + struct.pack("<Q", 64 + len(data))
    head += bytes(10) + struct.pack("<3H", 64, 5, 4)
    elf = head + data + headers
    assert sections(elf) == {".text.k": b"code", ".nv.shared.k": b"400"}
    with pytest.raises(ValueError, match="ELF"):
        sections(b"MZ" + elf[2:])


def test_an_archive_repeats(tmp_path: Path) -> None:
    files = [Compiled("x", "b.sm_80.ptx", "two\n"), Compiled("x", "a.sm_90.fast.ptx", "one\n")]
    first = record("x", "X 1.0", files, tmp_path).read_bytes()
    assert record("x", "X 1.0", files[::-1], tmp_path).read_bytes() == first
    read = [(f.source, f.target, f.text) for f in recorded("x", tmp_path)]
    assert read == [("a", "sm_90", "one\n"), ("b", "sm_80", "two\n")]
