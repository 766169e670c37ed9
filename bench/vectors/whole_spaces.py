"""State spaces as whole kernels: addresses of every kind to and fro, and what lies there.

No address is a result, since each executor lays memory out as it likes; what is loaded through it is, and what is
said about it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from bench.vectors.inputs import random_words, word_bits
from bench.vectors.kernels import CELL, Vector, form_key
from bench.vectors.unshown import UNSHOWN
from bench.vectors.whole import CLUSTER, MEET, forms_of, statement, whole
from ptxgen.isa import Expansion, Table

NAMES = frozenset({"cvta", "getctarank", "isspacep", "mapa"})
ROWS = 256
_CONSTANTS = ", ".join(str(number * 37 % 251) for number in range(64))
_MODULE = f".const .align 8 .b8 constants[64] = {{{_CONSTANTS}}};"
#: A word of the thread in its places of local and shared memory, and of its cell: `%d1`. `%r20`: the other block.
_HEAD = f""".local .align 8 .b8 mine[64]; .reg .b64 %local;
ld.global.b64 %d1, [%in]; mov.u64 %local, mine; st.local.b64 [%local], %d1; st.local.b64 [%local+8], %d1;
mad.lo.u32 %r1, %thread, 8, %tile; st.shared.b64 [%r1], %d1;
mov.u32 %r20, %cluster_ctarank; xor.b32 %r20, %r20, 1; mapa.shared::cluster.u32 %r21, %r1, %r20;
cvt.u64.u32 %d2, %r1; cvt.u64.u32 %d3, %r21; and.b32 %r2, %thread, 7;
{MEET}"""
#: Where a thread's eight bytes lie in a space, as an address of that space.
_WHERE = {
    "const": "mov.u64 %d4, constants; mad.wide.u32 %d4, %r2, 8, %d4;",
    "global": "mov.u64 %d4, %cell;", "local": "mov.u64 %d4, %local;", "shared": "mov.u64 %d4, %d2;",
    "shared::cta": "mov.u64 %d4, %d2;", "shared::cluster": "mov.u64 %d4, %d3;", "param": "mov.u64 %d4, in_at;",
    "param::entry": "mov.u64 %d4, in_at;",
}  # fmt: skip

#: Loads and stores by generic addresses of every type and vector.
_GENERIC = re.compile(r"(ld|st)(\.v\d)?\.[a-z](8|16|32|64)")


def space_vectors(table: Table, arch: str) -> Iterator[Vector]:
    """Of addresses and accesses in every state space."""
    for expansion in forms_of(table, arch, *NAMES):
        if form_key(expansion) in UNSHOWN:
            continue
        yield _MAKERS[expansion.name](expansion, arch)
    for expansion in forms_of(table, arch, "ld", "st"):
        address = next(operand for operand in expansion.operands if "address" in operand.kinds)
        if _GENERIC.fullmatch(expansion.opcode) and len(expansion.operands) == 2:
            yield _everywhere(expansion, arch)
        if "async" not in expansion.opcode and address.space not in ("", "global", "shared", "shared::cta"):
            yield _access(expansion, arch, address.space or "")


def _made(expansion: Expansion, arch: str, body: str, *results: str, module: str = "",
          every: bool = False) -> Vector:  # fmt: skip
    name = f"{expansion.opcode} {', '.join(f'{o.name} {o.type}' for o in expansion.operands)}{' everywhere' * every}"
    return whole(
        expansion, arch, _HEAD + body + "\n" + MEET, results, rows=ROWS, name=name,
        columns=[random_words(name, ROWS)],
        cells=[random_words(f"{name}/{index}", ROWS) for index in range(CELL // 8)],
        module=f"{_MODULE}\n{module}", attributes=CLUSTER,
    )  # fmt: skip


def _cvta(expansion: Expansion, arch: str) -> Vector:
    """To a generic address and back; what is loaded through one is what is loaded through the other. A parameter's
    eight bytes are an address, so only that they are the same is seen."""
    space = expansion.opcode.removeprefix("cvta.").removeprefix("to.").removesuffix(".u64")
    there, back = f"cvta.{space}.u64 %d5, %d4;", f"cvta.to.{space}.u64 %d6, %d5;"
    if ".to." in expansion.opcode:
        back = statement(expansion, d="%d6", a="%d5")
    else:
        there = statement(expansion, d="%d5", a="%d4")
    body = f"{_WHERE[space]}\n{there}\n{back}\nld.b64 %d7, [%d5]; ld.{space}.b64 %d8, [%d6];\n"
    body += "setp.eq.u64 %p1, %d4, %d6; setp.eq.u64 %p2, %d7, %d8;\n"
    return _made(expansion, arch, body, "%p1", "%p2", *(() if "param" in space else ("%d7", "%d8")))


def _isspacep(expansion: Expansion, arch: str) -> Vector:
    """Of a generic address of every space."""
    body, results = "", []
    for number, space in enumerate(("const", "global", "local", "shared", "shared::cluster", "param")):
        place = _WHERE[space]
        body += f"{place}\ncvta.{space}.u64 %d5, %d4;\n{statement(expansion, p=f'%p{number + 1}', a='%d5')}\n"
        results.append(f"%p{number + 1}")
    return _made(expansion, arch, body, *results)


def _mapa(expansion: Expansion, arch: str) -> Vector:
    """The word of the thread of that number in each block of the cluster, and the block that its address names."""
    wide = expansion.type == "u64"
    address, to, space = ("%d5", "%d", "") if wide else ("%r1", "%r", "shared::cluster.")
    body = "cvta.shared.u64 %d5, %d2;\n"
    for rank in range(2):
        body += statement(expansion, d=f"{to}{10 + rank}", a=address, b=str(rank) if rank else "%r20") + "\n"
        body += f"ld.{space}b64 %d{20 + rank}, [{to}{10 + rank}];\n"
    asked = "getctarank.u64" if wide else "getctarank.shared::cluster.u32"
    body += f"{asked} %r5, {to}10;\n{asked} %r6, {to}11;\n"
    return _made(expansion, arch, body, "%d20", "%d21", "%r5", "%r6")


def _rank(expansion: Expansion, arch: str) -> Vector:
    wide = expansion.operands[1].type == "u64"
    body = "cvta.shared.u64 %d5, %d2; cvta.shared::cluster.u64 %d6, %d3;\n"
    own, other = ("%d5", "%d6") if wide else ("%r1", "%r21")
    body += statement(expansion, d="%r5", a=own) + "\n" + statement(expansion, d="%r6", a=other)
    return _made(expansion, arch, body, "%r5", "%r6")


# ------------------------------------------------------------ loads and stores


def _access(expansion: Expansion, arch: str, space: str) -> Vector:
    """A load or a store of local, constant, parameter and other blocks' memory."""
    if "func" in space or (space == "param" and expansion.name == "st"):
        return _in_a_function(expansion, arch)
    if space.startswith("param"):
        return _parameter(expansion, arch)
    body = _WHERE[space] + "\n"
    if expansion.name == "ld":
        return _made(expansion, arch, body + statement(expansion, d="%h1", a="%d4+3"), "%h1")
    body += "ld.global.u8 %h1, [%cell];\n" + statement(expansion, a="%d4+3", b="%h1") + "\n" + MEET
    body += "ld.local.b64 %d8, [%local]; ld.shared.b64 %d9, [%r1];\n"
    return _made(expansion, arch, body, "%d8", "%d9")


