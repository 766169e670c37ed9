"""`ptxgen-local isa conformance`: the proof that every ptxas agrees with the table."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ptxgen.assembling import Ptxas, ToolCrashed, find_ptxas
from ptxgen.cli.output import data, print_json, talk
from ptxgen.data import data_folder
from ptxgen.errors import UsageError
from ptxgen.isa import Table, Version, load_table
from ptxgen.isa.conformance import Disagreement, Judges, Result, Work, conform, sample, whole
from ptxgen.isa.conformance_asking import forget
from ptxgen.isa.conformance_questions import Question
from ptxgen.isa.conformance_ratchet import (
    Explained,
    Judged,
    Line,
    judge_results,
    read_exceptions,
    read_record,
    record_path,
    regressions,
    write_record,
)
from ptxgen.isa.probing import module
from ptxgen.isa.rows import Row
from ptxgen.models import cache_folder

_SHOWN = 40


def register(app: typer.Typer) -> None:
    @app.command("isa_conformance")
    def isa_conformance(
        names: Annotated[
            list[str] | None, typer.Argument(help="Instructions, beginnings of opcodes, or chapters; all by default.")
        ] = None,
        form: Annotated[str, typer.Option(help="Only forms whose syntax contains this text.")] = "",
        sample_: Annotated[
            int, typer.Option("--sample", min=0, help="Draw so many forms, one choice of each; 0 is everything.")
        ] = 0,
        seed: Annotated[int, typer.Option(help="Which sample.")] = 0,
        jobs: Annotated[int, typer.Option(min=0, help="Processes; 0: one a core.")] = 0,
        fresh: Annotated[bool, typer.Option("--fresh", help="Forget what earlier runs heard.")] = False,
        update: Annotated[bool, typer.Option("--update", help="Record what is found.")] = False,
        checker: Annotated[bool, typer.Option("--checker/--no-checker", help="Ask our own checker too.")] = True,
        ptxas: Annotated[
            str | None, typer.Option(help="Ask this ptxas only: a path, or the beginning of a version.")
        ] = None,
        every: Annotated[
            bool, typer.Option("--all", help="List every disagreement, not one of each form and kind.")
        ] = False,
        json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    ) -> int:
        """Ask every ptxas whether it agrees with the table: what must be accepted, and what refused."""
        table = load_table()
        tools = _tools(ptxas)
        work = _work(table, names or [], form, sample_, seed)
        if update and sample_:
            raise UsageError("a sample cannot be recorded", fix="leave --sample or --update out")
        folder = data_folder("isa") / "conformance"
        known = _Known(
            folder,
            read_exceptions(folder / "exceptions.toml"),
            {tool.version: read_record(record_path(folder, tool.version)) for tool in tools},
        )
        memory = cache_folder().parent / "conformance.sqlite"
        if fresh:
            forget(memory)
        started = time.monotonic()
        judges = partial(make_judges, tuple(tools), checker)
        with _progress(sum(len(each.forms) for each in work)) as step:
            results = conform(work, judges, jobs=jobs or os.cpu_count() or 1, memory=memory, done=step)
        complete = not (names or form or sample_)
        return _report(table, results, known, complete, bool(sample_), update, every, json,
                       time.monotonic() - started)


def make_judges(tools: Sequence[Ptxas], checker: bool) -> Judges:
    """The assemblers and the checker, made in the process that asks them."""
    return Judges(tuple((tool.version, partial(_assemble, tool)) for tool in tools), _check if checker else None)


def _assemble(tool: Ptxas, text: str, arch: str) -> list[tuple[int, str]] | None:
    try:
        result = tool.assemble(text, arch, optimise=0)
    except ToolCrashed as crash:
        return [(0, crash.why or "no verdict")]
    if result.ok:
        return None
    errors = [(message.line, message.text) for message in result.messages if message.severity != "warning"]
    return errors or [(0, "rejected without a message")]


def _check(statements: Sequence[str], arch: str, version: Version) -> list[bool]:
    """Whether our own checker takes each statement."""
    from ptxgen.ptx import PtxSyntaxError, parse
    from ptxgen.semantics import check_module

    taken = [True] * len(statements)
    read = list(range(len(statements)))
    while read:
        text, first = module([statements[index] for index in read], arch, version)
        parsed = True
        try:
            diagnostics = check_module(parse(text), load_table(), arch)
        except PtxSyntaxError as error:
            parsed, diagnostics = False, list(error.diagnostics)
        wrong = {diagnostic.span.line - first for diagnostic in diagnostics if diagnostic.severity == "error"}
        for at in wrong & set(range(len(read))):
            taken[read[at]] = False
        if parsed:
            break
        # what does not parse hides what else is wrong
        left = [index for at, index in enumerate(read) if at not in wrong]
        if len(left) == len(read):
            return [False] * len(statements)         # the head itself is refused
        read = left
    return taken


def _tools(wanted: str | None) -> list[Ptxas]:
    if wanted is None or "/" in wanted:
        return list(find_ptxas(wanted))
    found = find_ptxas()
    tools = [tool for tool in found if tool.version.startswith(wanted)]
    if not tools:
        known = ", ".join(tool.version for tool in found)
        raise UsageError(f"no ptxas {wanted} was found", why=f"there are {known}", fix="name one of them, or a path")
    return tools


def _work(table: Table, names: Sequence[str], form: str, count: int, seed: int) -> list[Work]:
    """The forms that are named. Raises UsageError for a name that is neither instruction, opcode nor chapter."""
    chapters = {PurePosixPath(row.form.file).stem for rows in table.data.rows.values() for row in rows}
    opcodes = [name for name in names if name not in chapters]
    chosen = {row.form for opcode in opcodes for row in _rows(table, opcode)}

    def wanted(row: Row) -> bool:
        named = not names or row.form in chosen or PurePosixPath(row.form.file).stem in names
        return named and form in row.form.syntax

    work = sample(table, count, seed, wanted) if count else whole(table, wanted)
    if not work:
        raise UsageError(f"no form's syntax contains {form!r}", fix="ptxgen-local isa NAME shows the forms")
    return work


def _rows(table: Table, opcode: str) -> tuple[Row, ...]:
    rows = table.rows(opcode)
    if not rows:
        near = table.nearest(opcode)
        fix = f"did you mean {' or '.join(near)}?" if near else "ptxgen-local isa lists all instructions"
        raise UsageError(f"the table has no {opcode}", fix=fix)
    return rows


class _progress:
    """A bar on a terminal; elsewhere a line at every tenth."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.done = 0
        self.bar = Progress(
            TextColumn("asking ptxas"), BarColumn(), MofNCompleteColumn(), TextColumn("forms"), TimeRemainingColumn(),
            console=talk, transient=True,
        ) if talk.is_terminal else None  # fmt: skip

    def __enter__(self) -> Callable[[Work], None]:
        if self.bar is not None:
            self.bar.start()
            self.task = self.bar.add_task("", total=self.total)
        return self._step

    def _step(self, work: Work) -> None:
        before = self.done
        self.done += len(work.forms)
        if self.bar is not None:
            self.bar.update(self.task, completed=self.done)
        elif self.total >= 50 and self.done * 10 // self.total > before * 10 // self.total:
            talk.print(f"{self.done} of {self.total} forms")

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()


