"""The emulator under the suite that every executor must pass."""

import contract_launches
import pytest
from contract_faults import FAULTS, Faulty, check_fault
from executor_contract import CASES, Case, check, kernel, line

from ptxgen.errors import UsageError
from ptxgen.executing import Argument, Launch, make_executor
from ptxgen.executing.emulator import Emulator

EMULATOR = make_executor("emulator")
ALL = [*CASES, *contract_launches.CASES]


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_contract(case: Case) -> None:
    check(EMULATOR, case)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_blocks_one_at_a_time_give_the_same(case: Case) -> None:
    """Batches of one block: nothing depends on which blocks run together."""
    check(Emulator(lanes_at_once=1), case)


@pytest.mark.parametrize(("ptx", "entry", "arguments"), contract_launches.MISUSES.values(),
                         ids=contract_launches.MISUSES)
def test_what_the_caller_did_wrong(ptx: str, entry: str | None, arguments: list[Argument]) -> None:
    with pytest.raises(UsageError):
        EMULATOR.run(ptx, entry, Launch((1, 1, 1), (1, 1, 1)), arguments)


@pytest.mark.parametrize(("ptx", "launch"), contract_launches.REFUSED.values(), ids=contract_launches.REFUSED)
def test_launches_that_cannot_be(ptx: str, launch: Launch) -> None:
    outcome = EMULATOR.run(ptx, "k", launch, [])
    assert [fault.kind for fault in outcome.faults] == ["launch"], outcome.faults


def test_static_shared_memory_that_ptxas_refuses() -> None:
    """The limit is that of a file's assembly; a driver that compiles PTX takes more."""
    for size, kinds in ((49_152, []), (49_153, ["launch"])):
        text = kernel("st.shared.u8 [much], 1;", "", f".shared .b8 much[{size}];", before="")
        assert [fault.kind for fault in EMULATOR.run(text, "k", line(1), []).faults] == kinds


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_is_told_and_does_not_last(fault: Faulty) -> None:
    check_fault(Emulator(step_limit=20_000), fault)
