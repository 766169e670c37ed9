"""Control flow as whole kernels: divergence within divergence, calls of every kind, recursion, stacks, and ends."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.vectors.inputs import random_words
from bench.vectors.kernels import Seen, Vector
from bench.vectors.whole import forms_of, operands, statement, whole
from ptxgen.isa import Expansion, Table

NAMES = frozenset({
    "bra", "brx", "call", "ret", "exit", "alloca", "stacksave", "stackrestore", "trap", "brkpt",
})  # fmt: skip
ROWS = 256
#: `%r1`: the thread's word, `%r2` to `%r5`: numbers of three bits each that are its parts.
_HEAD = """ld.global.b32 %r1, [%in]; bfe.u32 %r2, %r1, 0, 3; bfe.u32 %r3, %r1, 8, 3; bfe.u32 %r4, %r1, 16, 3;
bfe.u32 %r5, %r1, 24, 3; mov.u32 %r10, 0;
"""


def control_vectors(table: Table, arch: str) -> Iterator[Vector]:
    """Of branches, calls, returns, exits and stacks; and what a launch prints, or ends by."""
    for expansion in forms_of(table, arch, *NAMES):
        name = f"{expansion.opcode} {', '.join(operands(expansion))}".strip()
        if expansion.name == "call":
            yield _call(expansion, arch, name)
        else:
            maker = _MAKERS[expansion.name]
            module, body = maker(expansion)
            seen: Seen = "fault" if expansion.name in ("trap", "brkpt") else "out"
            yield _made(expansion, arch, body, name, module, seen)
        if expansion.opcode == "call" and operands(expansion) == ("ret_param", "func", "param_list"):
            yield _made(expansion, arch, _PRINT, "call vprintf", _PRINTF, "printed")
            yield _made(expansion, arch, _ASSERT, "call __assertfail", _ASSERTFAIL, "fault")


def _made(expansion: Expansion, arch: str, body: str, name: str, module: str = "", seen: Seen = "out") -> Vector:
    return whole(expansion, arch, _HEAD + body, ["%r10"], name=name, module=module, rows=ROWS, seen=seen,
                 columns=[random_words(name, ROWS) & np.uint64(0xFFFFFFFF)])  # fmt: skip


def _uniform(expansion: Expansion) -> bool:
    return "uni" in expansion.opcode.split(".")


def _branch(expansion: Expansion) -> tuple[str, str]:
    """Loops in loops and branches in branches; the lengths of loops differ by thread, or by block for .uni."""
    jump = expansion.opcode
    if _uniform(expansion):
        return "", f"""mov.u32 %r6, 0;
$L_1:
add.u32 %r6, %r6, 1; setp.gt.u32 %p1, %r6, 20;
@%p1 {jump} $L_9;
mov.u32 %r7, %r6;
$L_2:
mad.lo.u32 %r10, %r10, 3, %r7; xor.b32 %r10, %r10, %r1; add.u32 %r10, %r10, %block;
shr.u32 %r7, %r7, 1; setp.ne.u32 %p2, %r7, 0;
@%p2 {jump} $L_2;
and.b32 %r8, %r6, 1; setp.eq.u32 %p3, %r8, 0;
@%p3 {jump} $L_1;
add.u32 %r10, %r10, 77;
{jump} $L_1;
$L_9:
"""
    return "", f"""mov.u32 %r6, 0;
