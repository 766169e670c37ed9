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


#: Directive or what else is not an instruction: the first PTX version and target that have it (manual, notes on
#: each directive).
FEATURES = {
    ".abi_preserve": ("9.0", 80),
    ".abi_preserve_control": ("9.0", 80),
    ".address_size": ("2.3", 0),
    ".alias": ("6.3", 30),
    ".attribute": ("4.0", 0),
    ".blocksareclusters": ("9.0", 90),
    ".branchtargets": ("6.0", 30),
    ".callprototype": ("2.1", 20),
    ".calltargets": ("2.1", 20),
    ".common": ("5.0", 20),
    ".explicitcluster": ("7.8", 90),
    ".managed": ("4.0", 30),
    ".maxclusterrank": ("7.8", 90),
    ".minnctapersm": ("2.0", 20),
    ".noreturn": ("6.4", 30),
    ".pragma": ("2.0", 20),
    ".ptr": ("2.2", 0),
    ".reqnctapercluster": ("7.8", 90),
    ".reqntid": ("2.1", 20),
    ".unified": ("8.0", 90),
    ".weak": ("3.1", 20),
    "0xFF(name)": ("7.1", 0),
    "generic(name)": ("3.1", 0),
    "texmode_independent": ("1.5", 0),
}


def require(what: str, span: Span, ground: Ground) -> bool:
    """Report where the module's version or target lacks a feature; whether it has it."""
    ptx, sm = FEATURES[what]
    return require_since(what, ptx, sm, span, ground)


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
