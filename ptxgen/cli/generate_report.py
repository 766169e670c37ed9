"""The report at the end of `generate`: one screen, plain text."""

from __future__ import annotations

from pathlib import Path

from ptxgen.generating import Candidate, Generation

#: Lines of a screen that the candidates may take.
_SHOWN = 12


def report(generation: Generation, kernel: Path, manifest: Path) -> str:
    """What was made, why to believe it or not, and where it is."""
    best = generation.best
    lines = [_headline(generation), ""]
    if best is not None:
        lines += _evidence(best)
    shown = generation.candidates[:_SHOWN]
    lines += ["", *(candidate_line(candidate) for candidate in shown)]
    if len(generation.candidates) > len(shown):
        lines.append(f"  ... and {len(generation.candidates) - len(shown)} more, see the manifest")
    lines += ["", *_cost(generation), "", f"  kernel    {kernel}", f"  manifest  {manifest}"]
    return "\n".join(lines)


def candidate_line(candidate: Candidate) -> str:
    """One candidate in a line: what became of it, what it cost, what is wrong."""
    speed = f"{candidate.tokens} tokens, {rate(candidate.tokens, candidate.decode_seconds)}"
    forced = f", {share(candidate.forced_tokens, candidate.tokens)} forced" if candidate.forced_tokens else ""
    origin = "" if candidate.recipe.parent is None else f" (repairs {candidate.recipe.parent})"
    line = f"  candidate {candidate.index}{origin}: {candidate.status:<12} {speed}{forced}"
    return line + (f"\n      {_short(candidate.trouble)}" if candidate.trouble else "")


def rate(tokens: int, seconds: float) -> str:
    return f"{tokens / seconds:.1f} tokens/s" if seconds > 0 else "- tokens/s"


def share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f}%" if whole else "0%"


def _headline(generation: Generation) -> str:
    words = {
        "verified": "verified",
        "failed": "NOT VERIFIED: the kernel written is the best that failed",
        "unfinished": "UNFINISHED: interrupted",
    }
    return f"{generation.kernel}: {words[generation.status]}"


def _evidence(best: Candidate) -> list[str]:
    lines = []
    for assembly in best.assemblies:
        if assembly.ok:
            spilled = f"{assembly.spill_bytes} bytes spilled" if assembly.spill_bytes else "no spills"
            cost = f"{assembly.registers} registers, {spilled}"
            lines.append(f"  ptxas     accepts it for {assembly.arch}: {cost}")
        else:
            lines.append(f"  ptxas     refuses it for {assembly.arch}")
    if best.verdict is not None:
        tried = f"{best.verdict.examples} examples, on the {best.verdict.executor}"
        right = best.verdict.ok
        lines.append(f"  verified  right on {tried}, held out" if right else f"  tested    WRONG: {tried}")
    return lines


def _cost(generation: Generation) -> list[str]:
    decoding = sum(candidate.decode_seconds for candidate in generation.candidates)
    masks = sum(candidate.mask_seconds for candidate in generation.candidates)
    name = generation.model.name if generation.model else "-"
    return [
        f"  model     {name}, level {generation.options.level}, seed {generation.options.seed}",
        f"  took      {generation.seconds:.1f} s: prompt of {generation.prompt_tokens} tokens "
        f"{generation.prompt_seconds:.1f} s, decoding {decoding:.1f} s ({generation.tokens} tokens, "
        f"{rate(generation.tokens, decoding)}, masks {share(masks, decoding)})",
    ]


def _short(text: str, limit: int = 160) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
