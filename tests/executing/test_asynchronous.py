"""Asynchronous copies and mbarriers as whole kernels: what they give, and what is reported."""

from __future__ import annotations

import numpy as np
import pytest
from late_kernels import EXPECTED, GIVE_BACK, HEAD, INIT, WAIT, kinds, result, run


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
    assert found[:, 2].tolist() == [64] * 32 + [32] * 32                    # a warp arrives at once
    assert (found[:, 3] == 1).all()


@pytest.mark.parametrize(("arrive", "seen"), [
    ("mbarrier.arrive.shared.b64 %rd10, [%r8];", [128] * 32 + [96] * 32),
    ("mbarrier.arrive.shared.b64 %rd10, [%r8], 2;", [128] * 32 + [64] * 32),
    ("mbarrier.arrive_drop.shared.b64 %rd10, [%r8];", [128] * 32 + [96] * 32),
    ("mbarrier.arrive.expect_tx.shared.b64 %rd10, [%r8], 4;", [128] * 32 + [96] * 32),
    ("mbarrier.arrive.noComplete.shared.b64 %rd10, [%r8], 1;", list(range(128, 64, -1))),
    ("setp.lt.u32 %p3, %r1, 5; @%p3 mbarrier.arrive.shared.b64 %rd10, [%r8]; "
     "@!%p3 mbarrier.arrive.shared.b64 %rd10, [%r8];", [128] * 5 + [123] * 27 + [96] * 32),
])
def test_lanes_that_arrive_by_one_instruction_see_the_same_state(arrive: str, seen: list[int]) -> None:
    body = INIT.replace("COUNT", "128") + arrive + """
    mbarrier.pending_count.b64 %r20, %rd10; st.global.b32 [%rd5], %r20;"""
    assert result(body).reshape(-1, 4)[:, 0].tolist() == seen


@pytest.mark.parametrize(("held", "brought", "sum_of_them"), [
    (0x7FF0000000000001, 0x3FF0000000000000, 0x7FF0000000000001),
    (0x3FF0000000000000, 0xFFF0000000000001, 0xFFF0000000000001),
    (0x7FF8000000000005, 0xFFF0000000000001, 0xFFF0000000000001),
    (0x3FF0000000000000, 0x4000000000000000, 0x4008000000000000),
])
def test_a_bulk_reduction_passes_nans_of_f64_on_bit_for_bit(held: int, brought: int, sum_of_them: int) -> None:
    body = f"""mov.u64 %rd10, {brought}; st.shared.v2.b64 [%r7], {{%rd10, %rd10}};
    mov.u64 %rd11, {held}; st.global.v2.b64 [%rd5], {{%rd11, %rd11}};
    fence.proxy.async; bar.sync 0; setp.ne.u32 %p1, %r1, 0;
    @%p1 ret;
    cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f64 [%rd2], [%r6], 1024;
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"""
    assert set(result(body).view(np.uint64).tolist()) == {sum_of_them}


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
    body = """st.shared.v4.b32 [%r7], {%r1, %r1, %r1, %r1}; fence.proxy.async;
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
    """.replace("TO", "[%r6], [%rd11]") + WAIT
    body += "ld.shared.v2.b32 {%r20, %r21}, [%r6+16]; st.global.v2.b32 [%rd5], {%r20, %r21};"
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
