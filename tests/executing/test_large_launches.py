"""Launches of many threads, of many blocks and of much memory end in a result, a verdict or a clear error."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ptxgen.cli import app
from ptxgen.errors import PtxgenError
from ptxgen.executing import Buffer, Launch, Outcome
from ptxgen.executing.emulator import Emulator, Stepper, fitting, launching
from ptxgen.executing.emulator.machine import Machine, Report, make_order, start_batch
from ptxgen.executing.emulator.races import Shape

_HEAD = """.version 7.0
.target sm_80
.address_size 64
.visible .entry large(.param .u64 out)
{
.reg .b32 %r<9>; .reg .b64 %rd<4>; .reg .pred %p<2>;
"""
COUNT = "ld.param.u64 %rd1, [out]; red.global.add.u32 [%rd1], 1;"
LOCAL = ".local .b32 words[100000]; mov.u32 %r1, 7; st.local.u32 [words+400], %r1; ld.local.u32 %r2, [words+400];"


def text(body: str) -> str:
    return _HEAD + body + "\nret;\n}\n"


def run(body: str, grid: int, block: int, **limits: Any) -> Outcome:
    out = Buffer(np.zeros(1, np.uint32))
    return Emulator(**limits).run(text(body), None, Launch((grid, 1, 1), (block, 1, 1)), [out])


def test_the_largest_grid_ends_by_time() -> None:
    outcome = run("", 2**31 - 1, 1, time_limit=0.1)
    assert [fault.kind for fault in outcome.faults] == ["time-limit"]
    # It may run out between two batches or within one.
    told = r"\d+ of 2147483647 blocks were done|\d+ blocks have not begun"
    assert re.search(told, outcome.faults[0].message)


def test_endless_loops_in_the_largest_grid_end_by_steps() -> None:
    outcome = run("mov.u32 %r1, 0;\n$l: add.u32 %r1, %r1, 1; bra $l;", 2**31 - 1, 1, step_limit=2000)
    assert [fault.kind for fault in outcome.faults] == ["step-limit"]


@pytest.mark.parametrize(("grid", "block"), [(30_000, 1), (40, 1024), (1000, 33)])
def test_every_thread_of_many_blocks_runs(grid: int, block: int) -> None:
    outcome = run(COUNT, grid, block)
    assert outcome.ok
    assert outcome.buffers[0] is not None
    assert outcome.buffers[0][0] == grid * block


def test_large_local_arrays_run_few_blocks_at_once() -> None:
    program = Emulator().program(text(LOCAL), None)
    launch = Launch((1000, 1, 1), (32, 1, 1))
    most = {"lanes": 65_536, "private": 1 << 29}
    blocks = fitting.blocks_at_once(program, launch, [Buffer(np.zeros(1, np.uint32))], **most, most=None)
    assert 1 <= blocks <= (1 << 29) // (32 * 400_000)
    assert run(LOCAL, 3, 32).ok


def made(program: Any, launch: Launch, arguments: list[Buffer], blocks: int) -> int:
    """Bytes of the regions that a launch really makes."""
    memory = launching.prepare(program, launch, arguments)
    regions = {**memory.regions, **launching.private_regions(program, launch, blocks)}
    total = 0
    for space in ("global", "shared", "local"):
        region = regions.get(space)
        if region is None:
            continue
        total += region.data.nbytes + region.flags.nbytes
        for trace in (region.reads, region.writes, region.atomics, region.strong_reads):
            total += trace.tag.nbytes + trace.time.nbytes if trace is not None else 0
    return total


@pytest.mark.parametrize("body", [
    COUNT, LOCAL, "ld.param.u64 %rd1, [out]; ld.global.u8 %r1, [%rd1]; st.global.u32 [%rd1], %r1;",
    ".shared .b32 tile[99]; st.shared.u32 [tile], %r1; atom.shared.add.u32 %r2, [tile], 1;",
])
def test_what_a_launch_takes_is_foreseen(body: str) -> None:
    program, launch = Emulator().program(text(body), None), Launch((6, 1, 1), (32, 1, 1))
    arguments = [Buffer(np.zeros(5000, np.uint32))]
    foreseen = fitting.launch_size(program, launch, arguments) + 3 * fitting.block_size(program, launch)
    lanes = 3 * 32 * (512 + sum({"pred": 1, "b32": 4, "b64": 8}[t] for t in program.register_types))
    assert foreseen == made(program, launch, arguments, 3) + 5000 * 4 + lanes


def test_too_large_a_launch_is_refused_before_anything_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "free_memory", lambda: 100 << 20)
    monkeypatch.setattr(launching, "prepare", lambda *_: pytest.fail("memory was laid out"))
    with pytest.raises(PtxgenError, match="more memory than there is") as caught:
        run(LOCAL, 1, 1024)
    assert "100 MB are free" in str(caught.value)
    with pytest.raises(PtxgenError, match="more memory than there is"):
        Stepper(text(LOCAL), Launch((1, 1, 1), (1024, 1, 1)), [Buffer(np.zeros(1, np.uint32))])


def test_fewer_blocks_run_at_once_where_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []

    def start(launch: Launch, first: int, blocks: int, *more: Any) -> Machine:
        started.append(blocks)
        return start_batch(launch, first, blocks, *more)

    monkeypatch.setattr("ptxgen.executing.emulator.emulator.start_batch", start)
    assert run(LOCAL, 10, 32, memory_limit=100 << 20).ok
    assert sum(started) == 10
    assert max(started) == 100 * 2**20 // (32 * 500_900)


def test_free_memory_is_of_the_machine_or_the_group(tmp_path: Path) -> None:
    (tmp_path / "memory.max").write_text("1000000")
    (tmp_path / "memory.current").write_text("600000")
    (tmp_path / "memory.stat").write_text("anon 5\ninactive_file 7\n")
    assert fitting._left(tmp_path, "memory.max", "memory.current", "inactive_file") == 400_007
    (tmp_path / "memory.max").write_text("max\n")
    assert fitting._left(tmp_path, "memory.max", "memory.current", "inactive_file") is None
    assert fitting._left(tmp_path / "none", "memory.max", "memory.current", "inactive_file") is None


def test_limits_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.ptx"
    path.write_text(text(LOCAL))
    command = ["run", str(path), "--grid", "2", "--block", "64", "--arg", "zeros:u32:1"]
    assert app.run([*command, "--memory", "200", "--lanes", "64"]) == 0
    capsys.readouterr()
    assert app.run([*command, "--memory", "5"]) == 2
    told = capsys.readouterr().err
    assert "the launch needs more memory than it may take" in told
    assert "5 MB are allowed" in told
    assert app.run([*command, "--lanes", "64", "--executor", "gpu"]) == 2
    assert "--lanes cannot be had from a GPU" in capsys.readouterr().err


def test_threads_beyond_tags_of_32_bits_are_told_apart() -> None:
    launch, out = Launch((2**31 - 1, 1, 1), (4, 1, 1)), [Buffer(np.zeros(1, np.uint32))]
    program = Emulator().program(text("ld.param.u64 %rd1, [out]; st.global.u32 [%rd1], 1;"), None)
    memory = launching.prepare(program, launch, out)
    order = make_order(launch, fenced=False)
    machine = start_batch(launch, 2**31 - 20, 8, program, memory.regions, Report(), order, [])
    assert machine.tags.tolist() == list(range((2**31 - 20) * 4 + 1, (2**31 - 12) * 4 + 1))
    trace = memory.regions["global"].writes
    assert trace is not None
    trace.tag[:2] = Shape.of(4).merge(machine.tags[[0, 0]], machine.tags[[1, 5]])
    assert Shape.of(4).warp(trace.tag[:2]).tolist() == [2**31 - 20, -1]
