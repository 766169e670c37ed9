"""`.version`, `.target`, `.address_size`: what a module is checked under."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from ptxgen.isa import Table, Target, Version
from ptxgen.ptx.tree import Directive, Module, Span
from ptxgen.semantics.checking_availability import Ground, require
from ptxgen.semantics.checking_scopes import Findings

_TEXTURE_MODES = ("texmode_independent", "texmode_unified")
_OPTIONS = frozenset({"debug", "map_f64_to_f32", *_TEXTURE_MODES})
#: The last targets without 64-bit floats.
_DOUBLES = 13
#: One chip under two names, before and since PTX 9.0.
_RENAMED = ("sm_101", "sm_110")


def check_headings(module: Module, table: Table, arch: str | None, findings: Findings) -> Ground:
    """The ground that everything else is checked on."""
    places = {heading.name: heading.span for heading in module.headings}
    start = module.span if module.span.line else Span(1, 1, 1, 1)
    version = _version(module, table, places.get("version", start), findings)
    at = places.get("target", start)
    target = _target(module, table, at, findings)
    ground = Ground(table, findings, target, version, frozenset(module.target) & _OPTIONS)
    _check_options(module, at, ground)
    if version is not None and target is not None and version < target.ptx:
        findings.error(
            places.get("version", start), "version-target",
            f".version {version} does not know {target.name}, which came with PTX {target.ptx}",
            f"write .version {target.ptx}",
        )
    if module.address_size is not None:
        span = places.get("address_size", start)
        if module.address_size != 64:
            findings.error(span, "address-size", f"{module.address_size}-bit addresses are gone",
                           "write .address_size 64")
        require(".address_size", span, ground)
    if target is not None and arch is not None:
        _check_runs(target, table.target(arch), at, findings)
    return ground


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
    """The last architecture that is named; assemblers pass over those before it."""
    if not module.target:
        findings.error(span, "missing-target", "the file names no .target", "write .target sm_80 after .version")
        return None
    names = [word for word in module.target if word not in _OPTIONS]
    if not names or module.target[0] in _OPTIONS:
        findings.error(span, "missing-target", f".target begins with {module.target[0]}, not with an architecture",
                       f"write .target sm_80, {module.target[0]}")
    known: Target | None = None
    for name in names:
        known = table.targets.get(name.replace("compute_", "sm_", 1))
        if known is None:
            near = get_close_matches(name, [*table.targets, *_OPTIONS], n=1, cutoff=0.3)
            findings.error(span, "unknown-target", f"there is no target {name}",
                           f"did you mean {near[0]}?" if near else "")
    if known is not None and len(set(names)) > 1:
        findings.warn(span, "several-targets", f"only the last architecture counts: {known.name}",
                      "name one; code for it runs on all newer ones")
    return known


def _check_options(module: Module, span: Span, ground: Ground) -> None:
    findings, target = ground.findings, ground.target
    if ground.options.issuperset(_TEXTURE_MODES):
        findings.error(span, "target-option", "texmode_independent and texmode_unified exclude each other")
    if "texmode_independent" in ground.options:
        require("texmode_independent", span, ground)
    if "map_f64_to_f32" in ground.options and target is not None and target.number >= _DOUBLES:
        findings.error(span, "target-option", f"map_f64_to_f32: {target.name} has 64-bit floats of its own",
                       "leave it out")
    if "debug" in ground.options and not _has_section(module.items):
        findings.error(span, "missing-debug-section", ".target says debug, but the module has no debug section",
                       "leave debug out, or add the .section directives of DWARF")


def _has_section(items: Iterable[object]) -> bool:
    return any(isinstance(item, Directive) and item.name == "section" for item in items)


def runs_on(target: Target, arch: Target) -> bool:
    """May code for `target` be assembled for `arch`?"""
    if target.variant == "a":
        return target.name.replace(*_RENAMED) == arch.name.replace(*_RENAMED)
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
