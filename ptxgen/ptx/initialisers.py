"""Addresses in initial values: `name`, `generic(name)`, and one byte of either, `0xFF00(generic(name)+4)`.

Manual, "Initializers": the mask operator and generic().
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_WRAPPED = re.compile(r"([0-9][0-9A-Za-z]*)\((.*?)(?:\+(-?[0-9]+))?\)")
_GENERIC = re.compile(r"generic\((.*)\)")


@dataclass(frozen=True, slots=True)
class AddressValue:
    """What the `text` of a `Name` in an initialiser says: `mask` is "" for a whole address."""

    name: str
    mask: str = ""
    generic: bool = False
    offset: int = 0


def address_value(text: str) -> AddressValue:
    """Reads what the grammar has made of it."""
    masked = _WRAPPED.fullmatch(text)
    inner = masked[2] if masked else text
    generic = _GENERIC.fullmatch(inner)
    return AddressValue(
        generic[1] if generic else inner,
        masked[1] if masked else "",
        generic is not None,
        int(masked[3] or 0) if masked else 0,
    )
