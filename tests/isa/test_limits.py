"""Occupancy: figures worked out by hand, and what must hold of any."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptxgen.isa import TableError, load_table
from ptxgen.isa.limits import limits_of, occupancy, read_limits


@pytest.mark.parametrize(("arch", "threads", "registers", "shared", "blocks", "limited_by"), [
    ("sm_90", 256, 32, 0, 8, ("threads", "registers")),
    ("sm_90a", 256, 32, 0, 8, ("threads", "registers")),
    ("sm_90", 256, 33, 0, 6, ("registers",)),                    # 33 registers cost as much as 40
    ("sm_90", 1024, 16, 0, 2, ("threads",)),
    ("sm_90", 1024, 65, 0, 0, ("registers",)),
    ("sm_90", 32, 16, 0, 32, ("blocks",)),
    ("sm_90", 33, 16, 0, 32, ("threads", "blocks")),
    ("sm_90", 128, 16, 48 << 10, 4, ("shared memory",)),         # 49 KiB each of 228
    ("sm_90", 128, 16, 227 << 10, 1, ("shared memory",)),
    ("sm_86", 128, 16, 48 << 10, 2, ("shared memory",)),
    ("sm_75", 1024, 32, 64 << 10, 1, ("threads", "shared memory")),
    ("sm_80", 96, 168, 0, 4, ("registers",)),                    # 5,376 registers a warp: 3 in each of 4 partitions
])
def test_blocks_at_once(
    arch: str, threads: int, registers: int, shared: int, blocks: int, limited_by: tuple[str, ...]
) -> None:
    limits = limits_of(load_table().target(arch))
    assert limits is not None
    found = occupancy(limits, threads, registers, shared)
    assert (found.blocks, found.limited_by) == (blocks, limited_by)
    assert found.share == pytest.approx(found.warps / found.most_warps)


@given(st.integers(1, 1024), st.integers(1, 255), st.integers(0, 100_000))
def test_more_of_anything_never_fits_more_blocks(threads: int, registers: int, shared: int) -> None:
    limits = limits_of(load_table().target("sm_90"))
    assert limits is not None
    found = occupancy(limits, threads, registers, shared)
    assert found.warps <= found.most_warps
    harder = ((threads + 32, registers, shared), (threads, registers + 1, shared), (threads, registers, shared + 1))
    for more in harder:
        assert occupancy(limits, *more).blocks <= found.blocks


def test_every_target_that_is_listed_exists_and_unknown_ones_say_nothing() -> None:
    table = load_table()
    assert limits_of(table.target("sm_50")) is None
    known = read_limits(Path(__file__).parents[2] / "isa")
    assert known.keys() <= table.targets.keys()


@pytest.mark.parametrize("text", ["", "partitions = 4\n", "[limits]\nsm_90 = 3\n", "not toml"])
def test_a_wrong_file_is_an_error_of_the_table(tmp_path: Path, text: str) -> None:
    with pytest.raises(TableError):
        read_limits(tmp_path)
    (tmp_path / "limits.toml").write_text(text)
    with pytest.raises(TableError):
        read_limits(tmp_path)
