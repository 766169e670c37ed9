"""The corpus's sources, and what each says of itself in lines that begin with `//!`, `;!` or `#!`.

    //! least sm_80             not for older targets
    //! only sm_90a             this target alone
    //! compiler nvcc           not for the other compilers of the language
    //! flags -rdc=true         always given to the compiler
    //! without debug           not in these variants (whole headers in debug builds are large)
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

SOURCES = Path(__file__).parent / "sources"
_NOTE = re.compile(r"^(?://|;|#)!\s*(\w+)\s+(.*?)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Source:
    """One file of `sources/`. `only` is empty where every target from `least` on will do."""

    path: Path
    text: str = field(repr=False)
    least: int
    only: tuple[str, ...]
    compilers: tuple[str, ...]
    flags: tuple[str, ...]
    without: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.path.stem

    def suits(self, target: str, compiler: str) -> bool:
        """Whether `compiler` is asked to compile it for `target` (a name like `sm_90a`)."""
        if self.compilers and compiler not in self.compilers:
            return False
        return target in self.only if self.only else number(target) >= self.least


def number(target: str) -> int:
    """`sm_90a` as 90."""
    return int(re.sub("[^0-9]", "", target))


def sources(folder: str, ending: str) -> tuple[Source, ...]:
    """Every source of a language, by name."""
    found = []
    for path in sorted((SOURCES / folder).glob(f"*.{ending}")):
        text = path.read_text(encoding="ascii")
        notes: dict[str, list[str]] = {}
        for word, values in _NOTE.findall(text):
            notes.setdefault(word, []).extend(values.split())
        least = number(notes["least"][0]) if "least" in notes else 0
        found.append(
            Source(
                path, text, least, tuple(notes.get("only", ())), tuple(notes.get("compiler", ())),
                tuple(notes.get("flags", ())), tuple(notes.get("without", ())),
            )
        )
    return tuple(found)
