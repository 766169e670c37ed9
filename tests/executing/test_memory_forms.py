"""Memory beyond plain loads and stores: generic addresses of every space, arrays by value, atomics of every kind."""

from __future__ import annotations

from fractions import Fraction

import exact
import numpy as np
import pytest
from executor_contract import HEADER, REGISTERS

from ptxgen.errors import UsageError
from ptxgen.executing import Buffer, Launch, Outcome, Value
from ptxgen.executing.emulator import Emulator

EMULATOR = Emulator()


def run(body: str, arguments: list[Buffer | Value], params: str, *, threads: int = 32, module: str = "") -> Outcome:
    head = HEADER.replace("sm_80", "sm_90").replace("8.0", "8.6")
    ptx = f"{head}{module}\n.visible .entry k({params})\n{{\n{REGISTERS}"
    return EMULATOR.run(ptx + body + "\nret;\n}\n", "k", Launch((1, 1, 1), (threads, 1, 1)), arguments)


SPACES = """.shared .align 8 .b32 s; .local .align 8 .b32 l;
mov.u32 %r1, 7; st.shared.u32 [s], %r1; mov.u32 %r1, 8; st.local.u32 [l], %r1;
ld.param.u64 %rd1, [out];
mov.u64 %rd2, s; cvta.shared.u64 %rd2, %rd2;
mov.u64 %rd3, l; cvta.local.u64 %rd3, %rd3;
mov.u64 %rd4, c; cvta.const.u64 %rd4, %rd4;
mov.u64 %rd5, g; cvta.global.u64 %rd5, %rd5;
mov.u64 %rd6, given; cvta.param.u64 %rd6, %rd6;
"""
PARAMS = ".param .u64 out, .param .u32 given"
ELEVEN = Value(np.array([11], "u4"))
MODULE = ".const .align 8 .b32 c = 9; .global .align 8 .b32 g = 10;"


def test_generic_addresses_lead_to_every_space() -> None:
    body = SPACES + "\n".join(
        f"ld.u32 %r{i}, [%rd{i}]; st.global.u32 [%rd1+{(i - 2) * 4}], %r{i};" for i in range(2, 7)
    )
    outcome = run(body, [Buffer(np.zeros(5, "u4")), ELEVEN], PARAMS, threads=1, module=MODULE)
    assert outcome.ok, outcome.faults
    assert outcome.buffers[0].tolist() == [7, 8, 9, 10, 11]  # type: ignore[union-attr]


def test_isspacep_tells_the_spaces_apart() -> None:
    spaces = ["shared", "local", "const", "global", "param"]
    lines = [SPACES, "mov.u32 %r10, 0;"]
    for a in range(5):
        for b, space in enumerate(spaces):
            lines.append(f"isspacep.{space} %p1, %rd{a + 2}; selp.u32 %r11, {1 << 5 * a + b}, 0, %p1;")
            lines.append("or.b32 %r10, %r10, %r11;")
    body = "\n".join([*lines, "st.global.u32 [%rd1], %r10;"])
    outcome = run(body, [Buffer(np.zeros(1, "u4")), ELEVEN], PARAMS, threads=1, module=MODULE)
    assert outcome.ok, outcome.faults
    # Parameters lie in global memory too, as an H200 has them.
    also_global = 1 << 5 * 4 + 3
    assert int(outcome.buffers[0][0]) == sum(1 << 6 * i for i in range(5)) | also_global  # type: ignore[index]


def test_arrays_by_value() -> None:
    body = """ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2;
    ld.param.v2.u32 {%r2, %r3}, [given+8]; mov.u64 %rd3, given; add.u64 %rd3, %rd3, %rd2; ld.param.u32 %r4, [%rd3];
    add.u32 %r4, %r4, %r2; add.u32 %r4, %r4, %r3; st.global.u32 [%rd1], %r4;"""
    params = ".param .u64 out, .param .align 8 .b8 given[16]"
    outcome = run(body, [Buffer(np.zeros(4, "u4")), Value(np.array([1, 20, 300, 4000], "u4"))], params, threads=4)
    assert outcome.ok, outcome.faults
    assert outcome.buffers[0].tolist() == [4301, 4320, 4600, 8300]  # type: ignore[union-attr]
    with pytest.raises(UsageError, match="takes 16"):
        run(body, [Buffer(np.zeros(4, "u4")), Value(np.zeros(3, "u4"))], params)


# ---------------------------------------------------------------- atomics


def sums(kind: str, values: list[float]) -> int:
    """One rounded addition after the other, from zero."""
    form = exact.FORMATS[kind]
    word = 0
    for value in values:
        total = exact.value(word, form) + Fraction(value)
        word = exact.rounded(total, form, "rn") if total else 0
    return word


def halves(values: list[float], kind: str) -> list[int]:
    form = exact.FORMATS[kind]
    return [exact.rounded(Fraction(v), form, "rn") for v in values]


