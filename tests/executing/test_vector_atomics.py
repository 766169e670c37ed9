"""Atomics over vectors change global memory, and shared memory by no way that leads there."""

from __future__ import annotations

import numpy as np
import pytest
from executor_contract import empty, kernel, line

from ptxgen.executing.emulator import Emulator

FORMS = [
    ("add.v2.f32", "{%f1, %f1}"), ("add.v4.f32", "{%f1, %f1, %f1, %f1}"), ("add.noftz.v2.f16", "{%h1, %h1}"),
    ("max.noftz.v2.bf16x2", "{%r11, %r11}"), ("min.noftz.v4.f16", "{%h1, %h1, %h1, %h1}"),
]  # fmt: skip


@pytest.mark.parametrize(("operation", "value"), FORMS)
@pytest.mark.parametrize("name", ["atom", "red"])
@pytest.mark.parametrize("space", ["global", "shared"])
def test_where_vectors_may_be_changed(name: str, operation: str, value: str, space: str) -> None:
    result = "" if name == "red" else value.replace("1", "2") + ", "
    of = {"global": "mov.u64 %rd3, %rd2;", "shared": "mov.u64 %rd3, tile; cvta.shared.u64 %rd3, %rd3;"}[space]
    ptx = kernel(f"""mov.u32 %r11, 0; mov.f32 %f1, 0f3F800000; mov.b16 %h1, 0; {of}
    st.v4.b32 [%rd3], {{%r11, %r11, %r11, %r11}};
    {name}.{operation} {result}[%rd3], {value};""", module=".shared .align 16 .b8 tile[64];").replace(
        ".reg .f32 %f", ".reg .b16 %h<4>; .reg .f32 %f", 1).replace("%r21", "%r12")  # fmt: skip
    outcome = Emulator().run(ptx, None, line(1), [empty(4)])
    assert {fault.kind for fault in outcome.faults} == (set() if space == "global" else {"wrong-space"})
    if space == "global" and "f32" in operation:
        assert outcome.buffers[0].view(np.float32)[0] == 1
