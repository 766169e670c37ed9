"""Threads of a warp run independently: what relies on their keeping step is reported, and what does not is not."""

from __future__ import annotations

import numpy as np
import pytest
from executor_contract import kernel, line

from ptxgen.executing import Buffer, Outcome
from ptxgen.executing.emulator import Emulator

EMULATOR = Emulator(step_limit=50_000)
BOX = ".shared .align 4 .b8 box[256];"


def run(body: str, threads: int = 32, blocks: int = 1, module: str = BOX, words: int = 256) -> Outcome:
    out = Buffer(np.zeros(words, "u4"))
    return EMULATOR.run(kernel(body, module=module), None, line(threads, blocks), [out])


def kinds(outcome: Outcome) -> list[str]:
    return sorted({fault.kind for fault in outcome.faults})


@pytest.mark.parametrize("space", ["shared", "global"])
@pytest.mark.parametrize("barrier", ["", "bar.warp.sync -1;"])
def test_a_warp_that_exchanges_words_needs_its_barrier(space: str, barrier: str) -> None:
    base = "cvt.u64.u32 %rd9, %r20;" if space == "shared" else "mov.u64 %rd9, %rd1;"
    body = f"""mov.u32 %r20, box; {base} mul.wide.u32 %rd5, %r2, 4; add.u64 %rd5, %rd9, %rd5;
    xor.b32 %r21, %r2, 1; mul.wide.u32 %rd6, %r21, 4; add.u64 %rd6, %rd9, %rd6;
    st.{space}.u32 [%rd5], %r2; {barrier} ld.{space}.u32 %r10, [%rd6]; st.global.u32 [%rd2+128], %r10;"""
    assert kinds(run(body)) == ([] if barrier else ["race"])


@pytest.mark.parametrize("step", ["shfl.sync.idx.b32 %r12, %r2, 0, 31, -1;", "vote.sync.any.pred %p5, %p4, -1;",
                                  "activemask.b32 %r12;", "redux.sync.add.u32 %r12, %r2, -1;"])
def test_what_brings_lanes_together_otherwise_orders_no_memory(step: str) -> None:
    body = f"""mov.u32 %r20, box; mad.lo.u32 %r5, %r2, 4, %r20; xor.b32 %r21, %r2, 1; mad.lo.u32 %r6, %r21, 4, %r20;
    setp.eq.u32 %p4, %r2, 3; st.shared.u32 [%r5], %r2; {step} ld.shared.u32 %r10, [%r6];
    st.global.u32 [%rd2], %r10;"""
    assert kinds(run(body)) == ["race"]


def test_the_active_mask_as_member_mask_after_a_branch_is_no_fault() -> None:
    body = """setp.lt.u32 %p1, %r2, 11; mov.u32 %r10, 0; @!%p1 bra $end;
    activemask.b32 %r11; shfl.sync.idx.b32 %r10, %r2, 3, 31, %r11; redux.sync.add.u32 %r12, %r2, %r11;
    $end: st.global.u32 [%rd2], %r10;"""
    assert run(body).ok


@pytest.mark.parametrize(("load", "store", "clean"), [
    ("ld.global.u32", "st.global.u32", False), ("ld.global.u32", "st.volatile.global.u32", False),
    ("ld.volatile.global.u32", "st.global.u32", False), ("ld.volatile.global.u32", "st.volatile.global.u32", True),
    ("ld.acquire.gpu.global.u32", "st.release.gpu.global.u32", True),
])
@pytest.mark.parametrize("waits", ["setp.eq.u32 %p1, %r2, 0;", "setp.ne.u32 %p1, %r2, 0;"])
def test_waiting_for_a_thread_of_the_own_warp_ends_and_plain_accesses_race(
    load: str, store: str, clean: bool, waits: str
) -> None:
    body = f"""{waits} @%p1 bra $wait; mov.u32 %r10, 1; setp.le.u32 %p3, %r2, 1; @%p3 {store} [%rd1], %r10; bra $end;
    $wait: {load} %r11, [%rd1]; setp.eq.u32 %p2, %r11, 0; @%p2 bra $wait;
    $end:"""
    assert kinds(run(body)) == ([] if clean else ["race"])


def test_a_vote_that_names_lanes_elsewhere_is_a_fault() -> None:
    body = """setp.lt.u32 %p1, %r2, 16; @%p1 bra $low; vote.sync.ballot.b32 %r10, %p1, -1; bra $end;
    $low: bar.warp.sync -1;
    $end: st.global.u32 [%rd2], %r2;"""
    assert kinds(run(body)) == ["member-mask"]


def test_exclusion_by_a_lock_taken_by_lanes_of_one_warp_ends() -> None:
    body = """$take: atom.acquire.gpu.global.cas.b32 %r10, [%rd1], 0, 1; setp.ne.u32 %p1, %r10, 0; @%p1 bra $take;
    ld.global.u32 %r11, [%rd1+4]; add.u32 %r11, %r11, 1; st.global.u32 [%rd1+4], %r11;
    st.release.gpu.global.u32 [%rd1], 0;"""
    outcome = run(body, threads=8, blocks=2)
    assert outcome.ok, outcome.faults
    assert outcome.buffers[0] is not None
    assert outcome.buffers[0][1] == 16
