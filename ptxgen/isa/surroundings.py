"""What surrounds the instructions: types, state spaces, targets, versions, special registers, words."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast, get_args

from ptxgen.isa.conditions import parse_availability
from ptxgen.isa.model import Availability, RegisterClass, SpecialRegister, Target, Type, TypeKind, Version
from ptxgen.isa.problems import TableError


@dataclass(frozen=True, slots=True)
class Space:
    """A state space: whether addresses name it, and since when."""

    name: str
    availability: Availability
    summary: str = ""


@dataclass(frozen=True, slots=True)
class ProfileGroup:
    """One entry of `profile.toml`: opcode patterns, and which operand lists of them."""

    title: str
    opcodes: tuple[str, ...]
    operands: tuple[int, ...] = ()                   # operand counts taken; empty: all
    without: frozenset[str] = frozenset()            # operand lists with one of these kinds stay out


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The data files beside the instructions."""

    types: Mapping[str, Type]
    spaces: Mapping[str, Space]
    targets: Mapping[str, Target]
    versions: tuple[Version, ...]
    special_registers: Mapping[str, SpecialRegister]
    register_classes: Mapping[str, RegisterClass]
    reserved_words: frozenset[str]
    directives: frozenset[str]
    meant: Mapping[str, str]                         # names of other languages, and the instruction meant
    modifiers: Mapping[str, str]
    repeatable: frozenset[str]                       # modifiers that may be said twice where one is meant
    ignored: tuple[frozenset[str], ...]              # and those of which one is passed over where it means nothing
    profile: tuple[ProfileGroup, ...]
    profile_registers: tuple[str, ...]


def read_surroundings(folder: Path) -> Surroundings:
    """Raises TableError for a missing file, a missing key or a value that cannot be read."""
    types = _read(folder, "types.toml", _types)
    modifiers: Mapping[str, str] = _read(folder, "modifiers.toml", lambda t: MappingProxyType(_modifiers(t)))
    if both := types.keys() & modifiers.keys():
        where = str(folder / "modifiers.toml")
        raise TableError(f"{min(both)!r} cannot be a modifier", where=where, why="it is a type of types.toml")
    return Surroundings(
        types=types,
        spaces=_read(folder, "spaces.toml", _spaces),
        targets=_read(folder, "targets.toml", _targets),
        versions=_read(folder, "versions.toml", lambda t: tuple(Version.parse(v) for v in t["versions"])),
        special_registers=_read(folder, "special-registers.toml", _special_registers),
        register_classes=_read(folder, "registers.toml", _register_classes),
        reserved_words=_read(folder, "words.toml", lambda t: frozenset(t["reserved"].split())),
        directives=_read(folder, "words.toml", lambda t: frozenset(t["directives"].split())),
        meant=_read(folder, "words.toml", lambda t: MappingProxyType(dict(t["meant"]))),
        modifiers=modifiers,
        repeatable=_read(folder, "modifiers.toml", lambda t: _known(t, "repeatable", t.get("repeatable", ""))),
        ignored=_read(
            folder, "modifiers.toml", lambda t: tuple(_known(t, "ignored", text) for text in t.get("ignored", ()))
        ),
        profile=_read(folder, "profile.toml", _profile),
        profile_registers=_read(folder, "profile.toml", lambda t: tuple(t["special_registers"])),
    )


def _read(folder: Path, name: str, build: Any) -> Any:
    path = folder / name
    try:
        return build(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise TableError(f"the table's file {name} cannot be read", where=str(path), why=str(error)) from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        why = f"{type(error).__name__}: {error}"
        raise TableError(f"the table's file {name} is wrong", where=str(path), why=why) from None


def _types(table: dict[str, Any]) -> Mapping[str, Type]:
    """`name = "bits kind since [noreg]"`."""
    found = {}
    for kind, entries in table.items():
        if kind not in get_args(TypeKind):
            raise ValueError(f"{kind!r} is no kind of type")
        for name, text in entries.items():
            bits, _, rest = text.partition(" ")
            register = not rest.endswith(" noreg")
            since = parse_availability(rest.removesuffix(" noreg"))
            found[name] = Type(name, int(bits), cast(TypeKind, kind), since, register)
    return MappingProxyType(found)


def _spaces(table: dict[str, Any]) -> Mapping[str, Space]:
    return MappingProxyType(
        {name: Space(name, parse_availability(entry["since"]), entry["summary"]) for name, entry in table.items()}
    )


def _targets(table: dict[str, Any]) -> Mapping[str, Target]:
    found = {}
    for name, text in table["targets"].items():
        digits = name.removeprefix("sm_").rstrip("af")
        variant = name.removeprefix("sm_")[len(digits):]
        version, _, family = text.partition(" family ")
        found[name] = Target(name, int(digits), variant, int(family or digits), Version.parse(version))
    return MappingProxyType(found)


def _special_registers(table: dict[str, Any]) -> Mapping[str, SpecialRegister]:
    """`name = "type since summary"`; `<0-7>` in a name stands for each number, `.<xyzw>` for each component."""
    found = {}
    for name, entry in table["registers"].items():
        for full in _spread(name):
            found[full] = SpecialRegister(full, entry["type"], parse_availability(entry["since"]), entry["summary"])
    return MappingProxyType(found)


def _spread(name: str) -> list[str]:
    before, opened, rest = name.partition("<")
    if not opened:
        return [name]
    inner, _, after = rest.partition(">")
    low, dash, high = inner.partition("-")
    values = [str(n) for n in range(int(low), int(high) + 1)] if dash else list(inner)
    return [f"{before}{value}{after}" for value in values]


def _register_classes(table: dict[str, Any]) -> Mapping[str, RegisterClass]:
    return MappingProxyType(
        {name: RegisterClass(name, entry["prefix"], entry["default"]) for name, entry in table["classes"].items()}
    )


def _modifiers(table: dict[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for group in table.values():
        for word, meaning in group.items() if isinstance(group, dict) else ():
            if word in found:
                raise ValueError(f"the modifier {word!r} stands twice")
            found[word] = meaning
    return found


def _known(table: dict[str, Any], key: str, text: str) -> frozenset[str]:
    words = frozenset(word.removeprefix(".") for word in text.split())
    if unknown := words - _modifiers(table).keys():
        raise ValueError(f"`{key}` names {min(unknown)!r}, which is no modifier")
    return words


def _profile(table: dict[str, Any]) -> tuple[ProfileGroup, ...]:
    return tuple(
        ProfileGroup(
            entry["title"],
            tuple(entry["opcodes"]),
            tuple(entry.get("operands", ())),
            frozenset(entry.get("without", ())),
        )
        for entry in table["group"]
    )
