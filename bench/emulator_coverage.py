"""Which forms of the ISA table the emulator runs, by chapter: `python -m bench.emulator_coverage [--missing]`.

Forms are lines of the table; a form counts as covered when all the expansions that show its slots' values decode.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict

from ptxgen.executing.emulator.coverage import Verdict, survey
from ptxgen.isa import load_table
from ptxgen.isa.conformance import covering


def _row(chapter: str, verdicts: list[Verdict]) -> str:
    forms: dict[tuple[str, int], list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        forms[verdict.expansion.form.file, verdict.expansion.form.line].append(verdict)
    whole = sum(all(v.covered for v in form) for form in forms.values())
    gpu = sum(any(v.needs_gpu for v in form) for form in forms.values())
    covered, refused = sum(v.covered for v in verdicts), sum(v.needs_gpu for v in verdicts)
    missing = len(verdicts) - covered - refused
    return f"| {chapter} | {len(forms)} | {whole} | {gpu} | {len(verdicts)} | {covered} | {refused} | {missing} |"


def main() -> int:
    """Print the table; exit status 1 if something is neither covered nor known to need a GPU."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.emulator_coverage", description=(__doc__ or "").replace("`", "")
    )
    parser.add_argument("--missing", action="store_true", help="list what is neither run nor known to need a GPU")
    listed = parser.parse_args().missing
    verdicts = list(survey(covering(load_table())))
    chapters: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        chapters[verdict.expansion.form.chapter].append(verdict)
    print("| chapter | forms | run here | need a GPU | expansions | run here | need a GPU | missing |")
    print("|---|---|---|---|---|---|---|---|")
    for chapter, found in chapters.items():
        print(_row(chapter, found))
    print(_row("all", verdicts))
    missing = [verdict for verdict in verdicts if not verdict.covered and not verdict.needs_gpu]
    if listed:
        for verdict in missing:
            print(f"{verdict.statement}  {verdict.why}")
    return int(bool(missing))


if __name__ == "__main__":
    sys.exit(main())
