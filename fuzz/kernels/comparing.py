"""One kernel on the emulator and on a device: whether they differ, and from which statement on."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from fuzz.kernels.device import LEVELS, Device, fingerprint
from fuzz.kernels.making import WORDS, Kernel, make, make_guarded
from fuzz.kernels.running import Words, digest, run
from fuzz.kernels.shrinking import shrink
from fuzz.kernels.tracing import Traced, parting, traced
from ptxgen.errors import PtxgenError
from ptxgen.executing.emulator import Emulator

#: In place of a number of statements.
GUARDED = -1


def kernel_of(seed: int, statements: int) -> Kernel:
    """The kernel that an answer of this seed is about; `statements` as in `Answer`."""
    return make_guarded(seed) if statements == GUARDED else make(seed, statements=statements)


@dataclass(frozen=True)
class Answer:
    """The emulator's: the digest of what the kernel of a seed stores, and which text that was."""

    seed: int
    statements: int                                  # as `make` was told; GUARDED: the kernel is `make_guarded`'s
    kernel: str
    digest: str


@dataclass
class Finding:
    """A kernel on which somebody differs: "emulator" where both levels give something else, "optimisation" where one
    does. `statement` is the first that gives another value, to `thread`, and `operands` is what the emulator had."""

    seed: int
    statements: int
    kind: str                                        # "emulator", "optimisation", "fault", "hang", "other text"
    detail: str = ""
    level: int = 0
    statement: str = ""
    thread: int = 0
    ours: str = ""
    theirs: str = ""
    operands: dict[str, str] = field(default_factory=dict)
    before: list[str] = field(default_factory=list)


def compare(device: Device, answer: Answer) -> Finding | None:
    """One kernel at every level; where one differs, which statement does first."""
    kernel = kernel_of(answer.seed, answer.statements)
    if fingerprint(kernel) != answer.kernel:
        return Finding(answer.seed, answer.statements, "other text")
    try:
        wrong = [level for level in LEVELS if digest(device.run(kernel, level)) != answer.digest]
        if not wrong:
            return None
        kind = "emulator" if len(wrong) == len(LEVELS) else "optimisation"
        finding = Finding(answer.seed, answer.statements, kind, f"levels {wrong}", wrong[0])
        trace = traced(kernel)
        ours = run(kernel, Emulator(), trace.ptx, trace.words)
        if not ours.faults:
            _follow(finding, trace, ours.words, device.run(kernel, wrong[0], trace.ptx, trace.words))
        return finding
    except RuntimeError as error:
        return Finding(answer.seed, answer.statements, "fault", str(error))


def _follow(finding: Finding, trace: Traced, ours: Words, theirs: Words) -> None:
    place = parting(trace, ours, theirs)
    if place is None:
        finding.detail += "; nothing differs when every statement stores what it gives"
        return
    number, finding.thread = place
    row = finding.thread * trace.words + WORDS
    finding.statement = trace.statements[number][0]
    finding.ours, finding.theirs = f"{int(ours[row + number]):x}", f"{int(theirs[row + number]):x}"
    for name in re.findall(r"%\w+", finding.statement):
        known = [n for n, (_, register) in enumerate(trace.statements[:number]) if register == name]
        if known:
            finding.operands[name] = f"{int(ours[row + known[-1]]):x}"
    finding.before = [statement for statement, _ in trace.statements[max(number - 8, 0) : number]]


def cut(device: Device, finding: Finding, seconds: float) -> str:
    """The finding's kernel, cut down on emulator and device: no fault there, and another answer here."""
    kernel = kernel_of(finding.seed, finding.statements)
    emulator = Emulator(step_limit=50_000, time_limit=5)
    others = [level for level in LEVELS if level != finding.level and finding.kind == "optimisation"]

    def still(text: str) -> bool:
        try:
            ours = run(kernel, emulator, text)
            if ours.faults:
                return False
            if any(digest(device.run(kernel, level, text)) != ours.digest for level in others):
                return False
            return digest(device.run(kernel, finding.level, text)) != ours.digest
        except (PtxgenError, RuntimeError):
            return False

    return shrink(kernel.ptx, still, seconds=seconds)