def _everywhere(expansion: Expansion, arch: str) -> Vector:
    """By a generic address into global memory, local memory, and shared memory of both blocks; a load also of
    constants. Each lies in a place of 16 bytes of its own."""
    datum = next(operand for operand in expansion.operands if "address" not in operand.kinds)
    bits = word_bits(datum.type)
    kind, width = ("h", 16) if bits < 32 else ("r", 32) if bits == 32 else ("d", 64)
    registers = [f"%{kind}{10 + index}" for index in range(datum.vector)]
    value = registers[0] if datum.vector == 1 else "{" + ", ".join(registers) + "}"
    body = """mad.lo.u32 %r4, %thread, 16, %tile; mapa.shared::cluster.u32 %r5, %r4, %r20; mov.u64 %d2, %local;
cvta.local.u64 %d2, %d2; cvt.u64.u32 %d3, %r4; cvta.shared.u64 %d3, %d3; cvt.u64.u32 %d4, %r5;
cvta.shared::cluster.u64 %d4, %d4; add.u64 %d4, %d4, 4096; cvta.global.u64 %d5, %cell;
mov.u64 %d6, constants; cvta.const.u64 %d6, %d6;
ld.global.v2.b64 {%d7, %d8}, [%cell+16]; st.local.v2.b64 [%local], {%d7, %d8};
ld.global.v2.b64 {%d7, %d8}, [%cell+32]; st.shared.v2.b64 [%r4], {%d7, %d8};
ld.global.v2.b64 {%d7, %d8}, [%cell+48]; st.shared.v2.b64 [%r4+4096], {%d7, %d8};
""" + MEET
    results = []
    if expansion.name == "ld":
        for place in (2, 3, 4, 5, 6):
            body += statement(expansion, d=value, a=f"%d{place}") + "\n"
            for index, register in enumerate(registers):
                kept = f"%{kind}kept{place}{index}"
                body += f".reg .b{width} {kept}; mov.b{width} {kept}, {register};\n"
                results.append(kept)
        return _made(expansion, arch, body, *results, every=True)
    for index, register in enumerate(registers):
        body += f"ld.global.b{width} {register}, [%in]; add.u{width} {register}, {register}, {index};\n"
    for place in (2, 3, 4, 5):
        body += statement(expansion, a=f"%d{place}", b=value) + "\n"
    body += MEET + """ld.local.v2.b64 {%d10, %d11}, [%local]; ld.shared.v2.b64 {%d12, %d13}, [%r4];
ld.shared.v2.b64 {%d14, %d15}, [%r4+4096]; ld.global.v2.b64 {%d16, %d17}, [%cell];
"""
    return _made(expansion, arch, body, *(f"%d{number}" for number in range(10, 18)), every=True)


