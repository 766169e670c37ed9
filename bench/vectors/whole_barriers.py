"""Barriers as whole kernels: what threads tell each other through memory, by every barrier and fence there is.

What a barrier orders is shown by words that threads leave for others: a missing order would give older words.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.vectors.inputs import Words, random_words
from bench.vectors.kernels import Vector, form_key
from bench.vectors.unshown import UNSHOWN
from bench.vectors.whole import CLUSTER, apart, forms_of, operands, statement, whole
from ptxgen.isa import Expansion, Table

NAMES = frozenset({"bar", "barrier", "fence", "membar"})
ROWS = 512
_HALF = "64"
#: Leaves a word in shared memory, and takes one of 37 threads on, of the same block.
_PUT = "mad.lo.u32 %r2, %thread, 4, %tile; st.shared.b32 [%r2], %r1;\n"
_TAKE = """add.u32 %r3, %thread, 37; and.b32 %r3, %r3, 127; mad.lo.u32 %r3, %r3, 4, %tile;
ld.shared.b32 %r4, [%r3];
"""
#: The same among the 64 threads of two warps.
_TAKE_OF_64 = "xor.b32 %r3, %thread, 53; mad.lo.u32 %r3, %r3, 4, %tile; ld.shared.b32 %r4, [%r3];\n"


def barrier_vectors(table: Table, arch: str) -> Iterator[Vector]:
    """Of barriers and fences."""
    for expansion in forms_of(table, arch, *NAMES):
        words = expansion.opcode.split(".")
        if form_key(expansion) in UNSHOWN:
            continue
        if expansion.name in ("fence", "membar"):
            yield _fence(expansion, arch)
        elif "warp" in words:
            yield _of_a_warp(expansion, arch)
        elif "cluster" in words:
            yield _of_a_cluster(expansion, arch)
        elif "arrive" in words:
            yield _arrival(expansion, arch)
        else:
            yield _of_a_block(expansion, arch)


def _columns(name: str) -> list[Words]:
    """Words, and bits to be reduced: all of a block, none, one of each block after that."""
    bits = np.zeros(ROWS, np.uint64)
    bits[:128] = 1
    bits[256 + 77] = 1
    bits[384:] = random_words(f"{name}/bits", 128) & np.uint64(1)
    return [random_words(name, ROWS) & np.uint64(0xFFFFFFFF), bits]


_LOADS = """ld.global.b32 %r1, [%in]; ld.global.b32 %r5, [%in+8]; setp.ne.b32 %p1, %r5, 0;
and.b32 %r5, %thread, 1; setp.ne.b32 %p0, %r5, 0; mov.u32 %r10, 0; mov.u32 %r11, 0; mov.pred %p2, 0; mov.pred %p3, 0;
"""


def _of_a_block(expansion: Expansion, arch: str) -> Vector:
    """bar and barrier with all threads, or the two halves of a block each at a barrier of their own."""
    counted = "b" in operands(expansion)
    number = "mov.u32 %r6, 5;\n"
    if counted:
        number = f"shr.u32 %r6, %thread, 6; add.u32 %r6, %r6, 7; mov.u32 %r7, {_HALF};\n"
    known = {"a": "%r6", "b": "%r7", "d": "%r10", "p": "%p2"}
    first = statement(expansion, **known, c="%p1")
    loose = expansion.name == "barrier" and "aligned" not in expansion.opcode
    body = _LOADS + number + _PUT + (apart(first, "L1") if loose else first + "\n")
    body += _TAKE_OF_64 if counted else _TAKE
    results = ["%r4"]
    if "red" in expansion.opcode.split("."):
        # And of the opposite of each bit, at a barrier that is used again.
        again = statement(expansion, **{**known, "d": "%r11", "p": "%p3"}, c="!%p1")
        body += apart(again, "L2") if loose else again + "\n"
        results += ["%r10", "%r11"] if "popc" in expansion.opcode else ["%p2", "%p3"]
    else:
        body += f"{first}\nst.shared.b32 [%r2], %r4;\n{first}\n" + (_TAKE_OF_64 if counted else _TAKE)
    return whole(expansion, arch, body, results, columns=_columns(expansion.opcode), rows=ROWS)


def _arrival(expansion: Expansion, arch: str) -> Vector:
    """Two warps leave words and go on; the other two wait for them and leave words in turn."""
    waiting = expansion.opcode.replace("arrive", "sync")
    arrive = statement(expansion, a="%r6", b="%r7")
    body = _LOADS + _PUT + f"""mov.u32 %r6, 3; mov.u32 %r7, 128; mov.u32 %r8, 4; mov.u32 %r4, %r1;
