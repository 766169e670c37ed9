"""Which forms of the ISA table a random kernel may use, by what they need around them.

A form is left out where two right implementations may differ: approximations, float sums and products without a
rounding (they may be contracted to `fma`), and what an assembler is known to get wrong.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from bench.vectors.comparing import DEVIATIONS
from bench.vectors.inputs import FORMATS, word_bits
from ptxgen.isa import Expansion, Operand, Version, load_table
from ptxgen.isa.conformance import covering
from ptxgen.isa.faults import circumstances

#: The newest target of the machine that kernels are compared on, and the newest version of its driver.
ARCH = "sm_90a"
VERSION = Version(9, 0)
_ROUNDINGS = frozenset({"rn", "rz", "rm", "rp", "rna", "rs"})
_CONTRACTED = frozenset({"add", "sub", "mul", "mad"})
_INEXACT = frozenset({"approx", "full"})
_MEMORY = frozenset({"ld", "ldu", "st", "atom", "red"})
_WARPS = frozenset({"vote", "match", "redux", "shfl"})
_MATRICES = frozenset({"mma", "movmatrix"})
_CARRYING = frozenset({"addc", "subc", "madc"})
#: Whole kernels' own business: `flow`, `calls` and the like write them.
_CONTROL = frozenset({
    "bar", "barrier", "fence", "membar", "bra", "brx", "ret", "exit", "call", "trap", "brkpt", "pmevent", "nanosleep",
    "cvta", "activemask", "elect", "isspacep",
})  # fmt: skip
#: What needs other hardware around it, or a kind of memory or time of its own.
_LEFT = frozenset({
    "wgmma", "tcgen05", "tex", "tld4", "txq", "suld", "sust", "sured", "suq", "istypep", "multimem", "tensormap",
    "cp", "setmaxnreg", "griddepcontrol", "createpolicy", "mapa", "getctarank", "alloca", "stacksave", "stackrestore",
    "mbarrier", "prefetch", "prefetchu", "applypriority", "discard", "clusterlaunchcontrol", "wmma", "ldmatrix",
    "stmatrix",
})  # fmt: skip
_BITS = frozenset({8, 16, 32, 64, 128})
_SPACES = ("shared", "global", "local", "const", "")
_MEMORY_TYPES = (
    "b8", "u8", "s8", "b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64", "b128",
)  # fmt: skip


@dataclass(frozen=True)
class Forms:
    """By instruction: one element a form."""

    scalar: Mapping[str, tuple[Expansion, ...]]
    carries: Mapping[str, tuple[Expansion, ...]]     # add.cc and the like: what begins a chain, and what goes on
    warps: Mapping[str, tuple[Expansion, ...]]
    matrices: tuple[Expansion, ...]
    loads: Mapping[str, tuple[Expansion, ...]]       # by state space, "nc" for what only reads
    stores: Mapping[str, tuple[Expansion, ...]]
    atomics: Mapping[str, tuple[Expansion, ...]]     # atom and red by state space


@cache
def usable() -> Forms:
    """Every form of the table that a random kernel may use on `ARCH`."""
    scalar: dict[str, list[Expansion]] = defaultdict(list)
    carries: dict[str, list[Expansion]] = defaultdict(list)
    warps: dict[str, list[Expansion]] = defaultdict(list)
    memory: dict[str, dict[str, list[Expansion]]] = {name: defaultdict(list) for name in ("ld", "st", "atom")}
    matrices = []
    for form in (*survey(), *_accesses()):
        if not _is_exact(form) or not all(map(_can_be_filled, form.operands)):
            continue
        if form.name in _MEMORY:
            if (space := _space(form)) is not None:
                memory[{"ldu": "ld", "red": "atom"}.get(form.name, form.name)][space].append(form)
        elif form.name in _WARPS:
            warps[form.name].append(form)
        elif form.name in _MATRICES:
            if not any(_is_float(operand.type) for operand in form.operands) and "sp" not in _words(form)[1]:
                matrices.append(form)
        elif form.name in _CARRYING or "cc" in _words(form):
            carries[form.name].append(form)
        elif not any(operand.name == "membermask" for operand in form.operands):
            scalar[form.name].append(form)
    return Forms(
        _frozen(scalar), _frozen(carries), _frozen(warps), tuple(matrices),
        _frozen(memory["ld"]), _frozen(memory["st"]), _frozen(memory["atom"]),
    )  # fmt: skip


@cache
def survey() -> tuple[Expansion, ...]:
    """A few expansions of every form that the target has, which show each modifier, and what the profile offers."""
    table = load_table()
    found: dict[tuple[object, ...], Expansion] = {}
    for form in (*covering(table), *table.offered()):
        if form.name not in _CONTROL | _LEFT and table.unavailable(form, ARCH, VERSION) is None:
            kinds = tuple((o.type, o.vector, o.space, tuple(sorted(o.kinds))) for o in form.operands)
            found.setdefault((form.opcode, kinds), form)
    return tuple(found.values())


def _frozen(found: Mapping[str, list[Expansion]]) -> dict[str, tuple[Expansion, ...]]:
    return {name: tuple(every) for name, every in found.items()}


def _accesses() -> list[Expansion]:
    """Loads and stores of every type and width in every space, which the survey of the table only samples."""
    table = load_table()
    found = []
    for name, spaces in (("ld", _SPACES), ("ld.volatile", _SPACES[:2]), ("st", _SPACES), ("ld.global.nc", (None,))):
        for space in spaces:
            for vector in ("", "v2", "v4"):
                for type_name in _MEMORY_TYPES:
                    opcode = ".".join(word for word in (name, space, vector, type_name) if word)
                    found += [
                        form for form in table.candidates(opcode) if not table.unavailable(form, ARCH, VERSION)
                    ][:1]
    return found


def _words(form: Expansion) -> list[str]:
    return form.opcode.split(".")


def _is_float(type_name: str) -> bool:
    return type_name.partition("x")[0] in FORMATS


def _is_exact(form: Expansion) -> bool:
    words = _words(form)
    if not _INEXACT.isdisjoint(words) or form.form.undocumented:
        return False
    if any(f"{form.opcode}.".startswith(known) for known in DEVIATIONS):
        return False
    if form.name in ("atom", "red") and form.type == "f64":
        return False                                 # whose NaN it is depends on the order of the operands
    if "beside" in circumstances(form):
        return False                                 # ptxas makes something else of it beside other instructions
    if form.name in ("neg", "abs", "min", "max") and _is_float(form.type) and form.type.endswith("x2"):
        return False                                 # as of neg: which NaN is open, and it has no comparison by half
    return not (form.name in _CONTRACTED and _is_float(form.type) and _ROUNDINGS.isdisjoint(words))


def _can_be_filled(operand: Operand) -> bool:
    if operand.parts:
        return "pair" in operand.kinds and all(map(_can_be_filled, operand.parts))
    if "address" in operand.kinds or operand.kinds == {"imm"}:
        return True
    if not operand.type or not operand.kinds & {"reg", "pred", "vector"} or operand.name == "cache-policy":
        return False
    if operand.exact and operand.type not in ("pred", "b128"):
        return False
    return operand.type == "pred" or word_bits(operand.type) in _BITS


def _space(form: Expansion) -> str | None:
    """Where the access may go; None for what a thread's own cell cannot show."""
    words = _words(form)
    addresses = [operand for operand in form.operands if "address" in operand.kinds]
    if len(addresses) != 1 or {"async", "param", "param::func", "mmio"} & set(words):
        return None
    space = addresses[0].space or ""
    if "nc" in words or form.name == "ldu":
        return "nc"
    if "lu" in words and space in ("", "local"):
        return None                                  # the last use of what a thread keeps in local memory
    return "shared" if space == "shared::cta" else space if space in _SPACES else None


def kind_of(type_name: str) -> str:
    """The pool of registers that values of a type live in."""
    if type_name in ("pred", "f16", "bf16", "f16x2", "bf16x2", "f32", "f64"):
        return type_name
    return f"b{word_bits(type_name)}"


@cache
def kinds_of(form: Expansion) -> frozenset[str]:
    """The pools that its operands take registers from."""
    found = set()
    for operand in form.operands:
        for part in operand.parts or (operand,):
            if part.type and "address" not in part.kinds and part.kinds != {"imm"}:
                found.add(kind_of(part.type))
    return frozenset(found)
