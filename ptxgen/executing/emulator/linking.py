"""Which function a name stands for in a module: those that have a body, and aliases of them."""

from __future__ import annotations

import re

from ptxgen.ptx.tree import Directive, Function, Module

_ALIAS = re.compile(r"\.alias\s+(\S+?)\s*,\s*([^\s;]+)")


def functions_of(module: Module) -> dict[str, Function]:
    """Every `.func` with a body, by each of its names (`.alias other, name;` gives it one more)."""
    found = {i.name: i for i in module.items if isinstance(i, Function) and i.kind == "func" and i.body is not None}
    for item in module.items:
        if isinstance(item, Directive) and item.name == "alias" and (said := _ALIAS.search(item.text)):
            other, name = said.groups()
            if name in found:
                found[other] = found[name]
    return found
