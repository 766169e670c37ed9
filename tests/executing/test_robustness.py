"""Kernels broken at random give a verdict or a PtxgenError, never another exception."""

from __future__ import annotations

import random
import re
from pathlib import Path

import numpy as np
import pytest

from ptxgen.errors import PtxgenError
from ptxgen.executing import Argument, Buffer, Launch, Scalar
from ptxgen.executing.emulator import Emulator
from ptxgen.isa import load_table

KERNELS = sorted((Path(__file__).parent.parent / "kernels").rglob("*.ptx"))
EMULATOR = Emulator(step_limit=5000, time_limit=5)


def broken(text: str, rng: random.Random) -> str:
    """One to three changes to the body: statements dropped, doubled and swapped, opcodes, registers and constants
    replaced."""
    lines = text.splitlines()
    body = [i for i, line in enumerate(lines) if line.startswith("\t") and line.endswith(";") and "\t." not in line]
    opcodes = [expansion.opcode for expansion in load_table().profile("sm_90")]
    for _ in range(rng.choice([1, 1, 2, 3])):
        i, j = rng.choice(body), rng.choice(body)
        change = rng.randrange(6)
        if change == 0:
            lines[i] = ""
        elif change == 1:
            lines[i] = re.sub(r"^(\t(?:@!?%p\d+ )?)\S+", lambda m: m[1] + rng.choice(opcodes), lines[i])
        elif change == 2:
            lines[i] = re.sub(r"(%\w+?)(\d+)", lambda m: f"{m[1]}{max(1, int(m[2]) + rng.randint(-1, 1))}", lines[i])
        elif change == 3:
            lines[i] = re.sub(r"\b\d+;", f"{rng.choice([0, 1, 4, 255, 65537])};", lines[i])
        elif change == 4:
            lines[i], lines[j] = lines[j], lines[i]
        else:
            lines[i] += "\n" + lines[j]
    return "\n".join(lines)


def arguments(text: str, rng: random.Random) -> list[Argument]:
    made: list[Argument] = []
    for type_name in re.findall(r"\.param \.(\w+) ", text[: text.index("{")]):
        if type_name == "u64":
            data = np.random.default_rng(1).integers(0, 1 << 31, 300).astype("u4")
            made.append(Buffer(data, rng.random() < 0.7, rng.random() < 0.2, rng.choice([0, 0, 4, 2])))
        else:
            scalar = "f16" if type_name == "b16" else type_name
            made.append(Scalar(scalar, 1.5 if "f" in scalar else rng.choice([0, 1, 33, 100, 257])))
    return made


@pytest.mark.parametrize("seed", range(60))
def test_broken_kernels_get_a_verdict(seed: int) -> None:
    rng = random.Random(seed)
    text = broken(rng.choice(KERNELS).read_text(), rng)
    launch = Launch((rng.choice([1, 2, 3]), 1, 1), (rng.choice([1, 32, 33, 64]), rng.choice([1, 1, 2]), 1),
                    rng.choice([0, 1024, 4096]))
    given = arguments(text, rng)
    try:
        outcome = EMULATOR.run(text, None, launch, given)
    except PtxgenError:
        return
    assert outcome.ok == (not outcome.faults)
    assert len(outcome.buffers) == len(given)
