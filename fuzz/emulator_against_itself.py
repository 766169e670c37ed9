"""Random whole kernels on the emulator alone, in every way in which the result must be the same.

    python -m fuzz.emulator_against_itself --seed 1 --count 100          also judged by ptxas and check
    python -m fuzz.emulator_against_itself --minutes 10 --no-assembling  as many as there is time for

Prints what disagrees; exit status 1 if anything does.
"""

from __future__ import annotations

import argparse
import sys
import time

from fuzz.kernels.agreeing import disagreements, refusals
from fuzz.kernels.making import make
from ptxgen.assembling import find_ptxas


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--statements", type=int, default=0, help="of each kernel; 0: the seed says how many")
    parser.add_argument("--no-assembling", action="store_true", help="check alone judges the texts, and no ptxas")
    given = parser.parse_args()
    assemblers = () if given.no_assembling else find_ptxas()
    begun = time.monotonic()
    kernels = statements = wrong = 0
    for seed in range(given.seed, given.seed + given.count):
        if time.monotonic() - begun > 60 * given.minutes:
            break
        kernel = make(seed, statements=given.statements)
        kernels += 1
        statements += kernel.statements
        for line in (*disagreements(kernel), *refusals(kernel, assemblers)):
            wrong += 1
            print(f"seed {seed}: {line}", flush=True)
    seconds = time.monotonic() - begun
    print(f"{kernels} kernels, {statements} statements, {seconds:.0f} s: {wrong} disagreements")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
