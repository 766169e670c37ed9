"""Asynchronous copies, mbarriers and clusters as whole kernels: what they give, and what is reported."""

from __future__ import annotations

import numpy as np
import pytest

from ptxgen.executing import Buffer, Launch, Outcome
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


def run(body: str, *, blocks: int = 1, threads: int = 64, cluster: str = "") -> Outcome:
    words = np.arange(blocks * threads * 4, dtype=np.uint32) * 3 + 1
    ptx = HEAD.replace("CLUSTER", cluster) + body + TAIL
    out = Buffer(np.zeros(blocks * threads * 4, np.uint32))
    return EMULATOR.run(ptx, "k", Launch((blocks, 1, 1), (threads, 1, 1)), [Buffer(words, read_only=True), out])


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


@pytest.mark.parametrize("size", [4, 8, 16])
@pytest.mark.parametrize("wait", ["cp.async.commit_group; cp.async.wait_group 0;", "cp.async.wait_all;"])
def test_a_copy_is_there_after_the_wait(size: int, wait: str) -> None:
    copies = "\n".join(
        f"cp.async.ca.shared.global [%r7+{i}], [%rd4+{i}], {size};" for i in range(0, 16, size)
    )
    assert np.array_equal(result(copies + wait + GIVE_BACK), EXPECTED)


def test_a_copy_is_not_there_before_the_wait() -> None:
    outcome = run("cp.async.cg.shared.global [%r7], [%rd4], 16; cp.async.commit_group;" + GIVE_BACK)
    assert kinds(outcome) == ["uninitialised-read"]


def test_other_threads_need_a_barrier_after_the_wait() -> None:
    body = """cp.async.cg.shared.global [%r7], [%rd4], 16; cp.async.wait_all;
    {barrier}
    xor.b32 %r9, %r5, 16; add.u32 %r9, %r6, %r9; ld.shared.v4.b32 {{%r20, %r21, %r22, %r23}}, [%r9];
    st.global.v4.b32 [%rd5], {{%r20, %r21, %r22, %r23}};"""
    assert kinds(run(body.format(barrier=""))) == ["race"]
    swapped = EXPECTED.reshape(-1, 2, 4)[:, ::-1].reshape(-1)
    assert np.array_equal(result(body.format(barrier="bar.sync 0;")), swapped)


def test_groups_finish_in_order() -> None:
    body = """cp.async.ca.shared.global [%r7], [%rd4], 4; cp.async.commit_group;
    cp.async.ca.shared.global [%r7+4], [%rd4+4], 4; cp.async.commit_group;
    cp.async.ca.shared.global [%r7+8], [%rd4+8], 4; cp.async.commit_group;
    cp.async.wait_group 1;
    ld.shared.v2.b32 {%r20, %r21}, [%r7]; st.global.v2.b32 [%rd5], {%r20, %r21};"""
    assert np.array_equal(result(body).reshape(-1, 4)[:, :2], EXPECTED.reshape(-1, 4)[:, :2])
    assert kinds(run(body + "ld.shared.b32 %r20, [%r7+8];")) == ["uninitialised-read"]


@pytest.mark.parametrize("amount", [0, 3, 8, 13, 16])
def test_bytes_after_the_source_size_are_zero(amount: int) -> None:
    copy = f"mov.u32 %r10, {amount}; cp.async.cg.shared.global [%r7], [%rd4], 16, %r10; cp.async.wait_all;"
    body = copy + GIVE_BACK
    want = EXPECTED.view(np.uint8).reshape(-1, 16).copy()
    want[:, amount:] = 0
    assert np.array_equal(result(body).view(np.uint8).reshape(-1, 16), want)


@pytest.mark.parametrize(("body", "kind"), [
    ("cp.async.cg.shared.global [%r7+8], [%rd4], 16; cp.async.wait_all;", "misaligned"),
    ("cp.async.ca.shared.global [%r7+65536], [%rd4], 4; cp.async.wait_all;", "out-of-bounds"),
    ("cp.async.ca.shared.global [%r7], [%rd4+65536], 4;", "out-of-bounds"),
])
def test_wrong_addresses_are_seen_when_the_copy_is_issued(body: str, kind: str) -> None:
    outcome = run(body)
    assert kinds(outcome) == [kind]
    assert outcome.faults[0].line == HEAD.count("\n") + 1


INIT = """setp.eq.u32 %p1, %r1, 0;
@%p1 mbarrier.init.shared.b64 [%r8], COUNT;
bar.sync 0;
"""
WAIT = """$L_wait:
mbarrier.try_wait.parity.shared.b64 %p2, [%r8], 0;
@!%p2 bra $L_wait;
"""


