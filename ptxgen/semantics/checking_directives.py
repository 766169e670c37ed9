"""Directives between a signature and its body: threads, registers, clusters, what a call preserves."""

from __future__ import annotations

import re
from collections import Counter

from ptxgen.ptx.tree import Directive, Function
from ptxgen.semantics.checking_attributes import check_attributes
from ptxgen.semantics.checking_availability import Ground, require
from ptxgen.semantics.checking_pragmas import check_pragma

MOST_THREADS = 1024
MOST_REGISTERS = 255
_OVERFLOW = 1 << 32
#: How many numbers each takes: fewest, most.
_COUNTS = {
    "maxntid": (1, 3), "reqntid": (1, 3), "reqnctapercluster": (1, 3), "minnctapersm": (1, 1), "maxnctapersm": (1, 1),
    "maxnreg": (1, 1), "maxclusterrank": (1, 1), "abi_preserve": (1, 1), "abi_preserve_control": (1, 1),
    "explicitcluster": (0, 0), "blocksareclusters": (0, 0), "noreturn": (0, 0),
}  # fmt: skip
_POSITIVE = ("maxntid", "reqntid", "minnctapersm", "maxnreg")
#: Only kernels have a launch to speak of; the others are for functions, which are called.
_ENTRY_ONLY = frozenset(
    {"maxntid", "reqntid", "minnctapersm", "maxnctapersm", "maxnreg", "explicitcluster", "reqnctapercluster",
     "maxclusterrank", "blocksareclusters", "pragma"}
)  # fmt: skip
_FUNC_ONLY = frozenset({"noreturn", "abi_preserve", "abi_preserve_control", "attribute"})
_ONCE = frozenset({"noreturn", "abi_preserve", "abi_preserve_control"})


def check_directives(function: Function, ground: Ground) -> None:
    """Each by itself, then what they say together."""
    findings = ground.findings
    given = {d.name: d for d in function.directives}
    for directive in function.directives:
        _check_place(directive, function, ground)
        if directive.name == "pragma":
            check_pragma(directive, "head", ground)
        elif directive.name == "attribute":
            check_attributes(directive.text[len(".attribute(") : -1], directive.span, "function", ground)
        elif directive.name in _COUNTS:
            _check_numbers(directive, ground)
    for name, count in Counter(d.name for d in function.directives).items():
        if count > 1 and name in _ONCE:
            findings.error(given[name].span, "duplicate-directive", f".{name} is given twice")
    if "noreturn" in given and function.returns:
        findings.error(given["noreturn"].span, "function-directive",
                       f"{function.name} returns a value, so it is not .noreturn")
    if function.kind == "entry":
        _check_launch(function, given, ground)


def _check_place(directive: Directive, function: Function, ground: Ground) -> None:
    findings = ground.findings
    if directive.name in _ENTRY_ONLY and function.kind != "entry":
        hint = "put it into the body" if directive.name == "pragma" else ""
        findings.error(directive.span, "function-directive", f".{directive.name} belongs to kernels", hint)
    elif directive.name in _FUNC_ONLY and function.kind == "entry":
        findings.error(directive.span, "function-directive",
                       f".{directive.name} belongs to functions, not to kernels")
    elif directive.name in _ENTRY_ONLY and function.body is None:
        findings.error(directive.span, "function-directive",
                       f".{directive.name} belongs where {function.name} has its body")


def _check_numbers(directive: Directive, ground: Ground) -> None:
    findings, name, span = ground.findings, directive.name, directive.span
    numbers = numbers_of(directive)
    fewest, most = _COUNTS[name]
    if not fewest <= len(numbers) <= most:
        wanted = "no number" if most == 0 else "one number" if most == 1 else f"{fewest} to {most} numbers"
        findings.error(span, "directive-value", f".{name} takes {wanted}, {len(numbers)} are given")
    if name in _POSITIVE and any(number % _OVERFLOW == 0 for number in numbers):
        findings.error(span, "directive-value", f".{name} wants numbers above 0")
    if f".{name}" != ".maxnctapersm" and name not in ("maxntid", "maxnreg"):
        require(f".{name}", span, ground)
    if name == "maxnctapersm":
        if ground.since("2.1"):
            findings.error(span, "removed", ".maxnctapersm is gone since PTX 2.1", "use .minnctapersm")
        elif any(number == 0 for number in numbers):
            findings.error(span, "directive-value", f".{name} wants numbers above 0")
    if name.startswith("abi_preserve") and any(number > MOST_REGISTERS for number in numbers):
        findings.error(span, "directive-value", f".{name} counts registers; there are {MOST_REGISTERS}")


def numbers_of(directive: Directive) -> list[int]:
    """The numbers a directive is given; one that cannot be read counts as 1."""
    return [_number(word) for word in directive.text.partition(" ")[2].split(",") if word.strip()]


def _number(text: str) -> int:
    digits = text.strip().removesuffix("U")
    try:
        return int(digits, 8) if re.fullmatch("0[0-7]+", digits) else int(digits, 0)
    except ValueError:
        return 1


def _product(directive: Directive) -> int:
    threads = 1
    for number in numbers_of(directive):
        threads *= number
    return threads


def _check_launch(function: Function, given: dict[str, Directive], ground: Ground) -> None:
    findings = ground.findings
    for name in ("reqntid", "maxntid"):
        if name in given and _product(given[name]) > MOST_THREADS:
            findings.warn(given[name].span, "too-many-threads",
                          f".{name} asks for {_product(given[name])} threads; a block has {MOST_THREADS} at most")
    if "reqntid" in given and "maxntid" in given:
        findings.error(given["maxntid"].span, "function-directive", ".maxntid and .reqntid exclude each other")
    if "minnctapersm" in given and not {"maxntid", "reqntid"} & set(given):
        findings.warn(given["minnctapersm"].span, "ignored-directive",
                      ".minnctapersm means nothing without .maxntid or .reqntid")
    if "maxnreg" in given and sum(numbers_of(given["maxnreg"])) > MOST_REGISTERS:
        findings.warn(given["maxnreg"].span, "too-many-registers", f"a thread has {MOST_REGISTERS} registers at most")
    if "maxclusterrank" in given and "reqnctapercluster" in given:
        findings.error(given["maxclusterrank"].span, "function-directive",
                       ".maxclusterrank and .reqnctapercluster exclude each other")
    if "blocksareclusters" in given and not {"reqntid", "reqnctapercluster"} <= set(given):
        findings.error(given["blocksareclusters"].span, "function-directive",
                       ".blocksareclusters needs .reqntid and .reqnctapercluster beside it")

