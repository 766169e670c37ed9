"""Right kernels broken at random, on the emulator: a verdict or an error in words, in time, in bounded memory.

    python -m fuzz.emulator_on_mutants --minutes 5
    python -m fuzz.emulator_on_mutants --seed 17 --count 1         one again

The kernels are random ones and those that the tests have. Exit status 1 where there was another exception than
PtxgenError, where a launch took longer than its time limit allows, or where the process grew too large.
"""

from __future__ import annotations

import argparse
import re
import resource
import sys
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fuzz.kernels.making import make
from fuzz.kernels.mutating import damaged, mutated
from fuzz.kernels.running import arguments
from fuzz.kernels.writing import Dice
from ptxgen.errors import PtxgenError
from ptxgen.executing import Argument, Buffer, Launch, Scalar
from ptxgen.executing.emulator import Emulator

_TESTS = Path(__file__).resolve().parents[1] / "tests"
#: Seconds that a launch may take by its limit, and of CPU that it may take besides, reading and decoding included.
LIMIT, BESIDES = 3.0, 6.0
#: Bytes of the whole process.
MOST = 4 << 30


def written_by_hand() -> list[str]:
    """Kernels of the tests."""
    return [path.read_text() for folder in ("kernels", "executing/faults") for path in sorted((_TESTS / folder).rglob(
        "*.ptx"))]  # fmt: skip


def launch_of(seed: int, others: Sequence[str]) -> tuple[str, Launch, list[Argument]]:
    """A broken text and what it is launched with."""
    dice = Dice(seed)
    breaking = damaged if dice.chance(0.15) else mutated
    if dice.chance(0.6) or not others:
        kernel = make(dice.below(1 << 30), statements=dice.between(20, 120))
        return breaking(kernel.ptx, seed), kernel.launch, arguments(kernel)
    text = dice.pick(others)
    given: list[Argument] = []
    for type_name in re.findall(r"\.param \.(\w+) ", text[: text.find("{")]):
        if type_name == "u64":
            given.append(Buffer(np.arange(dice.pick((1, 64, 300)), dtype=np.uint32), dice.chance(0.8)))
        else:
            scalar = "f16" if type_name == "b16" else type_name
            given.append(Scalar(scalar, 1.5 if "f" in scalar else dice.pick((0, 1, 33, 127))))
    launch = Launch((dice.between(1, 3), 1, 1), (dice.pick((1, 32, 33, 64)), 1, 1), dice.pick((0, 1024)))
    return breaking(text, seed), launch, given


def verdict(emulator: Emulator, seed: int, others: Sequence[str]) -> tuple[str, bool]:
    """What became of one, in a word, and whether that is as it should be."""
    text, launch, given = launch_of(seed, others)
    begun = time.process_time()
    try:
        outcome = emulator.run(text, None, launch, given)
        word: str = outcome.faults[0].kind if outcome.faults else "ran"
    except PtxgenError as error:
        word = type(error).__name__
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        traceback.print_exc()
        return f"{type(error).__name__} is no verdict", False
    seconds = time.process_time() - begun
    return (word, True) if seconds < LIMIT + BESIDES else (f"{word} after {seconds:.0f} s", False)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--minutes", type=float, default=5.0)
    given = parser.parse_args()
    emulator = Emulator(step_limit=50_000, time_limit=LIMIT)
    others = written_by_hand()
    tally: Counter[str] = Counter()
    wrong = 0
    begun = time.monotonic()
    for seed in range(given.seed, given.seed + given.count):
        if time.monotonic() - begun > 60 * given.minutes:
            break
        word, right = verdict(emulator, seed, others)
        tally[word] += 1
        if not right:
            wrong += 1
            print(f"seed {seed}: {word}", flush=True)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
        if peak > MOST:
            print(f"seed {seed}: the process has grown to {peak >> 20} MiB")
            return 1
    for word, count in tally.most_common():
        print(f"{count:7} {word}")
    seconds = time.monotonic() - begun
    print(f"{tally.total()} kernels in {seconds:.0f} s, {peak >> 20} MiB, {wrong} not as they should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