@pytest.mark.parametrize("kind", ["f16", "bf16"])
@pytest.mark.parametrize("name", ["atom", "red"])
def test_sums_of_halves_round_every_time(kind: str, name: str) -> None:
    target = "%rs2, " if name == "atom" else ""
    body = f"""ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; add.u32 %r1, %r1, 1; cvt.rn.f32.u32 %f1, %r1;
    mul.f32 %f1, %f1, 0f3E000000; cvt.rn.{kind}.f32 %rs1, %f1;
    {name}.global.add.noftz.{kind} {target}[%rd1], %rs1;"""
    outcome = run(body, [Buffer(np.zeros(1, "u2"))], ".param .u64 out")
    assert outcome.ok, outcome.faults
    assert int(outcome.buffers[0][0]) == sums(kind, [(i + 1) / 8 for i in range(32)])  # type: ignore[index]


@pytest.mark.parametrize(("opcode", "combine"), [
    ("add.noftz.v2.f16", "add"), ("add.noftz.v4.f16", "add"), ("min.noftz.v2.f16", "min"),
    ("max.noftz.v4.bf16", "max"), ("add.noftz.v8.bf16", "add"),
])
def test_vectors_of_halves(opcode: str, combine: str) -> None:
    *_, vector, kind = opcode.split(".")
    count = int(vector[1:])
    registers = ", ".join(f"%rs{8 + i}" for i in range(count))
    body = "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; cvt.rn.f32.u32 %f1, %r1;\n"
    for i in range(count):
        body += f"add.f32 %f2, %f1, {float(i + 1)}; cvt.rn.{kind}.f32 %rs{8 + i}, %f2;\n"
    body += f"red.global.{opcode} [%rd1], {{{registers}}};"
    start = halves([2.0] * count, kind)
    outcome = run(body, [Buffer(np.array(start, "u2"))], ".param .u64 out", threads=4)
    assert outcome.ok, outcome.faults
    want = []
    for i in range(count):
        values = [2.0, *(float(t + i + 1) for t in range(4))]
        value = {"add": sum, "min": min, "max": max}[combine](values)
        want.append(halves([value], kind)[0])
    assert outcome.buffers[0].tolist() == want  # type: ignore[union-attr]


@pytest.mark.parametrize("count", [2, 4])
def test_vectors_of_singles(count: int) -> None:
    registers = ", ".join(["%f1"] * count)
    olds = ", ".join(f"%f{2 + i}" for i in range(count))
    body = f"""ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; cvt.rn.f32.u32 %f1, %r1;
    atom.global.v{count}.f32.add {{{olds}}}, [%rd1], {{{registers}}};"""
    outcome = run(body, [Buffer(np.ones(count, "f4"))], ".param .u64 out")
    assert outcome.ok, outcome.faults
    assert outcome.buffers[0].tolist() == [1 + sum(range(32))] * count  # type: ignore[union-attr]


@pytest.mark.parametrize(("opcode", "start", "want"), [
    ("inc.u32", 5, 5), ("dec.u32", 0, 2), ("and.b32", 0xFF, 0), ("or.b32", 0, 31), ("xor.b32", 5, 5),
    ("min.s32", -3 & 0xFFFFFFFF, -3 & 0xFFFFFFFF), ("max.u32", 7, 31), ("exch.b32", 9, 31),
])
def test_words(opcode: str, start: int, want: int) -> None:
    operand = "7" if opcode[:3] in {"inc", "dec"} else "%r1"
    body = f"""ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; atom.global.{opcode} %r2, [%rd1], {operand};"""
    outcome = run(body, [Buffer(np.array([start], "u4"))], ".param .u64 out")
    assert outcome.ok, outcome.faults
    value = start
    for _ in range(32):
        if opcode == "inc.u32":
            value = 0 if value >= 7 else value + 1
        if opcode == "dec.u32":
            value = 7 if value == 0 or value > 7 else value - 1
    expected = value if operand == "7" else want
    assert int(outcome.buffers[0][0]) == expected  # type: ignore[index]


@pytest.mark.parametrize("sizes", [(0, 4), (4, 0), (0, 0), (4, 0, 4)])
def test_an_empty_buffer_is_named(sizes: tuple[int, ...]) -> None:
    """An access at its address is beyond its end, not before or behind a neighbour."""
    params = ", ".join(f".param .u64 p{number}" for number in range(len(sizes)))
    number = sizes.index(0)
    outcome = run(f"ld.param.u64 %rd1, [p{number}]; ld.global.u32 %r1, [%rd1]; st.global.u32 [%rd1], %r1;",
                  [Buffer(np.zeros(size, "u4")) for size in sizes], params, threads=1)
    (fault,) = outcome.faults
    assert fault.kind == "out-of-bounds"
    assert f"0 bytes past the end of argument {number} (p{number}) (0 bytes)" in fault.message
    assert [0 if buffer is None else buffer.size for buffer in outcome.buffers] == list(sizes)


@pytest.mark.parametrize("access", ["st.shared.u32 [%r1], 1;", "ld.shared.u32 %r2, [%r1];"])
def test_dynamic_shared_memory_that_the_launch_does_not_give(access: str) -> None:
    outcome = run(f"mov.u32 %r1, words; {access}", [], "", threads=1, module=".extern .shared .align 4 .b8 words[];")
    (fault,) = outcome.faults
    assert fault.kind == "out-of-bounds"
    assert "--shared" in fault.message
