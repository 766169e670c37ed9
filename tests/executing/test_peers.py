"""Reading other projects' tests: made-up checkouts in their form, and constants as Rust writes them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench.peers import files, zluda
from bench.peers.cases import Case, Excuse, run, table
from bench.peers.rust import Reader, RustError, array, tokens
from ptxgen.assembling import ToolMissing
from ptxgen.errors import PtxgenError
from ptxgen.executing.emulator import Emulator

KERNEL = """.version 6.5
.target sm_30
.address_size {size}
.visible .entry {name}(.param .u{size} input, .param .u{size} output)
{{
    .reg .u{size} in_addr, out_addr; .reg .u32 value;
    ld.param.u{size} in_addr, [input]; ld.param.u{size} out_addr, [output];
    ld.u32 value, [in_addr]; {body} st.u32 [out_addr], value;
    ret;
}}
"""
SUITE = """
macro_rules! test_ptx { ($fn_name:ident, $input:expr, $output:expr) => { test_ptx!($fn_name, [1u32], [1u32]); }; }
test_ptx!(twice, [21u32], [42u32]);
test_ptx_with_32!(copy, [0xFFFF_FFFFu32], [u32::MAX]);   // not [1u32]
/* test_ptx!(gone, [1u32], [2u32]); */
test_ptx!(wrong, [21u32], [43u32]);
test_ptx_warp!(lanes, [0u32, 1, 2]);
test_ptx!(nothing);
// test_ptx!(
//     asleep,
//     [1u32], [1u32]
// );
"""


def expression(text: str) -> np.ndarray:
    return array(Reader(list(tokens(text))).expression())


@pytest.mark.parametrize(("text", "expected"), [
    ("[1u8, 0x0f, 0b1_0]", np.array([1, 15, 2], np.uint8)),
    ("[-5]", np.array([-5], np.int32)),
    ("[0xDEAD]", np.array([0xDEAD], np.int32)),
    ("[0x1u64, 0xFFFF_FFFF_FFFF_FFFF]", np.array([1, 2**64 - 1], np.uint64)),
    ("[1.5, -0.0f32]", np.array([1.5, -0.0], np.float32)),
    ("[1e3]", np.array([1000.0])),
    ("[10f32]", np.array([10], np.float32)),
    ("[0.25f64,]", np.array([0.25])),
    ("[i32::MIN, -1]", np.array([-(2**31), -1], np.int32)),
    ("[u64::max_value()]", np.array([2**64 - 1], np.uint64)),
    ("[std::f32::consts::PI / 2f32]", np.array([np.pi / 2], np.float32)),
    ("[f32::from_bits(0x7f800001)]", np.array([0x7F800001], np.uint32).view(np.float32)),
    ("[half::f16::from_f32(3.14), half::f16::NEG_INFINITY]", np.array([3.14, -np.inf], np.float16)),
    ("[0u16, half::f16::NAN.to_bits()]", np.array([0, 0x7E00], np.uint16)),
    ("[7u16; 3]", np.array([7, 7, 7], np.uint16)),
    ("[(1u32, 2u32), (3u32, 4u32)]", np.array([1, 2, 3, 4], np.uint32)),
    ("[-1i32 as u32, !0, 1 << 4]", np.array([2**32 - 1, 2**32 - 1, 16], np.int64).astype(np.uint32)),
])
def test_constants_of_rust(text: str, expected: np.ndarray) -> None:
    found = expression(text)
    assert found.dtype == expected.dtype
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("text", ["[read()]", "[x]", "[1u32", "[1u32.sqrt()]", "", "[1 2]"])
def test_what_is_no_constant_is_refused(text: str) -> None:
    with pytest.raises(RustError):
        expression(text)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / zluda.FOLDER
    (folder / "32").mkdir(parents=True)
    (folder / "mod.rs").write_text(SUITE)
    bodies = {"twice": "add.u32 value, value, value;", "wrong": "add.u32 value, value, value;"}
    for name in ("twice", "copy", "wrong", "nothing", "asleep"):
        (folder / f"{name}.ptx").write_text(KERNEL.format(name=name, size=64, body=bodies.get(name, "")))
    (folder / "32/copy.ptx").write_text(KERNEL.format(name="copy", size=32, body=""))
    (folder / "lanes.ptx").write_text(""".version 6.5
.target sm_30
.address_size 64
.entry lanes(.param .u64 output)
{ .reg .u64 a, i; .reg .u32 t; .reg .pred p; mov.u32 t, %tid.x; setp.lt.u32 p, t, 3; @!p ret;
  ld.param.u64 a, [output]; mad.wide.u32 i, t, 4, a; st.global.u32 [i], t; ret; }
""")
    return tmp_path


def test_a_checkout_is_read_and_run(checkout: Path) -> None:
    cases = zluda.read_checkout(checkout)
    assert [case.name for case in cases] == [
        "twice", "copy", "copy (32-bit)", "wrong", "lanes", "nothing", "asleep (in a comment)"
    ]
    results = [run(case, Emulator()) for case in cases]
    verdicts = ["passed", "passed", "refused", "failed", "passed", "no values", "passed"]
    assert [result.verdict for result in results] == verdicts, [result.why for result in results]
    assert "[0] is 42 (0x0000002a), expected 43 (0x0000002b)" in results[3].why
    assert "| made up | 7 | 4 | 1 | 1 | 0 | 1 |" in table({"made up": results})


def test_an_excuse_holds_only_if_the_mended_test_passes(checkout: Path) -> None:
    right, *_, wrong = (case for case in zluda.read_checkout(checkout) if case.name in {"twice", "wrong"})
    assert run(excused(wrong, right), Emulator()).verdict == "explained"
    assert run(excused(wrong, wrong), Emulator()).verdict == "failed"


def excused(case: Case, mended: Case) -> Case:
    return replace(case, excuses=(Excuse("for a reason", mended),))


def test_what_is_no_checkout_is_told(tmp_path: Path) -> None:
    with pytest.raises(PtxgenError, match=r"mod\.rs"):
        zluda.read_checkout(tmp_path)


def test_a_folder_of_files_is_judged_beside_an_assembler(checkout: Path) -> None:
    try:
        found = files.readings(checkout)
    except ToolMissing as error:
        pytest.skip(str(error))
    assert [reading.path.stem for reading in found if not reading.taken] == ["copy"]
    assert not any(reading.differs for reading in found)
    assert files.table(found).splitlines()[-1] == "| 7 | 6 | 0 | 7 | 6 | 0 | 1 | 0 |"


def test_a_folder_without_files_is_told(tmp_path: Path) -> None:
    with pytest.raises(PtxgenError, match=r"no \.ptx files"):
        files.readings(tmp_path)
