"""What `generate` shows while it works: streamed PTX on a terminal, plain lines elsewhere, on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from ptxgen.cli.generate_report import candidate_line, rate, share
from ptxgen.generating import (
    Candidate,
    Events,
    Generation,
    Options,
    Recipe,
    Silence,
    keep_candidate,
)
from ptxgen.models import ModelIdentity


@contextmanager
def live_events(options: Options, kernel: str) -> Iterator[Events]:
    """Events that are shown; `options.keep` also puts every candidate on disk as it is finished."""
    console = Console(stderr=True, highlight=False)
    shown = _Keeping(options, kernel)
    if console.is_terminal and not console.is_dumb_terminal:
        with Live(console=console, refresh_per_second=8, transient=True, redirect_stdout=False) as live:
            yield _Screen(shown, live, console, options)
    else:
        yield _Lines(shown, lambda line: print(line, file=sys.stderr, flush=True), options)


class _Keeping(Silence):
    """Writes finished candidates to the folder of `--keep`."""

    def __init__(self, options: Options, kernel: str) -> None:
        self._folder, self._kernel = options.keep, kernel

    def candidate_finished(self, candidate: Candidate) -> None:
        if self._folder is not None:
            keep_candidate(self._folder, self._kernel, candidate)


class _Lines:
    """A line for everything that takes long."""

    def __init__(self, next_: Silence, say: Callable[[str], None], options: Options) -> None:
        self._next, self._say, self._options = next_, say, options

    def model_ready(self, model: ModelIdentity, seconds: float) -> None:
        self._say(f"model {model.name} ready after {seconds:.1f} s")

    def prompt_started(self, tokens: int) -> None:
        self._say(f"reading the prompt, {tokens} tokens")

    def prompt_ready(self, tokens: int, seconds: float) -> None:
        self._say(f"prompt read in {seconds:.1f} s, {rate(tokens, seconds)}")

    def candidate_started(self, recipe: Recipe) -> None:
        of = f" of {self._options.candidates}" if recipe.parent is None else ""
        self._say(f"candidate {recipe.index}{of}: decoding at temperature {recipe.temperature:g}")

    def text(self, piece: str, tokens: int, forced: int) -> None:
        """A line for every line of the kernel would be noise."""

    def candidate_decoded(self, candidate: Candidate) -> None:
        self._say(
            f"candidate {candidate.index}: {candidate.tokens} tokens in {candidate.decode_seconds:.1f} s, "
            f"{rate(candidate.tokens, candidate.decode_seconds)}, "
            f"{share(candidate.forced_tokens, candidate.tokens)} forced"
        )

    def progress(self, stage: str) -> None:
        self._say(stage)

    def candidate_finished(self, candidate: Candidate) -> None:
        self._next.candidate_finished(candidate)
        trouble = f": {candidate.trouble}" if candidate.trouble else ""
        self._say(f"candidate {candidate.index}: {candidate.status}{trouble}")

    def repair_started(self, parent: Candidate, attempt: int) -> None:
        self._say(f"repair {attempt} of {self._options.repair}: showing what is wrong in {parent.index}")

    def finished(self, generation: Generation) -> None:
        self._next.finished(generation)


class _Screen:
    """The end of the PTX as it grows, and a line of figures under it; finished candidates above."""

    def __init__(self, next_: Silence, live: Live, console: Console, options: Options) -> None:
        self._next, self._live, self._console, self._options = next_, live, console, options
        self._ptx, self._head, self._stage = "", "", "loading the model"
        self._since = time.monotonic()
        live.update(self._picture())

    def model_ready(self, model: ModelIdentity, seconds: float) -> None:
        self._console.print(f"model {model.name}, level {self._options.level}", style="dim")

    def prompt_started(self, tokens: int) -> None:
        self._show(f"reading the prompt, {tokens} tokens")

    def prompt_ready(self, tokens: int, seconds: float) -> None:
        self._console.print(f"prompt of {tokens} tokens read in {seconds:.1f} s", style="dim")

    def candidate_started(self, recipe: Recipe) -> None:
        self._ptx, self._since = "", time.monotonic()
        self._head = f"candidate {recipe.index}, temperature {recipe.temperature:g}"
        self._show(self._head)

    def text(self, piece: str, tokens: int, forced: int) -> None:
        self._ptx += piece
        speed = rate(tokens, time.monotonic() - self._since)
        self._show(f"{self._head}: {tokens} tokens, {speed}, {share(forced, tokens)} forced")

    def candidate_decoded(self, candidate: Candidate) -> None:
        self._ptx = candidate.ptx
        speed = rate(candidate.tokens, candidate.decode_seconds)
        forced = share(candidate.forced_tokens, candidate.tokens)
        self._head = f"candidate {candidate.index}: {candidate.tokens} tokens, {speed}, {forced} forced"
        self._show(self._head)

    def progress(self, stage: str) -> None:
        self._show(f"{self._head}, {stage}")

    def candidate_finished(self, candidate: Candidate) -> None:
        self._next.candidate_finished(candidate)
        style = "green" if candidate.status == "verified" else "yellow"
        self._console.print(candidate_line(candidate), style=style, markup=False)

    def repair_started(self, parent: Candidate, attempt: int) -> None:
        line = f"repair {attempt} of {self._options.repair}, of candidate {parent.index}"
        self._console.print(line, style="dim")

    def finished(self, generation: Generation) -> None:
        self._next.finished(generation)

    def _show(self, stage: str) -> None:
        self._stage = stage
        self._live.update(self._picture())

    def _picture(self) -> RenderableType:
        room = max(4, self._console.height - 6)
        lines = self._ptx.expandtabs(4).splitlines()[-room:]
        seconds = time.monotonic() - self._since
        return Group(
            Text("\n".join(lines), style="cyan", no_wrap=True, overflow="ellipsis"),
            Text(f"{self._stage}  ({seconds:.0f} s)", style="bold"),
        )
