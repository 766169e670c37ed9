"""What ptxas is known to get wrong: the file, and which forms it means."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptxgen.isa import Expansion, TableError, load_table
from ptxgen.isa.faults import circumstances, cut_amount, faults_of, known_faults, read_faults

TABLE = load_table()
FOLDER = Path(__file__).parents[2] / "isa"
ROW = """[[fault]]
instructions = "testp"
circumstance = "guard"
what = "w"
instead = "i"
ptxas = "13.0"
"""


def form(opcode: str) -> Expansion:
    return TABLE.candidates(opcode)[0]


@pytest.mark.parametrize(("opcode", "expected"), [
    ("testp.finite.f32", {"guard"}), ("testp.normal.f64", {"guard"}), ("set.eq.u32.f32", set()),
    ("set.eq.f32.f32", {"guard"}), ("set.eq.f32.s64", {"guard"}), ("set.eq.and.u32.s16", {"guard"}),
    ("set.eq.u16.f16", {"guard"}), ("set.eq.s32.bf16", {"guard"}), ("set.eq.u32.f16x2", set()),
    ("set.eq.f16x2.f16x2", set()), ("set.ge.f16.f64", {"guard", "beside"}), ("set.ge.bf16.u16", {"guard", "beside"}),
    ("vadd4.u32.u32.u32.add", {"guard"}), ("vadd4.u32.u32.u32.sat", set()), ("vsub4.s32.u32.s32.add", {"guard"}),
    ("vadd2.u32.u32.u32.add", set()), ("shl.b16", {"constant"}), ("shr.s16", {"constant"}), ("shl.b32", set()),
    ("madc.hi.u64", {"carry"}), ("madc.hi.cc.s64", {"carry"}), ("madc.lo.u64", set()), ("madc.hi.u32", set()),
    ("setp.eq.u16", set()), ("add.f32", set()),
])  # fmt: skip
def test_which_forms_go_wrong(opcode: str, expected: set[str]) -> None:
    assert circumstances(form(opcode)) == expected


def test_every_row_says_what_and_how_else() -> None:
    for fault in known_faults():
        assert all((fault.what, fault.instead, fault.ptxas))
        assert any(fault in faults_of(found) for name in fault.instructions for found in TABLE.expansions(name))


@pytest.mark.parametrize(("amount", "wrong"), [
    (0, False), (15, False), (16, False), (65535, False), (65536, True), (65551, True), (65552, False), (-1, False),
    (1 << 31, True), (-65536, True),
])  # fmt: skip
def test_amounts_that_are_cut(amount: int, wrong: bool) -> None:
    assert cut_amount(amount) is wrong


@pytest.mark.parametrize("text", [
    "", "not toml", "x = 1", "fault = 3", "fault = [3]", ROW + ROW, ROW + "other = 'x'\n",
    *(ROW.replace(line + "\n", "") for line in ROW.splitlines()),
    ROW.replace('"testp"', '"tstp"'), ROW.replace('"testp"', "3"), ROW.replace('"guard"', '"never"'),
    ROW.replace('"guard"', '"beside"'), ROW + 'beside = "div"\n', ROW + 'words = "nothing"\n',
    ROW + 'types = "f31"\n', ROW + 'types = "u16"\n', ROW + 'read = "f31"\n', ROW + 'optimised = "yes"\n',
])  # fmt: skip
def test_a_wrong_file_is_an_error_of_the_table(tmp_path: Path, text: str) -> None:
    (tmp_path / "assembler-faults.toml").write_text(text)
    with pytest.raises(TableError):
        read_faults(tmp_path, TABLE)


def test_a_missing_file_is_an_error_of_the_table(tmp_path: Path) -> None:
    with pytest.raises(TableError):
        read_faults(tmp_path, TABLE)


def test_the_row_of_these_tests_is_right(tmp_path: Path) -> None:
    (tmp_path / "assembler-faults.toml").write_text(ROW)
    assert read_faults(tmp_path, TABLE)[0].instructions == {"testp"}
