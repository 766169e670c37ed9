"""Puts statements before an assembler, many in one module, and finds out what it says of each."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

from ptxgen.isa.conformance_questions import Knowledge
from ptxgen.isa.model import Target, Version
from ptxgen.isa.probing import module
from ptxgen.isa.table import Table

#: Assembles a text for a target: None when it is accepted, else (line or 0, message) pairs, never empty.
Assemble = Callable[[str, str], Sequence[tuple[int, str]] | None]

#: The oldest target that assemblers of CUDA 13 know.
OLDEST = 75
#: Statements in one module: more would only make what is lost by an interrupt larger.
BATCH = 400
_SYNTAX_ERROR = "Parsing error"


def learn(table: Table, assemble: Assemble) -> Knowledge:
    """Which targets the assembler knows, and the newest PTX version it takes."""
    ordered = sorted(table.targets.values(), key=lambda t: (t.number, t.variant))
    known = [t for t in ordered if t.number >= OLDEST]

    def takes(target: Target, version: Version) -> bool:
        return assemble(module([], target.name, version)[0], target.name) is None

    newest = next((version for version in reversed(table.versions) if takes(known[0], version)), known[0].ptx)
    targets = [target for target in known if target.ptx <= newest and takes(target, target.ptx)]
    return Knowledge(tuple(targets), newest)


def judge(statements: Sequence[str], arch: str, version: Version, assemble: Assemble) -> list[str | None]:
    """For each statement None where it is accepted, or the first message about it.

    An assembler lists every fault of meaning, but stops at the first of syntax, and finds some only when there
    are no others: what was not complained of is put before it again until it is accepted. Where no message names
    the line of a statement, the batch is halved.
    """
    verdicts: list[str | None] = [None] * len(statements)
    waiting = [list(range(len(statements)))]
    passed: list[int] = []                           # not complained of, but not accepted yet either
    while waiting or passed:
        if not waiting:
            waiting, passed = [passed], []
        batch = waiting.pop()
        if not batch:
            continue
        text, first = module([statements[index] for index in batch], arch, version)
        messages = assemble(text, arch)
        if messages is None:
            continue
        said = {line - first: message for line, message in reversed(messages) if 0 <= line - first < len(batch)}
        if not said:
            if len(batch) == 1:
                verdicts[batch[0]] = messages[0][1]
            else:
                half = len(batch) // 2
                waiting += [batch[:half], batch[half:]]
            continue
        for at, message in said.items():
            verdicts[batch[at]] = message
        stopped = max(said)
        if _SYNTAX_ERROR in said[stopped]:
            passed += [index for at, index in enumerate(batch[:stopped]) if at not in said]
            waiting.append(batch[stopped + 1 :])
        else:
            passed += [index for at, index in enumerate(batch) if at not in said]
    return verdicts


class Memory:
    """Verdicts of earlier runs, in one file, by assembler, target, version and the statements' text.

    Several processes may use the file at a time. A file that is no database any more begins anew.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._open(path)
        except sqlite3.OperationalError:             # locked, or no place left: no fault of what it holds
            raise
        except sqlite3.DatabaseError:
            self._database.close()
            forget(path)
            self._open(path)

    def _open(self, path: Path) -> None:
        self._database = sqlite3.connect(path, timeout=60, isolation_level=None)
        # what a crash of the machine loses is asked again
        self._database.execute("pragma synchronous = off")
        self._database.execute("pragma journal_mode = wal")
        self._database.execute("create table if not exists verdicts (key blob primary key, said blob) without rowid")

    def recall(self, key: bytes) -> list[str | None] | None:
        row = self._database.execute("select said from verdicts where key = ?", (key,)).fetchone()
        return None if row is None else cast("list[str | None]", json.loads(zlib.decompress(row[0])))

    def keep(self, key: bytes, verdicts: list[str | None]) -> None:
        said = zlib.compress(json.dumps(verdicts).encode())
        self._database.execute("insert or replace into verdicts values (?, ?)", (key, said))


def forget(path: Path) -> None:
    """Removes the file of answers, and those that the database keeps beside it."""
    for each in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
        each.unlink(missing_ok=True)


def remembered(
    statements: Sequence[str], arch: str, version: Version, assemble: Assemble, tool: str, memory: Memory | None
) -> list[str | None]:
    """`judge`, or what it said of exactly these statements before. `tool` names the assembler and its version."""
    if memory is None:
        return judge(statements, arch, version, assemble)
    text, _ = module(statements, arch, version)
    key = hashlib.sha256(f"{tool}\0{text}".encode()).digest()
    found = memory.recall(key)
    if found is None:
        found = judge(statements, arch, version, assemble)
        memory.keep(key, found)
    return found