$L_1:
setp.gt.u32 %p1, %r6, %r2;
@%p1 {jump} $L_9;
add.u32 %r6, %r6, 1; mov.u32 %r7, 0;
$L_2:
setp.ge.u32 %p2, %r7, %r3;
@%p2 {jump} $L_1;
add.u32 %r7, %r7, 1; xor.b32 %r8, %r7, %r6; and.b32 %r8, %r8, %r4; setp.eq.u32 %p3, %r8, 0;
@%p3 {jump} $L_3;
mad.lo.u32 %r10, %r10, 5, %r7; setp.gt.u32 %p4, %r7, %r5;
@!%p4 {jump} $L_2;
add.u32 %r10, %r10, 1000;
{jump} $L_1;
$L_3:
mad.lo.u32 %r10, %r10, 7, %r6;
@%p3 {jump} $L_2;
{jump} $L_9;
$L_9:
"""


def _table_branch(expansion: Expansion) -> tuple[str, str]:
    """A small machine whose next step is looked up, some steps with a branch of their own."""
    same = "mov.u32 %r7, %block;" if _uniform(expansion) else "mov.u32 %r7, %r1;"
    jump = statement(expansion, index="%r8", tlist="targets")
    return "", f"""{same} mov.u32 %r6, 0;
targets: .branchtargets $L_2, $L_3, $L_4, $L_5;
$L_1:
add.u32 %r6, %r6, 1; setp.gt.u32 %p1, %r6, 12;
@%p1 bra $L_9;
and.b32 %r8, %r7, 3; shr.u32 %r7, %r7, 2;
{jump}
$L_2:
add.u32 %r10, %r10, 1; bra $L_1;
$L_3:
mul.lo.u32 %r10, %r10, 3;
$L_4:
xor.b32 %r10, %r10, %r6; bra $L_1;
$L_5:
setp.lt.u32 %p2, %r10, 50;
@%p2 bra $L_4;
sub.u32 %r10, %r10, 49; bra $L_1;
$L_9:
"""


# ------------------------------------------------------------ calls


_FUNCTIONS = """.global .u32 counted[256];
.func (.reg .b32 %y) both(.reg .b32 %n, .reg .b32 %x);
.func (.reg .b32 %y) both(.reg .b32 %n, .reg .b32 %x)
{
.reg .pred %p<4>; .reg .b32 %r<8>;
mov.u32 %y, %x; setp.eq.u32 %p1, %n, 0;
@%p1 ret;
sub.u32 %r1, %n, 1; and.b32 %r2, %x, 1; setp.eq.u32 %p2, %r2, 0;
shr.u32 %r3, %x, 1;
@%p2 bra $L_1;
call (%r4), both, (%r1, %r3);
mad.lo.u32 %y, %r4, 3, %x;
ret;
$L_1:
add.u32 %r3, %r3, 12345;
call (%r4), both, (%r1, %r3);
xor.b32 %y, %r4, %n;
ret;
}
.func (.reg .b32 %y) other(.reg .b32 %n, .reg .b32 %x) { mad.lo.u32 %y, %n, 1000, %x; ret; }
.func leave(.reg .b32 %n, .reg .b32 %x)
{
.reg .pred %p<4>; .reg .b32 %r<4>; .reg .b64 %d<4>;
setp.eq.u32 %p1, %n, 0;
@%p1 bra $L_1;
sub.u32 %r1, %n, 1; add.u32 %r2, %x, %n;
call leave, (%r1, %r2);
ret;
$L_1:
mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r1, %r2, 128, %r1;
mov.u64 %d1, counted; mad.wide.u32 %d1, %r1, 4, %d1; st.global.u32 [%d1], %x;
ret;
}
.func leave2(.reg .b32 %n, .reg .b32 %x) { .reg .b32 %r<4>; shl.b32 %r1, %x, 1; call leave, (%n, %r1); ret; }
.func add7() { .reg .b32 %r<4>; .reg .b64 %d<4>; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;
mad.lo.u32 %r1, %r2, 128, %r1; mov.u64 %d1, counted; mad.wide.u32 %d1, %r1, 4, %d1; ld.global.u32 %r3, [%d1];
add.u32 %r3, %r3, 7; st.global.u32 [%d1], %r3; ret; }
.func add9() { .reg .b32 %r<4>; .reg .b64 %d<4>; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;
mad.lo.u32 %r1, %r2, 128, %r1; mov.u64 %d1, counted; mad.wide.u32 %d1, %r1, 4, %d1; ld.global.u32 %r3, [%d1];
mad.lo.u32 %r3, %r3, 2, 9; st.global.u32 [%d1], %r3; ret; }
"""


def _call(expansion: Expansion, arch: str, name: str) -> Vector:
    """A call of the form's kind in a branch that some threads take, or all for .uni; by name or by an address."""
    named = set(operands(expansion))
    first, second = ("both", "other") if "ret_param" in named else ("leave", "leave2")
    if "param_list" not in named:
        first, second = "add7", "add9"
    returned = "(.reg .b32 %y) " if "ret_param" in named else ""
    taken = "(.reg .b32 %n, .reg .b32 %x)" if "param_list" in named else ""
    choice = "and.b32 %r6, %block, 1;" if _uniform(expansion) else "and.b32 %r6, %r3, 1;"
    given = {"ret_param": "(%r11)", "param_list": "(%r2, %r1)", "func": first, "fptr": "%d1"}
    body = f"mov.u32 %r11, 0; {choice} setp.eq.u32 %p1, %r6, 0;\n"
    if "fptr" in named:
        body += f"""mov.u64 %d2, {first}; mov.u64 %d3, {second}; selp.b64 %d1, %d2, %d3, %p1;
proto: .callprototype {returned or "() "}_ {taken or "()"};
list: .calltargets {first}, {second};
{statement(expansion, **given, flist="proto")}
{statement(expansion, **given, flist="list")}
"""
    else:
        other = statement(expansion, **{**given, "func": second, "param_list": "(%r3, %r1)"})
        body += f"@%p1 bra $L_1;\n{statement(expansion, **given)}\nbra $L_2;\n$L_1:\n{other}\n$L_2:\n"
    body += """mov.u64 %d4, counted; mad.wide.u32 %d4, %index, 4, %d4; ld.global.u32 %r12, [%d4];
add.u32 %r10, %r11, %r12; st.global.u32 [%d4], 0;
"""
    return _made(expansion, arch, body, name, _FUNCTIONS)


