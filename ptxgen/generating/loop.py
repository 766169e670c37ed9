"""The loop around everything: candidates until one verifies, then repair."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Literal

from ptxgen.assembling import find_ptxas
from ptxgen.executing import make_executor
from ptxgen.generating.candidates import (
    Candidate,
    Generation,
    Recipe,
    best_of,
    next_recipe,
)
from ptxgen.generating.events import Events
from ptxgen.generating.judging import Judge, cubin_by
from ptxgen.generating.options import Options
from ptxgen.generating.prompt_sharing import SharedPrompt
from ptxgen.generating.writing_candidates import Writer, main_arch, prompt_hash, read_prompt
from ptxgen.isa import load_table
from ptxgen.models import ContextFull, ModelIdentity, Session, open_session
from ptxgen.prompting import build_prompt
from ptxgen.spec import Spec
from ptxgen.verifying import check_oracle

#: What can become better when the model is told. A miscompiled kernel is right, a duplicate has been told.
_REPAIRABLE = ("failed", "over-budget", "rejected", "incomplete")


def generate(spec: Spec, options: Options, events: Events, session: Session | None = None) -> Generation:
    """Make a kernel for `spec`. Ctrl-C ends the run with what there is, status "unfinished".

    `session`: a model that is already open and stays so; None opens the one of the options.
    Raises PtxgenError where a tool, the model or the spec cannot work.
    """
    run = _Run(spec, options, events)
    try:
        run.make(session)
    except KeyboardInterrupt:
        run.interrupted()
    generation = run.result()
    events.finished(generation)
    return generation


@contextmanager
def opened(options: Options, session: Session | None) -> Iterator[Session]:
    """The given session, which is left open, or the model of the options for as long as it is needed."""
    if session is not None:
        yield session
        return
    model = open_session(
        options.model, n_ctx=options.n_ctx, seed=options.seed, threads=options.threads or None
    )
    with closing(model):
        yield model


class _Run:
    """What one run has so far; `result` may be asked at any moment."""

    def __init__(self, spec: Spec, options: Options, events: Events) -> None:
        self._started = time.monotonic()
        self._spec, self._events = spec, events
        self._table = load_table()
        self._arch = main_arch(options.arch, self._table)
        others = tuple(name for name in options.arch if name != self._arch)
        self._options = replace(options, arch=(self._arch, *others))
        self._status: Literal["verified", "failed", "unfinished"] = "failed"
        self._candidates: list[Candidate] = []
        self._current: Candidate | None = None
        self._model: ModelIdentity | None = None
        self._prompt = ("", 0, 0.0)
        self._executor = options.executor
        self._ptxas: tuple[str, ...] = ()

    def make(self, session: Session | None) -> None:
        """Everything, until a candidate is right or the rounds are used up."""
        # What is quick to find wanting comes before what takes long to load.
        check_oracle(self._spec)
        prompt = build_prompt(self._spec, self._table, self._arch)
        ptxas = find_ptxas(self._options.ptxas)
        self._ptxas = tuple(tool.version for tool in ptxas)
        wanted, targets = self._options.executor, self._options.arch
        with (
            closing(make_executor(wanted, targets, assemble=cubin_by(ptxas[0]))) as executor,
            opened(self._options, session) as model,
        ):
            self._executor, self._model = executor.name, model.identity
            self._events.model_ready(model.identity, time.monotonic() - self._started)
            judge = Judge(self._spec, self._options.arch, ptxas, executor, self._options.seed)
            shared = SharedPrompt(model)
            started = time.monotonic()
            tokens = read_prompt(shared, prompt, self._events.prompt_started)
            self._prompt = (prompt_hash(prompt), tokens, time.monotonic() - started)
            self._events.prompt_ready(tokens, self._prompt[2])
            writer = Writer(shared, prompt, self._spec, self._table, self._options)
            for _ in range(self._options.candidates):
                if self._attempt(next_recipe(self._options, self._candidates), writer, judge):
                    return
            self._repair(writer, judge)

    def interrupted(self) -> None:
        """Keep what the current candidate has, as it is."""
        self._status = "unfinished"
        if self._current is not None:
            self._candidates.append(replace(self._current, status="unfinished", trouble="interrupted"))

    def result(self) -> Generation:
        sha256, tokens, seconds = self._prompt
        return Generation(
            status=self._status,
            best=best_of(self._candidates),
            candidates=tuple(self._candidates),
            options=self._options,
            kernel=self._spec.kernel.name,
            arch=self._arch,
            model=self._model,
            prompt_sha256=sha256,
            prompt_tokens=tokens,
            prompt_seconds=seconds,
            seconds=time.monotonic() - self._started,
            executor=self._executor,
            ptxas=self._ptxas,
        )

    def _attempt(self, recipe: Recipe, writer: Writer, judge: Judge) -> bool:
        """One candidate: decoded, then judged unless its text is an earlier one's. True where it is right."""
        header = self._spec.header(self._arch, self._table)
        self._current = Candidate(recipe, "unfinished", header)
        self._events.candidate_started(recipe)
        self._events.text(header, 0, 0)

        def heard(piece: str) -> None:
            assert self._current is not None
            self._current = replace(self._current, ptx=self._current.ptx + piece)
            self._events.text(piece, *writer.shared.pace)

        self._current = written = writer.write(recipe, heard)
        self._events.candidate_decoded(written)
        judged = self._judged(written, judge)
        self._current = None
        self._candidates.append(judged)
        self._events.candidate_finished(judged)
        if judged.status == "verified":
            self._status = "verified"
        return judged.status == "verified"

    def _judged(self, written: Candidate, judge: Judge) -> Candidate:
        twin = next((c for c in self._candidates if c.ptx == written.ptx and c.complete), None)
        if twin is not None:
            return replace(written, status="duplicate", trouble=f"the text of candidate {twin.index} again")
        if not written.complete:
            full = written.tokens >= self._options.max_tokens
            cut = f"{'cut' if full else 'ended by the model'} after {written.tokens} tokens, before its end"
            return replace(written, status="incomplete", trouble=cut, report=f"The kernel was {cut}.")
        started = time.monotonic()
        judgement = judge.judge(written.ptx, self._events.progress)
        return replace(
            written,
            status=judgement.status,
            assemblies=judgement.assemblies,
            verdict=judgement.verdict,
            trouble=judgement.trouble,
            report=judgement.report,
            judge_seconds=time.monotonic() - started,
        )

    def _repair(self, writer: Writer, judge: Judge) -> None:
        """Show the model what is wrong, each round with the best candidate that it was not shown before, or
        with the best once more."""
        shown: set[int] = set()
        for attempt in range(1, self._options.repair + 1):
            wrong = [c for c in self._candidates if c.status in _REPAIRABLE and c.report]
            parent = best_of([c for c in wrong if c.index not in shown]) or best_of(wrong)
            if parent is None:
                return
            shown.add(parent.index)
            self._events.repair_started(parent, attempt)
            try:
                if self._attempt(next_recipe(self._options, self._candidates, parent), writer, judge):
                    return
            except ContextFull:
                # The model has no room for its own answer and the report: repair ends, the run does not.
                self._current = None
                return
