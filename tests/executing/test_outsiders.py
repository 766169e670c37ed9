"""What other people write runs, and gives what they may expect; what must not run is refused with a reason."""

from __future__ import annotations

from collections import defaultdict

import pytest
from outsider_cases import HANDS, Outsider, outsiders

from ptxgen.errors import PtxgenError
from ptxgen.executing.emulator import Emulator
from ptxgen.isa import load_table
from ptxgen.ptx import parse_tolerant
from ptxgen.semantics import check_module

CASES: dict[str, list[Outsider]] = defaultdict(list)
for _case in outsiders():
    CASES[_case.family].append(_case)
EMULATOR = Emulator(time_limit=20)


def trouble(case: Outsider, ptx: str) -> str:
    """What is wrong with the outcome of `ptx`, or ""."""
    try:
        outcome = EMULATOR.run(ptx, None, case.launch, case.arguments)
        said = "; ".join(f"{fault.kind} in line {fault.line}: {fault.message}" for fault in outcome.faults)
    except PtxgenError as error:
        said = str(error)
    if case.refused:
        missing = [word for word in case.refused.split() if word not in said]
        return f"the reason {said!r} lacks {missing}" if missing else ""
    if said:
        return said
    for index, expected in case.expected.items():
        found = outcome.buffers[index]
        assert found is not None
        got = found.reshape(-1).view(expected.dtype)[: expected.size]
        if got.tobytes() != expected.tobytes():
            return f"argument {index} is {got.tolist()}, not {expected.tolist()}"
    return ""


@pytest.mark.parametrize("family", sorted(CASES))
def test_outsiders_run(family: str) -> None:
    troubles = {case.name: said for case in CASES[family] if (said := trouble(case, case.ptx))}
    assert not troubles, "\n".join(f"{name}: {said}" for name, said in troubles.items())


@pytest.mark.parametrize("family", sorted(CASES))
def test_the_checker_judges_outsiders_as_ptxas_does(family: str) -> None:
    for case in CASES[family]:
        module, faults = parse_tolerant(case.ptx)
        errors = [d for d in (*faults, *check_module(module, load_table())) if d.severity == "error"]
        assert bool(errors) != case.taken, f"{case.name}: {[d.message for d in errors]}"


@pytest.mark.parametrize("hand", HANDS)
def test_how_a_text_is_laid_out_changes_nothing(hand: str) -> None:
    for case in (case for family, cases in CASES.items() for case in cases if family != "debug"):
        laid = HANDS[hand](case.ptx)
        module, faults = parse_tolerant(laid)
        plain, before = parse_tolerant(case.ptx)
        assert len(faults) == len(before), f"{case.name}: {faults}"
        # Prototypes and lists of targets are kept as they were written.
        assert faults or module == plain or not trouble(case, laid), case.name


def test_there_are_enough_of_them() -> None:
    assert sum(map(len, CASES.values())) >= 150
