"""Stepping: lines, looking, growing, saving; and that a grown kernel does what the whole one does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from executor_contract import CASES, HEADER, OUT, REGISTERS, WHO, Case, empty, kernel, line
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxgen.errors import PtxgenError, UsageError
from ptxgen.executing import Buffer, Launch, Scalar
from ptxgen.executing.emulator import Emulator, Stepper
from ptxgen.ptx import parse, print_statement
from ptxgen.ptx.tree import Directive, Variable

DOCS = Path(__file__).parents[2] / "docs" / "emulator.md"
LOOP = kernel("""
mov.u32 %r10, 0;
$loop:
add.u32 %r10, %r10, 1;
setp.lt.u32 %p1, %r10, %r2;
@%p1 bra $loop;
st.global.u32 [%rd2], %r10;
""")


def line_of(ptx: str, text: str) -> int:
    return next(n for n, row in enumerate(ptx.splitlines(), 1) if text in row)


def grown(*statements: str, before: str = WHO, threads: int = 8, params: str = "") -> Stepper:
    stepper = Stepper(f"{HEADER}.visible .entry k({params})\n{{\n{REGISTERS}{before}", line(threads), [])
    for statement in statements:
        stepper.append(statement)
        stepper.go_on()
    return stepper


def test_a_loop_line_by_line() -> None:
    stepper = Stepper(LOOP, line(4), [empty(4)])
    add = line_of(LOOP, "add.u32 %r10")
    assert stepper.run_to(add)
    assert stepper.register("%r10").tolist() == [[0, 0, 0, 0]]
    assert stepper.lines().tolist() == [[add] * 4]
    assert stepper.run_to(add)
    assert stepper.register("%r10").tolist() == [[1, 1, 1, 1]]
    assert stepper.lines().tolist() == [[0, 0, add, add]]
    assert stepper.run_to(line_of(LOOP, "st.global"))
    assert stepper.run_to(add) is False
    assert stepper.finished
    outcome = stepper.finish()
    assert outcome.ok
    assert outcome.buffers[0].tolist() == [1, 1, 2, 3]


def test_run_to_stops_lanes_that_jump_back_from_behind() -> None:
    stepper = Stepper(LOOP, line(4), [empty(4)])
    assert stepper.run_to(line_of(LOOP, "setp.lt"))
    assert stepper.run_to(line_of(LOOP, "add.u32 %r10"))
    assert stepper.register("%r10").tolist() == [[1, 1, 1, 1]]


def test_a_line_without_a_statement() -> None:
    stepper = Stepper(LOOP, line(4), [empty(4)])
    with pytest.raises(UsageError, match="no statement") as error:
        stepper.run_to(1)
    assert "the next that has one" in error.value.fix
    with pytest.raises(UsageError):
        stepper.run_to(10**6)


@pytest.mark.parametrize(("type_name", "constant", "dtype", "value"), [
    ("pred", None, "?", True), ("u32", "7", "u4", 7), ("s32", "-7", "i4", -7), ("b16", "9", "u2", 9),
    ("f32", "0f3FC00000", "f4", 1.5), ("f64", "0dBFF8000000000000", "f8", -1.5), ("u64", "5", "u8", 5),
    ("s16", "-3", "i2", -3),
])
def test_registers_in_their_declared_types(type_name: str, constant: str | None, dtype: str, value: Any) -> None:
    move = f"mov.{type_name} x, {constant};" if constant else "setp.eq.u32 x, 1, 1;"
    stepper = grown(f".reg .{type_name} x;", move, threads=5)
    found = stepper.register("x")
    assert (found.dtype, found.shape) == (np.dtype(dtype), (1, 5))
    assert (found == value).all()
    assert stepper.written("x").all()
    found[:] = 0
    assert (stepper.register("x") == value).all(), "a copy"


def test_names_that_are_no_registers() -> None:
    stepper = grown("mov.u32 %r10, 1;")
    for name in ("%r64", "%q", "", "k"):
        with pytest.raises(UsageError):
            stepper.register(name)
    assert not stepper.written("%r63").any()
    with pytest.raises(UsageError):
        stepper.memory("nothing")


def test_memory_by_name() -> None:
    ptx = kernel("""mov.u32 %r11, tile; shl.b32 %r12, %r2, 2; add.u32 %r11, %r11, %r12; st.shared.u32 [%r11], %r1;
    st.local.u16 [mine], %rs1; st.global.u32 [%rd2], %r1;
    ld.const.u32 %r9, [table+4];""", ".param .u64 out, .param .f32 a",
    module=".shared .align 4 .b32 tile[4]; .const .s32 table[2] = {-5, 6}; .global .f32 spare[3];",
    before=".local .u16 mine[2]; mov.u16 %rs1, 7;" + WHO + OUT)
    stepper = Stepper(ptx, line(4, 2), [Buffer(np.zeros((2, 4), "i4")), Scalar("f32", 2.5)])
    assert stepper.go_on()
    assert stepper.memory("out").tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert stepper.memory("out").dtype == np.dtype("i4")
    assert stepper.memory("tile").tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert stepper.memory("mine").shape == (2, 4, 2)
    assert (stepper.memory("mine")[..., 0] == 7).all()
    assert stepper.memory("table").tolist() == [-5, 6]
    assert stepper.memory("spare").dtype == np.dtype("f4")
    assert stepper.memory("a").tolist() == [2.5]
    assert stepper.raw("shared", 1024, "u4", 2, block=1).tolist() == [4, 5]
    for space, address, count in (("shared", 1024, 5), ("nowhere", 0, 1), ("global", 0, 1), ("shared", 1024, -1)):
        with pytest.raises(UsageError):
            stepper.raw(space, address, "u4", count)
    with pytest.raises(UsageError):
        stepper.raw("shared", 1024, "u4", 1, block=2)


def test_save_and_restore_as_often_as_wanted() -> None:
    stepper = grown("mov.u32 %r10, 1;")
    state = stepper.save()
    for factor in (3, 5):
        stepper.append(f"mul.lo.u32 %r10, %r10, {factor};")
        stepper.append("mov.u32 %r11, 4;")
        assert stepper.go_on()
        assert (stepper.register("%r10") == factor).all()
        stepper.restore(state)
        assert (stepper.register("%r10") == 1).all()
        assert not stepper.written("%r11").any()
    stepper.append("ret;")
    stepper.go_on()
    assert stepper.finished
    stepper.restore(state)
    assert not stepper.finished


def test_branches_to_labels_that_come_later() -> None:
    stepper = grown("mov.u32 %r10, 0;", "setp.lt.u32 %p1, %r2, 3;", "@%p1 bra $less;", "add.u32 %r10, %r10, 5;")
    assert stepper.register("%r10").tolist() == [[0, 0, 0, 5, 5, 5, 5, 5]]
    with pytest.raises(UsageError, match=r"\$less"):
        stepper.finish()
    state = stepper.save()
    for _ in range(2):
        stepper.append("add.u32 %r10, %r10, 5;")
        stepper.append("$less:")
        stepper.append("add.u32 %r10, %r10, 1;")
        assert stepper.go_on()
        assert stepper.register("%r10").tolist() == [[1, 1, 1, 11, 11, 11, 11, 11]]
        assert stepper.finish().ok
        stepper.restore(state)
    assert stepper.register("%r10").tolist() == [[0, 0, 0, 5, 5, 5, 5, 5]]
    stepper.append("$less:")
    with pytest.raises(UsageError, match="there already"):
        stepper.append("$less:")


def test_states_of_several_branches_of_the_text() -> None:
    """Each has the statements, registers and labels of its own, in whatever order they are restored."""
    stepper = grown("mov.u32 %r10, 0;", "setp.lt.u32 %p1, %r2, 3;", "@%p1 bra $less;", "add.u32 %r10, %r10, 5;")
    states = {}
    start = stepper.save()
    for name, statements in {
        "placed": ("$less:", "add.u32 %r10, %r10, 1;"), "open": ("mul.lo.u32 %r10, %r10, 3;",),
        "declared": ("$less:", ".reg .b32 %mine;", "mov.u32 %mine, 7;", "add.u32 %r10, %r10, %mine;"),
    }.items():
        stepper.restore(start)
        for statement in statements:
            stepper.append(statement)
        stepper.go_on()
        states[name] = stepper.save()
    for name in ("declared", "open", "placed", "open", "declared", "placed"):
        stepper.restore(states[name])
        if name == "open":
            stepper.append("$less:")
        stepper.append("add.u32 %r10, %r10, 100;")
        assert stepper.go_on()
        low, high = {"declared": (107, 112), "open": (100, 115), "placed": (101, 106)}[name]
        assert stepper.register("%r10").tolist() == [[low] * 3 + [high] * 5]
        assert stepper.finish().ok
    for other in (None, grown("mov.u32 %r10, 0;").save()):
        with pytest.raises(UsageError, match="no state of this stepper"):
            stepper.restore(other)


def test_a_loop_that_grows() -> None:
    stepper = grown("mov.u32 %r10, 0;", "$again:", "add.u32 %r10, %r10, 1;", "setp.lt.u32 %p1, %r10, %r2;",
                    "@%p1 bra $again;")
    assert stepper.register("%r10").tolist() == [[1, 1, 2, 3, 4, 5, 6, 7]]


def test_barriers_wait_for_threads_that_wait_for_a_label() -> None:
    stepper = grown("setp.lt.u32 %p1, %r2, 3;", "@%p1 bra $there;", "bar.sync 0;", "mov.u32 %r10, 1;")
    assert not stepper.stopped
    assert not stepper.written("%r10").any()
    barrier = stepper.lines()[0, 7]
    for statement in ("bra $end;", "$there:", "bar.sync 0;", "$end:"):
        stepper.append(statement)
    assert stepper.go_on()
    assert stepper.written("%r10").tolist() == [[False] * 3 + [True] * 5]
    assert barrier == stepper.lines()[0, 0] - 6


@pytest.mark.parametrize("statement", [
    "add.u32 %r1, %r2;", "add.u32 %r1, %r2, %q;", "nonsense;", "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [g, {%r1}];",
    ".shared .b32 tile[4];", "{ .local .b32 mine[4]; }", "call nothing;", "add.u32 %r1 %r2", "", "@%q bra $new;",
    "bra %r1, %r2;", "ret; ret;", "}",
])
def test_statements_that_are_refused_leave_the_kernel_as_it_was(statement: str) -> None:
    stepper = grown("mov.u32 %r10, 1;")
    before = len(stepper.program.steps)
    with pytest.raises(PtxgenError):
        stepper.append(statement)
    assert len(stepper.program.steps) == before
    stepper.append("add.u32 %r10, %r10, %r2;")
    assert stepper.go_on()
    assert stepper.register("%r10").tolist() == [list(range(1, 9))]
    assert stepper.finish().ok


def test_faults_stop_and_restore_leads_back() -> None:
    stepper = grown("mov.u64 %rd1, 0;")
    state = stepper.save()
    number = stepper.append("ld.global.u32 %r10, [%rd1];")
    assert stepper.go_on() is False
    assert stepper.stopped
    assert [(fault.kind, fault.line) for fault in stepper.faults] == [("out-of-bounds", number)]
    with pytest.raises(UsageError, match="ended the launch"):
        stepper.go_on()
    assert stepper.finish().ok is False
    stepper.restore(state)
    assert stepper.faults == ()
    stepper.append("add.u32 %r10, %r11, 1;")
    assert stepper.go_on()
    assert [fault.kind for fault in stepper.faults] == ["uninitialised-register"]


def test_launches_that_cannot_be_stepped_through() -> None:
    for launch in (line(0), line(1025), line(1024, 65), Launch((1, 1, 1), (1, 1, 1), 1 << 20)):
        with pytest.raises(UsageError):
            Stepper(LOOP, launch, [empty(4)])
    with pytest.raises(UsageError):
        Stepper(LOOP, line(4), [])
    with pytest.raises(PtxgenError):
        Stepper(LOOP.replace("{", "", 1), line(4), [empty(4)])


def _statements(case: Case) -> tuple[str, list[str]]:
    """The case's text up to the declarations of its kernel, and the statements after them."""
    function = parse(case.ptx).entries()[0]
    body = function.body or ()
    declared = [s for s in body if isinstance(s, Directive) or (isinstance(s, Variable) and s.space != "reg")]
    head = case.ptx[: case.ptx.index("{", case.ptx.index(".entry k(")) + 1]
    return head + "".join(map(print_statement, declared)), [print_statement(s) for s in body if s not in declared]