def _parameter(expansion: Expansion, arch: str) -> Vector:
    """Of a kernel's parameter, whose bytes are an address: the same as a part of the whole word."""
    sign, bits = expansion.type[0], int("".join(c for c in expansion.type if c.isdigit()))
    kind, width = ("h", 16) if bits < 32 else ("r", 32) if bits == 32 else ("d", 64)
    body = statement(expansion, d=f"%{kind}1", a="in_at") + "\nld.param.u64 %d8, [in_at];\n"
    body += f"cvt.u{width}.u64 %{kind}2, %d8;\n" if width < 64 else "mov.b64 %d2, %d8;\n"
    if bits == 8:
        body += "cvt.s16.s8 %h2, %h2;\n" if sign == "s" else "cvt.u16.u8 %h2, %h2;\n"
    return _made(expansion, arch, body + f"setp.eq.u{width} %p1, %{kind}1, %{kind}2;\n", "%p1")


def _in_a_function(expansion: Expansion, arch: str) -> Vector:
    """A function's parameter and its result."""
    load, store = "ld.param.b8 %h1, [x+3];", "st.param.b8 [y], %h1;"
    if expansion.name == "ld":
        load = statement(expansion, d="%h1", a="x+3")
    else:
        store = statement(expansion, a="y", b="%h1")
    module = f""".func (.param .align 4 .b8 y[4]) part(.param .align 8 .b8 x[8])
{{
.reg .b16 %h<4>;
{load}
st.param.b8 [y+1], 0; st.param.b8 [y+2], 7; st.param.b8 [y+3], %h1;
{store}
ret;
}}
"""
    body = """{ .param .align 8 .b8 a[8]; .param .align 4 .b8 b[4]; st.param.b64 [a], %d1; call (b), part, (a);
ld.param.b32 %r5, [b]; }
"""
    return _made(expansion, arch, body, "%r5", module=module)


_MAKERS = {"cvta": _cvta, "getctarank": _rank, "isspacep": _isspacep, "mapa": _mapa}
