"""Which code runs on which device: a table of cases, laws over all targets, and the executor's choice."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from imagined_gpu import LAUNCH, imagined, kernel

from ptxgen.errors import PtxgenError
from ptxgen.executing.emulator.values import scalar_bits
from ptxgen.executing.gpu_arguments import pack_scalar
from ptxgen.executing.gpu_targets import Capability, Code, arch_of, best, runs_on
from ptxgen.executing.protocol import Buffer, Scalar
from ptxgen.isa import load_table

TARGETS = tuple(load_table().targets)
CAPABILITIES: tuple[Capability, ...] = (
    (5, 2), (6, 0), (6, 1), (7, 0), (7, 5), (8, 0), (8, 6), (8, 7), (8, 9), (9, 0), (10, 0), (10, 3), (10, 7),
    (11, 0), (12, 0), (12, 1),
)
#: Target: the capabilities that run a cubin for it, and those that run PTX for it.
RUNS: dict[str, tuple[list[Capability], list[Capability]]] = {
    "sm_52": ([(5, 2)], list(CAPABILITIES)),
    "sm_60": ([(6, 0), (6, 1)], list(CAPABILITIES[1:])),
    "sm_75": ([(7, 5)], list(CAPABILITIES[4:])),
    "sm_80": ([(8, 0), (8, 6), (8, 9)], list(CAPABILITIES[5:])),
    "sm_86": ([(8, 6), (8, 9)], list(CAPABILITIES[6:])),
    "sm_87": ([(8, 7)], list(CAPABILITIES[7:])),
    "sm_90": ([(9, 0)], list(CAPABILITIES[9:])),
    "sm_90a": ([(9, 0)], [(9, 0)]),
    "sm_100": ([(10, 0), (10, 3), (10, 7)], list(CAPABILITIES[10:])),
    "sm_100a": ([(10, 0)], [(10, 0)]),
    "sm_100f": ([(10, 0), (10, 3), (10, 7)], [(10, 0), (10, 3), (10, 7)]),
    "sm_103f": ([(10, 3), (10, 7)], [(10, 3), (10, 7)]),
    "sm_101f": ([], [(11, 0)]),
    "sm_110f": ([(11, 0)], [(11, 0)]),
    "sm_120f": ([(12, 0), (12, 1)], [(12, 0), (12, 1)]),
    "sm_121": ([(12, 1)], [(12, 1)]),
    "compute_80": ([], []),
    "": ([], []),
}


@pytest.mark.parametrize("target", RUNS)
def test_who_runs_what(target: str) -> None:
    cubin, ptx = RUNS[target]
    assert [here for here in CAPABILITIES if runs_on(Code(target, "cubin"), here)] == cubin
    assert [here for here in CAPABILITIES if runs_on(Code(target, "ptx"), here)] == ptx


@pytest.mark.parametrize("here", CAPABILITIES, ids=str)
def test_laws(here: Capability) -> None:
    for target in TARGETS:
        number = int(target[3:].rstrip("af"))
        cubin, ptx = (runs_on(Code(target, form), here) for form in ("cubin", "ptx"))  # type: ignore[arg-type]
        assert ptx or not cubin, f"a device that runs the cubin for {target} runs the PTX that it was made of"
        if number == here[0] * 10 + here[1]:
            assert cubin, f"a device runs what is made for it, {target}"
        if number > here[0] * 10 + here[1]:
            assert not ptx, f"an older device never runs {target}"


@pytest.mark.parametrize(("there", "here", "chosen"), [
    (["cubin sm_80", "cubin sm_90", "cubin sm_90a", "ptx sm_80"], (9, 0), "cubin sm_90a"),
    (["cubin sm_80", "cubin sm_90", "ptx sm_80"], (9, 0), "cubin sm_90"),
    (["cubin sm_80", "ptx sm_80"], (9, 0), "ptx sm_80"),
    (["cubin sm_90a", "ptx sm_80"], (10, 0), "ptx sm_80"),
    (["cubin sm_80", "cubin sm_86", "ptx sm_80"], (8, 9), "cubin sm_86"),
    (["cubin sm_86", "cubin sm_80", "ptx sm_80"], (8, 0), "cubin sm_80"),
    (["cubin sm_100", "cubin sm_100f", "cubin sm_103", "ptx sm_100"], (10, 3), "cubin sm_100f"),
    (["cubin sm_100", "cubin sm_103", "ptx sm_100"], (10, 3), "cubin sm_103"),
    (["cubin sm_100f", "cubin sm_103a", "cubin sm_103f"], (10, 3), "cubin sm_103a"),
    (["cubin sm_100f", "cubin sm_103a", "cubin sm_103f"], (10, 7), "cubin sm_103f"),
    (["cubin sm_100f", "ptx sm_80"], (12, 0), "ptx sm_80"),
    (["cubin sm_80", "ptx sm_90a"], (8, 7), None),
    (["cubin sm_100a", "ptx sm_100a"], (9, 0), None),
    ([], (9, 0), None),
])  # fmt: skip
def test_the_best_of_several(there: list[str], here: Capability, chosen: str | None) -> None:
    codes = [Code(target, form) for form, target in map(str.split, there)]  # type: ignore[arg-type]
    for order in (codes, codes[::-1]):
        found = best(order, here)
        assert (found and f"{found.form} {found.target}") == chosen


def test_names() -> None:
    assert [arch_of(here) for here in ((9, 0), (8, 6), (10, 3))] == ["sm_90", "sm_86", "sm_103"]


# ---------------------------------------------------------------- the executor's choice


def _ran(
    mood: str, targets: tuple[str, ...], refused: tuple[str, ...] = (), target: str = "sm_80"
) -> tuple[float, list[str]]:
    """What the kernel was told of its code (8 for PTX, else the cubin's length), and what was assembled."""
    asked: list[str] = []

    def assemble(ptx: str, arch: str) -> bytes | None:
        asked.append(arch)
        return None if arch in refused else b"cubin of " + arch.encode()

    with closing(imagined(mood, assemble=assemble, targets=targets)) as executor:
        ptx = kernel("form", "u64", target=target)
        outcome = executor.run(ptx, None, LAUNCH, [Buffer(np.zeros(1, np.float32))])
    return float(outcome.buffers[0][0]), asked


@pytest.mark.parametrize(("mood", "targets", "refused", "asked", "length"), [
    ("", (), (), ["sm_90"], 14),
    ("", (), ("sm_90",), ["sm_90"], 8),
    ("", ("sm_80", "sm_90a"), (), ["sm_90a"], 15),
    ("", ("sm_80", "sm_90", "sm_90a"), ("sm_90a",), ["sm_90a", "sm_90"], 14),
    ("", ("sm_80",), (), [], 8),
    ("capability 10.3", ("sm_80", "sm_100f"), (), ["sm_100f"], 16),
    ("capability 8.6", ("sm_80", "sm_90a"), (), ["sm_80"], 14),
    ("capability 12.1", ("sm_80", "sm_90a", "sm_100f"), (), [], 8),
])  # fmt: skip
def test_what_is_assembled(
    mood: str, targets: tuple[str, ...], refused: tuple[str, ...], asked: list[str], length: int
) -> None:
    assert _ran(mood, targets, refused) == (length, asked)


def test_ptx_for_just_this_device_is_assembled_for_it() -> None:
    assert _ran("", (), target="sm_90a") == (15, ["sm_90a"])


def test_nothing_that_fits_is_an_error_that_lists_what_there_is() -> None:
    with pytest.raises(PtxgenError) as caught:
        _ran("", ("sm_100a", "sm_103f"), target="sm_100a")
    assert "compute capability 9.0" in caught.value.what
    assert caught.value.why == "there is: a cubin for sm_100a, a cubin for sm_103f, PTX for sm_100a"
    assert "emulator" in caught.value.fix
    with closing(imagined()) as executor, pytest.raises(PtxgenError, match="nothing of this kernel runs"):
        executor.run(kernel("form", target="sm_100a"), None, LAUNCH, [])


# ---------------------------------------------------------------- scalars


@given(st.data())
def test_scalars_are_packed_as_the_emulator_has_them(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(["u8", "s16", "u32", "s64", "b8", "b64", "f16", "bf16", "f32", "f64", "f16x2",
                                      "bf16x2"]))
    if "f" in kind:
        edges = st.sampled_from([1 + 2**-8, 1 + 2**-8 + 2**-40, 65519.99, 65520.0, 2**-25, 3.4e38, 3.39e38, 2**-140])
        value = data.draw(st.floats() | edges | edges.map(lambda edge: -edge))
    else:
        bits = int(kind[1:])
        low = -(1 << bits - 1) if kind[0] == "s" else 0
        value = data.draw(st.integers(low, low + (1 << bits) - 1))
    packed = pack_scalar(Scalar(kind, value))
    assert int.from_bytes(packed, "little") == scalar_bits(value, kind)
