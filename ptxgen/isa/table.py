"""The table as the other rooms see it: queries over the rows and what surrounds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path

from ptxgen.data import data_folder
from ptxgen.errors import UsageError
from ptxgen.isa import matching, mending, profiles
from ptxgen.isa.loading import Data, read_folder
from ptxgen.isa.model import (
    Availability,
    Expansion,
    Feature,
    Instruction,
    Kind,
    Mismatch,
    Operand,
    RegisterClass,
    SpecialRegister,
    Target,
    Type,
    Version,
)
from ptxgen.isa.problems import TableError
from ptxgen.isa.reaching import check_reach, check_shadow
from ptxgen.isa.registers import accepts
from ptxgen.isa.rows import Row
from ptxgen.isa.surroundings import Space

#: No form is as long; of what is longer only the beginning is explained: looking for what was meant takes time.
_MOST_WORDS, _MOST_EXPLAINED = 30, 400


@dataclass
class Table:
    """The ISA. Immutable to its users; expansions are made when first asked for and kept."""

    data: Data
    _expansions: dict[str, tuple[Expansion, ...]] = field(default_factory=dict, repr=False)
    _candidates: dict[str, tuple[Expansion, ...]] = field(default_factory=dict, repr=False)
    _offered: tuple[Expansion, ...] | None = field(default=None, repr=False)
    _profiles: dict[tuple[str, Version], tuple[Expansion, ...]] = field(default_factory=dict, repr=False)

    @property
    def version(self) -> str:
        """Hash of the data files, hex."""
        return self.data.version

    @property
    def instructions(self) -> Mapping[str, Instruction]:
        return self.data.instructions

    @property
    def types(self) -> Mapping[str, Type]:
        return self.data.surroundings.types

    @property
    def spaces(self) -> Mapping[str, Space]:
        return self.data.surroundings.spaces

    @property
    def special_registers(self) -> Mapping[str, SpecialRegister]:
        return self.data.surroundings.special_registers

    @property
    def targets(self) -> Mapping[str, Target]:
        return self.data.surroundings.targets

    @property
    def versions(self) -> tuple[Version, ...]:
        return self.data.surroundings.versions

    @property
    def reserved_words(self) -> frozenset[str]:
        """Words that cannot be names: instructions and `WARP_SZ`."""
        return self.data.surroundings.reserved_words

    @property
    def directives(self) -> frozenset[str]:
        """Directives, without their dot."""
        return frozenset(name[1:] for name in self.features if name.startswith("."))

    @property
    def features(self) -> Mapping[str, Feature]:
        """Directives with their dot, and what else is no instruction and not in every version."""
        return self.data.surroundings.features

    @property
    def modifiers(self) -> Mapping[str, str]:
        """Modifier words, without their dot, and what they mean."""
        return self.data.surroundings.modifiers

    @property
    def register_classes(self) -> Mapping[str, RegisterClass]:
        """By type: pred, b16, b32, f32, b64, f64, in the order they are declared."""
        return self.data.surroundings.register_classes

    @property
    def profile_registers(self) -> tuple[str, ...]:
        """Special registers that generated kernels may be offered."""
        return self.data.surroundings.profile_registers

    def target(self, name: str) -> Target:
        """Raises UsageError with the nearest name for a target that the table does not know."""
        if name not in self.targets:
            near = get_close_matches(name, self.targets, n=1, cutoff=0.3)
            raise UsageError(
                f"unknown target {name!r}", why="the table knows no such target",
                fix=f"did you mean {near[0]}?" if near else "write a target like sm_90",
            )
        return self.targets[name]

    def lowest_ptx(self, target_name: str) -> Version:
        """The least `.version` that can name this target."""
        return self.target(target_name).ptx

    def expansions(self, name: str | None = None) -> tuple[Expansion, ...]:
        """Every expansion (of one instruction), canonical modifier order. Raises TableError where two overlap."""
        if name is None:
            return tuple(e for each in self.data.rows for e in self.expansions(each))
        if name not in self._expansions:
            self._expansions[name] = self._expand(name)
        return self._expansions[name]

    def _expand(self, name: str) -> tuple[Expansion, ...]:
        found: dict[tuple[object, ...], Expansion] = {}
        signatures: dict[int, tuple[object, ...]] = {}
        ordered = self._ordered_words(name)
        for row in self.data.rows.get(name, ()):
            for choice in row.choices():
                for expansion in row.build(choice):
                    operands = expansion.operands
                    signature = signatures.get(id(operands))
                    if signature is None:
                        signature = signatures[id(operands)] = tuple(
                            (o.kinds, o.type, o.vector, len(o.parts)) for o in operands
                        )
                    written = [value for value in choice if value]
                    in_order = tuple(value for value in written if value in ordered)
                    key = (in_order, tuple(sorted(written)), signature)
                    other = found.setdefault(key, expansion)
                    if other is not expansion:
                        raise TableError(
                            f"two forms give {expansion.opcode}",
                            where=f"{expansion.form.file}:{expansion.form.line}",
                            why=f"also {other.form.file}:{other.form.line}: {other.form.syntax}",
                        )
        return tuple(found.values())

    def _ordered_words(self, name: str) -> frozenset[str]:
        """Words whose order tells expansions apart: types, and what fits several slots of a row (`.row.col`)."""
        words = set(self.types)
        for row in self.data.rows.get(name, ()):
            every = [value for slot in row.slots for value in slot.values]
            words |= {value for value in every if every.count(value) > 1}
        return frozenset(words)

    def rows(self, opcode: str) -> tuple[Row, ...]:
        """The rows of an instruction, or those that an opcode, or the beginning of one, can belong to."""
        name, *modifiers = opcode.split(".")
        found = self.data.rows.get(name, ())
        whole = tuple(row for row in found if modifiers and row.assign(modifiers) is not None)
        return whole or tuple(row for row in found if row.every_value.issuperset(modifiers))

    def candidates(self, opcode: str) -> tuple[Expansion, ...]:
        """Every expansion with this opcode, modifiers in any order; undocumented forms last (`Form.undocumented`).

        A modifier that is needlessly said again, or means nothing here, makes an undocumented form.
        """
        if opcode not in self._candidates:
            found = (
                *matching.candidates(self.data.rows, opcode),
                *matching.candidates(self.data.undocumented, opcode),
            )
            around = self.data.surroundings
            once = matching.without_idle(self.data.rows, opcode, around.repeatable, around.ignored)
            if not found and once != opcode:
                found = tuple(
                    replace(expansion, form=replace(expansion.form, undocumented=True))
                    for expansion in self.candidates(once)
                )
            self._candidates[opcode] = found
        return self._candidates[opcode]

    def match(self, opcode: str, operand_shapes: Sequence[frozenset[Kind]] | None = None) -> Expansion | Mismatch:
        """The expansion that an instruction means, or why there is none.

        `operand_shapes` says for each written operand what it could be; None matches by opcode alone.
        """
        found = self.candidates(opcode)
        if not found:
            shown = ".".join(opcode[:_MOST_EXPLAINED].split(".")[:_MOST_WORDS])
            return mending.explain_opcode(self.data.rows, shown, self.nearest(shown))
        if operand_shapes is None:
            return found[0]
        for expansion in found:
            if matching.fits(expansion, operand_shapes):
                return expansion
        documented = tuple(expansion for expansion in found if not expansion.form.undocumented)
        return matching.explain_operands(documented or found, operand_shapes, opcode)

    def nearest(self, opcode: str) -> tuple[str, ...]:
        """Opcodes that look most like this one, best first."""
        return matching.nearest(self.data.rows, self.data.surroundings.meant, opcode)

    def accepts(self, operand: Operand, register_type: str) -> bool:
        """May a register of that declared type stand there?"""
        return accepts(self.types, operand, register_type)

    def unavailable(self, expansion: Expansion, arch: str, ptx: Version | str | None = None) -> str | None:
        """None, or the reason why this target and version do not allow it. `ptx` None: the target's lowest."""
        return profiles.unavailable(expansion.availability, self.target(arch), self._version(arch, ptx))

    def exists(self, availability: Availability, arch: str | None, ptx: Version | None) -> bool:
        """Is it there for this target, this version or both? None: for some."""
        if arch is not None:
            return profiles.unavailable(availability, self.target(arch), ptx or self.versions[-1]) is None
        targets = [target for target in self.targets.values() if ptx is None or target.ptx <= ptx]
        version = ptx or self.versions[-1]
        if availability.removed_ptx is not None and ptx is None:
            version = availability.ptx
            targets = [target for target in targets if target.ptx <= version]
        return any(profiles.unavailable(availability, target, version) is None for target in targets)

    def offered(self) -> tuple[Expansion, ...]:
        """Everything the profile selects, whatever the target. Raises TableError for a pattern without effect."""
        if self._offered is None:
            self._offered = profiles.select(self.data.surroundings.profile, self.candidates, self.expansions)
        return self._offered

    def profile(self, arch: str, ptx: Version | str | None = None) -> tuple[Expansion, ...]:
        """What generated kernels may use on this target and version (None: the target's lowest)."""
        target, version = self.target(arch), self._version(arch, ptx)
        key = (arch, version)
        if key not in self._profiles:
            self._profiles[key] = tuple(
                e for e in self.offered() if profiles.unavailable(e.availability, target, version) is None
            )
        return self._profiles[key]

    def _version(self, arch: str, ptx: Version | str | None) -> Version:
        if isinstance(ptx, str):
            return Version.parse(ptx)
        return ptx or self.lowest_ptx(arch)


@lru_cache(maxsize=4)
def load_table(folder: Path | None = None) -> Table:
    """The shipped table, or one from another folder. Raises TableError with file, line and entry."""
    return Table(read_folder(folder or data_folder("isa")))


def check_table(table: Table) -> int:
    """Everything that is too slow to check at each start: overlaps of expansions, reach of the profile, values and
    conditions that never matter, undocumented forms that are documented.

    Returns the number of expansions; raises TableError.
    """
    table.offered()
    for rows in table.data.undocumented.values():
        for row in rows:
            check_reach(row)
            check_shadow(row, table.candidates)
    for rows in table.data.rows.values():
        for row in rows:
            check_reach(row)
    return sum(len(table.expansions(name)) for name in table.instructions)


