"""What the masks of one statement cost: every kernel of the project replayed, each step of the mask timed.

    python -m bench.masks
    python -m bench.masks --model qwen2.5-coder-1.5b --level typestate

Prints a Markdown table of milliseconds a statement (CPU time of this process). `narrowing` is keeping the first
choice to the vocabulary's own split. Compiled grammars are not reused, as they are in decoding where states recur.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import numpy as np

from ptxgen.decoding.canonical import Canonical
from ptxgen.decoding.grammars import StatementMatcher, allowed_ids, statement_grammar
from ptxgen.isa import load_table
from ptxgen.models import Session, open_session
from ptxgen.semantics import Level, State, allowed, contract_of, plan_closing, step
from ptxgen.spec import load_spec

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = (ROOT / "tests/kernels", ROOT / "tests/kernels/variants", ROOT / "ptxgen/prompting/references")
STEPS = ("step", "way home", "allowed", "grammar", "compile", "mask", "narrowing")
T = TypeVar("T")


class Clock:
    """CPU milliseconds by step, one entry a statement."""

    def __init__(self) -> None:
        self.spent: dict[str, list[float]] = defaultdict(list)

    def time(self, name: str, work: Callable[[], T]) -> T:
        started = time.process_time()
        result = work()
        self.spent[name].append((time.process_time() - started) * 1e3)
        return result

    def table(self) -> str:
        """Mean, median, 99th percentile and maximum of each step, then of their sum."""
        lines = ["| step | mean ms | median | p99 | max |", "|---|---:|---:|---:|---:|"]
        rows = {name: np.asarray(self.spent[name]) for name in STEPS}
        rows["all"] = np.sum([rows[name] for name in STEPS], axis=0)
        for name, spent in rows.items():
            figures = (spent.mean(), np.median(spent), np.percentile(spent, 99), spent.max())
            lines.append(f"| {name} | {' | '.join(f'{f:.2f}' for f in figures)} |")
        return "\n".join(lines)


def kernels() -> list[tuple[Path, Path]]:
    """(spec, kernel): the spec stands beside the kernel, or is the example that the kernel's name begins with."""
    found = []
    for folder in FOLDERS:
        for path in sorted(folder.glob("*.ptx")):
            own = path.with_suffix(".toml")
            found.append((own if own.exists() else ROOT / "examples" / f"{path.stem.partition('__')[0]}.toml", path))
    return found


def body(text: str) -> list[str]:
    """The statements after the register declarations."""
    lines = text.splitlines(keepends=True)
    last = max(i for i, line in enumerate(lines) if line.lstrip().startswith(".reg"))
    return [line for line in lines[last + 1 :] if line.strip()]


def measure(session: Session, canonical: Canonical, state: State, line: str, clock: Clock) -> State:
    """The mask before one statement, up to the first choice, and the step over it."""
    plan = clock.time("way home", lambda: plan_closing(state))
    legal = clock.time("allowed", lambda: allowed(state, plan.registers))
    grammar = clock.time("grammar", lambda: statement_grammar(legal))
    matcher = clock.time("compile", lambda: StatementMatcher(session.ll_tokenizer(), grammar))

    def first_mask() -> tuple[list[int], np.ndarray]:
        ahead = matcher.forced_tokens()
        if ahead:
            matcher.consume(ahead)
        return ahead, allowed_ids(matcher.mask(), session.n_vocab) if not matcher.finished else np.empty(0, np.int64)

    ahead, ids = clock.time("mask", first_mask)
    written = b"".join(session.token_bytes[t] for t in ahead)
    clock.time("narrowing", lambda: len(ids) and canonical.narrow(ids, canonical.heads(legal), ahead, written))
    return clock.time("step", lambda: step(state, line))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="random", help="whose vocabulary")
    parser.add_argument("--level", default="full")
    given = parser.parse_args(arguments)
    level, table, clock = Level.parse(given.level), load_table(), Clock()
    rows: list[int] = []
    with closing(open_session(given.model, n_ctx=512)) as session:
        session.ll_tokenizer()
        canonical = Canonical(session)
        for spec_path, path in kernels():
            spec = load_spec(spec_path)
            state = State.start(contract_of(spec, table, spec.target.arch[0]), level)
            for line in body(path.read_text(encoding="utf-8")):
                state = measure(session, canonical, state, line, clock)
            rows.append(len(state.registers))
            print(f"{path.stem}: {state.statements} statements, {rows[-1]} registers", file=sys.stderr)
    print(clock.table())
    count = len(clock.spent["step"])
    print(f"\n{len(rows)} kernels, {count} statements, {np.mean(rows):.0f} registers at the end of one")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
