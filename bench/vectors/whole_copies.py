"""Asynchronous copies, stores and reductions as whole kernels: threads' own copies, bulk copies, and what reaches the
shared memory of another block. A kernel reads only what has arrived, and what lies beside it stays as it was.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.vectors.inputs import Words, column, random_words, word_bits
from bench.vectors.kernels import CELL, NEWEST, Vector
from bench.vectors.whole import CLUSTER, MEET, forms_of, operands, statement, whole
from ptxgen.executing.emulator.instructions import needs_gpu
from ptxgen.isa import Expansion, Table

NAMES = frozenset({"cp"})
ROWS = 256
_SIZE = 2048                                         # bytes that the 128 threads of a block hold, 16 each
#: `%d1`, `%d2`: the thread's words, also at `%r1` in shared memory; `%p1`: it is the block's first; `%d3`: where the
#: block's cells begin; `%r20`: the other block's rank.
_HEAD = f"""setp.eq.u32 %p1, %thread, 0; ld.global.b64 %d1, [%in]; ld.global.b64 %d2, [%in+8];
mad.lo.u32 %r1, %thread, 16, %tile; st.shared.v2.b64 [%r1], {{%d1, %d2}};
sub.u32 %r2, %index, %thread; mad.wide.u32 %d3, %r2, {CELL}, %cells;
mov.u32 %r20, %cluster_ctarank; xor.b32 %r20, %r20, 1;
"""
_BARRIER = f"@%p1 mbarrier.init.shared.b64 [%bars], 1;\nfence.mbarrier_init.release.cluster;\n{MEET}"
_WAIT = """$L_1:
mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p9, [%bars], 0;
@!%p9 bra $L_1;
"""
_READ = "ld.shared.v2.b64 {%d10, %d11}, [%r1+4096]; ld.shared.v2.b64 {%d12, %d13}, [%r1];\n"
_READ_BACK = ("%d10", "%d11", "%d12", "%d13")
#: What was written to shared memory is seen by copies, which have a way of their own.
_SHOW = "fence.proxy.async.shared::cta;\nbar.sync 0;\n"


def copy_vectors(table: Table, arch: str) -> Iterator[Vector]:
    """Of asynchronous copies, stores and reductions."""
    for expansion in forms_of(table, arch, "cp", "st", "red"):
        words = expansion.opcode.split(".")
        if words[:3] == ["cp", "async", "bulk"]:
            yield _bulk(expansion, arch)
        elif words[:2] == ["cp", "async"]:
            yield _own(expansion, arch)
        elif words[:2] == ["st", "async"]:
            yield _store(expansion, arch)
    for expansion in (*table.expansions("cp"), *table.expansions("red")):
        words = expansion.opcode.split(".")
        if table.unavailable(expansion, arch, NEWEST) or needs_gpu(expansion.opcode):
            continue
        if words[:2] == ["cp", "reduce"]:
            yield _reduction(expansion, arch)
        elif words[:2] == ["red", "async"]:
            yield _red_async(expansion, arch)


def _words(name: str, rows: int, type_name: str) -> Words:
    """A word of 64 bits a thread, of one or more elements."""
    bits = word_bits(type_name)
    whole_word = np.zeros(rows, np.uint64)
    for index in range(64 // bits):
        whole_word |= column(f"{name}/{index}", type_name, rows) << np.uint64(index * bits)
    return whole_word


def _made(expansion: Expansion, arch: str, body: str, results: tuple[str, ...], *, type_name: str = "b64",
          cluster: bool = False, cells: bool = False) -> Vector:  # fmt: skip
    name = f"{expansion.opcode} {', '.join(operands(expansion))}".strip()
    rows = ROWS // 2 if cells else ROWS
    return whole(
        expansion, arch, _HEAD + body, results, name=name, rows=rows, seen="cells" if cells else "out",
        columns=[_words(f"{name}:{index}", rows, type_name) for index in range(2)],
        cells=[_words(f"{name}:cell/{index}", rows, type_name) for index in range(CELL // 8)],
        attributes=CLUSTER if cluster else "",
    )  # fmt: skip


# ------------------------------------------------------------ a thread's own copies


def _own(expansion: Expansion, arch: str) -> Vector:
    words = expansion.opcode.split(".")
    if "mbarrier" in words:
        return _arriving(expansion, arch)
    if not expansion.operands or "N" in operands(expansion):
        return _groups(expansion, arch)
    size_operand = next(o for o in expansion.operands if o.name == "cp-size")
    sizes = size_operand.values or (size_operand.high or 16,)
    # Places of 16 bytes in turn; what is not copied keeps the thread's words.
    body = "mad.lo.u32 %r3, %thread, 48, %tile; bar.sync 0;\n"
    places = [(16 * turn, sizes[turn % len(sizes)]) for turn in range(3)]
    body += "".join(f"st.shared.v2.b64 [%r3+{place}], {{%d1, %d2}};\n" for place, _ in places)
    body += "cvt.u32.u64 %r4, %d1; setp.lt.s32 %p2, %r4, 0;\n"
    for place, size in places:
        sign = "!" if place == 16 else ""
        body += f"rem.u32 %r5, %r4, {size + 1}; shr.u32 %r4, %r4, 3;\n"
        body += statement(expansion, dst=f"%r3+{place}", src=f"%cell+{place}", cp_size=str(size), src_size="%r5",
                          ignore_src=f"{sign}%p2") + "\n"  # fmt: skip
    body += "cp.async.commit_group;\ncp.async.wait_group 0;\n"
    body += "".join(f"ld.shared.v2.b64 {{%d{10 + i}, %d{11 + i}}}, [%r3+{8 * i}];\n" for i in (0, 2, 4))
    return _made(expansion, arch, body, tuple(f"%d{10 + i}" for i in range(6)))


def _groups(expansion: Expansion, arch: str) -> Vector:
    """Three groups, of which the first two are waited for before the third."""
    ours = statement(expansion, N="1") if expansion.operands else f"{expansion.opcode};"
    waits = "N" in operands(expansion) or "wait_all" in expansion.opcode
    commit = "cp.async.commit_group;" if waits else ours
    body = "add.u32 %r3, %r1, 2048;\n"
    for turn in range(3):
        body += f"cp.async.ca.shared.global [%r3+{2048 * (turn % 3)}], [%cell+{16 * turn}], 16;\n{commit}\n"
    body += (ours if waits else "cp.async.wait_group 1;") + "\n"
    body += "ld.shared.v2.b64 {%d10, %d11}, [%r3]; ld.shared.v2.b64 {%d12, %d13}, [%r3+2048];\ncp.async.wait_all;\n"
    return _made(expansion, arch, body + "ld.shared.v2.b64 {%d14, %d15}, [%r3+4096];\n",
                 (*_READ_BACK, "%d14", "%d15"))  # fmt: skip


def _arriving(expansion: Expansion, arch: str) -> Vector:
    """The copies of all threads end a phase; without .noinc each thread arrives beside its copies."""
    address = "%bars" if "shared" in expansion.opcode.split("arrive")[1] else "%d4"
    body = "@%p1 mbarrier.init.shared.b64 [%bars], 128;\nbar.sync 0;\n"
    body += "cvt.u64.u32 %d4, %bars; cvta.shared.u64 %d4, %d4;\n"
    body += "cp.async.ca.shared.global [%r1+4096], [%cell], 16;\n" + statement(expansion, addr=address) + "\n"
    if "noinc" not in expansion.opcode:
        body += "mbarrier.arrive.shared.b64 %d5, [%bars];\n"
    body += _WAIT + "sub.u32 %r5, %tile, %r1; add.u32 %r5, %r5, %tile; add.u32 %r5, %r5, 6128;\n"
    body += "ld.shared.v2.b64 {%d10, %d11}, [%r5];\n"
    return _made(expansion, arch, body, ("%d10", "%d11"))


# ------------------------------------------------------------ bulk copies


def _bulk(expansion: Expansion, arch: str) -> Vector:
    words = expansion.opcode.split(".")
    if words[3] in ("commit_group", "wait_group") or "bulk_group" in words:
        return _bulk_group(expansion, arch)
    if "prefetch" in words:
        body = "@%p1 " + statement(expansion, srcMem="%d3", size=str(_SIZE)) + "\nld.global.b64 %d4, [%cell+16];\n"
        return _made(expansion, arch, body, ("%d4",))
    expect = f"@%p1 mbarrier.arrive.expect_tx.shared.b64 %d5, [%bars], {_SIZE};\n"
    given = {"dstMem": "%r3", "size": str(_SIZE), "mbar": "%bars", "ctaMask": "%h1", "srcMem": "%d3"}
    body = _BARRIER + expect + "add.u32 %r3, %tile, 4096;\n"
    if words[4] == "shared::cta":
        # Into the other block.
        body += _SHOW + "mapa.shared::cluster.u32 %r3, %r3, %r20; mapa.shared::cluster.u32 %r4, %bars, %r20;\n" + MEET
        given |= {"srcMem": "%tile", "mbar": "%r4"}
    guard = "%p1"
    if "multicast::cluster" in words:
        # One copies for both.
        body += MEET + "mov.b16 %h1, 3; setp.eq.and.u32 %p3, %r20, 0, %p1;\n"
        guard = "%p3"
    body += f"@{guard} {statement(expansion, **given)}\n{_WAIT}{_READ}{MEET}"
    return _made(expansion, arch, body, _READ_BACK, cluster=True)


def _bulk_group(expansion: Expansion, arch: str) -> Vector:
    """Out of shared memory, which is written again once it has been read."""
    words = expansion.opcode.split(".")
    copy = "cp.async.bulk.global.shared::cta.bulk_group [%d3], [%tile], 2048;"
    commit, wait = "cp.async.bulk.commit_group;", "cp.async.bulk.wait_group.read 0;"
    if "bulk_group" in words:
        copy = statement(expansion, dstMem="%d3", srcMem="%tile", size=str(_SIZE))
    elif "wait_group" in words:
        wait = statement(expansion, N="0")
    else:
        commit = f"{expansion.opcode};"
    body = f"""{_SHOW}setp.ne.u32 %p2, %thread, 0;