def test_an_mbarrier_orders_stores_before_loads() -> None:
    body = """{init}
    ld.global.v4.b32 {{%r20, %r21, %r22, %r23}}, [%rd4]; st.shared.v4.b32 [%r7], {{%r20, %r21, %r22, %r23}};
    {arrive}
    {wait}
    xor.b32 %r9, %r5, 1008; add.u32 %r9, %r6, %r9; ld.shared.v4.b32 {{%r20, %r21, %r22, %r23}}, [%r9];
    st.global.v4.b32 [%rd5], {{%r20, %r21, %r22, %r23}};"""
    arrive = "mbarrier.arrive.shared.b64 %rd10, [%r8];"
    whole = body.format(init=INIT.replace("COUNT", "64"), arrive=arrive, wait=WAIT)
    assert np.array_equal(result(whole), EXPECTED.reshape(-1, 4)[::-1].reshape(-1))
    loose = body.format(init=INIT.replace("COUNT", "64"), arrive=arrive, wait="")
    assert kinds(run(loose)) == ["race"]


def test_states_phases_and_counts() -> None:
    body = INIT.replace("COUNT", "64") + """
    mbarrier.arrive.shared.b64 %rd10, [%r8];
    bar.sync 0;
    mbarrier.test_wait.shared.b64 %p2, [%r8], %rd10;
    selp.u32 %r20, 1, 0, %p2;
    mbarrier.arrive.shared.b64 %rd11, [%r8];
    mbarrier.test_wait.parity.shared.b64 %p3, [%r8], 1;
    selp.u32 %r21, 1, 0, %p3;
    mbarrier.pending_count.b64 %r22, %rd11;
    bar.sync 0;
    mbarrier.test_wait.parity.shared.b64 %p4, [%r8], 1;
    selp.u32 %r23, 1, 0, %p4;
    st.global.v4.b32 [%rd5], {%r20, %r21, %r22, %r23};"""
    found = result(body).reshape(-1, 4)
    assert (found[:, 0] == 1).all()
    assert (found[:, 1] == 1).all()                                        # all 64 arrived at once
    assert found[:, 2].tolist() == list(range(64, 0, -1))
    assert (found[:, 3] == 1).all()


def test_a_phase_that_is_not_over_is_waited_for_in_vain() -> None:
    outcome = run(INIT.replace("COUNT", "65") + "mbarrier.arrive.shared.b64 %rd10, [%r8];" + WAIT)
    assert kinds(outcome) == ["step-limit"]


@pytest.mark.parametrize(("body", "kind"), [
    ("mbarrier.arrive.shared.b64 %rd10, [%r8];", "uninitialised-read"),
    (INIT.replace("COUNT", "0"), "barrier"),
    (INIT.replace("COUNT", "1") + "mbarrier.arrive.noComplete.shared.b64 %rd10, [%r8], 2;", "barrier"),
    (INIT.replace("COUNT", "1") + "@%p1 mbarrier.inval.shared.b64 [%r8]; bar.sync 0; "
     "mbarrier.arrive.shared.b64 %rd10, [%r8];", "barrier"),
    ("mov.b64 %rd10, 0; st.shared.b64 [%r8], %rd10; bar.sync 0; mbarrier.test_wait.shared.b64 %p1, [%r8], %rd10;",
     "barrier"),
])
def test_misuse_of_an_mbarrier(body: str, kind: str) -> None:
    assert kind in kinds(run(body))


def test_arrive_drop_leaves_fewer_for_the_next_phase() -> None:
    body = INIT.replace("COUNT", "64") + """
    setp.lt.u32 %p3, %r1, 32;
    @%p3 mbarrier.arrive_drop.shared.b64 %rd10, [%r8];
    @!%p3 mbarrier.arrive.shared.b64 %rd10, [%r8];
    """ + WAIT + """
    bar.sync 0;
    @!%p3 mbarrier.arrive.shared.b64 %rd10, [%r8];
    bar.sync 0;
    mbarrier.test_wait.parity.shared.b64 %p4, [%r8], 1;
    selp.u32 %r20, 1, 0, %p4;
    st.global.b32 [%rd5], %r20;"""
    assert (result(body).reshape(-1, 4)[:, 0] == 1).all()


BULK = INIT.replace("COUNT", "1") + """
@%p1 mbarrier.arrive.expect_tx.shared.b64 %rd10, [%r8], 1024;
@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r6], [%rd1], 1024, [%r8];
"""


def test_a_bulk_copy_reports_its_bytes() -> None:
    assert np.array_equal(result(BULK + WAIT + GIVE_BACK), EXPECTED)
    assert "uninitialised-read" in kinds(run(BULK + GIVE_BACK))