@pytest.mark.parametrize("case", [c for c in CASES if "call " not in c.ptx and "call." not in c.ptx],
                         ids=lambda case: case.name)
def test_grown_kernels_do_what_whole_ones_do(case: Case) -> None:
    """Every case of the executors' contract, one statement after the other, each run before the next comes."""
    if "{ .reg" in case.ptx or "brx" in case.ptx:
        whole = Stepper(case.ptx, case.launch, case.arguments)
        outcome = whole.finish()
    else:
        head, statements = _statements(case)
        stepper = Stepper(head, case.launch, case.arguments)
        for statement in statements:
            stepper.append(statement)
            # Who spins for a lock waits in vain for the one who stands at the end and is to release it.
            assert "spin" in case.name or stepper.go_on(), stepper.faults
        outcome = stepper.finish()
    assert outcome.ok, outcome.faults
    for number, expected in case.expected.items():
        np.testing.assert_array_equal(outcome.buffers[number].view(expected.dtype), expected)


@given(st.lists(st.sampled_from(["add.u32 %r10, %r10, %r2;", "mul.lo.u32 %r10, %r10, 3;", "xor.b32 %r11, %r10, %r2;",
                                 "setp.lt.u32 %p1, %r11, 9;", "@%p1 add.u32 %r10, %r11, 1;"]), max_size=12),
       st.integers(0, 12))
@settings(max_examples=30, deadline=None)
def test_what_is_restored_is_what_was_saved(statements: list[str], at: int) -> None:
    start = ("mov.u32 %r10, 1;", "mov.u32 %r11, 2;", "setp.eq.u32 %p1, 1, 2;")
    stepper = grown(*start, *statements[:at])
    state = stepper.save()
    ends = []
    for _ in range(2):
        for statement in statements[at:]:
            stepper.append(statement)
        assert stepper.go_on()
        ends.append(stepper.register("%r10"))
        stepper.restore(state)
    np.testing.assert_array_equal(*ends)
    np.testing.assert_array_equal(stepper.register("%r10"), grown(*start, *statements[:at]).register("%r10"))


def test_the_example_of_the_documentation_runs() -> None:
    section = DOCS.read_text().partition("\n## Stepping\n")[2]
    (example,) = re.findall(r"((?:^    .*\n|^\n)+)", section.partition("\n## ")[0], re.M)[:1]
    names: dict[str, Any] = {}
    exec("\n".join(row[4:] for row in example.splitlines()), names)
    assert names["outcome"].ok
    assert Emulator().run(names["text"] + "\tret;\n}\n", None, names["launch"], names["arguments"]).ok
