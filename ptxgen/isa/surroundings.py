"""What surrounds the instructions: types, state spaces, targets, versions, special registers, words."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast, get_args

from ptxgen.isa.conditions import parse_availability
from ptxgen.isa.model import Availability, Feature, RegisterClass, SpecialRegister, Target, Type, TypeKind, Version
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
    features: Mapping[str, Feature]                  # directives with their dot, and others
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
        reserved_words=_read(folder, "words.toml", lambda t: _words(t["reserved"])),
        features=_read(folder, "directives.toml", _features),
        meant=_read(folder, "words.toml", lambda t: MappingProxyType(dict(t["meant"]))),
        modifiers=modifiers,
        repeatable=_read(folder, "modifiers.toml", lambda t: _known(t, "repeatable", t.get("repeatable", ""))),
        ignored=_read(
            folder, "modifiers.toml", lambda t: tuple(_known(t, "ignored", text) for text in t.get("ignored", ()))
        ),
        profile=_read(folder, "profile.toml", _profile),
        profile_registers=_read(folder, "profile.toml", lambda t: tuple(t["special_registers"])),
    )


class _EntryError(ValueError):
    """One entry of a file is wrong."""

    def __init__(self, entry: str, why: str) -> None:
        super().__init__(why)
        self.entry = entry


def parse_toml(text: str, where: str) -> dict[str, Any]:
    """Raises TableError with the line for what is no TOML, keys that stand twice among it."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        at = int(line.group(1)) if line else text.count("\n") + 1
        raise TableError("this is no TOML", where=f"{where}:{at}", why=str(error)) from None


def _read(folder: Path, name: str, build: Any) -> Any:
    path = folder / name
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise TableError(f"the table's file {name} cannot be read", where=str(path), why=str(error)) from None
    table = parse_toml(text, str(path))
    try:
        return build(table)
    except _EntryError as error:
        where = f"{path}:{_line_of(error.entry, text)}"
        raise TableError(f"the entry {error.entry!r} is wrong", where=where, why=str(error)) from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        why = f"there is no {error}" if isinstance(error, KeyError) else str(error)
        raise TableError(f"the table's file {name} is wrong", where=f"{path}:1", why=why) from None


def _line_of(entry: str, text: str) -> int:
    """Where the entry is said: its key, or the line that has it as a value."""
    key = re.search(rf'^\s*(\[+\s*([\w-]+\.)*)?"?{re.escape(entry)}"?\s*[=\]]', text, re.MULTILINE)
    found = key or re.search(rf"(?<![\w.]){re.escape(entry)}(?!\w)", text)
    return text.count("\n", 0, found.end()) + 1 if found else 1


@contextmanager
def _entry(name: str, said: Any = None, keys: str = "") -> Iterator[None]:
    """What goes wrong inside is told of this entry; with `keys`, it may have no others."""
    try:
        if keys and (unknown := said.keys() - set(keys.split())):
            raise ValueError(f"unknown key {min(unknown)!r}")
        yield
    except _EntryError:
        raise
    except KeyError as error:
        raise _EntryError(name, f"{error} is missing") from None
    except (TypeError, ValueError, AttributeError) as error:
        raise _EntryError(name, str(error)) from None


def _features(table: dict[str, Any]) -> Mapping[str, Feature]:
    """`name = { since, summary }` under [directives], without their dot, and [others]."""
    found = {}
    for dot, group in ((".", "directives"), ("", "others")):
        for name, entry in table[group].items():
            with _entry(name, entry, "since summary"):
                since = parse_availability(entry["since"])
                found[dot + name] = Feature(dot + name, since, entry["summary"])
    return MappingProxyType(found)


def _words(text: str) -> frozenset[str]:
    words = text.split()
    for word in words:
        with _entry(word):
            if words.count(word) > 1:
                raise ValueError("it stands twice")
    return frozenset(words)


def _types(table: dict[str, Any]) -> Mapping[str, Type]:
    """`name = "bits kind since [noreg]"`."""
    found = {}
    for kind, entries in table.items():
        with _entry(kind):
            if kind not in get_args(TypeKind):
                raise ValueError(f"{kind!r} is no kind of type")
        for name, text in entries.items():
            with _entry(name):
                if name in found:
                    raise ValueError("it stands twice")
                bits, _, rest = text.partition(" ")
                register = not rest.endswith(" noreg")
                since = parse_availability(rest.removesuffix(" noreg"))
                found[name] = Type(name, int(bits), cast(TypeKind, kind), since, register)
    return MappingProxyType(found)


def _spaces(table: dict[str, Any]) -> Mapping[str, Space]:
    found = {}
    for name, entry in table.items():
        with _entry(name, entry, "since summary"):
            found[name] = Space(name, parse_availability(entry["since"]), entry["summary"])
    return MappingProxyType(found)


def _targets(table: dict[str, Any]) -> Mapping[str, Target]:
    found = {}
    for name, text in table["targets"].items():
        with _entry(name):
            digits = name.removeprefix("sm_").rstrip("af")
            variant = name.removeprefix("sm_")[len(digits):]
            version, _, family = text.partition(" family ")
            found[name] = Target(name, int(digits), variant, int(family or digits), Version.parse(version))
    return MappingProxyType(found)


def _special_registers(table: dict[str, Any]) -> Mapping[str, SpecialRegister]:
    """`name = "type since summary"`; `<0-7>` in a name stands for each number, `.<xyzw>` for each component."""
    found = {}
    for name, entry in table["registers"].items():
        with _entry(name, entry, "type since summary"):
            since = parse_availability(entry["since"])
            for full in _spread(name):
                if full in found:
                    raise ValueError(f"{full} stands twice")
                found[full] = SpecialRegister(full, entry["type"], since, entry["summary"])
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
    found = {}
    for name, entry in table["classes"].items():
        with _entry(name, entry, "prefix default"):
            found[name] = RegisterClass(name, entry["prefix"], entry["default"])
    return MappingProxyType(found)


def _modifiers(table: dict[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for group in table.values():
        for word, meaning in group.items() if isinstance(group, dict) else ():
            with _entry(word):
                if word in found:
                    raise ValueError(f"{word!r} stands twice")
            found[word] = meaning
    return found


def _known(table: dict[str, Any], key: str, text: str) -> frozenset[str]:
    words = frozenset(word.removeprefix(".") for word in text.split())
    if unknown := words - _modifiers(table).keys():
        raise ValueError(f"`{key}` names {min(unknown)!r}, which is no modifier")
    return words


def _profile(table: dict[str, Any]) -> tuple[ProfileGroup, ...]:
    groups = []
    for number, entry in enumerate(table["group"], 1):
        with _entry(entry.get("title", f"group {number}"), entry, "title opcodes operands without"):
            opcodes, operands = tuple(entry["opcodes"]), tuple(entry.get("operands", ()))
            groups.append(ProfileGroup(entry["title"], opcodes, operands, frozenset(entry.get("without", ()))))
    return tuple(groups)