def test_a_bulk_copy_of_too_few_bytes_leaves_the_phase_open() -> None:
    assert kinds(run(BULK.replace("[%rd1], 1024", "[%rd1], 512") + WAIT)) == ["step-limit"]


@pytest.mark.parametrize("wrong", ["1020", "8"])
def test_bulk_copies_move_multiples_of_16_bytes(wrong: str) -> None:
    assert kinds(run(BULK.replace("[%rd1], 1024", f"[%rd1], {wrong}"))) == ["misaligned"]


def test_a_bulk_copy_out_of_shared_memory() -> None:
    body = """ld.global.v4.b32 {%r20, %r21, %r22, %r23}, [%rd4]; st.shared.v4.b32 [%r7], {%r20, %r21, %r22, %r23};
    fence.proxy.async.shared::cta;
    bar.sync 0;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 ret;
    cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r6], 1024;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;"""
    assert np.array_equal(result(body), EXPECTED)
    assert np.array_equal(result(body.replace("cp.async.bulk.wait_group 0;", "")), EXPECTED)


def test_a_bulk_reduction_adds_to_memory() -> None:
    body = """st.shared.v4.b32 [%r7], {%r1, %r1, %r1, %r1};
    bar.sync 0;
    cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd2], [%r6], 1024;
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"""
    assert np.array_equal(result(body), np.repeat(np.arange(64, dtype=np.uint32), 4) * 64)


def test_copies_arrive_at_an_mbarrier() -> None:
    body = INIT.replace("COUNT", "64") + """
    cp.async.cg.shared.global [%r7], [%rd4], 16;
    cp.async.mbarrier.arrive.noinc.shared.b64 [%r8];
    """ + WAIT + """
    xor.b32 %r9, %r5, 1008; add.u32 %r9, %r6, %r9; ld.shared.v4.b32 {%r20, %r21, %r22, %r23}, [%r9];
    st.global.v4.b32 [%rd5], {%r20, %r21, %r22, %r23};"""
    assert np.array_equal(result(body), EXPECTED.reshape(-1, 4)[::-1].reshape(-1))


def test_a_predicate_says_that_the_source_is_ignored() -> None:
    body = """setp.lt.u32 %p5, %r1, 10;
    cp.async.cg.shared.global [%r7], [%rd4], 16, %p5; cp.async.wait_all;""" + GIVE_BACK
    want = EXPECTED.copy()
    want[:40] = 0
    assert np.array_equal(result(body), want)


def test_bytes_outside_may_be_ignored() -> None:
    body = INIT.replace("COUNT", "1") + """
    @%p1 mbarrier.arrive.expect_tx.shared.b64 %rd10, [%r8], 32;
    add.u64 %rd11, %rd1, -16;
    mov.u32 %r9, 15; mov.u32 %r10, 4;
    @%p1 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob TO, 32, LEFT, %r10, [%r8];
    """.replace("TO", "[%r6], [%rd11]") + WAIT + "ld.shared.v2.b32 {%r20, %r21}, [%r6+16]; st.global.v2.b32 [%rd5], {%r20, %r21};"
    inside = body.replace("add.u64 %rd11, %rd1, -16;", "mov.u64 %rd11, %rd1;").replace("LEFT", "%r9")
    assert result(inside)[:2].tolist() == EXPECTED[4:6].tolist()
    assert kinds(run(body.replace("LEFT", "%r9"))) == ["out-of-bounds"]


def test_layouts_and_reports_of_an_mbarrier() -> None:
    body = """setp.eq.u32 %p1, %r1, 0;
    @%p1 mbarrier.init.layout::v1.shared.b64 [%r8], 64;
    bar.sync 0;
    mbarrier.check_layout.layout::v1.shared.b64 %p2, [%r8]; selp.u32 %r20, 1, 0, %p2;
    mbarrier.check_layout.layout::v0.shared.b64 %p2, [%r8]; selp.u32 %r21, 1, 0, %p2;
    mbarrier.arrive.shared.b64 %rd10, [%r8];
    bar.sync 0;
    mbarrier.test_wait.phase_type::primary.shared.b64 %p3|%p4, [%r8], %rd10;
    selp.u32 %r22, 1, 0, %p3; selp.u32 %r23, 1, 0, %p4;
    st.global.v4.b32 [%rd5], {%r20, %r21, %r22, %r23};"""
    assert (result(body).reshape(-1, 4) == [1, 0, 1, 0]).all()


# ---------------------------------------------------------------- clusters

