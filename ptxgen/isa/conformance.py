"""The proof of the table: its questions put before assemblers and the checker, form by form, in several processes.

    choices, questions, misses    what is asked of a form, and what the table expects
    asking                        what an assembler says
    ratchet                       what is explained, and what earlier runs found
"""

from __future__ import annotations

import contextlib
import random
import resource
import signal
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from multiprocessing import get_context, parent_process
from multiprocessing.synchronize import Event
from pathlib import Path

from ptxgen.isa.conformance_asking import BATCH, Assemble, Memory, learn, remembered
from ptxgen.isa.conformance_questions import Group, Knowledge, Question, questions
from ptxgen.isa.model import Expansion, Version
from ptxgen.isa.probing import has_sampler
from ptxgen.isa.rows import Row
from ptxgen.isa.table import Table, load_table

#: For each of some statements, whether the checker takes it for a target and version.
Check = Callable[[Sequence[str], str, Version], Sequence[bool]]


@dataclass(frozen=True, slots=True)
class Judges:
    """Those who are asked: assemblers by version, and perhaps the checker."""

    assemblers: tuple[tuple[str, Assemble], ...]
    check: Check | None


#: The choices of a form to be asked about; None: all that are tried.
Choices = tuple[tuple[str, ...], ...] | None
#: Forms that are asked about together, so that their statements fill modules.
_TOGETHER = 16
#: Bytes that an assembler may take: over some near misses it would fill the machine's memory.
_MEMORY = 4 << 30


