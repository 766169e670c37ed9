"""The way home: kernels close from anywhere, within the spec's limits, or the spec is refused with a reason."""

from __future__ import annotations

from random import Random

import pytest

from ptxgen.assembling import Ptxas, find_ptxas
from ptxgen.errors import PtxgenError
from ptxgen.semantics import Level, NoWayHome, plan_closing, step
from ptxgen.semantics.contract import matches_prefix
from ptxgen.spec import load_spec
from tests.semantics.kernels_and_walks import EXAMPLES, TABLE, kernels, limited, start, states, walk

NAMES = sorted(path.stem for path in EXAMPLES.glob("*.toml"))


@pytest.fixture(scope="module")
def ptxas() -> Ptxas:
    try:
        return find_ptxas()[0]
    except PtxgenError as error:
        pytest.skip(f"no ptxas: {error}")


def _opcodes(lines: list[str]) -> list[str]:
    words = (line.split() for line in lines if line.startswith("\t"))
    return [(w[1] if w[0].startswith("@") else w[0]).rstrip(";") for w in words]


@pytest.mark.parametrize("seed", range(12))
def test_walks_that_go_home_assemble(seed: int, ptxas: Ptxas) -> None:
    random = Random(seed)
    kernel = random.choice(kernels())
    level = (Level.SCOPED, Level.TYPESTATE, Level.FULL)[seed % 3]
    reached = states(kernel, level)
    place = random.randrange(len(reached) - 1)
    passed = walk(reached[place], 12, random)
    state = passed[-1][0]
    lines = [*kernel.lines()[:place], *(line for _, line in passed if line)]
    if not state.closed:
        lines += plan_closing(state).lines
    spec = load_spec(kernel.spec)
    arch = spec.target.arch[0]
    assembly = ptxas.assemble(spec.header(arch, TABLE) + "".join(lines), arch)
    assert assembly.ok, assembly.messages


@pytest.mark.parametrize("name", NAMES)
def test_the_shortest_kernel_assembles(name: str, ptxas: Ptxas) -> None:
    spec = load_spec(EXAMPLES / f"{name}.toml")
    arch = spec.target.arch[0]
    plan = plan_closing(start(spec, Level.FULL))
    assembly = ptxas.assemble(spec.header(arch, TABLE) + "".join(plan.lines), arch)
    assert assembly.ok, assembly.messages


@pytest.mark.parametrize(
    "required", ["fma", "bar.sync", "shfl.sync", "atom", "redux.sync", "vote", "ld.global.nc", "cvt", "mad.lo", "ex2"]
)
@pytest.mark.parametrize("name", ["saxpy", "softmax", "histogram"])
def test_what_is_required_is_written(name: str, required: str) -> None:
    state = start(limited(name, f'require = ["{required}"]'), Level.FULL)
    plan = plan_closing(state)
    assert any(matches_prefix(opcode, required) for opcode in _opcodes(plan.lines))
    for line in plan.lines:
        state = step(state, line)
    assert state.closed
    assert state.fulfilled()


@pytest.mark.parametrize("forbidden", ["add", "max", "mad", "mul", "setp", "fma", "st.global.f32", "mov.f32"])
@pytest.mark.parametrize("name", ["saxpy", "vector_add", "half_add", "hypot"])
def test_what_is_forbidden_is_not(name: str, forbidden: str) -> None:
    plan = plan_closing(start(limited(name, f'forbid = ["{forbidden}"]'), Level.FULL))
    assert not any(matches_prefix(opcode, forbidden) for opcode in _opcodes(plan.lines))


@pytest.mark.parametrize(("register_class", "count"), [("b64", 3), ("f32", 2)])
def test_too_few_registers_are_named(register_class: str, count: int) -> None:
    state = start(limited("saxpy", f"declare = {{ {register_class} = {count} }}"), Level.FULL)
    with pytest.raises(NoWayHome, match=register_class) as refusal:
        plan_closing(state)
    assert f"declare.{register_class}" in refusal.value.fix


@pytest.mark.parametrize(
    "forbidden", ['["st"]', '["st.global"]', '["ld.param"]', '["cvta"]', '["add", "max", "min", "sub", "mul"]']
)
def test_what_cannot_be_met_is_refused(forbidden: str) -> None:
    with pytest.raises(NoWayHome):
        plan_closing(start(limited("vector_add", f"forbid = {forbidden}"), Level.FULL))


def test_a_requirement_that_is_forbidden_is_refused() -> None:
    with pytest.raises(PtxgenError):
        plan_closing(start(limited("saxpy", 'require = ["fma"]\nforbid = ["fma"]'), Level.FULL))


def test_a_requirement_the_target_lacks_is_refused() -> None:
    spec = limited("saxpy", 'require = ["redux.sync"]', arch="sm_75")
    with pytest.raises(PtxgenError, match="redux"):
        plan_closing(start(spec, Level.FULL))
