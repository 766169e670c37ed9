"""What ptxas said of small texts, and recording it anew.

`statements.txt` has one case a line: `+` (accepted) or `-`, a body, and after `@@@` what stands before the
kernel; `\\n` is a line break. `python -m tests.semantics.recorded` asks the best ptxas found and writes the signs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
STATEMENTS = FOLDER / "statements.txt"
ARCH = "sm_90"
_HEAD = f".version 8.0\n.target {ARCH}\n.address_size 64\n"
_KERNEL = """
.visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n)
{
.reg .pred %p<8>, p, q; .reg .b16 %rs<8>; .reg .b32 %r<16>, x; .reg .b64 %rd<16>; .reg .f32 %f<16>; .reg .f64 %fd<8>;
"""


@dataclass(frozen=True)
class Case:
    """One recorded text. `name` is the line itself."""

    name: str
    accepted: bool

    @property
    def ptx(self) -> str:
        body, _, before = self.name.replace("\\n", "\n").partition("@@@")
        return f"{_HEAD}{before}{_KERNEL}{body}\nret;\n}}\n"


def cases() -> Iterator[Case]:
    for line in STATEMENTS.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            yield Case(line[2:], line[0] == "+")


def record() -> None:
    """Ask ptxas for every case and write the signs anew."""
    from ptxgen.assembling import ToolCrashed, find_ptxas

    tool = find_ptxas()[0]
    lines = [line for line in STATEMENTS.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    for case in cases():
        try:
            accepted = tool.assemble(case.ptx, ARCH).ok
        except ToolCrashed:
            accepted = False
        lines.append(f"{'+' if accepted else '-'} {case.name}")
    STATEMENTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    record()
