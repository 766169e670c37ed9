"""`.attribute(…)` of variables and functions."""

from __future__ import annotations

import re

from ptxgen.ptx.tree import Span
from ptxgen.semantics.checking_availability import Ground, require

_UNIFIED = re.compile(r"unified\((?:0[xX][0-9A-Fa-f]+|[0-9]+),(?:0[xX][0-9A-Fa-f]+|[0-9]+)\)")


def check_attributes(inside: str, span: Span, what: str, ground: Ground) -> None:
    """What stands in `.attribute(…)`, blanks taken out; `what` is "function" or the space of a variable."""
    findings = ground.findings
    require(".attribute", span, ground)
    words = re.findall(r"\.?([a-z_A-Z0-9]+(?:\([^()]*\))?)", inside)
    if not words:
        findings.error(span, "bad-attribute", ".attribute names none", "write .attribute(.managed)")
    for word in words:
        if word == "managed" and what != "function":
            require(".managed", span, ground)
            if what != "global":
                findings.error(span, "bad-attribute", f"a .{what} variable cannot be .managed",
                               "only .global variables can")
        elif _UNIFIED.fullmatch(word):
            if require(".unified", span, ground):
                findings.error(span, "bad-attribute", ".unified is for modules that are linked later",
                               "leave it out, or assemble with --compile-only")
        else:
            wanted = ".unified(a, b)" if what == "function" else ".managed or .unified(a, b)"
            findings.error(span, "bad-attribute", f"there is no attribute .{word} here", f"it takes {wanted}")
