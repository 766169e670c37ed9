"""Parts of registers that video instructions select: bytes and halves, masks of them, and lists of them."""

from __future__ import annotations

import re

#: By the word that a note has for them; what follows the register's dot.
SELECTORS = {
    "part": re.compile(r"b[0-3]|h[01]"),             # a byte or a half
    "mask2": re.compile(r"h0|h1|h10"),               # halves of a result
    "mask4": re.compile(r"b(?=[0-3])3?2?1?0?"),      # bytes of a result, the highest first
    "pick2": re.compile(r"h[0-3]{2}"),               # two of the four halves of both sources
    "pick4": re.compile(r"b[0-7]{4}"),               # four of the eight bytes of both sources
}


def is_selector(text: str) -> bool:
    """Whether this selects something anywhere."""
    return any(pattern.fullmatch(text) for pattern in SELECTORS.values())
