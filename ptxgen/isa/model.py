"""What the ISA table says, as values: instructions, forms, their expansions, and what surrounds them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import total_ordering
from typing import Literal

Access = Literal["read", "write", "update"]
#: What may stand in an operand's place, syntactically.
#: reg: a register; imm: a constant; special: a special register; address: `[…]`; vector: `{…}`;
#: pred: a predicate register (`not-pred`: also `!p`); symbol: the address of a variable (mov);
#: label; function; prototype; arguments: `(…)`; sink: `_`; pair: `a|b`.
Kind = Literal[
    "reg", "imm", "special", "address", "vector", "pred", "not-pred", "symbol",
    "label", "function", "prototype", "targets", "arguments", "sink", "pair",
]


TypeKind = Literal["signed", "unsigned", "float", "bits", "predicate", "packed", "opaque"]


@total_ordering
@dataclass(frozen=True, slots=True)
class Version:
    """A PTX ISA version."""

    major: int
    minor: int

    @classmethod
    def parse(cls, text: str) -> Version:
        """Raises ValueError for anything but `N.N`."""
        major, _, minor = text.partition(".")
        return cls(int(major), int(minor))

    def __lt__(self, other: Version) -> bool:
        return (self.major, self.minor) < (other.major, other.minor)

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


@dataclass(frozen=True, slots=True)
class Target:
    """One `sm_…` name. `variant` is "" (all newer targets run it), "a" (only itself) or "f" (its family)."""

    name: str                    # "sm_90a"
    number: int                  # 90
    variant: Literal["", "a", "f"]
    family: int                  # 100 for sm_100/sm_103; the number itself where there is no family
    ptx: Version                 # least `.version`


@dataclass(frozen=True, slots=True)
class Availability:
    """Since when and where. `targets` non-empty means: only these (an `a`/`f` feature) or newer in family."""

    ptx: Version
    sm: int                      # least target number
    targets: tuple[str, ...] = ()            # e.g. ("sm_90a", "sm_100f"); empty: every target >= sm
    removed_ptx: Version | None = None       # gone from this version on (for targets >= removed_sm)
    removed_sm: int = 0


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand of an expansion, fully resolved.

    `type` is a concrete PTX type ("f32", "b64", "pred", "f16x2"), or "" for labels, functions and the like.
    For an address it is the type of the datum; `space` is the state space, "" for generic, None if no address.
    `vector` is the element count. `wider` allows registers wider than `type` (ld, st, cvt).
    `low`/`high` bound an immediate (inclusive); `values` are the only ones where not all between do,
    and those that do are multiples of `step`.
    `parts` holds the two operands of a pair.
    """

    name: str
    access: Access
    type: str
    kinds: frozenset[Kind]
    vector: int = 1
    space: str | None = None
    wider: bool = False
    low: int | None = None
    high: int | None = None
    parts: tuple[Operand, ...] = ()
    values: tuple[int, ...] = ()
    selector: str = ""           # which parts of a register may be named: a key of `isa.selectors.SELECTORS`
    step: int = 1
    exact: bool = False          # registers declared with this very type only


@dataclass(frozen=True, slots=True)
class Form:
    """One row of the table, in the manual's notation."""

    instruction: str             # "fma"
    chapter: str                 # "Floating Point Instructions"
    syntax: str                  # "fma.rnd{.ftz}{.sat}.f32 d, a, b, c"
    section: str                 # the manual's link name
    availability: Availability
    types: tuple[str, ...]       # the types it exists for, in order
    file: str                    # "isa/instructions/floating-point.toml"
    line: int
    summary: str = ""            # our own words, one line, for pages and prompt cards
    undocumented: bool = False   # assemblers take it, the manual does not have it


@dataclass(frozen=True, slots=True)
class Expansion:
    """A form with every modifier chosen: one opcode, one list of operands."""

    opcode: str                  # canonical modifier order: "fma.rn.ftz.f32"
    name: str                    # "fma"
    slots: Mapping[str, str]     # slot name -> value without dot: {"rnd": "rn", "ftz": "ftz", "type": "f32"}
    operands: tuple[Operand, ...]
    form: Form
    availability: Availability   # the form's, raised by what the chosen modifiers need
    type: str = ""               # the (last) instruction type, "" where there is none
    commutative: bool = False    # in its first two sources

    def __hash__(self) -> int:
        return hash((self.opcode, len(self.operands)))


@dataclass(frozen=True, slots=True)
class Instruction:
    name: str
    chapter: str
    forms: tuple[Form, ...]
    summary: str = ""
    section: str = ""


@dataclass(frozen=True, slots=True)
class SpecialRegister:
    name: str                    # "%tid.x", "%clock64"
    type: str                    # "u32"
    availability: Availability
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Feature:
    """A directive (".maxntid", with its dot), or what else is no instruction and not in every version."""

    name: str
    availability: Availability
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Type:
    name: str
    bits: int
    kind: TypeKind
    availability: Availability
    register: bool = True        # may be declared as `.reg`


@dataclass(frozen=True, slots=True)
class RegisterClass:
    """A class of registers that generated kernels declare: `.reg .f32 %f<64>`."""

    type: str                    # "f32"
    prefix: str                  # "%f"
    default: int                 # how many a kernel may declare when its spec is silent


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Why an instruction matches no expansion: nearest form first."""

    code: str                    # "unknown-opcode", "bad-modifier", "missing-rounding", "operand-count", ...
    message: str
    hint: str = ""
    operand: int | None = None   # index of the operand at fault
    candidates: tuple[str, ...] = field(default=())
