"""`ptxgen-local run`: generated inputs, `--trace`, `--profile`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from executor_contract import kernel

from ptxgen.cli import app
from ptxgen.cli.run_arguments import DTYPES, parse_argument
from ptxgen.executing import Buffer

KERNEL = kernel("""
setp.lt.u32 %p1, %r2, 3;
mov.f32 %f1, 0f3FC00000;
@%p1 mov.f32 %f1, 0f40200000;
st.global.f32 [%rd2], %f1;
mov.u32 %r9, 0;
$loop:
add.u32 %r9, %r9, 1;
setp.lt.u32 %p2, %r9, 40;
@%p2 bra $loop;
""")


def launched(tmp_path: Path, *more: str, ptx: str = KERNEL, count: int = 80, block: str = "40") -> int:
    path = tmp_path / "k.ptx"
    path.write_text(ptx)
    return app.run(["run", str(path), "--grid", "2", "--block", block, "--arg", f"zeros:f32:{count}", *more])


def document(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    return dict(json.loads(capsys.readouterr().out))


@pytest.mark.parametrize("kind", DTYPES)
def test_arrays_that_are_made_here(kind: str) -> None:
    def made(text: str, number: int = 0) -> np.ndarray[Any, Any]:
        argument = parse_argument(text, number)
        assert isinstance(argument, Buffer)
        assert argument.data.dtype == np.dtype(DTYPES[kind])
        return argument.data

    counted = made(f"arange:{kind}:300")
    if kind == "bf16":
        counted = (counted.astype("u4") << 16).view("f4")
        assert np.abs(counted - np.arange(300)).max() <= 1
    else:
        np.testing.assert_array_equal(counted, np.arange(300).astype(DTYPES[kind]))
    first = made(f"random:{kind}:500:7")
    np.testing.assert_array_equal(first, made(f"random:{kind}:500:7", 3))
    assert (first != made(f"random:{kind}:500:8")).any()
    assert (made(f"random:{kind}:500") != made(f"random:{kind}:500", 1)).any()
    assert np.unique(first).size > 50
    if "f" in kind:
        values = (first.astype("u4") << 16).view("f4") if kind == "bf16" else first.astype("f8")
        assert values.min() < -0.5
        assert 0.5 < values.max() <= 1


@pytest.mark.parametrize("text", [
    "random:f32", "random:f32:x", "random:f32:-1", "random:f32:4:", "random:f32:4:x", "random:q:4", "arange:u8",
    "arange:u8:4:1", "zeros:u8:4:1", "random:f64:9999999999", "random:u8:٣", "same:²",
])
def test_what_makes_no_array(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["run", str(tmp_path / "k.ptx"), "--grid", "1", "--block", "1", "--arg", text]) == 2
    (tmp_path / "k.ptx").write_text(KERNEL)
    assert app.run(["run", str(tmp_path / "k.ptx"), "--grid", "1", "--block", "1", "--arg", text]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert text in captured.err


def test_a_trace_has_every_statement_in_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert launched(tmp_path, "--trace", "1,39", "--json") == 0
    trace = document(capsys)["trace"]
    assert (trace["block"], trace["thread"], trace["left_out"]) == ([1, 0, 0], [39, 0, 0], 0)
    statements = trace["statements"]
    assert trace["count"] == len(statements) == trace["first"]
    assert sum(s["opcode"] == "add.u32" for s in statements) == 40
    assert statements[0]["registers"] == [{"name": "%r2", "type": "b32", "value": 39}]
    skipped = next(s for s in statements if s["guard"] and s["opcode"] == "mov.f32")
    assert skipped["guard"] == {"register": "%p1", "negated": False, "value": False}
    assert skipped["executed"] is False
    assert skipped["registers"] == []
    store = next(s for s in statements if s["opcode"] == "st.global.f32")
    (touched,) = store["memory"]
    assert (touched["kind"], touched["space"], touched["bytes"]) == ("write", "global", 4)
    assert touched["place"] == "316 bytes into argument 0 (out) (320 bytes)"
    assert next(s for s in statements if s["opcode"] == "mov.f32")["registers"][0]["value"] == 1.5
    assert [s["registers"][0]["value"] for s in statements if s["opcode"] == "add.u32"] == list(range(1, 41))
    assert statements[-1]["opcode"] == "ret"


def test_a_trace_reads_well_and_is_bounded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert launched(tmp_path, "--trace", "0.0.0,2", "--trace-limit", "20") == 0
    words = capsys.readouterr().out
    assert "%f1 = 2.5" in words
    assert "@%p1 mov.f32 %f1, 0f40200000;" in words
    count = int(words.split("thread 2,0,0: ")[1].split()[0])
    assert f"… {count - 20} more statements; --trace-limit {count} shows them all" in words
    lines = [line for line in words.splitlines() if line[:5].strip().isdecimal()]
    assert len(lines) == 20
    assert lines[-1].split()[1] == "ret;"
    assert launched(tmp_path, "--trace", "0,2", "--trace-limit", str(count), "--json") == 0
    assert document(capsys)["trace"]["left_out"] == 0


def test_a_trace_ends_with_the_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert launched(tmp_path, "--trace", "1,39", "--json", count=79) == 1
    found = document(capsys)
    last = found["trace"]["statements"][-1]
    assert last["line"] == found["faults"][0]["line"]
    assert last["executed"] is False
    assert last["memory"][0]["address"] == found["faults"][0]["address"]
    assert launched(tmp_path, "--trace", "1,39", count=79) == 1
    assert "stopped here" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["", "0", "0,", ",0", "0,0,0", "a,b", "-1,0", "0,-1", "0.0.0.0,0", "2,0", "0,40",
                                  "0.1,0", "0,0.0.1", "1e0,0", "0;0"])
def test_threads_that_there_are_not(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert launched(tmp_path, f"--trace={text}") == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "--trace" in captured.err
    assert "Traceback" not in captured.err


@pytest.mark.parametrize("flags", [["--trace", "0,0"], ["--profile"]])
def test_a_gpu_shows_neither(tmp_path: Path, flags: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert launched(tmp_path, *flags, "--executor", "gpu") == 2
    assert f"{flags[0]} cannot be had from a GPU" in capsys.readouterr().err
    assert launched(tmp_path, *flags, "--executor", "abacus") == 2


@pytest.mark.parametrize("content", [b"", b"\x7fELF\x02", b"\xff\xfe\x00", b"no kernel at all"])
def test_files_that_are_no_kernel(tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "k").write_bytes(content)
    words = ["run", str(tmp_path / "k"), "--grid", "1", "--block", "1", "--trace", "0,0", "--profile"]
    assert app.run(words) in {1, 2}
    assert "Traceback" not in capsys.readouterr().err


def test_a_profile_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert launched(tmp_path, "--profile", "--json") == 0
    found = document(capsys)
    profile = found["profile"]
    assert profile["instructions"]["thread"] == found["instructions"]
    assert profile["instructions"]["opcodes"]["st.global.f32"] == {"thread": 80, "warp": 4, "divergent": 0}
    (row,) = profile["divergence"]
    assert (row["opcode"], row["warp"], row["divergent"]) == ("mov.f32", 4, 2)
    (row,) = profile["global"]
    assert (row["requests"], row["sectors"], row["used_share"]) == (4, 10, 1.0)
    assert profile["occupancy"]["arch"] == "sm_80"
    assert "registers" in profile["occupancy"] or "why" in profile["occupancy"]
    assert launched(tmp_path, "--profile") == 0
    words = capsys.readouterr().out
    assert "2.50 sectors of 32 bytes a request, 100% used" in words
    assert "occupancy" in words


def test_a_launch_that_is_refused_has_an_empty_profile(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert launched(tmp_path, "--profile", "--trace", "0,0", "--json", block="1025") == 1
    found = document(capsys)
    assert found["faults"][0]["kind"] == "launch"
    assert found["profile"]["instructions"]["thread"] == found["trace"]["count"] == 0


def test_the_occupancy_of_one_kernel_of_several(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the other kernels of the file take does not count."""
    small = kernel(".shared .b32 word[64]; st.shared.u32 [word], %r1;").replace("entry k(", "entry small(")
    large = kernel(".shared .b32 word[8192]; st.shared.u32 [word], %r1;").replace("entry k(", "entry large(")
    large = large[large.index(".visible"):]
    found = {}
    for name in ("small", "large"):
        launched(tmp_path, "--profile", "--json", "--entry", name, ptx=small + large)
        found[name] = document(capsys)["profile"]["occupancy"]
    if "why" in found["small"] and "ptxas" in found["small"]["why"]:
        pytest.skip(found["small"]["why"])
    assert found["small"]["shared_bytes"] == 256
    assert found["large"]["shared_bytes"] == 32768
