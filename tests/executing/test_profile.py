"""What a profile counts of memory, divergence and barriers, against counting by hand, lane by lane."""

from __future__ import annotations

import numpy as np
import pytest
from executor_contract import empty, kernel, line
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxgen.executing import Buffer
from ptxgen.executing.emulator import Emulator, Profile, Trace

GATHER = kernel("""
ld.param.u64 %rd3, [places]; mad.wide.u32 %rd3, %r1, 4, %rd3; ld.global.u32 %r10, [%rd3];
mov.u32 %r11, tile; add.u32 %r11, %r11, %r10;
ld.shared.SIZE [%r11];
cvt.u64.u32 %rd5, %r10; add.u64 %rd5, %rd5, %rd1;
ld.global.SIZE [%rd5];
""", ".param .u64 places, .param .u64 out", module=".shared .align 16 .b8 tile[4096];", before="""mov.u32 %r1, %tid.x;
ld.param.u64 %rd1, [out];
""")
FORMS = {4: "u32 %r12,", 8: "u64 %rd4,", 16: "v4.u32 {%r12, %r13, %r14, %r15},"}


@given(size=st.sampled_from([4, 8, 16]), places=st.lists(st.integers(0, 255), min_size=1, max_size=70))
@settings(max_examples=40, deadline=None)
def test_sectors_and_passes(size: int, places: list[int]) -> None:
    offsets = [place * 16 // size * size % 4096 if size == 16 else place * size for place in places]
    profile = Profile()
    arguments = [Buffer(np.array(offsets, "u4")), Buffer(np.zeros(4096, "u1"))]
    Emulator().run(GATHER.replace("SIZE", FORMS[size]), None, line(len(places)), arguments, watchers=[profile])
    sectors = used = passes = least = worst = 0
    for warp in range(0, len(places), 32):
        mine = offsets[warp : warp + 32]
        sectors += len({offset // 32 for offset in mine})
        used += size * len(set(mine))
        for part in range(0, len(mine), 32 * 4 // size):
            words = {o // 4 + piece for o in mine[part : part + 32 * 4 // size] for piece in range(size // 4)}
            turns = max(sum(word % 32 == bank for word in words) for bank in range(32))
            passes, least, worst = passes + turns, least + 1, max(worst, turns)
    warps = -(-len(places) // 32)
    (shared,) = profile.shared_lines.values()
    assert (shared.requests, shared.passes, shared.least, shared.worst) == (warps, passes, least, worst)
    *_, last = profile.global_lines.values()
    assert (last.requests, last.sectors, last.used) == (warps, sectors, used)


def test_atomics_at_one_word_take_turns() -> None:
    profile = Profile()
    ptx = kernel("""mov.u32 %r11, tile; mov.u32 %r10, 0; setp.eq.u32 %p1, %r2, 0; @%p1 st.shared.u32 [%r11], %r10;
    bar.sync 0;
    red.shared.add.u32 [%r11], 1;
    bar.sync 0;
    ld.shared.u32 %r10, [%r11];
    st.global.u32 [%rd2], %r10;""", module=".shared .align 4 .b8 tile[4];")
    outcome = Emulator().run(ptx, None, line(64, 2), [empty(128)], watchers=[profile])
    assert outcome.ok
    red = next(n for n, opcode in profile.opcode_of.items() if opcode == "red.shared.add.u32")
    load = next(n for n, opcode in profile.opcode_of.items() if opcode == "ld.shared.u32")
    assert (profile.shared_lines[red].passes, profile.shared_lines[red].worst) == (128, 32)
    assert (profile.shared_lines[load].passes, profile.shared_lines[load].worst) == (4, 1)
    assert sorted(profile.barriers.values()) == [4, 4]


@pytest.mark.parametrize("at_once", [32, 65536])
def test_branches_diverge_by_warp_and_batches_add_up(at_once: int) -> None:
    profile = Profile()
    ptx = kernel("""mov.u32 %r10, 1; setp.lt.u32 %p1, %r2, 40;
    @%p1 bra $end;
    mov.u32 %r10, 2;
    $end:
    st.global.u32 [%rd2], %r10;""")
    outcome = Emulator(lanes_at_once=at_once).run(ptx, None, line(96, 2), [empty(192)], watchers=[profile])
    assert outcome.ok
    total = profile.total
    assert total.threads == outcome.instructions
    branch = profile.opcodes["bra"]
    assert (branch.warps, branch.threads, branch.divergent) == (6, 192, 0)
    second = next(one for one in profile.lines.values() if one.divergent)
    assert (second.warps, second.threads, second.divergent) == (4, 112, 2)


@pytest.mark.parametrize("space", ["global", "shared", ""])
def test_wild_addresses_are_faults_and_no_errors(space: str) -> None:
    """Addresses from one end of 64 bits to the other."""
    profile, trace = Profile(), Trace((0, 0, 0), (1, 0, 0))
    ptx = kernel(f"""mul.wide.u32 %rd5, %r2, 4; setp.eq.u32 %p1, %r2, 1; selp.b64 %rd5, 0x7ffffffffffffff0, %rd5, %p1;
    setp.eq.u32 %p1, %r2, 2; selp.b64 %rd5, 0x8000000000000000, %rd5, %p1;
    ld{'.' * bool(space)}{space}.u32 %r10, [%rd5];""", module=".shared .b32 tile[4];")
    outcome = Emulator().run(ptx, None, line(64), [empty(64)], watchers=[profile, trace])
    assert len(outcome.faults) == 1
    assert (trace.first[-1].line, trace.first[-1].executed) == (outcome.faults[0].line, False)


def test_watching_changes_nothing() -> None:
    ptx = kernel("add.u32 %r10, %r1, %r5; st.global.u32 [%rd2], %r10;")
    plain = Emulator().run(ptx, None, line(64), [empty(64)])
    watched = Emulator().run(ptx, None, line(64), [empty(64)], watchers=[Profile()])
    assert plain.faults == watched.faults
    np.testing.assert_array_equal(plain.buffers[0], watched.buffers[0])
