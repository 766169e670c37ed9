"""Code for targets before sm_20 and of PTX before 3.0, which assemblers still take."""

from __future__ import annotations

import numpy as np
import pytest

from ptxgen.executing import Buffer, Launch, Outcome
from ptxgen.executing.emulator import Emulator, Stepper

TINY = np.array([0x00400000, 0x3F800000, 0x80000001, 0x7F7FFFFF], np.uint32)     # 2^-127, 1, -2^-149, the largest


def text(body: str, version: str, target: str, module: str = "") -> str:
    return (f".version {version}\n.target {target}\n{module}\n.entry k(.param .u64 p)\n{{\n"
            ".reg .u64 a; .reg .u16 h<4>; .reg .u32 r<4>; .reg .f32 f<4>; .reg .f64 d<2>; .reg .pred q;\n"
            f"ld.param.u64 a, [p]; ld.global.f32 f0, [a]; ld.global.f32 f1, [a+4];\n{body}\nexit;\n}}\n")


def run(body: str, version: str = "1.4", target: str = "sm_10", module: str = "") -> Outcome:
    # The manual's own limits on .version keep .address_size away from old texts; addresses have 64 bits all the same.
    words = np.concatenate([TINY, np.zeros(4, np.uint32)])
    return Emulator().run(text(body, version, target, module), None, Launch((1, 1, 1), (1, 1, 1)), [Buffer(words)])


def stored(body: str, version: str = "1.4", target: str = "sm_10", module: str = "") -> list[int]:
    outcome = run(body, version, target, module)
    assert outcome.ok, outcome.faults
    assert outcome.buffers[0] is not None
    return [int(word) for word in outcome.buffers[0][4:]]


@pytest.mark.parametrize(("instruction", "kept", "flushed"), [
    ("add.f32 f2, f0, f0;", 0x00800000, 0),
    ("mul.f32 f2, f0, f1;", 0x00400000, 0),
    ("mad.f32 f2, f0, f1, f0;", 0x00800000, 0),
    ("mad.sat.f32 f2, f1, f1, f1;", 0x3F800000, 0x3F800000),
    ("abs.f32 f2, f0;", 0x00400000, 0),
    ("neg.f32 f2, f0;", 0x80400000, 0x80000000),
    ("max.f32 f2, f0, f0;", 0x00400000, 0),
    ("sub.f32 f2, f1, f0;", 0x3F800000, 0x3F800000),
    ("set.gt.u32.f32 r0, f0, 0f00000000; mov.b32 f2, r0;", 0xFFFFFFFF, 0),
    ("setp.gt.f32 q, f0, 0f00000000; selp.f32 f2, f1, f0, q;", 0x3F800000, 0x00400000),
    ("mov.f32 f2, f0;", 0x00400000, 0x00400000),
    ("cvt.sat.f32.f32 f2, f0;", 0x00400000, 0),
])
def test_targets_before_sm_20_flush_subnormals(instruction: str, kept: int, flushed: int) -> None:
    body = f"{instruction} st.global.f32 [a+16], f2;"
    assert stored(body, "2.0", "sm_20")[0] == kept
    for version, target in (("1.4", "sm_10"), ("2.3", "sm_13"), ("8.0", "sm_11")):
        assert stored(body, version, target)[0] == flushed


@pytest.mark.parametrize(("version", "kept"), [("1.4", True), ("1.5", False), ("2.3", False)])
def test_conversions_from_and_to_f64_flush_from_ptx_1_5_on(version: str, kept: bool) -> None:
    body = "cvt.f64.f32 d0, f0; st.global.f64 [a+16], d0; mov.f64 d1, 0d3800000000000000; cvt.rn.f32.f64 f2, d1;"
    wide, narrow = (0x38000000, 0x00400000) if kept else (0, 0)
    words = stored(body + " st.global.f32 [a+24], f2;", version, "sm_13")
    assert words[1] == wide
    assert words[2] == narrow


def test_doubles_stay_doubles_though_they_are_mapped() -> None:
    body = "mov.f64 d0, 0d3FF0000000000001; add.f64 d0, d0, 0d0000000000000000; st.global.f64 [a+16], d0;"
    assert stored(body, "1.4", "sm_10, map_f64_to_f32")[:2] == [1, 0x3FF00000]


def test_appended_statements_flush_too() -> None:
    whole = text("st.global.f32 [a+16], f0;", "1.4", "sm_10").replace("exit;\n}\n", "")
    stepper = Stepper(whole, Launch((1, 1, 1), (1, 1, 1)), [Buffer(np.concatenate([TINY, TINY]))])
    assert stepper.go_on()
    stepper.append("add.f32 f3, f0, f0;")
    assert stepper.go_on()
    assert stepper.register("f3").tolist() == [[0.0]]


def test_registers_and_local_variables_of_the_module() -> None:
    module = """.reg .u32 shared_by_all<2>; .local .align 4 .b8 mine[8];
    .func step { add.u32 shared_by_all1, shared_by_all1, 5; st.local.u32 [mine+4], shared_by_all1; ret; }"""
    body = "mov.u32 shared_by_all1, 37; call step; ld.local.u32 r1, [mine+4]; st.global.u32 [a+16], r1;"
    assert stored(body, "2.3", "sm_20", module)[0] == 42


def test_special_registers_were_halves() -> None:
    body = "mov.u16 h1, %ntid.x; cvt.u32.u16 r1, %nctaid.y; cvt.u32.u16 r2, h1; add.u32 r1, r1, r2;"
    assert stored(body + "bar.sync 0; st.global.u32 [a+16], r1;")[0] == 2


def test_textures_keep_no_kernel_from_running_that_uses_none() -> None:
    module = ".global .texref image; .global .surfref plane;"
    assert stored("mov.u32 r1, 7; st.global.u32 [a+16], r1;", "2.3", "sm_20", module)[0] == 7
    outcome = run("tex.1d.v4.f32.f32 {f0, f1, f2, f3}, [image, {f0}];", "2.3", "sm_20", module)
    assert [fault.kind for fault in outcome.faults] == ["unsupported"]
    assert "needs a GPU" in outcome.faults[0].message
