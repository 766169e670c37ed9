"""What ptxas said of statements that move and convert data, and recording it anew.

`memory_statements.txt`: a line `@ sm_90 9.0` says for which target and version the lines below it were judged,
`+` (accepted) or `-`. `python -m tests.semantics.recorded_statements` asks the newest ptxas found and writes the
signs anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

STATEMENTS = Path(__file__).parent / "memory_statements.txt"
_HEAD = """\
.address_size 64
.global .texref g_tex;
.global .surfref g_surf;
.global .align 128 .b8 in_global[256];
.const .align 128 .b8 in_const[256];
.shared .align 128 .b8 in_shared[256];
.func f_00() { ret; }
.visible .entry kern2(.param .b32 a) { ret; }
.visible .entry probe(.param .align 64 .b8 in_param[256])
{
.reg .pred %p<40>;
.reg .b8 %rb<40>;
.reg .b16 %rs<40>;
.reg .f16 %h<40>;
.reg .f16x2 %hh<40>;
.reg .b32 %r<40>;
.reg .u32 %u<40>;
.reg .s32 %s<40>;
.reg .f32 %f<40>;
.reg .b64 %rd<40>;
.reg .s64 %sd<40>;
.reg .f64 %fd<40>;
.reg .b128 %rq<40>;
.reg .v4 .f32 %v4f<4>;
.reg .v2 .b32 %v2b<4>;
.reg .v4 .b32 %v4b<4>;
.local .align 128 .b8 in_local[256];
.param .align 16 .b8 of_call[64];"""


@dataclass(frozen=True)
class Group:
    """Statements of one target and version, and which of them ptxas accepts."""

    arch: str
    version: str
    statements: tuple[str, ...]
    accepted: tuple[bool, ...]


def module(group: Group, statements: tuple[str, ...]) -> tuple[str, int]:
    """A module with one statement a line, and the line of the first (from 1)."""
    head = [f".version {group.version}", f".target {group.arch}", *_HEAD.splitlines()]
    return "\n".join([*head, *(f"{s};" for s in statements), "$L_end:", "ret;", "}", ""]), len(head) + 1


def groups() -> Iterator[Group]:
    texts = STATEMENTS.read_text(encoding="utf-8").split("\n@ ")
    for text in texts[1:]:
        first, *lines = text.splitlines()
        arch, version = first.split()
        yield Group(arch, version, tuple(x[2:] for x in lines), tuple(x[0] == "+" for x in lines))


def record() -> None:
    """Ask ptxas for every statement alone and write the signs anew."""
    from ptxgen.assembling import ToolCrashed, find_ptxas

    tool = find_ptxas()[0]
    out = [f"# Verdicts of ptxas {tool.version}; see recorded_statements.py."]
    for group in groups():
        out.append(f"@ {group.arch} {group.version}")
        for statement in group.statements:
            try:
                accepted = tool.assemble(module(group, (statement,))[0], group.arch, optimise=0).ok
            except ToolCrashed:
                accepted = False
            out.append(f"{'+' if accepted else '-'} {statement}")
    STATEMENTS.write_text("\n".join(out) + "\n", encoding="utf-8")


if __name__ == "__main__":
    record()
