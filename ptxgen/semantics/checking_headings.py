"""`.version`, `.target`, `.address_size`, and the directives of a function."""

from __future__ import annotations

import re
from difflib import get_close_matches

from ptxgen.isa import Table, Target, Version
from ptxgen.ptx.tree import Directive, Function, Module, Span
from ptxgen.semantics.checking_scopes import Findings

MOST_THREADS = 1024
MOST_REGISTERS = 255
_OPTIONS = frozenset(
    {"debug", "texmode_independent", "texmode_unified", "map_f64_to_f32"}
)  # fmt: skip
#: Only kernels have a launch to speak of.
_ENTRY_ONLY = frozenset(
    {"maxntid", "reqntid", "minnctapersm", "maxnctapersm", "explicitcluster", "reqnctapercluster", "maxclusterrank",
     "blocksareclusters"}
)  # fmt: skip


def check_headings(
    module: Module, table: Table, arch: str | None, findings: Findings
) -> tuple[str | None, Version | None]:
    """The target and version that instructions are held against, None where the module gives none."""
    span = module.span if module.span.line else Span(1, 1, 1, 1)
    version = _version(module, table, span, findings)
    target = _target(module, table, span, findings)
    if version is not None and target is not None and version < target.ptx:
        findings.error(
            span, "version-target",
            f".version {version} does not know {target.name}, which came with PTX {target.ptx}",
            f"write .version {target.ptx}",
        )
    if module.address_size not in (None, 64):
        findings.error(span, "address-size", f"{module.address_size}-bit addresses are gone",
                       "write .address_size 64")
    if target is not None and arch is not None:
        _check_runs(target, table.target(arch), span, findings)
    return (target.name if target else None), version


def _version(module: Module, table: Table, span: Span, findings: Findings) -> Version | None:
    if not module.version:
        findings.error(span, "missing-version", "the file does not begin with .version", "begin with .version 8.0")
        return None
    version = Version.parse(module.version)
    if version not in table.versions:
        newest = max(table.versions)
        hint = f"the newest known here is {newest}" if version > newest else "there never was such a version"
        findings.error(span, "unknown-version", f"there is no PTX {module.version}", hint)
        return None
    return version


def _target(module: Module, table: Table, span: Span, findings: Findings) -> Target | None:
    if not module.target:
        findings.error(span, "missing-target", "the file names no .target", "write .target sm_80 after .version")
        return None
    names = [word for word in module.target if word not in _OPTIONS]
    if len(names) != 1:
        findings.error(span, "unknown-target", ".target names one architecture")
        return None
    if names[0] not in table.targets:
        near = get_close_matches(names[0], table.targets, n=1, cutoff=0.3)
        hint = f"did you mean {near[0]}?" if near else ""
        findings.error(span, "unknown-target", f"there is no target {names[0]}", hint)
        return None
    return table.targets[names[0]]


def runs_on(target: Target, arch: Target) -> bool:
    """May code for `target` be assembled for `arch`?"""
    if target.variant == "a":
        return target.name == arch.name
    if target.variant == "f":
        return arch.family == target.family and arch.number >= target.number
    return arch.number >= target.number


def _check_runs(target: Target, arch: Target, span: Span, findings: Findings) -> None:
    if runs_on(target, arch):
        return
    if target.variant == "a":
        why = f"{target.name} runs on itself only"
    elif target.variant == "f":
        why = f"{target.name} runs on its own family only"
    else:
        why = f"{target.name} is newer than {arch.name}"
    findings.error(span, "target-arch", f".target {target.name} cannot be assembled for {arch.name}: {why}",
                   f"write .target {arch.name}, or assemble for {target.name}")


def check_directives(function: Function, findings: Findings) -> None:
    """`.maxntid` and its like, between a signature and its body."""
    given = {d.name: d for d in function.directives}
    for directive in function.directives:
        if directive.name in _ENTRY_ONLY and function.kind != "entry":
            findings.error(directive.span, "function-directive", f".{directive.name} belongs to kernels")
        if directive.name == "noreturn" and function.kind == "entry":
            findings.error(directive.span, "function-directive", ".noreturn belongs to functions, not to kernels")
    for name in ("reqntid", "maxntid"):
        if name in given and _product(given[name]) > MOST_THREADS:
            findings.warn(given[name].span, "too-many-threads",
                          f".{name} asks for {_product(given[name])} threads; a block has {MOST_THREADS} at most")
    if "reqntid" in given and "maxntid" in given:
        findings.error(given["maxntid"].span, "function-directive", ".maxntid and .reqntid exclude each other")
    if "maxnreg" in given and _product(given["maxnreg"]) > MOST_REGISTERS:
        findings.warn(given["maxnreg"].span, "function-directive",
                      f".maxnreg over {MOST_REGISTERS} is ignored")
    if "minnctapersm" in given and not {"maxntid", "reqntid"} & set(given):
        findings.warn(given["minnctapersm"].span, "function-directive",
                      ".minnctapersm is ignored without .maxntid or .reqntid")


def _product(directive: Directive) -> int:
    total = 1
    for number in re.findall(r"0[xX][0-9A-Fa-f]+|[0-9]+", directive.text):
        total *= int(number, 16) if number[:2] in ("0x", "0X") else int(number)
    return total


