"""Asynchronous copies, mbarriers and clusters: a GPU gives what the emulator gives."""

from __future__ import annotations

import numpy as np
import pytest
from late_kernels import GIVE_BACK, INIT, WAIT, result, run

from ptxgen.executing import Executor

CLUSTER = ".reqnctapercluster 2, 1, 1"
TURNED = """xor.b32 %r9, %r5, 1008; add.u32 %r9, %r6, %r9; ld.shared.v4.b32 {%r20, %r21, %r22, %r23}, [%r9];
st.global.v4.b32 [%rd5], {%r20, %r21, %r22, %r23};"""
#: Name: (body, blocks, cluster directive).
KERNELS = {
    "copies in groups": (
        """cp.async.ca.shared.global [%r7], [%rd4], 8; cp.async.commit_group;
        cp.async.ca.shared.global [%r7+8], [%rd4+8], 8; cp.async.commit_group; cp.async.wait_group 0;""" + GIVE_BACK,
        1, "",
    ),
    "zeros after the source": (
        "mov.u32 %r10, 6; cp.async.cg.shared.global [%r7], [%rd4], 16, %r10; cp.async.wait_all;" + GIVE_BACK, 1, "",
    ),
    "ignored sources": (
        "setp.lt.u32 %p5, %r1, 10; cp.async.cg.shared.global [%r7], [%rd4], 16, %p5; cp.async.wait_all;" + GIVE_BACK,
        1, "",
    ),
    "arrivals": (
        INIT.replace("COUNT", "64") + """cp.async.cg.shared.global [%r7], [%rd4], 16;
        cp.async.mbarrier.arrive.noinc.shared.b64 [%r8];""" + WAIT + TURNED, 1, "",
    ),
    "bulk copy": (
        INIT.replace("COUNT", "1") + """@%p1 mbarrier.arrive.expect_tx.shared.b64 %rd10, [%r8], 1024;
        @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r6], [%rd1], 1024, [%r8];
        """ + WAIT + TURNED, 1, "",
    ),
    "bulk reduction": (
        """st.shared.v4.b32 [%r7], {%r1, %r1, %r1, %r1}; fence.proxy.async.shared::cta; bar.sync 0;
        cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd2], [%r6], 1024;
        cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;""", 1, "",
    ),
    "phases and states": (
        INIT.replace("COUNT", "64") + """mbarrier.arrive.shared.b64 %rd10, [%r8]; bar.sync 0;
        mbarrier.test_wait.shared.b64 %p2, [%r8], %rd10; selp.u32 %r20, 1, 0, %p2;
        mbarrier.test_wait.parity.shared.b64 %p3, [%r8], 1; selp.u32 %r21, 1, 0, %p3;
        mbarrier.test_wait.parity.shared.b64 %p3, [%r8], 0; selp.u32 %r22, 1, 0, %p3;
        mov.u32 %r23, 0; st.global.v4.b32 [%rd5], {%r20, %r21, %r22, %r23};""", 1, "",
    ),
    "registers of a cluster": (
        """mov.u32 %r20, %clusterid.x; mov.u32 %r21, %cluster_ctarank; mov.u32 %r22, %cluster_nctarank;
        mov.u32 %r23, %nclusterid.x; st.global.v4.b32 [%rd5], {%r20, %r21, %r22, %r23};""", 6, CLUSTER,
    ),
    "shared memory of another block": (
        """st.shared.v4.b32 [%r7], {%r4, %r1, %r2, %r3}; barrier.cluster.arrive.release; barrier.cluster.wait.acquire;
        mov.u32 %r9, %cluster_ctarank; xor.b32 %r9, %r9, 1; mapa.shared::cluster.u32 %r10, %r7, %r9;
        ld.shared::cluster.v4.b32 {%r20, %r21, %r22, %r23}, [%r10];
        st.global.v4.b32 [%rd5], {%r20, %r21, %r22, %r23}; barrier.cluster.arrive; barrier.cluster.wait;""",
        4, CLUSTER,
    ),
    "a store into another block": (
        INIT.replace("COUNT", "1") + """@%p1 mbarrier.arrive.expect_tx.shared.b64 %rd10, [%r8], 256;
        barrier.cluster.arrive; barrier.cluster.wait;
        mov.u32 %r9, %cluster_ctarank; xor.b32 %r10, %r9, 1; mad.lo.u32 %r11, %r1, 4, %r6;
        mapa.shared::cluster.u32 %r12, %r11, %r10; mapa.shared::cluster.u32 %r13, %r8, %r10;
        st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r12], %r4, [%r13];""" + WAIT
        + """ld.shared.b32 %r20, [%r11]; st.global.b32 [%rd5], %r20; barrier.cluster.arrive; barrier.cluster.wait;""",
        2, CLUSTER,
    ),
}


@pytest.mark.parametrize("name", KERNELS)
def test_the_emulator_runs_what_is_compared(name: str) -> None:
    body, blocks, cluster = KERNELS[name]
    assert result(body, blocks=blocks, cluster=cluster).any()


@pytest.mark.gpu
@pytest.mark.parametrize("name", KERNELS)
def test_gpu_and_emulator_agree(gpu: Executor, name: str) -> None:
    body, blocks, cluster = KERNELS[name]
    ours = result(body, blocks=blocks, cluster=cluster)
    theirs = run(body, blocks=blocks, cluster=cluster, executor=gpu)
    assert theirs.ok, theirs.faults
    np.testing.assert_array_equal(theirs.buffers[1], ours)
