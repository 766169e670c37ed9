"""What a target and version allow, and what the profile selects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase

from ptxgen.isa.model import Availability, Expansion, Target, Version
from ptxgen.isa.problems import TableError
from ptxgen.isa.surroundings import ProfileGroup


def unavailable(availability: Availability, target: Target, ptx: Version) -> str | None:
    """None, or the first reason: version, target, named targets, removal."""
    if ptx < target.ptx:
        return f"{target.name} needs PTX {target.ptx} or newer"
    if ptx < availability.ptx:
        return f"needs PTX {availability.ptx} or newer"
    if availability.targets:
        if not any(_covers(name, target) for name in availability.targets):
            return f"needs {' or '.join(availability.targets)}"
    elif target.number < availability.sm:
        return f"needs sm_{availability.sm} or newer"
    removed = availability.removed_ptx
    if removed is not None and ptx >= removed and target.number >= availability.removed_sm:
        return f"was removed in PTX {removed} for sm_{availability.removed_sm} and newer"
    return None


def _covers(name: str, target: Target) -> bool:
    """`sm_90a` covers itself; `sm_100f` its family's `a` and `f` targets from its number on; `sm_130` all newer."""
    if name.endswith("a"):
        return target.name == name
    number = int(name[3:].rstrip("f"))
    if not name.endswith("f"):
        return target.number >= number
    return target.variant != "" and number <= target.number and target.family == _family(number)


def _family(number: int) -> int:
    """Families begin at a multiple of ten; sm_101 is the old name of sm_110."""
    return 110 if number == 101 else number // 10 * 10 if number >= 100 else number


def select(
    groups: tuple[ProfileGroup, ...],
    candidates: Callable[[str], tuple[Expansion, ...]],
    expansions: Callable[[str], tuple[Expansion, ...]],
) -> tuple[Expansion, ...]:
    """The expansions of all groups, in order, each once. Raises TableError for a pattern without effect."""
    found: dict[tuple[object, ...], Expansion] = {}
    for group in groups:
        for written in group.opcodes:
            for pattern in spread(written):
                taken = [e for e in _matching(pattern, candidates, expansions) if _wanted(e, group)]
                if not taken:
                    why = f"the pattern is part of {written!r} in the group {group.title!r}"
                    raise TableError(f"{pattern!r} selects nothing", where="isa/profile.toml", why=why)
                for expansion in taken:
                    found.setdefault((expansion.opcode, expansion.operands), expansion)
    return tuple(found.values())


def spread(pattern: str) -> Iterator[str]:
    """`"{a,b}.c"`: `"a.c"`, `"b.c"`."""
    before, opened, rest = pattern.partition("{")
    if not opened:
        yield pattern
        return
    inner, _, after = rest.partition("}")
    for value in inner.split(","):
        yield from spread(before + value + after)


def _matching(
    pattern: str,
    candidates: Callable[[str], tuple[Expansion, ...]],
    expansions: Callable[[str], tuple[Expansion, ...]],
) -> tuple[Expansion, ...]:
    if not set(pattern) & set("*?["):
        return tuple(e for e in candidates(pattern) if e.opcode == pattern and not e.form.undocumented)
    name = pattern.partition(".")[0]
    return tuple(e for e in expansions(name) if fnmatchcase(e.opcode, pattern))


def _wanted(expansion: Expansion, group: ProfileGroup) -> bool:
    if group.operands and len(expansion.operands) not in group.operands:
        return False
    return not any(operand.kinds & group.without for operand in expansion.operands)