CLUSTER = ".reqnctapercluster 2, 1, 1"


def test_registers_of_a_cluster() -> None:
    body = """mov.u32 %r20, %clusterid.x; mov.u32 %r21, %cluster_ctarank; mov.u32 %r22, %cluster_nctarank;
    mov.u32 %r23, %nclusterid.x; st.global.v4.b32 [%rd5], {%r20, %r21, %r22, %r23};"""
    found = result(body, blocks=6, cluster=CLUSTER).reshape(6, 64, 4)
    assert found[:, 0].tolist() == [[b // 2, b % 2, 2, 3] for b in range(6)]
    alone = result(body, blocks=6).reshape(6, 64, 4)
    assert alone[:, 0].tolist() == [[b, 0, 1, 6] for b in range(6)]


def test_clusters_in_two_dimensions_number_their_blocks_row_by_row() -> None:
    ptx = HEAD.replace("CLUSTER", ".reqnctapercluster 2, 2, 1") + """
    mov.u32 %r20, %cluster_ctarank; mov.u32 %r21, %clusterid.x; mov.u32 %r22, %clusterid.y;
    mov.u32 %r9, %ctaid.y; mov.u32 %r10, %nctaid.x; mad.lo.u32 %r9, %r9, %r10, %r2;
    mad.wide.u32 %rd5, %r9, 16, %rd2;
    st.global.v4.b32 [%rd5], {%r20, %r21, %r22, %r22};""" + TAIL
    out = Buffer(np.zeros((4, 6, 4), np.uint32))
    outcome = EMULATOR.run(ptx, "k", Launch((6, 4, 1), (1, 1, 1)), [Buffer(np.zeros(4, np.uint8)), out])
    assert outcome.ok, outcome.faults
    for y in range(4):
        for x in range(6):
            assert outcome.buffers[1][y, x, :3].tolist() == [x % 2 + y % 2 * 2, x // 2, y // 2]  # type: ignore[index]


SWAP = """ld.global.v4.b32 {%r20, %r21, %r22, %r23}, [%rd4]; st.shared.v4.b32 [%r7], {%r20, %r21, %r22, %r23};
BARRIER
mov.u32 %r9, %cluster_ctarank; xor.b32 %r9, %r9, 1;
mapa.shared::cluster.u32 %r10, %r7, %r9;
ld.shared::cluster.v4.b32 {%r20, %r21, %r22, %r23}, [%r10];
st.global.v4.b32 [%rd5], {%r20, %r21, %r22, %r23};
barrier.cluster.arrive; barrier.cluster.wait;
"""


def test_blocks_of_a_cluster_see_each_others_shared_memory() -> None:
    body = SWAP.replace("BARRIER", "barrier.cluster.arrive.release; barrier.cluster.wait.acquire;")
    found = result(body, blocks=4, cluster=CLUSTER).reshape(2, 2, 256)
    want = (np.arange(1024, dtype=np.uint32) * 3 + 1).reshape(2, 2, 256)[:, ::-1]
    assert np.array_equal(found, want)


def test_without_the_clusters_barrier_it_is_a_race() -> None:
    assert "race" in kinds(run(SWAP.replace("BARRIER", "bar.sync 0;"), blocks=4, cluster=CLUSTER))


def test_generic_addresses_lead_to_other_blocks_too() -> None:
    body = SWAP.replace("BARRIER", "barrier.cluster.arrive; barrier.cluster.wait;").replace(
        "mapa.shared::cluster.u32 %r10, %r7, %r9;",
        "cvt.u64.u32 %rd10, %r7; cvta.shared.u64 %rd10, %rd10;"
        "mapa.u64 %rd11, %rd10, %r9; getctarank.u64 %r11, %rd11;",
    ).replace("ld.shared::cluster.v4.b32 {%r20, %r21, %r22, %r23}, [%r10];",
              "ld.v4.b32 {%r20, %r21, %r22, %r23}, [%rd11]; mov.u32 %r23, %r11;")
    found = result(body, blocks=2, cluster=CLUSTER).reshape(2, 64, 4)
    assert (found[0, :, 3] == 1).all()
    assert (found[1, :, 3] == 0).all()
    assert found[0, :, 0].tolist() == [(256 + 4 * i) * 3 + 1 for i in range(64)]


@pytest.mark.parametrize(("body", "kind"), [
    ("barrier.cluster.wait;", "barrier"),
    ("barrier.cluster.arrive; barrier.cluster.arrive;", "barrier"),
    ("setp.eq.u32 %p1, %r4, 0; @%p1 bra $L_1; barrier.cluster.arrive; barrier.cluster.wait; bra $L_2;"
     "$L_1: bar.sync 1, 64; $L_2:", "barrier"),
    ("mov.u32 %r9, 2; mapa.shared::cluster.u32 %r10, %r7, %r9;", "out-of-bounds"),
])
def test_misuse_of_a_cluster(body: str, kind: str) -> None:
    assert kind in kinds(run(body, blocks=2, cluster=CLUSTER))


def test_exited_threads_are_not_waited_for_by_the_cluster() -> None:
    body = """setp.gt.u32 %p1, %r1, 5; @%p1 ret; barrier.cluster.arrive; barrier.cluster.wait;
    st.global.b32 [%rd5], %r1;"""
    assert result(body, blocks=2, cluster=CLUSTER).reshape(2, 64, 4)[1, :6, 0].tolist() == list(range(6))


def test_a_grid_that_is_no_multiple_of_the_cluster_is_refused() -> None:
    assert kinds(run("", blocks=3, cluster=CLUSTER)) == ["launch"]


def test_an_asynchronous_store_into_another_block() -> None:
    body = INIT.replace("COUNT", "1") + """
    @%p1 mbarrier.arrive.expect_tx.shared.b64 %rd10, [%r8], 256;
    barrier.cluster.arrive; barrier.cluster.wait;
    mov.u32 %r9, %cluster_ctarank; xor.b32 %r10, %r9, 1;
    mad.lo.u32 %r11, %r1, 4, %r6;
    mapa.shared::cluster.u32 %r12, %r11, %r10; mapa.shared::cluster.u32 %r13, %r8, %r10;
    st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r12], %r4, [%r13];
    """ + WAIT + "ld.shared.b32 %r20, [%r11]; st.global.b32 [%rd5], %r20;"
    found = result(body, blocks=2, cluster=CLUSTER).reshape(2, 64, 4)[:, :, 0]
    assert np.array_equal(found, np.arange(128).reshape(2, 64)[::-1])


def test_a_multicast_copy_reaches_all_blocks_named() -> None:
    body = INIT.replace("COUNT", "1") + """
    @%p1 mbarrier.arrive.expect_tx.shared.b64 %rd10, [%r8], 1024;
    barrier.cluster.arrive; barrier.cluster.wait;
    mov.u32 %r9, %cluster_ctarank; setp.eq.and.u32 %p3, %r9, 0, %p1;
    mov.b16 %rs1, 3;
    @%p3 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster TO, [%rd1], 1024, AT;
    """.replace("TO", "[%r6]").replace("AT", "[%r8], %rs1") + WAIT + GIVE_BACK
    found = result(body, blocks=2, cluster=CLUSTER).reshape(2, 256)
    assert np.array_equal(found[0], EXPECTED)
    assert np.array_equal(found[1], EXPECTED)


def test_an_arrival_at_several_blocks_at_once() -> None:
    body = INIT.replace("COUNT", "2") + """
    barrier.cluster.arrive; barrier.cluster.wait;
    mov.b32 %r9, 3;
    @%p1 mbarrier.arrive.release.cluster.shared::cluster.multicast::cluster::32b.b64 _, [%r8], %r9;
    """ + WAIT + "mov.u32 %r20, 7; st.global.b32 [%rd5], %r20;"
    assert (result(body, blocks=2, cluster=CLUSTER).reshape(-1, 4)[:, 0] == 7).all()


@pytest.mark.parametrize(("op", "start", "want"), [("add", 5, 5 + 64), ("max", 5, 63), ("inc", 100, 0)])
def test_an_asynchronous_reduction(op: str, start: int, want: int) -> None:
    body = INIT.replace("COUNT", "1") + f"""
    @%p1 mbarrier.arrive.expect_tx.shared.b64 %rd10, [%r8], 256;
    @%p1 st.shared.u32 [%r6], {start};
    bar.sync 0;
    mov.u32 %r9, 1;
    {"mov.u32 %r9, %r1;" if op == "max" else ""}
    red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.{op}.u32 [%r6], %r9, [%r8];
    """ + WAIT + "ld.shared.b32 %r20, [%r6]; st.global.b32 [%rd5], %r20;"
    value = start
    for _ in range(64):
        value = 0 if value >= 1 else value + 1
    assert (result(body).reshape(-1, 4)[:, 0] == (value if op == "inc" else want)).all()


def test_st_bulk_writes_zeros() -> None:
    body = """setp.eq.u32 %p1, %r1, 0; mov.b64 %rd10, 1024;
    @%p1 st.bulk.weak.shared::cta [%r6], %rd10, 0;
    bar.sync 0;""" + GIVE_BACK
    assert not result(body).any()