setp.ge.u32 %p4, %thread, 64;
@%p4 bra $L_1;
{apart(arrive, "L3") if expansion.name == "barrier" and "aligned" not in expansion.opcode else arrive}
{waiting} %r8, %r7;
bra $L_2;
$L_1:
{waiting} %r6, %r7;
{_TAKE_OF_64.replace("53", "117")}
add.u32 %r9, %r4, %r1; st.shared.b32 [%r2+1024], %r9;
{expansion.opcode} %r8, %r7;
bra $L_3;
$L_2:
{_TAKE_OF_64.replace("53", "85").replace("[%r3]", "[%r3+1024]")}
$L_3:
"""
    return whole(expansion, arch, body, ["%r4"], columns=_columns(expansion.opcode), rows=ROWS)


def _of_a_warp(expansion: Expansion, arch: str) -> Vector:
    """Even and odd lanes come to it in branches of their own, each with its own mask."""
    body = _LOADS + "selp.b32 %r6, 0xaaaaaaaa, 0x55555555, %p0;\n" + apart(
        _PUT + statement(expansion, membermask="%r6")
        + "xor.b32 %r3, %thread, 6; mad.lo.u32 %r3, %r3, 4, %tile; ld.shared.b32 %r4, [%r3];", "L1"
    )
    return whole(expansion, arch, body, ["%r4"], columns=_columns(expansion.opcode), rows=ROWS)


def _of_a_cluster(expansion: Expansion, arch: str) -> Vector:
    """Each block takes a word of the other; an arrival that orders nothing has a fence before it."""
    words = expansion.opcode.split(".")
    aligned = ".aligned" if "aligned" in words else ""
    arrive, wait = f"barrier.cluster.arrive{aligned};", f"barrier.cluster.wait{aligned};"
    if "arrive" in words:
        arrive = expansion.opcode + ";"
    else:
        wait = expansion.opcode + ";"
    if "relaxed" in words:
        arrive = "fence.acq_rel.cluster;\n" + arrive
    both = f"{arrive}\n{wait}\n"
    body = _LOADS + _PUT + (both if aligned else apart(both, "L1")) + """
mov.u32 %r6, %cluster_ctarank; xor.b32 %r6, %r6, 1; xor.b32 %r3, %thread, 53; mad.lo.u32 %r3, %r3, 4, %tile;
mapa.shared::cluster.u32 %r3, %r3, %r6; ld.shared::cluster.b32 %r4, [%r3];
""" + both
    return whole(expansion, arch, body, ["%r4"], columns=_columns(expansion.opcode), rows=ROWS, attributes=CLUSTER)


def _fence(expansion: Expansion, arch: str) -> Vector:
    """A warp leaves words and raises a flag, another waits for the flag and takes the words: of its own block, or of
    the next one where the fence reaches so far. A form that orders one side alone has a partner on the other."""
    words = expansion.opcode.split(".")
    near = "cta" in words
    scope = "cta" if near else "cluster" if "cluster" in words else "gpu"
    ours, partner = expansion.opcode + ";", f"fence.acq_rel.{scope};"
    release = acquire = ours
    if "release" in words or "mbarrier_init" in words:
        release, acquire = (partner + ours if "op_restrict" in expansion.form.syntax else ours), partner
    elif "acquire" in words:
        release, acquire = partner, ours
    if "proxy" in words or "sync_restrict" in expansion.opcode or "proxy" in expansion.opcode:
        release, acquire = f"{ours} {partner}", f"{partner} {ours}"
        if "acquire" in words:
            release = partner
        elif "release" in words:
            acquire = partner
    taker = "setp.ge.u32 %p4, %thread, 64;" if near else "and.b32 %r5, %block, 1; setp.ne.b32 %p4, %r5, 0;"
    # The cell of the giving thread, and its flag behind it; `%d1` is the same for the thread that takes.
    body = f"""ld.global.b32 %r1, [%in];
mov.u32 %r4, 0; {taker}
@%p4 bra $L_1;
st.global.b32 [%cell], %r1;
{release}
st.relaxed.{scope}.global.b32 [%cell+8], 1;
bra $L_2;
$L_1:
sub.u64 %d1, %cell, {64 * (64 if near else 128)};
$L_3:
ld.relaxed.{scope}.global.b32 %r3, [%d1+8]; setp.eq.b32 %p5, %r3, 0;
@%p5 bra $L_3;
{acquire}
ld.global.b32 %r4, [%d1];
$L_2:
"""
    attributes = CLUSTER if scope == "cluster" else ""
    return whole(expansion, arch, body, ["%r4"], columns=_columns(expansion.opcode)[:1], rows=ROWS,
                 attributes=attributes)  # fmt: skip