@dataclass(frozen=True, slots=True)
class Work:
    """Forms of one chapter to be asked about: instruction, the row's place among its rows, and choices."""

    forms: tuple[tuple[str, int, Choices], ...]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A question that an assembler answers otherwise than the table. `says` is its message, None: it accepts.

    `checked` is whether our checker takes the statement, None where it was not asked.
    """

    question: Question
    says: str | None
    checked: bool | None


@dataclass
class Result:
    """What one assembler answered about one form."""

    name: str
    index: int                                       # the form's place among those of the instruction
    tool: str
    asked: Counter[Group] = field(default_factory=Counter)
    agreed: Counter[Group] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    expansions: int = 0
    checker_agreed: int = 0                          # questions that the checker answers as the assembler does
    checker_differs: list[Disagreement] = field(default_factory=list)
    disagreements: list[Disagreement] = field(default_factory=list)


def covering(table: Table, names: Iterable[str] | None = None) -> tuple[Expansion, ...]:
    """For every form a few expansions that together show each value of each slot."""
    return tuple(
        expansion
        for name in names or table.instructions
        for row in table.data.rows[name]
        for choice in row.covering_choices()
        for expansion in row.build(choice)
    )


def whole(table: Table, wanted: Callable[[Row], bool] = lambda row: True) -> list[Work]:
    """Every form that is wanted, with all its tried choices."""
    return _together(table, dict.fromkeys(_places(table, wanted)))


def sample(table: Table, count: int, seed: int, wanted: Callable[[Row], bool] = lambda row: True) -> list[Work]:
    """`count` forms drawn by `seed`, a form perhaps more than once, each with one of its covering choices."""
    draw = random.Random(seed)
    every = _places(table, wanted)
    drawn: dict[tuple[str, int], list[tuple[str, ...]]] = {}
    for _ in range(count if every else 0):
        name, index = draw.choice(every)
        choices = drawn.setdefault((name, index), [])
        choices.append(draw.choice(table.data.rows[name][index].covering_choices()))
    return _together(table, {place: tuple(dict.fromkeys(choices)) for place, choices in sorted(drawn.items())})


def _places(table: Table, wanted: Callable[[Row], bool]) -> list[tuple[str, int]]:
    return [(name, i) for name, rows in table.data.rows.items() for i, row in enumerate(rows) if wanted(row)]


def _together(table: Table, wanted: Mapping[tuple[str, int], Choices]) -> list[Work]:
    by_file: dict[str, list[tuple[str, int, Choices]]] = {}
    for (name, index), choices in wanted.items():
        by_file.setdefault(table.data.rows[name][index].form.file, []).append((name, index, choices))
    return [
        Work(tuple(forms[start : start + _TOGETHER]))
        for forms in by_file.values()
        for start in range(0, len(forms), _TOGETHER)
    ]


def conform(
    work: Sequence[Work],
    make_judges: Callable[[], Judges],
    *,
    jobs: int = 1,
    memory: Path | None = None,
    done: Callable[[Work], None] = lambda work: None,
) -> list[Result]:
    """What every assembler answers about every form, in the order of `work`.

    `make_judges` is called once in each process. `memory` is the file that keeps answers from run to run. `done`
    hears of each form. An interrupt ends the processes after the module they are at; what was answered is kept.
    """
    if jobs <= 1:
        _prepare(make_judges, memory, None)
        found = {}
        for each in work:
            found[each] = _ask(each)
            done(each)
    else:
        found = _in_processes(work, make_judges, jobs, memory, done)
    return [result for each in work for result in found[each]]


def _in_processes(
    work: Sequence[Work], make_judges: Callable[[], Judges], jobs: int, memory: Path | None,
    done: Callable[[Work], None],
) -> dict[Work, list[Result]]:  # fmt: skip
    context = get_context("spawn")
    stop = context.Event()
    found = {}
    with ProcessPoolExecutor(jobs, context, _prepare_process, (make_judges, memory, stop)) as pool:
        try:
            # the largest forms are asked first, so that none is left over for the end
            futures = {pool.submit(_ask, each): each for each in sorted(work, key=_size, reverse=True)}
            for future in as_completed(futures):
                found[futures[future]] = future.result()
                done(futures[future])
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return found


def _size(work: Work) -> int:
    """How much there is to ask, roughly."""
    size = 0
    for name, index, choices in work.forms:
        slots = load_table().data.rows[name][index].slots
        size += len(choices) if choices else sum(len(slot.values) for slot in slots) * len(slots)
    return size


class _Stopped(Exception):
    """The run was interrupted."""


@dataclass
class _Process:
    """What a process that asks has at hand."""

    table: Table
    judges: Judges
    knowledge: dict[str, Knowledge]
    memory: Memory | None
    stop: Event | None
    _checks: dict[tuple[str, str, Version], bool] = field(default_factory=dict)

    def checked(self, statements: Sequence[str], arch: str, version: Version) -> Sequence[bool | None]:
        """What the checker says, once for all assemblers."""
        if self.judges.check is None:
            return [None] * len(statements)
        new = [statement for statement in statements if (statement, arch, version) not in self._checks]
        answers = self.judges.check(new, arch, version) if new else ()
        self._checks.update({(s, arch, version): taken for s, taken in zip(new, answers, strict=True)})
        return [self._checks[statement, arch, version] for statement in statements]

    @property
    def is_stopped(self) -> bool:
        parent = parent_process()
        return (self.stop is not None and self.stop.is_set()) or (parent is not None and not parent.is_alive())

    def forget(self) -> None:
        self._checks.clear()


_process: _Process | None = None


def _prepare_process(make_judges: Callable[[], Judges], memory: Path | None, stop: Event | None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)     # the first process hears it, and says when to stop
    with contextlib.suppress(ValueError, OSError):   # where less is allowed already
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    _prepare(make_judges, memory, stop)


def _prepare(make_judges: Callable[[], Judges], memory: Path | None, stop: Event | None) -> None:
    global _process
    table, judges = load_table(), make_judges()
    knowledge = {tool: learn(table, assemble) for tool, assemble in judges.assemblers}
    _process = _Process(table, judges, knowledge, Memory(memory) if memory else None, stop)


def _ask(work: Work) -> list[Result]:
    assert _process is not None
    _process.forget()
    return [result for tool, assemble in _process.judges.assemblers for result in _ask_one(work, tool, assemble)]


def _ask_one(work: Work, tool: str, assemble: Assemble) -> list[Result]:
    process = _process
    assert process is not None
    asked: list[tuple[Result, Question]] = []
    results = []
    for name, index, choices in work.forms:
        result = Result(name, index, tool)
        row = process.table.data.rows[name][index]
        asked += [(result, each) for each in questions(row, process.table, process.knowledge[tool], choices)]
        results.append(result)
    for batch in _batches(asked):
        if process.is_stopped:
            raise _Stopped
        arch, version = batch[0][1].arch, batch[0][1].version
        texts = [question.statement for _, question in batch]
        answers = remembered(texts, arch, version, assemble, tool, process.memory)
        checked = process.checked(texts, arch, version)
        for (result, question), said, taken in zip(batch, answers, checked, strict=True):
            says = said
            if said is not None and question.takes:
                # an assembler that writes code of its own for a statement may complain of another one's line
                (says,) = remembered([question.statement], arch, version, assemble, tool, process.memory)
            _count(result, question, says, taken)
    return results


def _count(result: Result, question: Question, says: str | None, taken: bool | None) -> None:
    result.asked[question.group] += 1
    result.kinds[f"{question.group} {question.kind}"] += 1
    result.expansions += question.kind == "least"
    if question.takes == (says is None):
        result.agreed[question.group] += 1
    else:
        result.disagreements.append(Disagreement(question, says, taken))
    if taken == (says is None):
        result.checker_agreed += 1
    elif taken is not None:
        result.checker_differs.append(Disagreement(question, says, taken))


def _batches(asked: Sequence[tuple[Result, Question]]) -> Iterator[list[tuple[Result, Question]]]:
    """Questions for one target, version and mode of textures together, so that many go into one module."""
    found: dict[tuple[str, Version, bool], list[tuple[Result, Question]]] = {}
    for each in asked:
        found.setdefault((each[1].arch, each[1].version, has_sampler(each[1].statement)), []).append(each)
    for group in found.values():
        for start in range(0, len(group), BATCH):
            yield group[start : start + BATCH]
