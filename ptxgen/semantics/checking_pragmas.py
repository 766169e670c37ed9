"""`.pragma` strings, and debugging directives: `.file`, `.loc`, `.section`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from ptxgen.ptx.tree import Directive
from ptxgen.semantics.checking_availability import Ground, require, require_since

#: Where a pragma may stand: in the module, between a kernel's signature and its body, in a body.
Place = Literal["module", "head", "body"]
#: Pragma to what it needs, and the argument it takes (None: any or none).
_PRAGMAS: dict[str, tuple[str, re.Pattern[str] | None, tuple[Place, ...]]] = {
    "nounroll": ("2.0", None, ("module", "head", "body")),
    "used_bytes_mask": ("8.3", re.compile(r"0[xX][0-9A-Fa-f]+|[0-9]+"), ("body",)),
    "enable_smem_spilling": ("8.7", None, ("body",)),
    "frequency": ("9.0", re.compile(r"(?:0*[1-9]|0[xX]0*[1-9A-Fa-f])[0-9A-Fa-f]*"), ("body",)),
}
_OVERFLOW = 1 << 32
_STRING = re.compile(r'"([^"]*)"')


def check_pragma(directive: Directive, place: Place, ground: Ground) -> None:
    """Each of its strings; those that nobody knows are passed over in bodies, as assemblers do."""
    findings = ground.findings
    require(".pragma", directive.span, ground)
    for text in _STRING.findall(directive.text):
        name, _, argument = text.strip().partition(" ")
        known = _PRAGMAS.get(name)
        if known is None:
            if place == "module":
                findings.error(directive.span, "unknown-pragma", f"there is no pragma {text!r}")
            else:
                findings.warn(directive.span, "unknown-pragma", f"pragma {text!r} is not known, and passed over")
            continue
        since, wanted, places = known
        if place not in places:
            findings.error(directive.span, "pragma-place", f"pragma {name} belongs into a body")
        require_since(f"pragma {name}", since, 0, directive.span, ground)
        if wanted is not None and not wanted.fullmatch(argument.strip()):
            told = f"not {argument.strip()!r}" if argument else "and is given none"
            findings.error(directive.span, "pragma-value", f"pragma {name} takes a number, {told}")


@dataclass
class Debugging:
    """The files and places that debugging directives have named so far."""

    files: set[str] = field(default_factory=set)
    places: set[tuple[str, ...]] = field(default_factory=set)


def check_debugging(directive: Directive, seen: Debugging, in_body: bool, ground: Ground) -> None:
    """`.file`, `.loc` and `.section`, of the module or (`in_body`) of a function."""
    if directive.name == "file":
        _check_file(directive, seen, in_body, ground)
    elif directive.name == "loc":
        _check_loc(directive, seen, in_body, ground)
    elif directive.name == "section":
        if directive.text.startswith("@@"):
            if ground.since("2.0"):
                ground.findings.error(directive.span, "removed", "@@DWARF is gone since PTX 2.0", "use .section")
        elif in_body:
            ground.findings.error(directive.span, "misplaced-directive", ".section belongs to the module",
                                  "move it below the function")


def _check_file(directive: Directive, seen: Debugging, in_body: bool, ground: Ground) -> None:
    if in_body:
        ground.findings.error(directive.span, "misplaced-directive", ".file belongs to the module",
                              "move it above the function")
    index = directive.text.split(None, 2)[1]
    if index in seen.files:
        ground.findings.error(directive.span, "duplicate-directive", f"file {index} is named twice")
    seen.files.add(index)


def _check_loc(directive: Directive, seen: Debugging, in_body: bool, ground: Ground) -> None:
    findings = ground.findings
    if not in_body:
        findings.error(directive.span, "misplaced-directive", ".loc belongs into a function")
    words = directive.text.replace(",", " ").split()
    place = tuple(words[1:4])
    if any(int(number) >= _OVERFLOW for number in place):
        findings.error(directive.span, "bad-constant", f"{max(place, key=int)} does not fit in 32 bits")
    if "inlined_at" in words:
        inner = tuple(words[words.index("inlined_at") + 1 :][:3])
        if inner not in seen.places:
            findings.error(directive.span, "bad-location",
                           f"inlined_at {' '.join(inner)}: no .loc before this names that place")
    seen.places.add(place)
