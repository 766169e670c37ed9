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


def test_addresses_of_32_bits_are_refused_in_words() -> None:
    ptx = ".version 8.0\n.target sm_80\n.address_size 32\n.visible .entry k() { ret; }\n"
    (fault,) = Emulator().run(ptx, None, Launch((1, 1, 1), (1, 1, 1)), []).faults
    assert fault.kind == "unsupported"
    assert ".address_size 32" in fault.message


SPELLINGS = """.version 8.0
.target sm_90
.address_size 64
.func (.reg .v2 .b16 r) turned(.reg .v2 .b16 x) { mov.v2.b16 r, {x.y, x.x}; ret; }
.const .align 8 .u64 here = generic(cell)+4;
.const .align 1 .b8 low[2] = {0xFF(cell), 0xFF00(cell)};
.const .align 8 .u8 pieces[8] = {0xFF(generic(cell)+4), 0xFF00(generic(cell)+4), 0xFF0000(generic(cell)+4),
  0xFF000000(generic(cell)+4), 0xFF00000000(generic(cell)+4), 0xFF0000000000(generic(cell)+4),
  0xFF000000000000(generic(cell)+4), 0xFF00000000000000(generic(cell)+4)};
.global .align 8 .b32 cell[2] = {5, 6};
.visible .entry k(.param .u64 out)
{
.reg .pred p; .reg .b32 a, b; .reg .b64 at, q; .reg .v2 .b16 v, w; .reg .v4 .b32 wide; .reg .b16 h<4>;
.local .align 8 .b64 box;
ld.param.u64 at, [out];
%s
st.global.u32 [at], a;
ret;
}
"""


@pytest.mark.parametrize(("body", "want"), [
    ("mov.v2.b16 v, {1, 2}; call (w), turned, (v); mov.b32 a, w;", 2 | 1 << 16),
    ("mov.b32 b, 0x50007; mov.b32 v, b; mov.b32 a, {v.y, v.x};", 7 << 16 | 5),
    ("mov.v4.b32 wide, {1, 2, 3, 4}; add.u32 a, wide.x, wide.w; add.u32 a, a, wide.b;", 8),
    ("mov.u64 q, 40; st.local.u64 [box], q+2; ld.local.u64 q, [box]; cvt.u32.u64 a, q;", 42),
    ("ld.global.b32 {a}, [cell];", 5),
    ("mov.b32 b, 9; st.global.b32 [cell], {b}; ld.global.b32 a, [cell];", 9),
    ("selp.u32 a, 3, 4, 1;", 3),
    (".global .b32 mine[3] = {1, 2, 30}; .const .b32 yours = 4; ld.global.u32 a, [mine+8]; ld.const.u32 b, [yours];"
     "add.u32 a, a, b;", 34),
    ("ld.const.u64 q, [here]; ld.u32 a, [q];", 6),
    ("ld.const.u64 q, [pieces]; ld.u32 a, [q];", 6),
    ("ld.const.u8 h0, [low]; ld.const.u8 h1, [low+1]; mov.b32 a, {h0, h1}; mov.u64 q, cell; cvt.u32.u64 b, q;"
     "and.b32 b, b, 0xFF; and.b32 a, a, 0xFFFF; sub.u32 a, a, b;", 0),
])
def test_spellings_that_assemblers_take(body: str, want: int) -> None:
    outcome = Emulator().run(SPELLINGS % body, None, Launch((1, 1, 1), (1, 1, 1)), [Buffer(np.zeros(1, np.uint32))])
    assert outcome.ok, outcome.faults
    assert int(outcome.buffers[0][0]) == want  # type: ignore[index]
