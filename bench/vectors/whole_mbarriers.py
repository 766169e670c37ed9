"""mbarriers as whole kernels: counts, bytes, states and parities, in shared memory of the own and of another block.

Two blocks of 64 threads in a cluster, with an mbarrier each. What a phase orders is shown by words that threads leave
for others.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.vectors.inputs import Words, random_words
from bench.vectors.kernels import CELL, Vector
from bench.vectors.whole import CLUSTER, MEET, forms_of, operands, statement, whole
from ptxgen.isa import Expansion, Table

NAMES = frozenset({"mbarrier"})
_BLOCK = 64
ROWS = 256
_BYTES = 256

#: `%p1`: the first thread of its block; `%p2`, `%p3`: those of the first and of the second warp. `%r1`: its word.
_HEAD = """setp.eq.u32 %p1, %thread, 0; setp.lt.u32 %p2, %thread, 32; setp.ge.u32 %p3, %thread, 32;
ld.global.b32 %r1, [%in]; mov.u32 %r20, %cluster_ctarank; xor.b32 %r20, %r20, 1;
mapa.shared::cluster.u32 %r21, %bars, %r20; mad.lo.u32 %r22, %thread, 4, %tile;
mapa.shared::cluster.u32 %r23, %r22, %r20; xor.b32 %r24, %thread, 37; mad.lo.u32 %r24, %r24, 4, %tile;
cvt.u64.u32 %d20, %bars; cvta.shared.u64 %d20, %d20; mov.u64 %d1, 0; mov.u32 %r10, 0;
"""
#: Words from the cells of the block's first threads into shared memory behind the threads' own.
_COPY = f"""sub.u32 %r25, %index, %thread; mad.wide.u32 %d2, %r25, {CELL}, %cells; add.u32 %r26, %tile, 1024;
"""


def mbarrier_vectors(table: Table, arch: str) -> Iterator[Vector]:
    """Of mbarriers."""
    for expansion in forms_of(table, arch, *NAMES):
        yield _MAKERS[expansion.opcode.split(".")[1]](expansion, arch)


def _init(count: int | str, lines: str = "") -> str:
    lines = lines or f"@%p1 mbarrier.init.shared.b64 [%bars], {count};"
    return f"{lines}\nfence.mbarrier_init.release.cluster;\n{MEET}"


def _wait(parity: int, label: str) -> str:
    return f"""${label}:
mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p9, [%bars], {parity};
@!%p9 bra ${label};
"""


def _tested(parity: int, register: str) -> str:
    """Whether the phase is over, when all threads of the block have come here; the mbarrier stays as it is."""
    return f"bar.sync 0;\nmbarrier.test_wait.parity.shared.b64 {register}, [%bars], {parity};\nbar.sync 0;\n"


def _far(expansion: Expansion) -> bool:
    return "shared::cluster" in expansion.opcode.split(".")


def _at(expansion: Expansion) -> str:
    """The address as the form wants it: generic, in the block's own shared memory, or in that of the other block."""
    words = expansion.opcode.split(".")
    return "%r21" if _far(expansion) else "%bars" if {"shared", "shared::cta"} & set(words) else "%d20"


def _columns(expansion: Expansion) -> list[Words]:
    return [random_words(expansion.opcode, ROWS) & np.uint64(0xFFFFFFFF)]


