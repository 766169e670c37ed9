"""Run one instruction (or a few) on many operand tuples, one thread each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ptxgen.executing import Buffer, Executor, Launch, Scalar
from ptxgen.executing.emulator import Emulator

EMULATOR = Emulator()

#: Width of the words of each type in the buffers; `pred` results come back as 0 or 1.
BITS = {"f16": 16, "bf16": 16, "f16x2": 32, "bf16x2": 32, "pred": 32}


def bits_of(type_name: str) -> int:
    return BITS.get(type_name) or int("".join(c for c in type_name if c.isdigit()))


def kernel(body: str, result: str, sources: Sequence[str]) -> str:
    """`%s0`, `%s1`, … in, `%d` out; `%p`, `%q` and `%a0` to `%a7` (b32) are free for the body."""
    loads, declarations = [], []
    for i, source in enumerate(sources):
        bits = bits_of(source)
        declarations.append(f".reg .b{max(bits, 16)} %s{i};")
        loads.append(
            f"ld.param.u64 %at, [p{i}]; mad.wide.u32 %at, %index, {bits // 8}, %at; ld.global.b{bits} %s{i}, [%at];"
        )
    bits = bits_of(result)
    params = ", ".join(f".param .u64 p{i}" for i in range(len(sources) + 1))
    return f""".version 8.0
.target sm_90
.address_size 64
.visible .entry k({params}, .param .u32 n)
{{
.reg .pred %p, %q, %stop; .reg .b32 %index, %n; .reg .b64 %at; .reg .b32 %a<8>; .reg .b{max(bits, 16)} %d;
{chr(10).join(declarations)}
mov.u32 %index, %tid.x;
ld.param.u32 %n, [n];
setp.ge.u32 %stop, %index, %n;
@%stop bra $L_end;
{chr(10).join(loads)}
{body}
ld.param.u64 %at, [p{len(sources)}]; mad.wide.u32 %at, %index, {bits // 8}, %at; st.global.b{bits} [%at], %d;
$L_end:
ret;
}}
"""


def evaluate(
    opcode: str, result: str, sources: Sequence[str], rows: Sequence[Sequence[int]], *, suffix: str = "",
    body: str = "", executor: Executor = EMULATOR,
) -> list[int]:
    """The result words of `opcode %d, %s0, %s1, …` for every row of operand words; at most 1024 rows."""
    if not body:
        operands = ", ".join(f"%s{i}" for i in range(len(sources)))
        body = f"{opcode} %d, {operands}{suffix};"
        if result == "pred":
            body = f"{opcode} %p, {operands}{suffix}; selp.u32 %d, 1, 0, %p;"
    columns = [
        Buffer(np.array([row[i] for row in rows], f"u{bits_of(t) // 8}"), read_only=True)
        for i, t in enumerate(sources)
    ]
    out = Buffer(np.zeros(len(rows), f"u{bits_of(result) // 8}"), initialised=False)
    ptx = kernel(body, result, sources)
    outcome = executor.run(ptx, "k", Launch((1, 1, 1), (len(rows), 1, 1)), [*columns, out, Scalar("u32", len(rows))])
    assert outcome.ok, (outcome.faults, ptx)
    final = outcome.buffers[len(sources)]
    assert final is not None
    return [int(word) for word in final]
