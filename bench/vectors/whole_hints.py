"""What changes nothing that a program may see, as whole kernels: memory is the same after it, and words beside it.

Where cached lines may be lost (`discard`), they are written again before they are read.
"""

from __future__ import annotations

from collections.abc import Iterator

from bench.vectors.inputs import random_words
from bench.vectors.kernels import CELL, Vector, form_key
from bench.vectors.unshown import UNSHOWN
from bench.vectors.whole import forms_of, operands, statement, whole
from ptxgen.isa import Expansion, Table

NAMES = frozenset({
    "applypriority", "createpolicy", "discard", "griddepcontrol", "nanosleep", "pmevent", "prefetch", "prefetchu",
    "setmaxnreg",
})  # fmt: skip
ROWS = 128
#: `%d1`: the line of 128 bytes in which the thread's cell lies; `%p1`: the thread is the first of two that share it.
_HEAD = """and.b64 %d1, %cell, -128; and.b32 %r1, %thread, 1; setp.eq.u32 %p1, %r1, 0;
ld.global.b64 %d2, [%in];
"""
_READ = "ld.global.v2.b64 {%d10, %d11}, [%cell]; ld.global.b64 %d12, [%cell+56];\n"
_RESULTS = ("%d2", "%d10", "%d11", "%d12")
#: What the runtime calls an access property: the word for normal accesses.
_NORMAL = "0x10F0000000000000"


def hint_vectors(table: Table, arch: str) -> Iterator[Vector]:
    """Of hints."""
    for expansion in forms_of(table, arch, *NAMES):
        if form_key(expansion) in UNSHOWN:
            continue
        name = f"{expansion.opcode} {', '.join(operands(expansion))}".strip()
        module = ".const .align 8 .b8 constants[64] = {1, 2, 3};" if "const" in expansion.opcode else ""
        yield whole(
            expansion, arch, _HEAD + _BODIES.get(expansion.name, _plain)(expansion), _RESULTS, rows=ROWS, name=name,
            columns=[random_words(name, ROWS)], module=module,
            cells=[random_words(f"{name}/{index}", ROWS) for index in range(CELL // 8)], seen="cells",
            attributes=".maxntid 128, 1, 1 .maxnreg 64" if expansion.name == "setmaxnreg" else "",
        )  # fmt: skip


def _plain(expansion: Expansion) -> str:
    number = {"setmaxnreg": "64", "nanosleep": "%r1"}.get(expansion.name, "5")
    named = dict.fromkeys(operands(expansion), number)
    return statement(expansion, **named) + "\n" + _READ


def _prefetch(expansion: Expansion) -> str:
    """Of the thread's cell, or what else the form wants to lie at its address."""
    words = expansion.opcode.split(".")
    before, address = "", "%d1"
    if "local" in words:
        before, address = ".local .align 8 .b8 mine[64]; mov.u64 %d3, mine; st.local.b64 [%d3], %d2;\n", "%d3"
    elif "const" in words:
        before, address = "mov.u64 %d3, constants;\n", "%d3"
    after = "ld.local.b64 %d2, [%d3];\n" if "local" in words else ""
    return before + statement(expansion, a=address) + "\n" + after + _READ


def _line(expansion: Expansion) -> str:
    """applypriority and discard, by one thread a line."""
    body = "@%p1 " + statement(expansion, a="%d1", size="128") + "\nbar.sync 0;\n"
    if expansion.name == "discard":
        body += "".join(f"st.global.b64 [%cell+{8 * index}], %d2;\n" for index in range(CELL // 8))
    return body + _READ


def _policy(expansion: Expansion) -> str:
    """A policy by which cells are read and written; the word itself is nobody's concern."""
    given = {"a": "%cells", "primary_size": "4096", "total_size": "8192", "fraction": "0.5"}
    body = f"mov.b64 %d3, {_NORMAL};\n" if "cvt" in expansion.opcode else ""
    body += statement(expansion, cache_policy="%policy", **given, access_property="%d3") + "\n"
    return body + """ld.global.L2::cache_hint.b64 %d4, [%cell+8], %policy; add.u64 %d4, %d4, 1;
st.global.L2::cache_hint.b64 [%cell+56], %d4, %policy;
""" + _READ


_BODIES = {
    "prefetch": _prefetch, "prefetchu": _prefetch, "applypriority": _line, "discard": _line, "createpolicy": _policy,
}  # fmt: skip