def _return(expansion: Expansion) -> tuple[str, str]:
    """Out of a function from different places, and out of the kernel."""
    ret = expansion.opcode
    out = "bra $L_1" if _uniform(expansion) else ret
    module = f""".func (.reg .b32 %y) part(.reg .b32 %n)
{{
.reg .pred %p<4>; .reg .b32 %r<4>;
mov.u32 %y, 5; setp.lt.u32 %p1, %n, 3;
@%p1 {out};
mov.u32 %y, %n; setp.lt.u32 %p1, %n, 6;
@%p1 {out};
mul.lo.u32 %y, %n, 9;
$L_1:
{ret};
}}
"""
    return module, f"""mov.u32 %r6, {"%block" if _uniform(expansion) else "%r2"};
call (%r10), part, (%r6);
st.global.b32 [%out], %r10; setp.gt.u32 %p1, %r6, 4;
@%p1 {ret};
add.u32 %r10, %r10, 100;
"""


def _exit(expansion: Expansion) -> tuple[str, str]:
    """In a branch and in a function; those who are left go on, and meet at a barrier."""
    module = f""".func end(.reg .b32 %n)
{{ .reg .pred %p<2>; setp.gt.u32 %p1, %n, 5;
@%p1 {expansion.opcode};
ret; }}
"""
    return module, f"""setp.lt.u32 %p1, %r2, 2;
@%p1 {expansion.opcode};
st.global.b32 [%out], %r1; call end, (%r3);
bar.sync 0;
mov.u32 %r10, %r3;
"""


