"""Kernels with one fault that both executors tell, each in its words; afterwards the next launch is right.

An emulator names the access itself; a GPU what its driver says, and what it finds in guards and read-only buffers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from executor_contract import Case, check, empty, kernel, line

from ptxgen.executing import Argument, Buffer, Executor, Launch


@dataclass(frozen=True)
class Faulty:
    """`emulated` and `seen` are the kinds that the emulator and a GPU give, the first one in the outcome; "" where a
    GPU tells nothing, though the manual forbids it."""

    name: str
    ptx: str
    emulated: str
    seen: str
    launch: Launch = line(32)  # noqa: RUF009 - a value
    arguments: Sequence[Argument] = field(default_factory=lambda: [empty(32)])

    def kind(self, executor: Executor) -> str:
        return self.emulated if executor.name == "emulator" else self.seen


_STORE = "st.global.u32 [%rd2], %r1;"
_TILE = ".shared .align 4 .b8 tile[128];"
_FAR = "mov.u64 %rd3, 0x4000000000; add.u64 %rd3, %rd1, %rd3; "
_READ_ONLY = Buffer(np.full(32, 99, "u4"), read_only=True)
_ASSERTS = """.extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);
.global .align 1 .b8 what[6] = {105, 32, 60, 32, 110, 0}; .global .align 1 .b8 where[5] = {107, 46, 99, 117, 0};
"""
_FAILS = """setp.ne.u32 %p1, %r1, 3; @%p1 bra $fine; mov.u64 %rd3, what; cvta.global.u64 %rd3, %rd3;
mov.u64 %rd4, where; cvta.global.u64 %rd4, %rd4;
{ .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e; st.param.b64 [a], %rd3;
st.param.b64 [b], %rd4; st.param.b32 [c], 7; st.param.b64 [d], %rd4; mov.u64 %rd5, 1; st.param.b64 [e], %rd5;
call __assertfail, (a, b, c, d, e); }
$fine: st.global.u32 [%rd2], %r1;"""
_ENDLESS = """.func (.param .b32 r) down(.param .b32 n) { .reg .b32 %r<4>; .reg .b64 %rd<2>;
.local .align 4 .b8 room[64]; ld.param.b32 %r1, [n]; and.b32 %r2, %r1, 15; mov.u64 %rd1, room;
mad.wide.u32 %rd1, %r2, 4, %rd1; st.local.u32 [%rd1], %r1; add.u32 %r2, %r1, 1;
{ .param .b32 m; .param .b32 s; st.param.b32 [m], %r2; call (s), down, (m); ld.param.b32 %r3, [s]; }
ld.local.u32 %r2, [%rd1]; add.u32 %r3, %r3, %r2; st.param.b32 [r], %r3; ret; }"""
_CALL_IT = """{ .param .b32 n; .param .b32 r; st.param.b32 [n], %r1; call (r), down, (n); ld.param.b32 %r10, [r]; }
st.global.u32 [%rd2], %r10;"""

FAULTS: tuple[Faulty, ...] = (
    Faulty("store near zero", kernel("mov.u64 %rd3, 64; st.global.u32 [%rd3], %r1;"), "out-of-bounds",
           "out-of-bounds"),
    Faulty("store far away", kernel(_FAR + "st.global.u32 [%rd3], %r1;"), "out-of-bounds", "out-of-bounds"),
    Faulty("load far away", kernel(_FAR + "ld.global.u32 %r10, [%rd3]; st.global.u32 [%rd2], %r10;"), "out-of-bounds",
           "out-of-bounds"),
    Faulty("generic load far away", kernel(_FAR + "ld.u32 %r10, [%rd3]; st.global.u32 [%rd2], %r10;"),
           "out-of-bounds", "out-of-bounds"),
    Faulty("atomic far away", kernel(_FAR + "atom.global.add.u32 %r10, [%rd3], 1; st.global.u32 [%rd2], %r10;"),
           "out-of-bounds", "out-of-bounds"),
    Faulty("reduction far away", kernel(_FAR + "red.global.add.u32 [%rd3], 1;"), "out-of-bounds", "out-of-bounds"),
    Faulty("asynchronous copy from far away", kernel(_FAR + """mov.u32 %r11, tile; cp.async.ca.shared.global
           [%r11], [%rd3], 4; cp.async.wait_all; ld.shared.u32 %r10, [%r11]; st.global.u32 [%rd2], %r10;""",
           module=".shared .align 16 .b8 tile[16];"), "out-of-bounds", "out-of-bounds", line(1)),
    Faulty("store beyond shared memory", kernel("""mov.u32 %r11, tile; add.u32 %r11, %r11, 0x100000;
           st.shared.u32 [%r11], %r1;""", module=_TILE), "out-of-bounds", "out-of-bounds"),
    Faulty("store beyond local memory", kernel("""mov.u64 %rd3, mine; add.u64 %rd3, %rd3, 0xa00000;
           st.local.u32 [%rd3], %r1; ld.local.u32 %r10, [%rd3]; st.global.u32 [%rd2], %r10;""").replace(
           "{", "{ .local .align 4 .b8 mine[64];", 1), "out-of-bounds", "out-of-bounds"),
    Faulty("misaligned store", kernel("add.u64 %rd2, %rd2, 1; st.global.u32 [%rd2], %r1;"), "misaligned",
           "misaligned"),
    Faulty("misaligned vector", kernel("""ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%rd1+8];
           st.global.v4.u32 [%rd1+32], {%r13, %r12, %r11, %r10};"""), "misaligned", "misaligned", line(1),
           [Buffer(np.zeros(64, "u4"))]),
    Faulty("misaligned atomic", kernel("red.global.add.u32 [%rd1+2], 1;"), "misaligned", "misaligned",
           arguments=[Buffer(np.zeros(64, "u4"))]),
    Faulty("misaligned in shared memory", kernel("""mov.u32 %r11, tile; add.u32 %r11, %r11, %r2;
           st.shared.u32 [%r11], %r1;""", module=_TILE), "misaligned", "misaligned"),
    Faulty("shared address in a global store", kernel("""mov.u64 %rd3, tile; cvta.shared.u64 %rd3, %rd3;
           st.global.u32 [%rd3], %r1; st.shared.u32 [tile], %r1;""", module=_TILE),
           "wrong-space", "wrong-space"),
    Faulty("global address in a shared store", kernel("st.shared.u32 [%rd2], %r1; st.shared.u32 [tile], %r1;",
           module=_TILE), "wrong-space", "trap"),
    Faulty("shared address in a local load", kernel("""mov.u64 %rd3, tile; cvta.shared.u64 %rd3, %rd3;
           ld.local.u32 %r10, [%rd3]; st.shared.u32 [tile], %r10; st.global.u32 [%rd2], %r10;""",
           module=_TILE), "wrong-space", "out-of-bounds"),
    # The address goes through memory, for a compiler that knows where it leads makes it no atomic.
    Faulty("atomic on a local address", kernel("""mov.u64 %rd3, mine; cvta.local.u64 %rd3, %rd3;
           st.local.u32 [mine], %r1; st.volatile.global.u64 [%rd1], %rd3; ld.volatile.global.u64 %rd3, [%rd1];
           atom.add.u32 %r10, [%rd3], 1; st.global.u32 [%rd2+8], %r10;""").replace(
           "{", "{ .local .align 4 .b8 mine[64];", 1), "wrong-space", "", line(1)),
    Faulty("store behind the last element", kernel("st.global.u32 [%rd2+128], %r1;"), "out-of-bounds", "guard-band"),
    Faulty("store before the first element", kernel("st.global.u32 [%rd2+-128], %r1;"), "out-of-bounds",
           "guard-band"),
    Faulty("store of minus one behind the last element", kernel("st.global.u8 [%rd1+128], -1;"), "out-of-bounds",
           "guard-band", line(1)),
    Faulty("store over the shift of an odd base", kernel("st.global.u8 [%rd1+-1], %r1;"), "out-of-bounds",
           "guard-band", line(1), [Buffer(np.zeros(32, "u4"), offset=4)]),
    Faulty("store into an empty buffer", kernel("st.global.u32 [%rd1], %r1;"), "out-of-bounds", "guard-band",
           line(1), [Buffer(np.zeros(0, "u4"))]),
    Faulty("write to a read-only buffer", kernel(_STORE), "read-only-write", "read-only-write",
           arguments=[_READ_ONLY]),
    Faulty("atomic on a read-only buffer", kernel("red.global.add.u32 [%rd2], 5;"), "read-only-write",
           "read-only-write", arguments=[_READ_ONLY]),
    Faulty("recursion without an end", kernel(_CALL_IT, module=_ENDLESS), "stack-overflow", "out-of-bounds"),
    Faulty("trap", kernel("setp.eq.u32 %p1, %r1, 3; @%p1 trap; st.global.u32 [%rd2], %r1;"), "trap", "trap"),
    Faulty("breakpoint", kernel("setp.eq.u32 %p1, %r1, 3; @%p1 brkpt; st.global.u32 [%rd2], %r1;"), "trap", "trap"),
    Faulty("assertion", kernel(_FAILS, module=_ASSERTS), "trap", "trap"),
    Faulty("loop without an end", kernel("$loop: st.volatile.global.u32 [%rd2], %r1; bra $loop;"), "step-limit",
           "time-limit"),
    Faulty("flag that nobody sets", kernel("""$again: ld.acquire.gpu.global.u32 %r10, [%rd1];
           setp.ne.u32 %p1, %r10, 0; @%p1 bra $again;"""), "step-limit", "time-limit",
           arguments=[Buffer(np.ones(32, "u4"))]),
    Faulty("barrier for threads that there are not", kernel("bar.sync 1, 64; st.global.u32 [%rd2], %r1;"), "barrier",
           "time-limit"),
    Faulty("function that nobody defines", kernel("call missing; st.global.u32 [%rd2], %r1;",
           module=".extern .func missing;"), "unsupported", "launch"),
)

_GOOD = Case("a launch after a fault", kernel(_STORE), line(32, 2), [empty(64)], {0: np.arange(64, dtype="u4")})


def check_fault(executor: Executor, faulty: Faulty) -> None:
    """The fault is told, once, and the next launch is right; raises AssertionError."""
    outcome = executor.run(faulty.ptx, "k", faulty.launch, list(faulty.arguments))
    kinds = [fault.kind for fault in outcome.faults]
    assert "".join(kinds[:1]) == faulty.kind(executor), outcome.faults
    assert outcome.ok == (not kinds)
    assert all(fault.message for fault in outcome.faults)
    for argument, after in zip(faulty.arguments, outcome.buffers, strict=True):
        assert isinstance(argument, Buffer)
        assert after is not None
        assert (after.dtype, after.shape) == (argument.data.dtype, argument.data.shape)
    check(executor, _GOOD)
