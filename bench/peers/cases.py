"""One test of another project: a kernel, what it gets, what it must give; and how the emulator did on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from bench.peers.files import asked
from ptxgen.assembling import ToolMissing, find_ptxas
from ptxgen.errors import PtxgenError
from ptxgen.executing import Argument, Launch
from ptxgen.executing.emulator import Emulator
from ptxgen.isa import load_table
from ptxgen.ptx import PtxSyntaxError, parse
from ptxgen.semantics import check_module

Verdict = Literal["passed", "no values", "refused", "explained", "failed"]
VERDICTS: tuple[Verdict, ...] = ("passed", "no values", "refused", "explained", "failed")
Array = npt.NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class Excuse:
    """Why a difference is none of ours. Where there is a `mended` test, it must pass for the excuse to hold."""

    why: str
    mended: Case | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """`expected` gives, for arguments that are buffers, what they must hold afterwards; without any, running without
    a fault other than a trap is all that is asked. More arguments than the kernel has are left out, as a driver does.
    `refused`: a word that the refusal must have, for what must not run. `tolerance`: how far floats may be off,
    relative to those above 1, as that project compares; 0 for equal."""

    name: str
    ptx: str
    entry: str | None
    launch: Launch
    arguments: tuple[Argument, ...]
    expected: Mapping[int, Array] = field(default_factory=dict)
    refused: str = ""
    tolerance: float = 0.0
    excuses: tuple[Excuse, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """`why` is empty for a plain pass; `reported` holds faults that did not change the values, `alarms` the errors of
    `check`."""

    case: Case
    verdict: Verdict
    why: str = ""
    reported: str = ""
    alarms: tuple[str, ...] = ()


def run(case: Case, emulator: Emulator) -> Result:
    """Check the kernel and run it once; say of one that fails whether it should."""
    result = _run(case, emulator)
    if result.verdict != "failed" or case.refused:
        return result
    held = (e.why for e in case.excuses if e.mended is None or _run(e.mended, emulator).verdict == "passed")
    explained = next(held, "") or _refused_by_ptxas(case.ptx)
    if not explained:
        return result
    return replace(result, verdict="explained", why=explained, reported=result.why)


def _run(case: Case, emulator: Emulator) -> Result:
    try:
        module = parse(case.ptx)
    except PtxSyntaxError as error:
        return _judged(case, f"not read: {_first_line(error)}")
    alarms = tuple(
        f"{found.code}: {found.message}" for found in check_module(module, load_table())
        if found.severity == "error"
    )
    taken = next((len(kernel.params) for kernel in module.entries() if case.entry in {None, kernel.name}), 0)
    try:
        outcome = emulator.run(case.ptx, case.entry, case.launch, case.arguments[:taken])
    except PtxgenError as error:
        return _judged(case, _first_line(error), alarms)
    reported = "; ".join(f"{fault.kind}, line {fault.line}: {fault.message}" for fault in outcome.faults)
    if any(fault.kind == "unsupported" for fault in outcome.faults):
        return _judged(case, reported, alarms)
    if case.refused:
        return Result(case, "failed", "ran, though it should have been refused", reported, alarms)
    difference = "".join(
        _difference(index, wanted, outcome.buffers[index], case.tolerance) for index, wanted in case.expected.items()
    )
    unasked = not case.expected and any(fault.kind != "trap" for fault in outcome.faults)
    if difference or unasked:
        return _judged(case, "; ".join(part for part in (difference, reported) if part), alarms)
    return Result(case, "passed" if case.expected else "no values", "", reported, alarms)


def _judged(case: Case, why: str, alarms: tuple[str, ...] = ()) -> Result:
    if case.refused and case.refused in why:
        return Result(case, "refused", why, alarms=alarms)
    return Result(case, "failed", why, alarms=alarms)


def _refused_by_ptxas(ptx: str) -> str:
    """What an assembler has against a text, where there is one: then nobody can say what it means."""
    try:
        taken, told = asked(ptx, find_ptxas()[0])
    except ToolMissing:
        return ""
    return f"ptxas refuses it: {told}" if told and not taken else ""


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]


def _difference(index: int, expected: Array, found: Array | None, tolerance: float) -> str:
    if found is None:
        return f"argument {index} is no buffer"
    got = np.ascontiguousarray(found).reshape(-1).view(expected.dtype)[: expected.size]
    same = got.view(f"u{expected.itemsize}") == expected.view(f"u{expected.itemsize}")
    if expected.dtype.kind == "f":
        same |= got == expected
        if tolerance:
            wide = expected.astype(np.float64)
            same |= np.abs(got.astype(np.float64) - wide) <= tolerance * np.maximum(np.abs(wide), 1)
    if same.all():
        return ""
    first = int(np.flatnonzero(~same)[0])
    return f"[{first}] is {_shown(got[first])}, expected {_shown(expected[first])}" + (
        f" ({int((~same).sum())} of {expected.size} differ)" if expected.size > 1 else ""
    )


def _shown(value: np.generic) -> str:
    return f"{value} (0x{int(value.view(f'u{value.itemsize}')):0{2 * value.itemsize}x})"


def table(suites: Mapping[str, Sequence[Result]]) -> str:
    """Markdown: one row a suite, one column a verdict."""
    lines = [
        "| suite | tests | passed | ran, no values to compare | refused as they should be | explained | failed "
        "| ran with reports | refused by check |",
        "|---|" + "---:|" * 8,
    ]
    for name, results in suites.items():
        counts = [sum(result.verdict == verdict for result in results) for verdict in VERDICTS]
        reports = sum(bool(result.reported) and result.verdict == "passed" for result in results)
        alarms = sum(bool(result.alarms) for result in results)
        lines.append("| " + " | ".join(map(str, [name, len(results), *counts, reports, alarms])) + " |")
    return "\n".join(lines)
