"""The emulator under the suite that every executor must pass."""

import pytest
from executor_contract import CASES, Case, check

from ptxgen.executing import make_executor
from ptxgen.executing.emulator import Emulator

EMULATOR = make_executor("emulator")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_contract(case: Case) -> None:
    check(EMULATOR, case)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_blocks_one_at_a_time_give_the_same(case: Case) -> None:
    """Batches of one block: nothing depends on which blocks run together."""
    check(Emulator(lanes_at_once=1), case)
