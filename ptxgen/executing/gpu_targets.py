"""Which code a device runs: PTX by its `.target`, cubins by the target that they were assembled for.

Rules as in the PTX manual (`.target`) and the CUDA programming guide (application compatibility): PTX for a plain
target runs on that and every newer device; a cubin for one on devices of the same major version whose minor is not
lower; code for an `a` target on that one device only; code for an `f` target on its family from that member on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ptxgen.isa import load_table

#: Major and minor compute capability of a device.
Capability = tuple[int, int]

#: Systems on a chip, which share no cubins with the other devices of their major version.
_ALONE = frozenset({53, 62, 72, 87, 88, 101, 110})
_TARGET = re.compile(r"sm_(\d+)([af]?)")


@dataclass(frozen=True, slots=True)
class Code:
    """Code there is, or can be had: as a cubin for `target`, or as PTX that says `.target target`."""

    target: str
    form: Literal["cubin", "ptx"]


def arch_of(capability: Capability) -> str:
    """`sm_90` for (9, 0)."""
    return f"sm_{capability[0]}{capability[1]}"


def runs_on(code: Code, capability: Capability) -> bool:
    """Whether a device of that compute capability runs the code. Names that are no targets run nowhere."""
    match = _TARGET.fullmatch(code.target)
    if match is None:
        return False
    number, variant, here = int(match[1]), match[2], capability[0] * 10 + capability[1]
    if variant == "a":
        return number == here
    if variant == "f":
        same = number // 10 == capability[0] or code.form == "ptx"
        return same and number <= here and _family(number) == _family(here)
    if code.form == "ptx":
        return number <= here
    if number in _ALONE or here in _ALONE:
        return number == here
    return number // 10 == capability[0] and number <= here


def _family(number: int) -> int:
    """The family that `f` targets name (100 for 100, 103 and 107), 0 for numbers without one."""
    target = load_table().targets.get(f"sm_{number}f")
    return target.family if target is not None else 0


def best(available: Iterable[Code], capability: Capability) -> Code | None:
    """What to run on that device: a cubin for just it, for its family, for its major version, then PTX; of several
    the newest. None where none runs."""
    fitting = [code for code in available if runs_on(code, capability)]
    return max(fitting, key=_rank, default=None)


def _rank(code: Code) -> tuple[bool, int, int]:
    match = _TARGET.fullmatch(code.target)
    assert match is not None, "what runs has a target's name"
    return code.form == "cubin", ("", "f", "a").index(match[2]), int(match[1])
