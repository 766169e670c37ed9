"""Entries of a module: finding one, and what its directives say of its launches."""

from __future__ import annotations

import re

from ptxgen.errors import UsageError
from ptxgen.executing.protocol import Dim3
from ptxgen.ptx.tree import Function, Module


def find_entry(module: Module, name: str | None) -> Function:
    """The entry of that name, or the only one. Raises UsageError."""
    entries = module.entries()
    names = ", ".join(entry.name for entry in entries)
    if name is None:
        if len(entries) == 1:
            return entries[0]
        if not entries:
            raise UsageError("the PTX text has no .entry", fix="give a kernel to run")
        raise UsageError("the PTX text has several entries", why=names, fix="name one of them with --entry")
    for entry in entries:
        if entry.name == name:
            return entry
    raise UsageError(f"the PTX text has no entry {name!r}", why=f"it has {names or 'none'}")


def dimensions(entry: Function, name: str) -> Dim3 | None:
    """The numbers of a directive such as `.reqntid 32, 2`, ones where they are left out; None without it."""
    for directive in entry.directives:
        if directive.name == name:
            numbers = [int(word) for word in re.findall(r"\d+", directive.text.partition(name)[2])]
            x, y, z = (*numbers, 1, 1, 1)[:3]
            return x, y, z
    return None
