"""Warps as whole kernels: what lanes tell each other in branches that only some of them took, and where a thread is.

Lanes part by their numbers or by their words; each part goes on under a member mask of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.vectors.inputs import random_words
from bench.vectors.kernels import Vector
from bench.vectors.whole import CLUSTER, apart, forms_of, operands, statement, whole
from ptxgen.executing import Launch
from ptxgen.isa import Expansion, Operand, Table

NAMES = frozenset({"activemask", "elect"})
_TOGETHER = ("shfl", "vote", "match", "redux", "activemask", "elect")
ROWS = 256
#: `%r1`: the thread's word, `%d1`: the same with 64 bits, few different ones; `%p1`: a bit of it; `%p0`: which part.
_HEAD = """ld.global.b32 %r1, [%in]; and.b32 %r2, %r1, 3; cvt.u64.u32 %d1, %r2; shl.b64 %d1, %d1, 31;
bfe.u32 %r3, %r1, 9, 1; setp.ne.u32 %p1, %r3, 0; xor.b32 %r6, %lane, 10;
"""
_PARTS = {
    "by lane": "and.b32 %r4, %lane, 1; setp.ne.u32 %p0, %r4, 0; selp.b32 %r5, 0xaaaaaaaa, 0x55555555, %p0;\n",
    "by word": """bfe.u32 %r4, %r1, 17, 1; setp.ne.u32 %p0, %r4, 0; vote.sync.ballot.b32 %r5, %p0, 0xffffffff;
@!%p0 not.b32 %r5, %r5;
""",
}
#: Special registers whose words the launch alone says; not %warpid, which is a place on the multiprocessor.
_KNOWN = (
    "tid", "ntid", "ctaid", "nctaid", "clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid",
)  # fmt: skip
_ALONE = (
    "laneid", "cluster_ctarank", "cluster_nctarank", "lanemask_eq", "lanemask_le", "lanemask_lt",
    "lanemask_ge", "lanemask_gt", "dynamic_smem_size", "total_smem_size", "aggr_smem_size",
    "reserved_smem_offset_begin", "reserved_smem_offset_end", "reserved_smem_offset_cap", "reserved_smem_offset_0",
    "nwarpid",
)  # fmt: skip

_LAUNCHES: dict[str, tuple[str, Launch | None]] = {
    "special registers": ("", None),
    "special registers of a cluster": (CLUSTER, None),
    "special registers in three dimensions": ("", Launch((3, 2, 2), (5, 3, 4))),
    "special registers of clusters in two dimensions": (
        ".reqnctapercluster 2, 2, 1", Launch((4, 2, 2), (6, 4, 2), 1000)
    ),
    "special registers of a cluster of eight": (".reqnctapercluster 2, 2, 2", Launch((2, 4, 2), (33, 1, 1))),
}


def warp_vectors(table: Table, arch: str) -> Iterator[Vector]:
    """Of warp-wide instructions in branches, and of special registers."""
    for expansion in forms_of(table, arch, *_TOGETHER):
        for parts in _PARTS:
            # A lane of the other part must not be asked, so a shuffle goes between lanes of one parity.
            if expansion.name not in ("shfl", "activemask") or parts == "by lane":
                yield _divergent(expansion, arch, parts)
    yield from _registers(table, arch)


def _divergent(expansion: Expansion, arch: str, parts: str) -> Vector:
    results: list[str] = []
    given = {"membermask": "%r5"}
    for operand in expansion.operands:
        for part in operand.parts or (operand,):
            _give(part, given, results)
    if expansion.name == "shfl":
        by_number, upwards = "idx" in expansion.opcode, "up" in expansion.opcode
        given |= {"a": "%r1", "b": "%r6" if by_number else "6", "c": "0" if upwards else "0x1f"}
    clear = "".join(
        f"mov.pred {one}, 0;\n" if one.startswith("%p") else f"mov.b32 {one}, 0;\n" for one in results
    )
    name = f"{expansion.opcode} {', '.join(operands(expansion))} {parts}"
    body = _HEAD + _PARTS[parts] + clear + apart(statement(expansion, **given), "L1")
    return whole(expansion, arch, body, results, name=name, rows=ROWS,
                 columns=[random_words(name, ROWS) & np.uint64(0xFFFFFFFF)])  # fmt: skip


def _give(operand: Operand, given: dict[str, str], results: list[str]) -> None:
    """A register for one operand; what is written is a result."""
    name = operand.name.replace("-", "_")
    if name in given:
        return
    if operand.access == "write":
        given[name] = "%p2" if operand.kinds & {"pred"} else "%r10"
        results.append(given[name])
    elif operand.type == "pred":
        given[name] = "%p1"
    elif operand.type == "b64":
        given[name] = "%d1"
    else:
        given[name] = "%r2"


def _registers(table: Table, arch: str) -> Iterator[Vector]:
    """Special registers, read by `mov`, in a cluster and without one."""
    expansion = next(e for e in forms_of(table, arch, "mov") if e.opcode == "mov.u32" and len(e.operands) == 2)
    names = [f"{name}.{axis}" for name in _KNOWN for axis in "xyz"] + list(_ALONE)
    for called, (attributes, launch) in _LAUNCHES.items():
        for start in range(0, len(names), 20):
            chosen = names[start : start + 20]
            body = "".join(f"mov.u32 %r{index}, %{name};\n" for index, name in enumerate(chosen))
            yield whole(
                expansion, arch, f"{body}mov.pred %p1, %is_explicit_cluster;\n",
                [*(f"%r{index}" for index in range(len(chosen))), "%p1"], rows=ROWS, attributes=attributes,
                name=f"{called} {start // 20}", launch=launch,
            )  # fmt: skip
