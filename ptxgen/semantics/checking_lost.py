"""Which findings stand although pieces of the text did not parse."""

from __future__ import annotations

import re

from ptxgen.ptx.diagnostics import Diagnostic
from ptxgen.ptx.tree import Module

#: What hangs on a declaration, a write, a body or a signature that a lost piece may hold.
_HANGING = frozenset(
    {"undeclared-name", "uninitialised-register", "unresolved-function", "unresolved-variable", "signature-mismatch",
     "call-arguments", "call-target", "linkage", "duplicate-name", "duplicate-label", "address-base", "state-space",
     "operand-kind", "operand-type", "bad-alias", "missing-debug-section"}
)  # fmt: skip
_WORD = re.compile(r"[%$]?[A-Za-z_0-9$]+")


def trustworthy(found: list[Diagnostic], module: Module) -> list[Diagnostic]:
    """All findings of a whole module; of one with lost pieces those that do not hang on them."""
    if not module.lost:
        return found
    lines = {line for piece in module.lost for line in range(piece.span.line, piece.span.end_line + 1)}
    names = frozenset(name for piece in module.lost for name in piece.names)
    headless = not module.headings
    return [
        finding for finding in found
        if finding.span.line not in lines
        and not (finding.code in _HANGING and _mentions(finding.message, names))
        and not (headless and finding.code in ("missing-version", "missing-target"))
    ]  # fmt: skip


def _mentions(message: str, names: frozenset[str]) -> bool:
    return any(word in names or word.rstrip("0123456789") in names for word in _WORD.findall(message))