@%p2 bra $L_2;
{copy}
{commit}
{wait}
st.shared.b64 [%tile], 0;
cp.async.bulk.wait_group 0;
$L_2:
"""
    return _made(expansion, arch, body, (), cells=True)


# ------------------------------------------------------------ reductions


def _reduction(expansion: Expansion, arch: str) -> Vector:
    words = expansion.opcode.split(".")
    given = {"srcMem": "%tile", "size": str(_SIZE), "mbar": "%r4"}
    if "bulk_group" in words:
        body = f"""{_SHOW}@%p1 {statement(expansion, dstMem="%d3", **given)}
@%p1 cp.async.bulk.commit_group;
@%p1 cp.async.bulk.wait_group 0;
"""
        return _made(expansion, arch, body, (), type_name=expansion.type, cells=True)
    body = f"""{_BARRIER}@%p1 mbarrier.arrive.expect_tx.shared.b64 %d5, [%bars], {_SIZE};
ld.global.v2.b64 {{%d6, %d7}}, [%cell]; st.shared.v2.b64 [%r1+4096], {{%d6, %d7}}; add.u32 %r3, %tile, 4096;
mapa.shared::cluster.u32 %r3, %r3, %r20; mapa.shared::cluster.u32 %r4, %bars, %r20;
{_SHOW}{MEET}
@%p1 {statement(expansion, dstMem="%r3", **given)}
{_WAIT}{_READ}{MEET}"""
    return _made(expansion, arch, body, _READ_BACK, type_name=expansion.type, cluster=True)


def _remote(size: int, *, one: bool) -> str:
    """`%d8`, `%d9`: a place in the other block, the thread's own or one for all, and the mbarrier there, as generic
    addresses; `%r3`, `%r4`: the same in the cluster's shared memory."""
    first = "%tile" if one else "%r1"
    return f"""{_BARRIER}@%p1 mbarrier.arrive.expect_tx.shared.b64 %d5, [%bars], {128 * size};
ld.global.v2.b64 {{%d6, %d7}}, [%cell]; st.shared.v2.b64 [%r1+4096], {{%d6, %d7}}; add.u32 %r3, {first}, 4096;
mapa.shared::cluster.u32 %r3, %r3, %r20; mapa.shared::cluster.u32 %r4, %bars, %r20;
cvt.u64.u32 %d8, %r3; cvta.shared::cluster.u64 %d8, %d8; cvt.u64.u32 %d9, %r4; cvta.shared::cluster.u64 %d9, %d9;
cvt.u32.u64 %r10, %d1; cvt.u32.u64 %r11, %d2; mov.b32 %r12, %thread; mov.b32 %r13, %index;
{_SHOW}{MEET}"""


