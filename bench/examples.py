"""Every example spec with one model, level none beside level full: what came out and what it cost.

    python -m bench.examples --model qwen2.5-coder-1.5b --keep bench/out/kernels --json bench/out/examples.json

Prints a Markdown table (the one of the README) on stdout, progress on stderr.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

from ptxgen.errors import PtxgenError
from ptxgen.generating import (
    Candidate,
    Flags,
    Generation,
    Silence,
    check_writable,
    generate,
    keep_candidate,
    resolve_options,
    write_file,
)
from ptxgen.models import Session, open_session
from ptxgen.spec import load_spec

ROOT = Path(__file__).resolve().parent.parent
#: The folder in that of --keep for the kernels that verified.
VERIFIED = "verified"


@dataclass(frozen=True)
class Row:
    """One run of one spec at one level; times in seconds, over all its candidates."""

    kernel: str
    level: str
    status: str
    candidates: int
    finished: int                 # candidates that came to their end, duplicates not counted
    accepted: int                 # of those, accepted by ptxas for every target
    winner: int | None            # index of the candidate that verified
    tokens: int
    forced_tokens: int
    decode_seconds: float
    mask_seconds: float
    prompt_seconds: float
    seconds: float
    trouble: str


class Progress(Silence):
    """A line for each finished candidate, and its files where they are kept."""

    def __init__(self, kernel: str, level: str, keep: Path | None) -> None:
        self._kernel, self._level, self._keep = kernel, level, keep

    def candidate_finished(self, candidate: Candidate) -> None:
        if self._keep is not None:
            keep_candidate(self._keep, f"{self._kernel}.{self._level}", candidate)
        said = f"{self._kernel} {self._level} candidate {candidate.index}: {candidate.status} "
        said += f"{candidate.tokens} tokens {candidate.decode_seconds:.1f} s {candidate.trouble[:120]}"
        print(said, file=sys.stderr, flush=True)


def measure(path: Path, session: Session, flags: Flags, keep: Path | None) -> Row:
    """Generate for one spec. An error that stops the run is a row too."""
    spec = load_spec(path)
    options = resolve_options(flags, spec)
    started = time.monotonic()
    try:
        events = Progress(spec.kernel.name, options.level, keep)
        made = generate(spec, options, events, session=session)
    except PtxgenError as error:
        return Row(
            spec.kernel.name, options.level, "error", 0, 0, 0, None, 0, 0, 0.0, 0.0, 0.0,
            time.monotonic() - started, str(error).splitlines()[0],
        )  # fmt: skip
    if made.status == "unfinished":
        raise KeyboardInterrupt
    if keep is not None and made.best is not None and made.status == "verified":
        (keep / VERIFIED).mkdir(exist_ok=True)
        write_file(keep / VERIFIED / f"{spec.kernel.name}.{options.level}.ptx", made.best.ptx)
    return row_of(made)


def row_of(made: Generation) -> Row:
    """The figures of a run."""
    whole = [c for c in made.candidates if c.complete and c.status != "duplicate"]
    best = made.best
    return Row(
        kernel=made.kernel,
        level=made.options.level,
        status=made.status,
        candidates=len(made.candidates),
        finished=len(whole),
        accepted=sum(bool(c.assemblies) and all(a.ok for a in c.assemblies) for c in whole),
        winner=best.index if best and made.status == "verified" else None,
        tokens=made.tokens,
        forced_tokens=sum(c.forced_tokens for c in made.candidates),
        decode_seconds=sum(c.decode_seconds for c in made.candidates),
        mask_seconds=sum(c.mask_seconds for c in made.candidates),
        prompt_seconds=made.prompt_seconds,
        seconds=made.seconds,
        trouble="" if made.status == "verified" or best is None else best.trouble,
    )


def table(rows: Sequence[Row]) -> str:
    """Markdown: a line a run, and the sums of each level."""
    lines = [
        "| spec | level | verified | finished | ptxas accepts | tokens | tokens/s | forced | masks | seconds "
        "| what went wrong |",
        "|---|---|---|---:|---:|---:|---:|---:|---:|---:|---|",
    ]
    lines += [_line(row) for row in rows]
    for level in dict.fromkeys(row.level for row in rows):
        mine = [row for row in rows if row.level == level]
        verified = sum(row.status == "verified" for row in mine)
        lines.append(_line(_sum(level, mine), f"**{verified} of {len(mine)}**"))
    return "\n".join(lines)


def _line(row: Row, verified: str = "") -> str:
    if not verified:
        verified = f"yes, candidate {row.winner}" if row.status == "verified" else "no"
    speed = f"{row.tokens / row.decode_seconds:.1f}" if row.decode_seconds else "-"
    forced = f"{100 * row.forced_tokens / row.tokens:.0f}%" if row.tokens else "-"
    masks = f"{100 * row.mask_seconds / row.decode_seconds:.1f}%" if row.decode_seconds else "-"
    trouble = " ".join(row.trouble.split()).replace("|", "\\|")
    trouble = trouble if len(trouble) <= 100 else trouble[:99] + "…"
    return (
        f"| {row.kernel} | {row.level} | {verified} | {row.finished} of {row.candidates} "
        f"| {row.accepted} of {row.finished} | {row.tokens} | {speed} | {forced} | {masks} "
        f"| {row.seconds:.0f} | {trouble} |"
    )


def _sum(level: str, rows: Sequence[Row]) -> Row:
    numbers = (
        "candidates", "finished", "accepted", "tokens", "forced_tokens", "decode_seconds", "mask_seconds",
        "prompt_seconds", "seconds",
    )  # fmt: skip
    total = {name: sum(getattr(row, name) for row in rows) for name in numbers}
    return Row(kernel="**all**", level=level, status="", winner=None, trouble="", **total)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="bench.examples", description="Example specs, level beside level.")
    parser.add_argument("specs", nargs="*", type=Path, help="spec files [default: all of examples/]")
    parser.add_argument("--model", help="a name, a GGUF file, or 'random' [default: the default model]")
    parser.add_argument("--levels", default="none,full", help="comma-separated [default: %(default)s]")
    parser.add_argument("--candidates", type=int)
    parser.add_argument("--repair", type=int)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--max-tokens", type=int)
    parser.add_argument("--executor", default="auto")
    parser.add_argument("--threads", type=int, help="threads of the model [default: physical cores]")
    parser.add_argument("--json", type=Path, help="write the rows there, after every run")
    parser.add_argument("--keep", type=Path, help="a folder for every kernel and its log")
    given = parser.parse_args(arguments)
    specs = given.specs or sorted((ROOT / "examples").glob("*.toml"))
    rows: list[Row] = []
    try:
        if given.json is not None:
            check_writable(given.json)
        with closing(open_session(given.model, n_ctx=8192, seed=given.seed or 0, threads=given.threads)) as session:
            for path in specs:
                for level in given.levels.split(","):
                    flags = Flags(
                        level=level, candidates=given.candidates, repair=given.repair, seed=given.seed,
                        max_tokens=given.max_tokens, executor=given.executor,
                    )  # fmt: skip
                    rows.append(measure(path, session, flags, given.keep))
                    if given.json is not None:
                        document = {"model": asdict(session.identity), "rows": [asdict(row) for row in rows]}
                        write_file(given.json, json.dumps(document, indent=2) + "\n")
    except PtxgenError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted; the table holds what was finished", file=sys.stderr)
        print(table(rows))
        return 130
    print(table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
