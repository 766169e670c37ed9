"""Every planted fault is reported at its line and of its thread, and its correct twin reports nothing."""

from __future__ import annotations

from collections import Counter

import pytest

from bench.planted.kernels import Malformed, Planted, all_planted, planted
from ptxgen.executing.emulator import Emulator

KERNELS = list(all_planted())
#: Twins whose blocks wait for one another end long before this.
EMULATOR = Emulator(step_limit=20_000)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_the_fault_is_found_and_the_twin_is_clean(kernel: Planted) -> None:
    faults = EMULATOR.run(kernel.faulty, None, kernel.launch, kernel.arguments).faults
    assert [(fault.kind, fault.line) for fault in faults] == [(kernel.kind, kernel.line)], faults
    assert kernel.is_right_place(faults[0]), faults
    twin = EMULATOR.run(kernel.twin, None, kernel.launch, kernel.arguments)
    assert twin.ok, twin.faults


def test_there_are_enough_of_every_kind() -> None:
    kinds = Counter(kernel.kind for kernel in KERNELS)
    assert len(KERNELS) >= 60
    assert min(kinds.values()) >= 5, kinds
    assert set(kinds) == {
        "out-of-bounds", "misaligned", "wrong-space", "uninitialised-read", "uninitialised-register", "race",
        "barrier", "shuffle", "member-mask", "stack-overflow", "read-only-write", "step-limit",
    }


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_twins_differ_by_one_line(kernel: Planted) -> None:
    pairs = zip(kernel.faulty.splitlines(), kernel.twin.splitlines(), strict=True)
    assert sum(one != other for one, other in pairs) == 1
    assert kernel.entry == kernel.name.split("/")[1]


SAMPLE = """// About.
// launch: grid 1, block 2
// out: u32[2], zeros
.visible .entry k(.param .u64 out) {
	trap; // fault: trap, thread 0 to 1 // twin: (nothing)
}
"""


@pytest.mark.parametrize(("old", "new"), [
    ("// fault: trap", "// fault trap"), ("// twin: (nothing)", ""), ("// launch", "// lunch"), ("zeros", "ones"),
    ("trap, thread", "race, thread"), ("thread 0 to 1", "threads 0 to 1"),
    ("trap; ", "trap; // fault: trap, thread 0\n"),
])
def test_a_file_that_is_not_marked_as_it_should_be_is_refused(old: str, new: str) -> None:
    sample = planted(SAMPLE, "sample", "trap")
    assert (sample.about, sample.line, sample.threads, sample.blocks) == ("About.", 5, range(2), range(1))
    assert sample.twin.splitlines()[4].strip() == ""
    with pytest.raises(Malformed):
        planted(SAMPLE.replace(old, new), "sample", "trap")
