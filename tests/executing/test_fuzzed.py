"""Random kernels whose answers an H200 gave, compiled with and without optimisation: the emulator gives the same."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from fuzz.kernels.making import Kernel, make
from fuzz.kernels.recording import read_record, write_record
from fuzz.kernels.running import run
from ptxgen.executing import Executor
from ptxgen.executing.emulator import Emulator

RECORD = Path(__file__).parent / "fuzzed/h200.zip"
PARTS = 10


@cache
def recorded() -> list[tuple[Kernel, str]]:
    return read_record(RECORD)[1]


def differing(executor: Executor, part: int, parts: int) -> list[int]:
    return [kernel.seed for kernel, digest in recorded()[part::parts] if run(kernel, executor).digest != digest]


def test_there_are_some_hundred() -> None:
    assert len(recorded()) >= 200
    assert "H200" in read_record(RECORD)[0]


@pytest.mark.parametrize("part", [pytest.param(n, marks=pytest.mark.slow if n % 2 else ()) for n in range(PARTS)])
def test_the_emulator_gives_what_the_gpu_gave(part: int) -> None:
    assert differing(Emulator(), part, PARTS) == []


@pytest.mark.gpu
def test_a_gpu_gives_what_was_recorded(gpu: Executor) -> None:
    assert differing(gpu, 0, 8) == []


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "some.zip"
    kernel = make(3)
    write_record(path, "a machine", [(kernel, "0123")])
    assert read_record(path) == ("a machine", [(kernel, "0123")])
    whole = path.read_bytes()
    for damaged in (b"", whole[:100], whole[:60] + bytes(40) + whole[100:]):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="no record"):
            read_record(path)