@dataclass(frozen=True)
class _Known:
    """What the run is held against; read before it, so that a fault of these files costs no run."""

    folder: Path
    exceptions: tuple[Explained, ...]
    records: Mapping[str, Mapping[str, Line]]        # by version of ptxas, then form


def _report(
    table: Table, results: Sequence[Result], known: _Known, complete: bool, sampled: bool, update: bool, every: bool,
    json: bool, seconds: float,
) -> int:  # fmt: skip
    """What was found against what is recorded; the exit status."""
    judged = judge_results(table, results, known.exceptions)
    worse: dict[str, list[str]] = {}
    for one in judged:
        recorded = known.records[one.tool]
        if update:
            kept = {} if complete else recorded
            write_record(record_path(known.folder, one.tool), one.tool, {**kept, **one.lines})
        elif sampled:
            # a form of which unexplained disagreements are recorded says nothing in a sample
            fine = {form for form, line in recorded.items() if line.unexplained}
            worse[one.tool] = [f"{form}: {found.question.statement}" for form, found in one.unexplained
                               if form not in fine]
        else:
            worse[one.tool] = regressions(one, recorded)
        if complete:
            worse.setdefault(one.tool, []).extend(
                f"exceptions.toml:{entry.line}: it explains nothing any more ({entry.reason})"
                for entry in known.exceptions
                if entry not in one.explained and any(one.tool.startswith(v.rstrip("*")) for v in entry.ptxas)
            )
    document = [_figures(one, results, worse.get(one.tool, [])) for one in judged]
    if json:
        print_json({"tools": document, "seconds": round(seconds, 1)})
    else:
        _print(judged, document, worse, every, seconds)
    return 1 if any(worse.values()) else 0


