"""What is known of the disagreements: exceptions with their reasons, and the figures of every form, in files.

`isa/conformance/exceptions.toml` explains disagreements by pattern. `isa/conformance/ptxas-VERSION.txt` has one
line a form; what a run finds is held against it, so that nothing becomes worse unnoticed.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from ptxgen.isa.conformance import Disagreement, Result
from ptxgen.isa.problems import TableError
from ptxgen.isa.table import Table

_KEYS = {"what", "opcode", "tried", "says", "ptxas", "reason"}
_NEEDED = {"what", "says", "reason"}
_ACCEPTS = "accepts"
_LINE = re.compile(r"(\d+)/(\d+) +(\d+)/(\d+) +(\d+)/(\d+) +(\d+) +(\S.*)")


@dataclass(frozen=True, slots=True)
class Explained:
    """An exception. All fields but `reason` are lists of patterns; `*` is any text.

    `what`: kinds of questions (`register-type`); `tried`: what was tried (`a: imm`); `says`: `accepts`, or the
    message; `ptxas`: versions.
    """

    what: tuple[str, ...]
    opcode: tuple[str, ...]
    tried: tuple[str, ...]
    says: tuple[str, ...]
    ptxas: tuple[str, ...]
    reason: str
    line: int

    def covers(self, tool: str, found: Disagreement) -> bool:
        question = found.question
        told = _ACCEPTS if found.says is None else found.says
        return (
            _any(self.what, question.kind)
            and _any(self.ptxas, tool)
            and _any(self.opcode, question.opcode)
            and _any(self.tried, question.tried)
            and _any(self.says, told)
        )


def _any(patterns: Sequence[str], text: str) -> bool:
    return any(fnmatchcase(text, pattern) for pattern in patterns)


def read_exceptions(path: Path) -> tuple[Explained, ...]:
    """Raises TableError with the line of an entry that has other keys, or no reason."""
    if not path.is_file():
        return ()
    text = path.read_text(encoding="utf-8")
    lines = [number for number, line in enumerate(text.splitlines(), 1) if line.strip() == "[[exception]]"]
    try:
        entries = tomllib.loads(text).get("exception", [])
    except tomllib.TOMLDecodeError as error:
        raise TableError("the exceptions cannot be read", where=str(path), why=str(error)) from None
    found = []
    for line, entry in zip(lines, entries, strict=True):
        unknown, missing = sorted(entry.keys() - _KEYS), sorted(_NEEDED - entry.keys())
        if unknown or missing:
            why = f"unknown {', '.join(unknown)}" if unknown else f"without {', '.join(missing)}"
            raise TableError("an exception is not right", where=f"{path}:{line}", why=why)
        patterns = {key: _patterns(entry.get(key, "*")) for key in _KEYS - {"reason"}}
        found.append(Explained(**patterns, reason=entry["reason"], line=line))
    return tuple(found)


def _patterns(value: str | list[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


@dataclass(frozen=True, slots=True)
class Line:
    """The figures of one form: (agreed, asked) of each group, and how many disagreements are explained."""

    accepted: tuple[int, int]
    below: tuple[int, int]
    near: tuple[int, int]
    explained: int

    @property
    def unexplained(self) -> int:
        return sum(asked - agreed for agreed, asked in (self.accepted, self.below, self.near)) - self.explained

    def __str__(self) -> str:
        pairs = " ".join(f"{f'{a}/{n}':>11}" for a, n in (self.accepted, self.below, self.near))
        return f"{pairs} {self.explained:>6}"


@dataclass(frozen=True)
class Judged:
    """The results of one assembler, with what of its disagreements is explained by which exception."""

    tool: str
    lines: Mapping[str, Line]                        # by form
    unexplained: tuple[tuple[str, Disagreement], ...]
    explained: Mapping[Explained, int]


def form_names(table: Table) -> dict[tuple[str, int], str]:
    """A name for every form, by instruction and place: file, syntax, and a number where that is not enough."""
    found: dict[tuple[str, int], str] = {}
    taken: dict[str, int] = {}
    for name, rows in table.data.rows.items():
        for index, row in enumerate(rows):
            text = f"{PurePosixPath(row.form.file).stem}: {row.form.syntax}"
            taken[text] = taken.get(text, 0) + 1
            found[name, index] = text if taken[text] == 1 else f"{text} #{taken[text]}"
    return found


def judge_results(table: Table, results: Iterable[Result], exceptions: Sequence[Explained]) -> list[Judged]:
    """The results by assembler, in the order they first come."""
    names = form_names(table)
    by_tool: dict[str, list[Result]] = {}
    for result in results:
        by_tool.setdefault(result.tool, []).append(result)
    found = []
    for tool, own in by_tool.items():
        lines: dict[str, Line] = {}
        unexplained: list[tuple[str, Disagreement]] = []
        explained: dict[Explained, int] = {}
        for result in own:
            form = names[result.name, result.index]
            before = len(unexplained)
            for disagreement in result.disagreements:
                reason = next((e for e in exceptions if e.covers(tool, disagreement)), None)
                if reason is None:
                    unexplained.append((form, disagreement))
                else:
                    explained[reason] = explained.get(reason, 0) + 1
            lines[form] = Line(
                (result.agreed["accepted"], result.asked["accepted"]),
                (result.agreed["below"], result.asked["below"]),
                (result.agreed["near"], result.asked["near"]),
                len(result.disagreements) - (len(unexplained) - before),
            )
        found.append(Judged(tool, lines, tuple(unexplained), explained))
    return found


def record_path(folder: Path, tool: str) -> Path:
    return folder / f"ptxas-{tool}.txt"


def read_record(path: Path) -> dict[str, Line]:
    """The recorded figures by form; empty where nothing is recorded. Raises TableError for a line that is none."""
    found: dict[str, Line] = {}
    if not path.is_file():
        return found
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not text.strip() or text.startswith("#"):
            continue
        match = _LINE.fullmatch(text.strip())
        if match is None:
            raise TableError("a recorded line cannot be read", where=f"{path}:{number}",
                             fix="record it anew: ptxgen-local isa conformance --update")
        *figures, form = match.groups()
        a, b, c, d, e, f, explained = map(int, figures)
        found[form] = Line((a, b), (c, d), (e, f), explained)
    return found


def write_record(path: Path, tool: str, lines: Mapping[str, Line]) -> None:
    """One line a form, in the order of their names."""
    path.parent.mkdir(parents=True, exist_ok=True)
    head = (
        f"# What ptxas {tool} answers, written by `ptxgen-local isa conformance --update`: of each form how many\n"
        "# statements it accepts, refuses below the least version or target, refuses as near misses, each of how\n"
        "# many asked; and how many of its disagreements exceptions.toml explains.\n"
    )
    body = "".join(f"{line}  {form}\n" for form, line in sorted(lines.items()))
    path.write_text(head + body, encoding="utf-8")


def regressions(judged: Judged, recorded: Mapping[str, Line]) -> list[str]:
    """What is worse than recorded: more disagreements, unexplained or explained, or fewer statements asked."""
    found = []
    for form, line in judged.lines.items():
        before = recorded.get(form)
        allowed = before.unexplained if before else 0
        if line.unexplained > allowed:
            found.append(f"{form}: {line.unexplained} unexplained, {allowed} recorded")
        elif before and line.explained > before.explained:
            found.append(f"{form}: exceptions explain {line.explained}, {before.explained} recorded")
        elif before and any(
            now[1] < then[1]
            for now, then in zip(
                (line.accepted, line.below, line.near), (before.accepted, before.below, before.near), strict=True
            )
        ):
            found.append(f"{form}: fewer statements than recorded ({line} now, {before} then)")
    return found
