"""Does everything close? Kernels from a model that knows nothing: each must end and pass ptxas.

    python -m bench.closing --model random --seeds 25
    python -m bench.closing --model smollm2 --seeds 2 --json bench/out/closing.json

Decodes every example spec with every seed at one level, without verifying, and asks ptxas. Exit status 0
when all of them closed and were accepted. Spread over processes, one model in each.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from ptxgen.assembling import find_ptxas
from ptxgen.errors import PtxgenError
from ptxgen.generating import Options
from ptxgen.generating.candidates import Recipe, derived_seed
from ptxgen.generating.output import write_file
from ptxgen.generating.prompt_sharing import SharedPrompt
from ptxgen.generating.writing_candidates import Writer, main_arch, read_prompt
from ptxgen.isa import load_table
from ptxgen.models import Session, open_session
from ptxgen.prompting import build_prompt
from ptxgen.spec import load_spec

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Job:
    """One spec with some seeds, for one process. `model` as `open_session` takes it."""

    spec: Path
    seeds: tuple[int, ...]
    model: str
    level: str
    temperature: float
    max_tokens: int
    keep: Path | None


@dataclass(frozen=True)
class Result:
    """One kernel. `message` is why it is not accepted, "" where it is."""

    spec: str
    seed: int
    closed: bool
    accepted: bool
    tokens: int
    forced_tokens: int
    statements: int
    decode_seconds: float
    mask_seconds: float
    message: str


#: The model of this process, opened once; the random one is opened anew, for its seed is its whole content.
_sessions: dict[str, Session] = {}


@contextmanager
def _session(job: Job, seed: int) -> Iterator[Session]:
    if job.model == "random":
        yield open_session("random", seed=seed)
        return
    if job.model not in _sessions:
        _sessions[job.model] = open_session(job.model, n_ctx=4096 + job.max_tokens, threads=1)
    yield _sessions[job.model]


def run_job(job: Job) -> list[Result]:
    """Decode and assemble. Runs in a process of its own."""
    spec, table = load_spec(job.spec), load_table()
    arch = (main_arch(spec.target.arch, table),)
    options = Options(model=job.model, level=job.level, max_tokens=job.max_tokens, arch=arch, top_p=1.0)
    prompt = build_prompt(spec, table, arch[0])
    ptxas = find_ptxas()[0]
    results = []
    for seed in job.seeds:
        with _session(job, seed) as session:
            shared = SharedPrompt(session)
            read_prompt(shared, prompt, lambda tokens: None)
            recipe = Recipe(seed, derived_seed(seed, 0), job.temperature)
            try:
                made = Writer(shared, prompt, spec, table, options).write(recipe)
            except PtxgenError as error:
                message = f"{type(error).__name__}: {error}"
                results.append(Result(spec.kernel.name, seed, False, False, 0, 0, 0, 0.0, 0.0, message))
                continue
        assembly = ptxas.assemble(made.ptx, arch[0]) if made.complete else None
        accepted = assembly is not None and assembly.ok
        message = "" if accepted else "it did not close"
        if assembly is not None and not assembly.ok:
            message = "; ".join(f"line {said.line}: {said.text}" for said in assembly.messages)
        if job.keep is not None and not accepted:
            write_file(job.keep / f"{spec.kernel.name}.{seed}.ptx", made.ptx)
        results.append(
            Result(
                spec.kernel.name, seed, made.complete, accepted, made.tokens, made.forced_tokens,
                made.statements, made.decode_seconds, made.mask_seconds, message,
            )
        )
    return results


def summary(results: Sequence[Result]) -> str:
    """A Markdown table, a line a spec, then all."""
    lines = [
        "| spec | closed | ptxas accepts | tokens | forced | tokens/s | masks |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    names = sorted({result.spec for result in results})
    for name in [*names, ""]:
        mine = [result for result in results if name in ("", result.spec)]
        tokens, seconds = sum(r.tokens for r in mine), sum(r.decode_seconds for r in mine)
        forced, masks = sum(r.forced_tokens for r in mine), sum(r.mask_seconds for r in mine)
        lines.append(
            f"| {name or '**all**'} | {sum(r.closed for r in mine)} of {len(mine)} "
            f"| {sum(r.accepted for r in mine)} of {len(mine)} | {tokens} | {100 * forced / max(tokens, 1):.0f}% "
            f"| {tokens / max(seconds, 1e-9):.0f} | {100 * masks / max(seconds, 1e-9):.1f}% |"
        )
    return "\n".join(lines)


def jobs(specs: Sequence[Path], seeds: int, part: int, given: argparse.Namespace) -> list[Job]:
    """Specs times seeds, `part` seeds a job."""
    return [
        Job(path, tuple(range(start, min(start + part, seeds))), given.model, given.level, given.temperature,
            given.max_tokens, given.keep)
        for path in specs
        for start in range(0, seeds, part)
    ]  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="bench.closing", description="Does every output close and assemble?")
    parser.add_argument("specs", nargs="*", type=Path, help="spec files [default: all of examples/]")
    parser.add_argument("--model", default="random")
    parser.add_argument("--level", default="full")
    parser.add_argument("--seeds", type=int, default=25, help="seeds for each spec [default: %(default)s]")
    parser.add_argument("--temperature", type=float, default=1.0)
    parser.add_argument("--max-tokens", type=int, default=1024)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--json", type=Path, help="write every result there")
    parser.add_argument("--keep", type=Path, help="an existing folder for the kernels that fail")
    given = parser.parse_args(arguments)
    specs = given.specs or sorted((ROOT / "examples").glob("*.toml"))
    started = time.monotonic()
    results: list[Result] = []
    try:
        with ProcessPoolExecutor(given.processes) as pool:
            pending = [pool.submit(run_job, job) for job in jobs(specs, given.seeds, 5, given)]
            for done in as_completed(pending):
                results += done.result()
                bad = [r for r in results if not r.accepted]
                said = f"{len(results)} made, {len(bad)} bad, {time.monotonic() - started:.0f} s"
                print(said, file=sys.stderr, flush=True)
    except PtxgenError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    if given.json is not None:
        write_file(given.json, json.dumps([asdict(result) for result in results], indent=2) + "\n")
    print(summary(results))
    bad = [result for result in results if not result.accepted]
    for result in bad[:20]:
        print(f"{result.spec}, seed {result.seed}: {result.message}", file=sys.stderr)
    print(f"{len(results) - len(bad)} of {len(results)} closed and were accepted, model {given.model}, "
          f"level {given.level}, {time.monotonic() - started:.0f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
