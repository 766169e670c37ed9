"""Fuzz every level and target, and print one Markdown table.

    python -m fuzz.survey --samples 100
    python -m fuzz.survey --levels scoped full --archs sm_75 sm_100 --seed 5000

Each row is one run of `ptxgen-local fuzz`. Exit status 1 if any of them is not 0. Progress and what was
refused go to stderr.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from typing import Any

LEVELS = ("scoped", "typestate", "full")
ARCHS = ("sm_75", "sm_80", "sm_90", "sm_100")
HEADING = ("level", "target", "kernels", "complete", "accepted", "forms written", "specs refused")


def main() -> int:
    options = _options()
    print(f"| {' | '.join(HEADING)} |\n|{'---|' * len(HEADING)}", flush=True)
    failed = False
    for level in options.levels:
        for arch in options.archs:
            status, found = _run(level, arch, options.samples, options.seed)
            failed = failed or status != 0
            forms = f"{found['forms_covered']} of {found['forms_total']}"
            cells = (level, arch, found["samples"], found["complete"], found["ptxas_accepted"], forms)
            print(f"| {' | '.join(map(str, cells))} | {len(found['refused_specs'])} |", flush=True)
            for one in found["rejected"]:
                print(f"{level} {arch} seed {one['seed']}: {one['message']}", file=sys.stderr)
    return int(failed)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Fuzz every level and target.")
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--levels", nargs="+", default=LEVELS)
    parser.add_argument("--archs", nargs="+", default=ARCHS)
    return parser.parse_args()


def _run(level: str, arch: str, samples: int, seed: int) -> tuple[int, dict[str, Any]]:
    command = [sys.executable, "-m", "ptxgen", "fuzz", "--json", "--level", level, "--arch", arch]
    command += ["--samples", str(samples), "--seed", str(seed)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(done.returncode)
    return done.returncode, json.loads(done.stdout)


if __name__ == "__main__":
    sys.exit(main())
