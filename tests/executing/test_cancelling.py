"""clusterlaunchcontrol: every block of a grid is worked once, by whom it was launched as or by who took it over."""

from __future__ import annotations

import numpy as np
import pytest

from ptxgen.executing import Buffer, Launch, Outcome
from ptxgen.executing.emulator import Emulator

#: Adds 1 to the element of each thread of the grid and counts in `taken` how often blocks took over another.
PERSISTENT = """.version 8.7
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 taken){clusters}
{{
.reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<16>; .reg .b128 %rq<2>;
.shared .align 16 .b8 answer[16];
.shared .align 8 .b64 bar;
ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [taken];
mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ctaid.y; mov.u32 %r12, 0;
@%p1 mbarrier.init.shared.b64 [bar], 1;
{together}
$next:
@%p1 mbarrier.arrive.expect_tx.shared.b64 %rd3, [bar], 16;
@{asks} clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes{all}.b128 [answer], [bar];
mov.u32 %r4, %nctaid.x; mad.lo.u32 %r5, %r3, %r4, %r2; mov.u32 %r6, %ntid.x; mad.lo.u32 %r7, %r5, %r6, %r1;
mad.wide.u32 %rd4, %r7, 4, %rd1; red.global.add.u32 [%rd4], 1;
$wait: mbarrier.try_wait.parity.shared.b64 %p2, [bar], %r12; @!%p2 bra $wait;
xor.b32 %r12, %r12, 1;
ld.shared.b128 %rq1, [answer];
clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p3, %rq1;
@!%p3 bra $end;
{read}
@%p1 red.global.add.u32 [%rd2], 1;
{together}
bra $next;
$end:
{again}
ret;
}}
"""
ALONE = {"clusters": "", "together": "bar.sync 0;", "asks": "%p1", "all": "", "again": "",
         "read": "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r2, %r3, _, _}, %rq1;"}
BY_AXIS = {**ALONE, "read": """clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r2, %rq1;
clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128 %r3, %rq1;"""}
#: The first block of a cluster asks for all of them; each works the block of its own rank.
CLUSTERS = {**ALONE, "clusters": " .reqnctapercluster 2, 1, 1", "asks": "%p4", "all": ".multicast::cluster::all",
            "together": """barrier.cluster.arrive; barrier.cluster.wait;
mov.u32 %r20, %cluster_ctarank; setp.eq.and.u32 %p4, %r20, 0, %p1;""",
            "read": ALONE["read"] + " add.u32 %r2, %r2, %r20;"}


def run(parts: dict[str, str], grid: tuple[int, int, int], lanes: int = 65_536) -> Outcome:
    buffers = [Buffer(np.zeros(grid[0] * grid[1] * 32, "u4")), Buffer(np.zeros(1, "u4"))]
    return Emulator(lanes_at_once=lanes).run(PERSISTENT.format(**parts), "k", Launch(grid, (32, 1, 1)), buffers)


@pytest.mark.parametrize("parts", [ALONE, BY_AXIS, CLUSTERS], ids=["alone", "by-axis", "clusters"])
@pytest.mark.parametrize("grid", [(2, 1, 1), (6, 1, 1), (6, 5, 1), (64, 3, 1)])
@pytest.mark.parametrize("lanes", [32, 256, 65_536])
def test_every_block_is_worked_once(parts: dict[str, str], grid: tuple[int, int, int], lanes: int) -> None:
    outcome = run(parts, grid, lanes)
    assert outcome.ok, outcome.faults
    assert outcome.buffers[0] is not None
    assert outcome.buffers[1] is not None
    assert (outcome.buffers[0] == 1).all()
    blocks = grid[0] * grid[1]
    assert outcome.buffers[1][0] == blocks - _begun(parts, blocks, lanes)


def _begun(parts: dict[str, str], blocks: int, lanes: int) -> int:
    """Blocks of the first batch, which take over all the others: half of them, or what the lanes are for."""
    together = 2 if parts is CLUSTERS else 1
    wanted = max(1, min(lanes // 32, blocks // (2 * together) * together))
    return -(-wanted // together) * together


def test_a_single_block_finds_nothing_to_take_over() -> None:
    outcome = run(ALONE, (1, 1, 1))
    assert outcome.ok, outcome.faults
    assert outcome.buffers[1] is not None
    assert outcome.buffers[1][0] == 0


@pytest.mark.parametrize(("again", "kind"), [
    ("@%p1 mbarrier.arrive.expect_tx.shared.b64 %rd3, [bar], 16; @%p1 clusterlaunchcontrol.try_cancel.async."
     "shared::cta.mbarrier::complete_tx::bytes.b128 [answer], [bar];", "launch"),
    (ALONE["read"], "uninitialised-register"),
])  # fmt: skip
def test_what_is_undefined_after_a_refusal_is_reported(again: str, kind: str) -> None:
    outcome = run({**ALONE, "again": again}, (4, 1, 1))
    assert {fault.kind for fault in outcome.faults} == {kind}
    text = PERSISTENT.format(**{**ALONE, "again": again})
    assert {fault.line for fault in outcome.faults} == {text[: text.rindex(again)].count("\n") + 1}
