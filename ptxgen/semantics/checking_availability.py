"""Under which version and target a module is checked, and what directives need of them."""

from __future__ import annotations

from dataclasses import dataclass

from ptxgen.isa import Table, Target, Version
from ptxgen.ptx.tree import Span
from ptxgen.semantics.checking_scopes import Findings


@dataclass(frozen=True)
class Ground:
    """What every check stands on. `target` and `version` are None where the module gives none that exists."""

    table: Table
    findings: Findings
    target: Target | None = None
    version: Version | None = None
    options: frozenset[str] = frozenset()    # texmode_independent and the like

    def since(self, ptx: str) -> bool:
        """Whether the module's version has what came with PTX `ptx`; an unknown version has everything."""
        return self.version is None or self.version >= Version.parse(ptx)


def require(what: str, span: Span, ground: Ground) -> bool:
    """Report where the module's version or target lacks a feature of the table; whether it has it."""
    needed = ground.table.features[what].availability
    return require_since(what, str(needed.ptx), needed.sm, span, ground)


def require_since(what: str, ptx: str, sm: int, span: Span, ground: Ground) -> bool:
    """As `require`, of something that is named here only."""
    lacking = []
    if ground.version is not None and ground.version < Version.parse(ptx):
        lacking.append(f".version {ptx}")
    if ground.target is not None and ground.target.number < sm:
        lacking.append(f".target sm_{sm}")
    if lacking:
        ground.findings.error(
            span, "unavailable", f"{what} needs {' and '.join(lacking)} or newer",
            f"this module says .version {ground.version or '?'} and .target "
            f"{ground.target.name if ground.target else '?'}",
        )
    return not lacking