def _cells(expansion: Expansion) -> list[Words]:
    return [random_words(f"{expansion.opcode}/{index}", ROWS) for index in range(CELL // 8)]


def _made(expansion: Expansion, arch: str, body: str, *results: str, unordered: bool = False) -> Vector:
    """Blocks leave together, since their shared memory is looked into."""
    return whole(expansion, arch, _HEAD + body + MEET, results, columns=_columns(expansion), cells=_cells(expansion),
                 rows=ROWS, block=_BLOCK, attributes=CLUSTER, unordered=unordered)  # fmt: skip


def _begin(expansion: Expansion, arch: str) -> Vector:
    first = "@%p1 " + statement(expansion, addr=_at(expansion), count="64")
    body = _init(0, first) + "st.shared.b32 [%r22], %r1;\nmbarrier.arrive.shared.b64 %d1, [%bars];\n" + _wait(0, "L1")
    body += "ld.shared.b32 %r4, [%r24];\n" + _tested(1, "%p5") + _tested(0, "%p6")
    return _made(expansion, arch, body, "%r4", "%p5", "%p6")


def _end(expansion: Expansion, arch: str) -> Vector:
    """The mbarrier's place holds words, and then another mbarrier for other threads."""
    end = "@%p1 " + statement(expansion, addr=_at(expansion))
    body = _init(64) + "mbarrier.arrive.shared.b64 %d1, [%bars];\n" + _wait(0, "L1") + f"""bar.sync 0;
{end}
bar.sync 0;
@%p1 st.shared.b32 [%bars], %r1;
bar.sync 0;
ld.shared.b32 %r4, [%bars];
bar.sync 0;
@%p1 mbarrier.init.shared.b64 [%bars], 32;
bar.sync 0;
@%p2 st.shared.b32 [%r22], %r1;
@%p2 mbarrier.arrive.shared.b64 %d1, [%bars];
""" + _wait(0, "L2") + "and.b32 %r5, %thread, 31; mad.lo.u32 %r5, %r5, 4, %tile; ld.shared.b32 %r5, [%r5];\n"
    return _made(expansion, arch, body, "%r4", "%r5")


def _expect(expansion: Expansion, arch: str) -> Vector:
    announce = "@%p1 " + statement(expansion, addr=_at(expansion), txCount=str(_BYTES))
    body = _init(64) + f"{announce}\n{MEET}mbarrier.arrive.shared.b64 %d1, [%bars];\n" + _tested(0, "%p5")
    body += _COPY + _bulk(_BYTES) + _wait(0, "L1") + "ld.shared.b32 %r4, [%r22+1024];\n"
    return _made(expansion, arch, body, "%p5", "%r4")


def _bulk(size: int) -> str:
    return f"""@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r26], [%d2], {size}, [%bars];
"""


def _complete(expansion: Expansion, arch: str) -> Vector:
    body = _init(64) + f"""@%p1 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%bars], {_BYTES};
bar.sync 0;
st.shared.b32 [%r22], %r1; mbarrier.arrive.shared.b64 %d1, [%bars];
""" + _tested(0, "%p5") + "@%p1 " + statement(expansion, addr=_at(expansion), txCount=str(_BYTES)) + "\n"
    return _made(expansion, arch, body + _wait(0, "L1") + "ld.shared.b32 %r4, [%r24];\n", "%p5", "%r4")


def _arrive(expansion: Expansion, arch: str) -> Vector:
    """All threads arrive, perhaps for two or with bytes to come; where none may be the last, one comes once more."""
    words = expansion.opcode.split(".")
    each = 2 if "count" in operands(expansion) else 1
    loose = "noComplete" in words
    form = statement(expansion, addr=_at(expansion), count="2", txCount="16", state="%d1")
    body = _init(64 * each + loose) + _COPY
    body += "st.shared::cluster.b32 [%r23], %r1;\n" if _far(expansion) else "st.shared.b32 [%r22], %r1;\n"
    body += ("fence.acq_rel.cluster;\n" if "relaxed" in words or "cta" in words else "") + form + "\n"
    if "expect_tx" in words:
        body += f"{MEET}{_tested(0, '%p5')}{_bulk(1024)}"
    elif loose:
        body += f"{_tested(0, '%p5')}@%p1 mbarrier.arrive.shared.b64 %d3, [%bars];\n"
    else:
        body += "mov.pred %p5, 0;\n"
    body += _wait(0, "L1")
    if _far(expansion) and "cta" in words:
        body += MEET
    body += "ld.shared.b32 %r4, [%r24];\nld.shared.b32 %r5, [%r22+1024];\n" if "expect_tx" in words else (
        "ld.shared.b32 %r4, [%r24]; mov.u32 %r5, 0;\n"
    )
    body += _tested(1, "%p6")
    state = expansion.operands[0].kinds != {"sink"}
    if state:
        body += "mbarrier.pending_count.b64 %r10, %d1;\n"
    return _made(expansion, arch, body, "%r4", "%r5", "%p5", "%p6", "%r10", unordered=state)


def _drop(expansion: Expansion, arch: str) -> Vector:
    """The first warp arrives and leaves for good; the next phase is that of the second warp alone."""
    words = expansion.opcode.split(".")
    each = 2 if "count" in operands(expansion) else 1
    loose = "noComplete" in words
    form = statement(expansion, addr=_at(expansion), count="2", txCount="16", state="%d1")
    fence = "fence.acq_rel.cluster;\n" if "relaxed" in words or "cta" in words else ""
    body = _init(32 * each + 32 + loose) + _COPY
    body += f"st.shared.b32 [%r22], %r1;\n{fence}@%p2 {form}\n@%p3 mbarrier.arrive.shared.b64 %d3, [%bars];\n"
    body += MEET if "expect_tx" in words or _far(expansion) else "bar.sync 0;\n"
    body += _bulk(512) if "expect_tx" in words else ""
    body += "@%p1 mbarrier.arrive.shared.b64 %d3, [%bars];\n" if loose else ""
    body += _wait(0, "L1") + "ld.shared.b32 %r4, [%r24];\n" + _tested(1, "%p5") + _tested(0, "%p6")
    if loose:
        body += "@%p1 mbarrier.arrive.shared.b64 %d3, [%bars];\n"
    body += "@%p3 mbarrier.arrive.shared.b64 %d3, [%bars];\n" + _wait(1, "L2") + _tested(0, "%p7")
    return _made(expansion, arch, body, "%r4", "%p5", "%p6", "%p7")


def _ask(expansion: Expansion, arch: str) -> Vector:
    """test_wait and try_wait: before the last arrival, in a loop until it, and of the phase after it. What is said
    before is stored at once, for a wait that nobody looks at goes on meanwhile."""
    words = expansion.opcode.split(".")
    given = {"addr": _at(expansion), "state": "%d1", "timeHint": "100"}
    by_parity = "parity" in words

    def ask(register: str, parity: int) -> str:
        return statement(expansion, **given, waitComplete=register, phaseParity=str(parity)) + "\n"

    body = _init(65) + "st.shared.b32 [%r22], %r1;\nmbarrier.arrive.shared.b64 %d1, [%bars];\nbar.sync 0;\n"
    body += ask("%p5", 0) + "selp.b32 %r5, 1, 0, %p5; st.global.b32 [%out], %r5;\n"
    body += "ld.volatile.global.b32 %r5, [%out];\nbar.sync 0;\n@%p1 mbarrier.arrive.shared.b64 %d3, [%bars];\n"
    body += "$L_1:\n" + ask("%p4", 0) + "@!%p4 bra $L_1;\n"
    if "relaxed" in words:
        body += "fence.acq_rel.cluster;\n"
    body += "ld.shared.b32 %r4, [%r24];\n"
    body += ask("%p6", 0) + (ask("%p7", 1) if by_parity else "mov.pred %p7, 0;\n")
    return _made(expansion, arch, body, "%r5", "%r4", "%p6", "%p7")


def _count(expansion: Expansion, arch: str) -> Vector:
    """Of the states that threads get one after the other, in two phases."""
    form = statement(expansion, count="%r4", state="%d1")
    body = _init(64) + f"mbarrier.arrive.shared.b64 %d1, [%bars];\n{form}\n" + _wait(0, "L1")
    body += f"bar.sync 0;\nmbarrier.arrive_drop.shared.b64 %d1, [%bars];\n{form.replace('%r4', '%r5')}\n"
    return _made(expansion, arch, body, "%r4", "%r5", unordered=True)


_MAKERS = {
    "init": _begin, "inval": _end, "expect_tx": _expect, "complete_tx": _complete, "arrive": _arrive,
    "arrive_drop": _drop, "test_wait": _ask, "try_wait": _ask, "pending_count": _count,
}  # fmt: skip
