"""A kernel cut down to the lines that matter, by trying what happens without the others."""

from __future__ import annotations

import time
from collections.abc import Callable


def shrink(text: str, still: Callable[[str], bool], *, seconds: float = 60.0) -> str:
    """The text without as many lines as `still` allows, which says whether a text still shows what is looked for.

    Chunks of lines go first, single lines last (Zeller, Hildebrandt: Simplifying and Isolating Failure-Inducing
    Input, 2002). `still` must turn down texts that are no kernels.
    """
    deadline = time.monotonic() + seconds
    lines = text.splitlines()
    size = max(len(lines) // 2, 1)
    while True:
        before = len(lines)
        at = len(lines)
        while at > 0:
            start = max(at - size, 0)
            if time.monotonic() > deadline:
                return "\n".join(lines) + "\n"
            without = lines[:start] + lines[at:]
            if still("\n".join(without) + "\n"):
                lines = without
            at = start
        if size == 1 and len(lines) == before:
            return "\n".join(lines) + "\n"
        size = max(size // 2, 1)
