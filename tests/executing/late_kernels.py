"""Whole kernels for asynchronous copies, mbarriers and clusters: a head, runs, and pieces that many need.

Every thread has 16 bytes of `in` at %rd4, of `out` at %rd5 and of shared memory at %r7; %r1 is its number in the
block, %r4 in the grid; %r6 is all of the shared memory and %r8 an mbarrier.
"""

from __future__ import annotations

import numpy as np

from ptxgen.executing import Buffer, Executor, Launch, Outcome
from ptxgen.executing.emulator import Emulator

EMULATOR = Emulator()
HEAD = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out) CLUSTER
{
.reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<32>; .reg .b16 %rs<8>;
.shared .align 128 .b8 tile[4096];
.shared .align 8 .b64 bar[2];
ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];
mov.u32 %r1, %tid.x;
mov.u32 %r2, %ctaid.x;
mov.u32 %r3, %ntid.x;
mad.lo.u32 %r4, %r2, %r3, %r1;
mul.wide.u32 %rd3, %r4, 16;
add.u64 %rd4, %rd1, %rd3;
add.u64 %rd5, %rd2, %rd3;
shl.b32 %r5, %r1, 4;
mov.u32 %r6, tile;
add.u32 %r7, %r6, %r5;
mov.u32 %r8, bar;
"""
TAIL = "\nret;\n}\n"


def run(
    body: str, *, blocks: int = 1, threads: int = 64, cluster: str = "", executor: Executor = EMULATOR
) -> Outcome:
    words = np.arange(blocks * threads * 4, dtype=np.uint32) * 3 + 1
    ptx = HEAD.replace("CLUSTER", cluster) + body + TAIL
    out = Buffer(np.zeros(blocks * threads * 4, np.uint32))
    return executor.run(ptx, "k", Launch((blocks, 1, 1), (threads, 1, 1)), [Buffer(words, read_only=True), out])


def result(body: str, **how: object) -> np.ndarray:
    outcome = run(body, **how)  # type: ignore[arg-type]
    assert outcome.ok, outcome.faults
    found = outcome.buffers[1]
    assert found is not None
    return found


def kinds(outcome: Outcome) -> list[str]:
    return [fault.kind for fault in outcome.faults]


GIVE_BACK = "ld.shared.v4.b32 {%r20, %r21, %r22, %r23}, [%r7]; st.global.v4.b32 [%rd5], {%r20, %r21, %r22, %r23};"
EXPECTED = np.arange(256, dtype=np.uint32) * 3 + 1
INIT = """setp.eq.u32 %p1, %r1, 0;
@%p1 mbarrier.init.shared.b64 [%r8], COUNT;
bar.sync 0;
"""
WAIT = """$L_wait:
mbarrier.try_wait.parity.shared.b64 %p2, [%r8], 0;
@!%p2 bra $L_wait;
"""
