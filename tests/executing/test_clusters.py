"""Clusters as whole kernels: shared memory of other blocks, their barrier, and what reaches several of them."""

from __future__ import annotations

import numpy as np
import pytest
from late_kernels import EMULATOR, EXPECTED, GIVE_BACK, HEAD, INIT, TAIL, WAIT, kinds, result, run

from ptxgen.executing import Buffer, Launch

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


@pytest.mark.parametrize("parts", [2, 4, 16])
def test_threads_may_come_to_the_clusters_barrier_in_several_branches(parts: int) -> None:
    """Whoever waits late knows as much as whoever waited when the last one came, phase after phase."""
    branches = "".join(
        f"setp.ne.u32 %p1, %r15, {part}; @%p1 bra $L_{part}x; barrier.cluster.arrive; barrier.cluster.wait; "
        f"$L_{part}x:\n" for part in range(parts)
    )
    swap = SWAP.replace("BARRIER", f"and.b32 %r15, %r1, {parts - 1};\n{branches}")
    again = swap.replace("x:", "y:").replace("x;", "y;").replace("[%rd4]", "[%rd5]")
    found = result(swap + again, blocks=4, cluster=CLUSTER).reshape(2, 2, 256)
    assert np.array_equal(found, (np.arange(1024, dtype=np.uint32) * 3 + 1).reshape(2, 2, 256))


def test_without_the_clusters_barrier_it_is_a_race() -> None:
    assert "race" in kinds(run(SWAP.replace("BARRIER", "bar.sync 0;"), blocks=4, cluster=CLUSTER))


@pytest.mark.parametrize("scope", ["cluster", "gpu", "sys"])
def test_a_relaxed_arrival_tells_what_a_fence_before_it_covers(scope: str) -> None:
    relaxed = "barrier.cluster.arrive.relaxed; barrier.cluster.wait;"
    assert not kinds(run(SWAP.replace("BARRIER", f"fence.acq_rel.{scope};" + relaxed), blocks=2, cluster=CLUSTER))
    assert "race" in kinds(run(SWAP.replace("BARRIER", relaxed), blocks=2, cluster=CLUSTER))


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
    ("st.shared.u32 [%r7], %r1; mov.u32 %r9, %cluster_ctarank; xor.b32 %r9, %r9, 1;"
     "mapa.shared::cluster.u32 %r10, %r7, %r9; ld.shared.u32 %r11, [%r10];", "wrong-space"),
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


@pytest.mark.parametrize(("instruction", "operands"), [
    ("st.async.mbarrier::complete_tx::bytes.u32", "[TO], %r4, [AT]"),
    ("red.async.relaxed.cluster.mbarrier::complete_tx::bytes.add.u32", "[TO], %r4, [AT]"),
    ("cp.async.mbarrier.arrive.noinc.b64", "[AT]"),
])
def test_without_a_space_addresses_are_generic(instruction: str, operands: str) -> None:
    body = INIT.replace("COUNT", "64") + """cvt.u64.u32 %rd10, %r7; cvta.shared.u64 %rd11, %rd10;
    cvt.u64.u32 %rd12, %r8; cvta.shared.u64 %rd13, %rd12; st.shared.u32 [%r7], 0;
    mbarrier.expect_tx.relaxed.cta.shared.b64 [%r8], 4;
    """ + f"{instruction} {operands};"
    assert not kinds(run(body.replace("TO", "%rd11").replace("AT", "%rd13")))
    assert {"wrong-space", "out-of-bounds"} & set(kinds(run(body.replace("TO", "%rd10").replace("AT", "%rd12"))))


@pytest.mark.parametrize(("used", "counted"), [(0, 0), (1, 128), (128, 128), (129, 256), (4160, 4224)])
@pytest.mark.parametrize("asked", ["", "mov.b32 %r8, %reserved_smem_offset_end;"])
def test_the_size_of_shared_memory_is_counted_in_units(used: int, counted: int, asked: str) -> None:
    held = f".shared .align 1 .b8 held[{used}]; mov.u32 %r9, held;" if used else ""
    ptx = f""".version 8.6
    .target sm_90
    .address_size 64
    .visible .entry k(.param .u64 out)
    {{ .reg .b32 %r<32>; .reg .b64 %rd<4>; {held}
    ld.param.u64 %rd1, [out]; mov.u32 %r1, %total_smem_size; mov.u32 %r2, %aggr_smem_size;
    st.global.v2.b32 [%rd1], {{%r1, %r2}}; {asked} ret; }}"""
    outcome = EMULATOR.run(ptx, "k", Launch((1, 1, 1), (1, 1, 1)), [Buffer(np.zeros(2, np.uint32))])
    assert outcome.ok, outcome.faults
    assert outcome.buffers[0].tolist() == [counted, used + 1024]  # type: ignore[union-attr]


def test_parameters_of_a_kernel_lie_in_global_memory() -> None:
    body = """mov.b64 %rd10, in; cvta.param.u64 %rd10, %rd10; isspacep.global %p1, %rd10;
    isspacep.param %p2, %rd10; isspacep.shared %p3, %rd10; isspacep.local %p4, %rd10;
    selp.u32 %r20, 1, 0, %p1; selp.u32 %r21, 1, 0, %p2; selp.u32 %r22, 1, 0, %p3; selp.u32 %r23, 1, 0, %p4;
    st.global.v4.b32 [%rd5], {%r20, %r21, %r22, %r23};"""
    assert (result(body).reshape(-1, 4) == [1, 1, 0, 0]).all()
