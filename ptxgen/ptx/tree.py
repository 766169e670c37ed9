"""The tree of a PTX module: frozen dataclasses, each with the span it was read from.

`Name` stands for registers, variables, labels, parameters and special registers alike: which of
them a name is depends on declarations, and that is for `ptxgen.semantics` to say.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple


class Span(NamedTuple):
    """Where something stands, 1-based, end exclusive in columns. `NOWHERE` for what was built in memory.

    A tuple, because there is one for every node: made in a fraction of a dataclass's time, and smaller.
    """

    line: int = 0
    column: int = 0
    end_line: int = 0
    end_column: int = 0


NOWHERE = Span()


# ---------------------------------------------------------------- operands


@dataclass(frozen=True, slots=True)
class Name:
    """`%r1`, `smem`, `$L_1`, `%tid.x`; `text` as written, special-register components included."""

    text: str
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Immediate:
    """A constant. `value` is the number it denotes; for `0f…`/`0d…` the float with exactly those bits."""

    text: str
    value: int | float
    kind: Literal["int", "f32", "f64"]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Address:
    """`[base+offset]`; `base` is None for `[16]`. `components` holds extra parts of texture-like
    addresses (`[tex, {x, y}]`), in order, and is empty otherwise. `brackets` is False for `name+4` in `mov`
    and in initialisers, where `base` may also be `generic(name)` or `0xFF(name)`, as written. `zero`: an offset of 0
    is written out, which means the same, but without optimising costs an addition. `unified`: `.unified` follows."""

    base: Name | None
    offset: int = 0
    components: tuple[Operand, ...] = ()
    brackets: bool = True
    span: Span = field(default=NOWHERE, compare=False)
    zero: bool = field(default=False, compare=False)
    unified: bool = False


@dataclass(frozen=True, slots=True)
class Vector:
    """`{%r1, %r2}`."""

    elements: tuple[Operand, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Pair:
    """`%p1|%p2` or `%r1|%p1`: two destinations of one instruction."""

    first: Operand
    second: Operand
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Negated:
    """`!%p1` as a source operand, and `-%r1` of `vmad`, which alone takes one."""

    operand: Name
    span: Span = field(default=NOWHERE, compare=False)
    sign: Literal["!", "-"] = "!"


@dataclass(frozen=True, slots=True)
class Arguments:
    """A parenthesised list of `call`: `(retval)` or `(a, b)`."""

    elements: tuple[Operand, ...]
    span: Span = field(default=NOWHERE, compare=False)


Operand = Name | Immediate | Address | Vector | Pair | Negated | Arguments


# ---------------------------------------------------------------- statements


@dataclass(frozen=True, slots=True)
class Guard:
    """`@%p1` or `@!%p1`."""

    predicate: str
    negated: bool = False
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction. `opcode` is the dotted whole as written: `ld.global.f32`."""

    opcode: str
    operands: tuple[Operand, ...] = ()
    guard: Guard | None = None
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Label:
    name: str
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Variable:
    """A declaration of registers, variables or parameters; one per declared name.

    `.reg .b32 %r<4>` is name `%r`, count 4. `dimensions` holds array extents, None for `[]`.
    `initialiser` holds the flat initial values (ints, floats, names, or `name+offset` addresses).
    """

    space: str                                  # reg, param, global, const, shared, local, sreg, tex
    type: str                                   # b32, f32, pred, texref, ...
    name: str
    count: int | None = None
    vector: int = 1
    alignment: int | None = None
    dimensions: tuple[int | None, ...] = ()
    initialiser: tuple[Operand, ...] | None = None
    linkage: tuple[str, ...] = ()               # extern, visible, weak, common
    attributes: tuple[str, ...] = ()            # managed, unified(…), ptr .global .align 16 …
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Directive:
    """Any other directive, kept as its words: `.loc 1 2 3`, `.pragma "…"`, `.branchtargets a, b`,
    `.callprototype`, `.maxntid 256`, `.file`, `.section` with its body. `text` prints it again."""

    name: str
    text: str
    label: str | None = None                    # `proto: .callprototype …` and `targets: .branchtargets …`
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Block:
    """`{ … }` inside a body: a scope of its own."""

    statements: tuple[Statement, ...]
    span: Span = field(default=NOWHERE, compare=False)


Statement = Instruction | Label | Variable | Directive | Block


@dataclass(frozen=True, slots=True)
class Function:
    """`.entry` or `.func`. `body` is None for a declaration."""

    kind: Literal["entry", "func"]
    name: str
    params: tuple[Variable, ...] = ()
    returns: tuple[Variable, ...] = ()
    linkage: tuple[str, ...] = ()
    directives: tuple[Directive, ...] = ()      # .maxntid, .reqntid, .minnctapersm, .noreturn, …
    body: tuple[Statement, ...] | None = None
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Lost:
    """A piece of the text that is missing from the tree, or stands in it changed, because it does not parse.

    `names` are all names in it: registers (`%r` for `%r<4>`), variables, labels, functions. What is said of
    them elsewhere may be wrong: each may be declared, written, defined or branched to here. `function` is the
    function in whose body it stands; a head that was lost, and what stands between functions, has None.
    """

    span: Span
    names: frozenset[str] = frozenset()
    function: str | None = None


@dataclass(frozen=True, slots=True)
class Module:
    """A whole file. `lost` is empty unless it was read by `parse_tolerant` and has faults."""

    version: str                                # "8.0"
    target: tuple[str, ...]                     # ("sm_80",) or ("sm_80", "debug"); of all lines that say it
    address_size: int | None
    items: tuple[Function | Variable | Directive, ...]
    span: Span = field(default=NOWHERE, compare=False)
    lost: tuple[Lost, ...] = field(default=(), compare=False)
    headings: tuple[Directive, ...] = field(default=(), compare=False)     # the three, as they were written

    def entries(self) -> tuple[Function, ...]:
        return tuple(i for i in self.items if isinstance(i, Function) and i.kind == "entry")
