"""Odd spellings, each with ptxas's verdict on it, and recording the verdicts anew.

`spellings.txt` has one case a line: `+` (taken) or `-` (refused as no PTX at all) or `!` (understood, but wrong),
the place it stands in (`body` of a kernel, `call`: the same with functions around, `top` of the module, `file`: all
of it), and the text with escapes as in Python. `python -m tests.ptx.spelled` asks the best ptxas found and writes
the signs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ptxgen.assembling import Ptxas, ToolCrashed, find_ptxas

SPELLINGS = Path(__file__).parent / "spellings.txt"
ARCH = "sm_90"
_HEAD = f".version 8.7\n.target {ARCH}\n.address_size 64\n"
_FUNCTIONS = (
    ".func bar() { ret; }\n.func baz() { ret; }\n.func foo(.reg .u32 x) { ret; }\n"
    ".func (.reg .u32 y) foo2(.reg .u32 x) { mov.u32 y, x; ret; }\n"
)
_KERNEL = (
    ".visible .entry k(.param .u64 a)\n{\n.reg .pred p,q; .reg .b32 r<8>; .reg .b64 d<8>; .reg .f32 f<8>;"
    " .reg .b16 h<4>; .reg .f64 e<4>;\n"
)


@dataclass(frozen=True, slots=True)
class Spelling:
    """One recorded text; `sign` is `+`, `-` or `!`."""

    sign: str
    place: str
    text: str

    @property
    def ptx(self) -> str:
        text = self.text.encode("ascii").decode("unicode_escape")
        if self.place == "file":
            return text
        if self.place == "top":
            return f"{_HEAD}{text}\n"
        return f"{_HEAD}{_FUNCTIONS if self.place == 'call' else ''}{_KERNEL}{text}\nret;\n}}\n"


def spellings() -> Iterator[Spelling]:
    """Every case of the file."""
    for line in SPELLINGS.read_text(encoding="ascii").splitlines():
        if line and not line.startswith("#"):
            place, _, text = line[1:].partition(" ")
            yield Spelling(line[0], place, text)


def record() -> None:
    """Ask ptxas for every case and write the signs anew."""
    ptxas = find_ptxas()[0]
    lines = [line for line in SPELLINGS.read_text(encoding="ascii").splitlines() if line.startswith("#")]
    lines += [f"{_verdict(case.ptx, ptxas)}{case.place} {case.text}" for case in spellings()]
    SPELLINGS.write_text("\n".join(lines) + "\n", encoding="ascii")


def _verdict(ptx: str, ptxas: Ptxas) -> str:
    try:
        said = ptxas.assemble(ptx, ARCH)
    except ToolCrashed:
        return "!"
    worst = " ".join(m.text for m in said.messages if m.severity != "warning")
    if said.ok or "Unresolved extern" in worst:
        return "+"
    return "-" if "arsing error" in worst or "syntax error" in worst else "!"


if __name__ == "__main__":
    record()
