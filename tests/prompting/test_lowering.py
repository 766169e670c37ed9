"""Lowering: the steps compute what the expression does, and are instructions of the table."""

from __future__ import annotations

import ast
import math
import struct

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ptxgen.isa import load_table
from ptxgen.prompting.lowering import Lowered, constant, lower
from ptxgen.prompting.outline import outline
from ptxgen.prompting.outline_reductions import lower_for
from ptxgen.prompting.patterns import memory_pattern
from ptxgen.prompting.reductions import plain

from .kernels import Kernel, opcodes, references

TYPES = {"x": "f32", "y": "f32", "a": "f32", "n": "u32"}


def lowered(text: str, kind: str = "f32") -> Lowered | None:
    return lower(ast.parse(text, mode="eval").body, TYPES | {"x": kind, "y": kind, "a": kind}, kind)


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("a * x + y", ["fma.rn.f32 t1, a, x, y"]),
        ("y + a * x", ["fma.rn.f32 t1, a, x, y"]),
        ("x * x + y * y", ["mul.f32 t1, x, x", "fma.rn.f32 t2, y, y, t1"]),
        ("maximum(x, 0)", ["max.f32 t1, x, 0f00000000"]),
        ("maximum(0.0, x)", ["max.f32 t1, x, 0f00000000"]),
        ("np.exp(x)", ["mul.f32 t1, x, 0f3FB8AA3B", "ex2.approx.f32 t2, t1"]),
        ("exp(-x)", ["mul.f32 t1, x, 0fBFB8AA3B", "ex2.approx.f32 t2, t1"]),
        ("1 / x", ["rcp.rn.f32 t1, x"]),
        ("x / y", ["div.rn.f32 t1, x, y"]),
        ("2 * x - 1", ["fma.rn.f32 t1, x, 0f40000000, 0fBF800000"]),
        ("(x - y) * (x - y)", ["sub.f32 t1, x, y", "mul.f32 t2, t1, t1"]),
        ("where(x > y, x, y)", ["setp.gt.f32 p, x, y", "selp.f32 t1, x, y, p"]),
        ("x / n", ["cvt.rn.f32.u32 t1, n", "div.rn.f32 t2, x, t1"]),
        ("hypot(x, y)", ["mul.f32 t1, x, x", "fma.rn.f32 t2, y, y, t1", "sqrt.rn.f32 t3, t2"]),
    ],
)
def test_steps(text, steps):
    found = lowered(text)
    assert found is not None
    assert [str(step) for step in found.steps] == steps


@pytest.mark.parametrize(
    ("text", "kind"),
    [("sum(x)", "f32"), ("x[0]", "f32"), ("arctan(x)", "f32"), ("exp(x)", "f64"), ("x + 1", "f16"), ("x % y", "s32"),
     ("x + y", "u8"), ("x + y", "bf16"), ("x / y", "s32"), ("unknown + x", "f32")],
)
def test_what_is_not_lowered(text, kind):
    assert lowered(text, kind) is None


def test_constants():
    assert constant(1.0, "f32") == "0f3F800000"
    assert constant(-1.0, "f64") == "0dBFF0000000000000"
    assert constant(3, "u32") == "3"


def carry_out(found: Lowered, values: dict[str, float]) -> float:
    """The steps, in double precision."""
    held = dict(values)

    def read(name: str) -> float:
        if name.startswith("0f"):
            return float(struct.unpack(">f", bytes.fromhex(name[2:]))[0])
        return held[name]

    for step in found.steps:
        target, *names = step.operands
        sources = [read(name) for name in names]
        match step.opcode.split("."):
            case "add", *_:
                held[target] = sources[0] + sources[1]
            case "sub", *_:
                held[target] = sources[0] - sources[1]
            case "mul", *_:
                held[target] = sources[0] * sources[1]
            case "fma", *_:
                held[target] = sources[0] * sources[1] + sources[2]
            case ("max" | "min") as name, *_:
                held[target] = max(sources) if name == "max" else min(sources)
            case "neg", *_:
                held[target] = -sources[0]
            case "abs", *_:
                held[target] = abs(sources[0])
            case _:
                raise AssertionError(step.opcode)
    return read(found.result)


LEAVES = st.sampled_from(["x", "y", "a"]) | st.integers(-4, 4).map(lambda n: f"({n}.0)")


def combine(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return (
        st.builds("({} {} {})".format, inner, st.sampled_from("+-*"), inner)
        | st.builds("{}({}, {})".format, st.sampled_from(["maximum", "minimum"]), inner, inner)
        | st.builds("abs({})".format, inner)
        | st.builds("(-{})".format, inner)
    )


@given(st.recursive(LEAVES, combine, max_leaves=8), st.tuples(*[st.integers(-3, 3)] * 3))
def test_steps_compute_the_expression(text, numbers):
    values = dict(zip("xya", map(float, numbers), strict=True))
    found = lowered(text)
    assume(found is not None and found.steps)
    expected = eval(text, {"maximum": max, "minimum": min, "abs": abs}, values)
    assert math.isclose(carry_out(found, values), expected, abs_tol=1e-9)


def test_formulas():
    found = lowered("where(x > y, exp(x), 1 / x)")
    assert found is not None
    assert found.formulas == [
        "t1 = x * 0f3FB8AA3B", "t2 = 2^t1", "t3 = 1 / x", "p = x > y", "t4 = t2 if p else t3",
    ]


@pytest.mark.parametrize("kernel", references(), ids=lambda kernel: kernel.name)
def test_a_reference_carries_out_the_steps_its_prompt_lists(kernel: Kernel):
    """The model learns from references how steps become statements, so every step must be there, in order."""
    table = load_table()
    spec = kernel.spec
    if memory_pattern(spec) not in ("map", "map-2d", "grid-stride"):
        pytest.skip("its outline is more than a formula")
    found = lower_for(plain(spec.expressions[spec.outputs[0].name].tree), spec, spec.outputs[0])
    assert found is not None
    rest = iter(opcodes(kernel.body()))
    for step in found.steps:
        assert table.candidates(step.opcode), step
        assert step.opcode in rest, f"{step} is not in its place"


@pytest.mark.parametrize("kernel", references(), ids=lambda kernel: kernel.name)
def test_every_line_of_an_outline_says_something(kernel: Kernel):
    lines = outline(kernel.spec)
    assert all(line.strip() for line in lines)
    assert len(lines) == 0 or len(lines) >= 3
