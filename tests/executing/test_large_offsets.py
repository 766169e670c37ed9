"""What is added to an address wraps at 64 bits, however it is written."""

from __future__ import annotations

import pytest
from executor_contract import empty, kernel, line
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxgen.executing.emulator import Emulator

EMULATOR = Emulator()
OFFSETS = st.one_of(st.integers(-(1 << 63), (1 << 64) - 1), st.integers(0, 64).map(lambda n: (1 << 64) - n))


@pytest.mark.parametrize("space", ["global", "shared", "local"])
@settings(max_examples=20, deadline=None)
@given(offset=OFFSETS)
def test_offsets_of_any_size(space: str, offset: int) -> None:
    """A register, a variable and a constant; the address that the register has is made up for."""
    base, taken, variable = "%rd2", "", ""
    if space != "global":
        base, taken, variable = "%rd6", "mov.u64 %rd6, place;", f".{space} .align 4 .b8 place[16]; "
    ptx = kernel(f"""{taken} mov.u32 %r11, 7; sub.u64 %rd7, {base}, {offset % (1 << 64)};
    st.{space}.u32 [%rd7+{offset}], %r11; ld.{space}.u32 %r12, [{base}]; st.global.u32 [%rd2], %r12;""")
    ptx = ptx.replace(".reg .pred", f"{variable}.reg .pred", 1)
    outcome = EMULATOR.run(ptx, None, line(1), [empty(1)])
    assert outcome.ok, outcome.faults
    assert outcome.buffers[0].tolist() == [7]


@settings(max_examples=20, deadline=None)
@given(OFFSETS)
def test_a_variable_or_a_constant_far_away_is_out_of_bounds(offset: int) -> None:
    for address in (f"place+{offset}", f"{offset % (1 << 64)}"):
        ptx = kernel(f"ld.shared.u32 %r11, [{address}];").replace(
            ".reg .pred", ".shared .align 4 .b8 place[16]; .reg .pred", 1)  # fmt: skip
        outcome = EMULATOR.run(ptx, None, line(1), [empty(1)])
        assert {fault.kind for fault in outcome.faults} <= {
            "out-of-bounds", "misaligned", "uninitialised-read", "wrong-space"}  # fmt: skip