def _figures(one: Judged, results: Sequence[Result], worse: Sequence[str]) -> dict[str, Any]:
    own = [result for result in results if result.tool == one.tool]
    asked = sum(sum(result.asked.values()) for result in own)
    agreed = sum(sum(result.agreed.values()) for result in own)
    checked = sum(result.checker_agreed for result in own)
    differs = sum(len(result.checker_differs) for result in own)
    kinds: dict[str, int] = {}
    for result in own:
        for kind, count in result.kinds.items():
            kinds[kind] = kinds.get(kind, 0) + count
    explained = sum(one.explained.values())
    return {
        "ptxas": one.tool,
        "forms": len(own),
        "untested": [form for form, line in one.lines.items() if not line.accepted[1]],
        "expansions": sum(result.expansions for result in own),
        "statements": asked,
        "by_kind": dict(sorted(kinds.items())),
        "agreed": agreed,
        "exceptions": len(one.explained),
        "explained": explained,
        "unexplained": len(one.unexplained),
        "agreement": 100 * (agreed + explained) / asked if asked else 100.0,
        "checker_agreement": 100 * checked / (checked + differs) if checked else None,
        "checker_differs": [_told(each) for result in own for each in result.checker_differs],
        "disagreements": [{"form": form, **_told(found)} for form, found in one.unexplained],
        "regressions": list(worse),
    }


def _told(found: Disagreement) -> dict[str, Any]:
    question = found.question
    return {
        "statement": question.statement, "arch": question.arch, "ptx": str(question.version), "what": question.kind,
        "tried": question.tried, "table": question.takes, "checker": found.checked, "ptxas": found.says is None,
        "says": found.says,
    }  # fmt: skip


def _print(
    judged: Sequence[Judged], document: Sequence[dict[str, Any]], worse: dict[str, list[str]], every: bool,
    seconds: float,
) -> None:  # fmt: skip
    _print_disagreements(judged, every)
    for tool, lines in worse.items():
        for line in lines[: None if every else _SHOWN]:
            data.print(f"ptxas {tool}: {line}")
    for figures in document:
        _print_figures(figures)
    talk.print(f"{seconds:.1f} seconds")


def _print_figures(figures: dict[str, Any]) -> None:
    data.print(f"ptxas {figures['ptxas']}: {figures['forms']} forms, {figures['expansions']} expansions, "
               f"{figures['statements']} statements")
    groups: dict[str, list[str]] = {}
    for kind, count in figures["by_kind"].items():
        group, _, name = kind.partition(" ")
        groups.setdefault(group, []).append(f"{name} {count}")
    for group, listed in groups.items():
        data.print(f"  {group}: {', '.join(listed)}")
    data.print(
        f"  agreement {figures['agreement']:.4f}%: {figures['agreed']} as the table says, {figures['explained']} "
        f"explained by {figures['exceptions']} exceptions, {figures['unexplained']} unexplained"
    )
    if figures["checker_agreement"] is not None:
        data.print(f"  the checker agrees on {figures['checker_agreement']:.3f}%")
    if figures["untested"]:
        data.print(f"  beyond this ptxas: {len(figures['untested'])} forms")


def _print_disagreements(judged: Sequence[Judged], every: bool) -> None:
    """Each once, with what every assembler says; unless `every`, one of each form and kind."""
    said: dict[tuple[str, Question], dict[str, Disagreement]] = {}
    for one in judged:
        for form, found in one.unexplained:
            said.setdefault((form, found.question), {})[one.tool] = found
    alike: dict[tuple[str, str], int] = {}
    for form, question in said:
        alike[form, question.kind] = alike.get((form, question.kind), 0) + 1
    shown: set[tuple[str, str]] = set()
    for (form, question), by_tool in said.items():
        key = (form, question.kind)
        if not every and (key in shown or len(shown) >= _SHOWN):
            continue
        shown.add(key)
        more = "" if every or alike[key] == 1 else f", and {alike[key] - 1} more of the kind"
        answers = [f"ptxas {tool}: {found.says or 'takes it'}" for tool, found in by_tool.items()]
        checked = next(iter(by_tool.values())).checked
        where = f"{question.arch}, PTX {question.version}"
        verdicts = [f"the table {_verdict(question.takes)}"]
        if checked is not None:
            verdicts.append(f"the checker {_verdict(checked)}")
        data.print(
            f"{question.statement}    {where}; {question.kind}, {question.tried}{more}\n"
            f"    {', '.join(verdicts)}, {'; '.join(answers)}\n    {form}"
        )
    if len(alike) > len(shown):
        data.print(f"… and {len(alike) - len(shown)} more forms and kinds; --all lists everything")


def _verdict(takes: bool) -> str:
    return "takes it" if takes else "refuses it"
