"""On a machine with a GPU: the executor's own tests, then kernels that passed elsewhere, on the device.

    python -m bench.gpu_check --kernels bench/out/kernels/verified --json gpu.json

Needs numpy, hypothesis, pydantic, lark, pytest and cuda-bindings; no model, no llama.cpp, no llguidance. Kernels come
from `tests/kernels`, from the reference kernels of the prompts, and from the folders given with --kernels.
The spec of `NAME.ptx` (or `NAME.anything.ptx`, `NAME__variant.ptx`) is NAME.toml beside it or in `examples/`.
Exit status 0 when every kernel is right on the GPU and the tests pass.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

from ptxgen.errors import PtxgenError
from ptxgen.executing.gpu import GpuExecutor
from ptxgen.executing.protocol import Executor
from ptxgen.spec import load_spec
from ptxgen.verifying import verify

ROOT = Path(__file__).resolve().parent.parent
OWN_FOLDERS = (ROOT / "tests/kernels", ROOT / "tests/kernels/variants", ROOT / "ptxgen/prompting/references")


@dataclass(frozen=True)
class Check:
    """One kernel on one executor. `trouble` is "" where it is right."""

    kernel: str
    executor: str
    ok: bool
    examples: int
    seconds: float
    trouble: str


def kernels(folders: Sequence[Path]) -> Iterator[tuple[Path, Path]]:
    """Each kernel with its spec; those without one are named on stderr."""
    for folder in folders:
        for path in sorted(folder.glob("*.ptx")):
            names = [path.stem, path.stem.split("__")[0], path.stem.split(".")[0]]
            places = [place / f"{name}.toml" for name in names for place in (folder, ROOT / "examples")]
            spec = next((place for place in places if place.is_file()), None)
            if spec is None:
                print(f"no spec for {path}", file=sys.stderr)
            else:
                yield path, spec


def check(path: Path, spec_path: Path, executor: Executor, examples: int | None, seed: int) -> Check:
    """Verify on inputs of both kinds, those of the search and those held out."""
    started = time.monotonic()
    name = str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)
    tried, trouble = 0, ""
    try:
        spec, text = load_spec(spec_path), path.read_text(encoding="utf-8")
        for held_out in (False, True):
            verdict = verify(spec, text, executor, examples=examples, seed=seed, held_out=held_out)
            tried += verdict.examples
            if not verdict.ok:
                trouble = verdict.failures[0].message if verdict.failures else "wrong"
                break
    except PtxgenError as error:
        trouble = str(error).splitlines()[0]
    return Check(name, executor.name, not trouble, tried, time.monotonic() - started, trouble)


def table(checks: Sequence[Check]) -> str:
    """In Markdown."""
    lines = ["| kernel | executor | right | examples | seconds | trouble |", "|---|---|---|---:|---:|---|"]
    for made in checks:
        trouble = " ".join(made.trouble.split()).replace("|", "\\|")[:120]
        lines.append(
            f"| {made.kernel} | {made.executor} | {'yes' if made.ok else '**no**'} | {made.examples} "
            f"| {made.seconds:.1f} | {trouble} |"
        )
    return "\n".join(lines)


def run_tests() -> int:
    """Every test that needs a GPU. Where they find none they fail: a run that tested nothing is no pass."""
    files = [path for path in sorted(ROOT.glob("tests/**/test_*.py")) if "mark.gpu" in path.read_text("utf-8")]
    command = [sys.executable, "-m", "pytest", "-q", "-m", "gpu", *map(str, files)]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, "PTXGEN_REQUIRE_GPU": "1"}, check=False).returncode


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="bench.gpu_check", description="Kernels and the executor on a GPU.")
    parser.add_argument("--kernels", type=Path, action="append", default=[], help="a folder more of kernels")
    parser.add_argument("--only", action="store_true", help="only those folders, not the project's own kernels")
    parser.add_argument("--examples", type=int, help="inputs for each kernel [default: as its spec says]")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-tests", action="store_true", help="leave out the executor's tests")
    parser.add_argument("--json", type=Path, help="write the checks there")
    given = parser.parse_args(arguments)
    status = 0 if given.no_tests else run_tests()
    checks: list[Check] = []
    try:
        with closing(GpuExecutor()) as executor:
            print(f"device {executor.device}, {executor.arch}")
            folders = [*(() if given.only else OWN_FOLDERS), *given.kernels]
            for path, spec in kernels(folders):
                checks.append(check(path, spec, executor, given.examples, given.seed))
                print(f"{checks[-1].kernel}: {checks[-1].trouble or 'right'}", file=sys.stderr, flush=True)
    except PtxgenError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    if given.json is not None:
        document = {"tests": status, "checks": [asdict(made) for made in checks]}
        given.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    print(table(checks))
    right = sum(made.ok for made in checks)
    tests = "were left out" if given.no_tests else "pass" if status == 0 else "FAIL"
    print(f"{right} of {len(checks)} kernels right on the GPU; its tests {tests}")
    return 0 if status == 0 and right == len(checks) and checks else 1


if __name__ == "__main__":
    sys.exit(main())
