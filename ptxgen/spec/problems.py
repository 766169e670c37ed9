"""What can be wrong with a spec: the error a person sees, and the nearest right name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from ptxgen.errors import PtxgenError


class SpecError(PtxgenError):
    """A spec that cannot be used. `where` is `file:line`."""


class Unfit(ValueError):
    """A value that one field refuses, before it is known on which line it stands."""

    def __init__(self, what: str, fix: str = "") -> None:
        self.what = what
        self.fix = fix
        super().__init__(what)


def nearest(word: str, known: Iterable[str]) -> str:
    """A sentence that names the closest known word, or lists them when none is close."""
    options = sorted(set(known))
    close = difflib.get_close_matches(word.lower(), options, n=1, cutoff=0.5)
    if close:
        return f"did you mean `{close[0]}`?"
    if not options:
        return "there is none to choose from"
    shown = ", ".join(f"`{option}`" for option in options[:16])
    return f"known are {shown}" + (", …" if len(options) > 16 else "")