def _stack(expansion: Expansion) -> tuple[str, str]:
    """Room that is taken and given back in a loop, larger by thread; what lies in older room stays, and the next room
    is where the one given back was."""
    alloca = "alloca.u64 %d2, %d1;"
    if expansion.name == "alloca":
        alloca = statement(expansion, ptr="%d2", size="%d1", immAlign="64")
    save = statement(expansion, d="%d5") if expansion.name == "stacksave" else "stacksave.u64 %d5;"
    restore = statement(expansion, a="%d5") if expansion.name == "stackrestore" else "stackrestore.u64 %d5;"
    aligned = 63 if "immAlign" in operands(expansion) else 7
    return "", f"""mul.wide.u32 %d1, %r2, 16; add.u64 %d1, %d1, 16;
{alloca}
mov.u64 %d3, %d2; st.local.u32 [%d3], %r1; mov.u32 %r6, 0; mov.u64 %d7, 0;
$L_1:
{save}
{alloca}
setp.eq.u64 %p2, %d2, %d7; selp.u32 %r7, 1000, 0, %p2; add.u32 %r10, %r10, %r7; mov.u64 %d7, %d2;
st.local.u32 [%d2+4], %r6; ld.local.u32 %r7, [%d2+4]; mad.lo.u32 %r10, %r10, 3, %r7;
and.b64 %d6, %d2, {aligned}; cvt.u32.u64 %r8, %d6; add.u32 %r10, %r10, %r8;
{restore}
add.u32 %r6, %r6, 1; setp.le.u32 %p1, %r6, %r3;
@%p1 bra $L_1;
ld.local.u32 %r9, [%d3]; add.u32 %r10, %r10, %r9;
"""


def _end(expansion: Expansion) -> tuple[str, str]:
    """One thread ends the launch."""
    return "", f"setp.eq.u32 %p1, %index, 77;\n@%p1 {expansion.opcode};\n"


_MAKERS = {
    "bra": _branch, "brx": _table_branch, "ret": _return, "exit": _exit, "alloca": _stack, "stacksave": _stack,
    "stackrestore": _stack, "trap": _end, "brkpt": _end,
}  # fmt: skip

_TEXT = "%d of %u: %5.2f %s %c %lld %x%%\n"
_LETTERS = ", ".join(str(ord(letter)) for letter in _TEXT)
_PRINTF = f""".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);
.global .align 1 .b8 text[] = {{{_LETTERS}, 0}};
.global .align 1 .b8 word[4] = {{97, 98, 99, 0}};
"""
#: One thread in a block, after the other.
_PRINT = """{ .param .b64 a; .param .b64 b; .param .b32 c; .local .align 8 .b8 held[64]; .reg .b64 %held;
setp.ne.u32 %p1, %index, 5;
@%p1 bra $L_1;
mov.u64 %d1, text; cvta.global.u64 %d1, %d1; mov.u64 %held, held; cvta.local.u64 %d2, %held;
mov.u64 %d3, word; cvta.global.u64 %d3, %d3;
st.local.u32 [%held], -7; st.local.u32 [%held+4], 4000000000; st.local.f64 [%held+8], 0d4004000000000000;
st.local.u64 [%held+16], %d3; st.local.u32 [%held+24], 65; st.local.u64 [%held+32], -5;
st.local.u32 [%held+40], 255;
st.param.b64 [a], %d1; st.param.b64 [b], %d2; call (c), vprintf, (a, b); ld.param.b32 %r10, [c];
$L_1: }
"""
_PARAMETERS = ".param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 s"
_ASSERTFAIL = f""".extern .func __assertfail({_PARAMETERS});
.global .align 1 .b8 text[4] = {{120, 60, 121, 0}};
"""
_ASSERT = f"""{{ {_PARAMETERS.replace(",", ";")};
mov.u64 %d1, text; cvta.global.u64 %d1, %d1; st.param.b64 [m], %d1; st.param.b64 [f], %d1; st.param.b32 [l], 7;
st.param.b64 [n], %d1; st.param.b64 [s], 1; setp.eq.u32 %p1, %index, 3;
@%p1 call __assertfail, (m, f, l, n, s); }}
"""
