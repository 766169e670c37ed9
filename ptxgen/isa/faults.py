"""What ptxas is known to make wrong code of, from `assembler-faults.toml`: forms, and what must come together."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from ptxgen.data import data_folder
from ptxgen.isa.model import Expansion, Operand
from ptxgen.isa.problems import TableError
from ptxgen.isa.surroundings import parse_toml
from ptxgen.isa.table import Table, load_table

Circumstance = Literal["guard", "constant", "position", "carry", "beside"]

_FILE = "assembler-faults.toml"
_NEEDED = frozenset({"instructions", "circumstance", "what", "instead", "ptxas"})
_KEYS = _NEEDED | {"words", "types", "written", "read", "beside", "optimised"}
_WORD, _KEPT = (1 << 32) - 1, (1 << 16) - 1
_NOT_CALLED = frozenset({"approx", "full"})


@dataclass(frozen=True, slots=True)
class AssemblerFault:
    """One row. An empty set of words or types does not matter; `optimised`: only with optimisation."""

    instructions: frozenset[str]
    words: frozenset[str]
    types: frozenset[str]
    written: frozenset[str]
    read: frozenset[str]
    circumstance: Circumstance
    beside: frozenset[str]
    optimised: bool
    what: str
    instead: str
    ptxas: tuple[str, ...]

    def concerns(self, expansion: Expansion) -> bool:
        """Whether the form is one of those, whatever stands around it."""
        if expansion.name not in self.instructions:
            return False
        result = _first(expansion, "write")
        source = _first(expansion, "read")
        return (
            (not self.words or not self.words.isdisjoint(expansion.opcode.split(".")))
            and (not self.types or expansion.type in self.types)
            and (not self.written or result in self.written)
            and (not self.read or source in self.read)
        )

    def is_called(self, expansion: Expansion, table: Table) -> bool:
        """Whether this is one of `beside` that is made of a call."""
        if expansion.name not in self.beside or not _NOT_CALLED.isdisjoint(expansion.opcode.split(".")):
            return False
        known = table.types.get(expansion.type)
        return known is not None and known.kind == "float"


def cut_amount(amount: int) -> bool:
    """Whether a shift of 16 bits by a constant differs when 16 bits of the constant count (of 32, as they should)."""
    return min(amount & _WORD, 16) != min(amount & _KEPT, 16)


def faults_of(expansion: Expansion) -> tuple[AssemblerFault, ...]:
    """The faults that a form can have, in the order of the file."""
    return tuple(fault for fault in _by_instruction().get(expansion.name, ()) if fault.concerns(expansion))


def circumstances(expansion: Expansion) -> frozenset[Circumstance]:
    """What must not come together with a form: the one rule of masks, checker and fuzzing."""
    return frozenset(fault.circumstance for fault in faults_of(expansion))


def faulty_names(circumstance: Circumstance) -> frozenset[str]:
    """Instructions some form of which goes wrong there."""
    found = [fault.instructions for fault in known_faults() if fault.circumstance == circumstance]
    return frozenset().union(*found)


@functools.cache
def known_faults() -> tuple[AssemblerFault, ...]:
    """The shipped rows."""
    return read_faults(data_folder("isa"), load_table())


@functools.cache
def _by_instruction() -> Mapping[str, tuple[AssemblerFault, ...]]:
    rows = known_faults()
    names = {name for row in rows for name in row.instructions}
    return {name: tuple(row for row in rows if name in row.instructions) for name in names}


def read_faults(folder: Path, table: Table) -> tuple[AssemblerFault, ...]:
    """The rows of a folder. Raises TableError for a file that is missing or wrong, naming the row."""
    path = folder / _FILE
    if not path.is_file():
        raise TableError(f"the table's file {_FILE} is missing", where=str(path))
    data = parse_toml(path.read_text(encoding="utf-8"), str(path))
    if data.keys() != {"fault"} or not isinstance(data["fault"], list):
        raise TableError(f"{_FILE} holds [[fault]] and nothing else", where=str(path))
    rows: list[AssemblerFault] = []
    for number, entry in enumerate(data["fault"], 1):
        try:
            row = _read(entry, table)
            if row in rows:
                raise ValueError("it stands twice")
            rows.append(row)
        except ValueError as error:
            raise TableError(f"fault {number} in {_FILE} is wrong", where=str(path), why=str(error)) from None
    return tuple(rows)


def _read(entry: Any, table: Table) -> AssemblerFault:
    if not isinstance(entry, dict):
        raise ValueError("it is no table")
    if odd := (entry.keys() - _KEYS) | (_NEEDED - entry.keys()):
        raise ValueError(f"unknown or missing key {min(odd)!r}")
    optimised = entry.get("optimised", False)
    texts = {key: value for key, value in entry.items() if key != "optimised"}
    if not isinstance(optimised, bool) or not all(isinstance(value, str) and value for value in texts.values()):
        raise ValueError("`optimised` is true or false, everything else a text")
    circumstance = texts["circumstance"]
    if circumstance not in get_args(Circumstance):
        raise ValueError(f"the circumstance {circumstance!r} is none of {', '.join(get_args(Circumstance))}")
    if (circumstance == "beside") != ("beside" in texts):
        raise ValueError("`beside` goes with that circumstance, and only with it")
    listed = {key: frozenset(texts.get(key, "").split()) for key in
              ("instructions", "words", "types", "written", "read", "beside")}  # fmt: skip
    for kind, allowed, found in (
        ("instruction", table.instructions.keys(), listed["instructions"] | listed["beside"]),
        ("modifier", table.modifiers.keys(), listed["words"]),
        ("type", table.types.keys(), listed["types"] | listed["written"] | listed["read"]),
    ):
        if unknown := found - allowed:
            raise ValueError(f"unknown {kind} {min(unknown)!r}")
    row = AssemblerFault(
        **listed, circumstance=circumstance, optimised=optimised,
        what=texts["what"], instead=texts["instead"], ptxas=tuple(texts["ptxas"].split()),
    )  # fmt: skip
    for name in row.instructions:
        if not any(row.concerns(expansion) for expansion in table.expansions(name)):
            raise ValueError(f"no form of {name!r} is meant")
    return row


def _first(expansion: Expansion, access: str) -> str:
    """The type of the first operand that is written, or read."""
    operands: list[Operand] = [part for operand in expansion.operands for part in operand.parts or (operand,)]
    return next((operand.type for operand in operands if operand.access == access), "")
