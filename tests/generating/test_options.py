"""Flags win over the spec, and that over the defaults."""

from __future__ import annotations

import pytest

from ptxgen.errors import UsageError
from ptxgen.generating import Flags, resolve_options
from ptxgen.generating.options import RANGES
from ptxgen.spec import Spec, SpecError, parse_spec

from .workshop import SPEC


def test_defaults(spec: Spec) -> None:
    options = resolve_options(Flags(), spec)
    assert (options.model, options.level, options.temperature, options.seed) == (None, "full", 0.2, 0)
    assert (options.candidates, options.repair, options.max_tokens) == (4, 2, 2048)
    assert options.arch == ("sm_80",)


def test_flags_win_over_the_spec(spec: Spec) -> None:
    text = SPEC + '[decode]\nmodel = "m"\nlevel = "typed"\nseed = 7\ntemperature = 0.0\nrepair = 0\n'
    decided = parse_spec(text, spec.path)
    options = resolve_options(Flags(level="none", seed=0), decided)
    assert (options.model, options.level, options.seed) == ("m", "none", 0)
    assert (options.temperature, options.repair) == (0.0, 0)
    assert resolve_options(Flags(arch=("sm_90",)), decided).arch == ("sm_90",)


@pytest.mark.parametrize(
    "flags",
    [
        Flags(level="best"), Flags(executor="cpu"), Flags(temperature=-1), Flags(temperature=float("nan")),
        Flags(candidates=0), Flags(repair=-1), Flags(max_tokens=3), Flags(seed=-1),
        Flags(temperature=float("inf")), Flags(model=""), Flags(model=" "), Flags(arch=("sm_80", "sm_80")),
    ],
)  # fmt: skip
def test_what_cannot_work_is_refused(spec: Spec, flags: Flags) -> None:
    with pytest.raises(UsageError):
        resolve_options(flags, spec)


@pytest.mark.parametrize("name", RANGES)
def test_flags_and_specs_may_say_the_same(spec: Spec, name: str) -> None:
    least, most = RANGES[name]
    for value in (least, most):
        assert getattr(resolve_options(Flags(**{name: value}), spec), name) == value
        parse_spec(f"{SPEC}[decode]\n{name} = {value}\n", spec.path)
    for value in (least - 1, most + 1):
        with pytest.raises(UsageError) as refusal:
            resolve_options(Flags(**{name: value}), spec)
        assert f"--{name.replace('_', '-')} from {least} to {most}" in refusal.value.fix
        with pytest.raises(SpecError):
            parse_spec(f"{SPEC}[decode]\n{name} = {value}\n", spec.path)