def _place(expansion: Expansion) -> dict[str, str]:
    near = "shared::cluster" in expansion.opcode.split(".")
    return {"a": "%r3", "mbar": "%r4"} if near else {"a": "%d8", "mbar": "%d9"}


def _store(expansion: Expansion, arch: str) -> Vector:
    vector = next(o.vector for o in expansion.operands if o.name == "b")
    registers = [f"%{'r' if word_bits(expansion.type) == 32 else 'd'}{number}" for number in (10, 11, 12, 13)]
    value = registers[0] if vector == 1 else "{" + ", ".join(registers[:vector]) + "}"
    body = _remote(vector * word_bits(expansion.type) // 8, one=False)
    body += "mov.b64 %d10, %d1; mov.b64 %d11, %d2;\n"
    body += statement(expansion, **_place(expansion), b=value) + f"\n{_WAIT}{_READ}{MEET}"
    return _made(expansion, arch, body, _READ_BACK, type_name="b64", cluster=True)


def _red_async(expansion: Expansion, arch: str) -> Vector:
    """All at one place. inc and dec have one bound, since their order is open."""
    value = "%d1" if word_bits(expansion.type) == 64 else "%r10"
    body = _remote(word_bits(expansion.type) // 8, one=True)
    if {"inc", "dec"} & set(expansion.opcode.split(".")):
        body += f"mov.u32 %r10, {random_words(expansion.opcode, 1)[0] % np.uint64(100)};\n"
    body += statement(expansion, **_place(expansion), b=value) + f"\n{_WAIT}{_READ}{MEET}"
    return _made(expansion, arch, body, _READ_BACK, cluster=True)
