"""What a kernel owes its spec, in the terms the abstract state works with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from ptxgen.isa.model import Expansion, Operand, RegisterClass

if TYPE_CHECKING:
    from ptxgen.isa import Table

#: 32-bit shared addresses are what compilers emit; the symbol is declared by the header.
SHARED_SYMBOL = "smem"
END_LABEL = "$L_end"


class Level(IntEnum):
    """Mask levels; each includes the promises of those before it."""

    NONE = 0
    SYNTAX = 1
    TYPED = 2
    SCOPED = 3
    TYPESTATE = 4
    FULL = 5

    @classmethod
    def parse(cls, text: str) -> Level:
        """Raises ValueError for an unknown name."""
        try:
            return cls[text.upper()]
        except KeyError:
            raise ValueError(f"no mask level {text!r}") from None


@dataclass(frozen=True, slots=True)
class Parameter:
    """One kernel parameter. `element` is the pointee's type for a pointer, the scalar's own type otherwise."""

    name: str
    element: str
    pointer: bool
    access: str  # in, out, inout
    sized: bool  # its extent depends on a size: accesses need a guard
    size: bool = False  # a scalar that some shape names

    @property
    def symbol(self) -> str:
        return f"param_{self.name}"

    @property
    def type(self) -> str:
        """The type it is loaded with."""
        return "u64" if self.pointer else self.element


@dataclass(frozen=True, slots=True)
class Contract:
    """Everything `State` needs to know of spec, target and table; built once per kernel."""

    parameters: Mapping[str, Parameter]  # by symbol
    classes: Mapping[str, RegisterClass]  # by declared type, `default` replaced by the spec's budget
    expansions: tuple[Expansion, ...]
    by_opcode: Mapping[str, tuple[Expansion, ...]]
    register_types: Mapping[str, str]  # "%r4" -> "b32"
    specials: Mapping[str, str]  # "%tid.x" -> "u32"
    shared: bool
    shared_elements: tuple[str, ...]
    require: tuple[str, ...]
    instruction_names: tuple[str, ...]  # every opcode word of the table, for the syntax level
    bits: Mapping[str, int]  # PTX type -> bits
    accepting: Mapping[tuple[str, bool], tuple[str, ...]]  # (operand type, wider) -> register classes
    orders: Mapping[str, tuple[str, ...]]  # registers of a class in order of use: 1, 2, …, and 0 last
    equivalent: Mapping[str, tuple[str, ...]]  # canonical operation -> its opcodes
    #: What was derived from the contract alone.
    memo: dict[object, Any] = field(init=False, default_factory=dict, compare=False, repr=False)

    @property
    def outputs(self) -> tuple[Parameter, ...]:
        return tuple(p for p in self.parameters.values() if p.pointer and p.access != "in")

    def accepted(self, operand: Operand) -> tuple[str, ...]:
        """The classes of register that an operand takes. Elements of a vector are never wider than its type."""
        return self.accepting.get((operand.type, operand.wider and operand.vector == 1), ())

    def element_size(self, type_name: str) -> int:
        """Bytes of one element."""
        return max(1, self.bits[type_name] // 8)


def matches_prefix(opcode: str, prefix: str) -> bool:
    """`fma` and `fma.rn` are prefixes of `fma.rn.f32`, `fm` is not."""
    return opcode == prefix or opcode.startswith(prefix + ".")


def canonical_operation(opcode: str) -> str:
    """Opcodes that compute the same bits under one name: signedness matters neither to sums nor to moves."""
    parts = opcode.split(".")
    if parts[0] in {"add", "sub", "mov", "selp", "shl"} or (parts[0] in {"mul", "mad"} and "lo" in parts):
        last = parts[-1]
        if last[0] in "usb" and last[1:].isdigit():
            parts[-1] = "i" + last[1:]
    if parts[0] in {"add", "sub", "mul"} and "rn" in parts:
        parts.remove("rn")
    return ".".join(parts)


def contract_of(spec: Any, table: Table, arch: str) -> Contract:
    """Read a `ptxgen.spec.Spec` for one target.

    Opcodes the spec forbids are left out of `expansions`, so no mask can offer them.
    """
    sizes = set(spec.sizes)
    parameters: dict[str, Parameter] = {}
    for p in spec.kernel.params:
        sized = bool(p.pointer) and any(_mentions(dimension, sizes) for dimension in p.shape or ())
        entry = Parameter(p.name, p.element, bool(p.pointer), p.access, sized, p.name in sizes)
        parameters[entry.symbol] = entry
    budgets = dict(spec.constraints.declare or {})
    classes = {
        name: RegisterClass(c.type, c.prefix, int(budgets.get(name, c.default)))
        for name, c in table.register_classes.items()
    }
    forbid = tuple(spec.constraints.forbid or ())
    version = None if spec.target.ptx == "auto" else spec.target.ptx
    require = tuple(spec.constraints.require or ())
    profile = table.profile(arch, version)
    types = _with_required(frozenset(p.element for p in parameters.values()), profile, require)
    expansions = tuple(
        e
        for e in profile
        if _concerns(e, types) and not any(matches_prefix(e.opcode, f) for f in forbid)
    )
    by_opcode: dict[str, list[Expansion]] = {}
    equivalent: dict[str, list[str]] = {}
    accepting: dict[tuple[str, bool], tuple[str, ...]] = {}
    for e in expansions:
        by_opcode.setdefault(e.opcode, []).append(e)
        opcodes = equivalent.setdefault(canonical_operation(e.opcode), [])
        if e.opcode not in opcodes:
            opcodes.append(e.opcode)
        for operand in (o for whole in e.operands for o in (whole.parts or (whole,))):
            for wider in {operand.wider, False}:
                one = replace(operand, wider=wider)
                accepting.setdefault((one.type, wider), tuple(c for c in classes if table.accepts(one, c)))
    registers = {f"{c.prefix}{n}": c.type for c in classes.values() for n in range(c.default)}
    shared = bool(spec.launch.shared_bytes) and str(spec.launch.shared_bytes).strip() != "0"
    elements = tuple(dict.fromkeys(p.element for p in parameters.values() if p.pointer))
    return Contract(
        parameters=parameters,
        classes=classes,
        expansions=expansions,
        by_opcode={k: tuple(v) for k, v in by_opcode.items()},
        register_types=registers,
        specials={s.name: s.type for s in table.special_registers.values() if _offered(s.name)},
        shared=shared,
        shared_elements=elements,
        require=require,
        instruction_names=tuple(table.instructions),
        bits={name: t.bits for name, t in table.types.items()},
        accepting=accepting,
        orders={
            name: tuple(f"{c.prefix}{n}" for n in ([*range(1, c.default), 0] if c.default else []))
            for name, c in classes.items()
        },
        equivalent={k: tuple(v) for k, v in equivalent.items()},
    )


#: What every kernel computes with, whatever its signature: 32 bits and predicates.
COMMON_TYPES = frozenset({"", "pred", "u32", "s32", "b32", "f32"})
#: Types that come with one in the signature.
FAMILIES = (
    frozenset({"f64", "b64"}),
    frozenset({"u64", "s64", "b64"}),
    frozenset({"u8", "s8", "b8", "u16", "s16", "b16"}),
    frozenset({"f16", "f16x2", "b16", "u16"}),
    frozenset({"bf16", "bf16x2", "b16", "u16"}),
)
#: 64-bit integer instructions that addresses are made with.
ADDRESSING = frozenset({"mov", "ld", "cvta", "add", "sub", "mul", "mad", "cvt", "shl", "setp"})
WIDE_TYPES = frozenset({"u64", "s64", "b64"})


def _concerns(expansion: Expansion, types: frozenset[str]) -> bool:
    """Whether an instruction is about types of the signature, 32 bits, or addresses. Offering more costs
    time and leads small models astray; a kernel that widens beyond its signature is outside the profile."""
    known = COMMON_TYPES.union(*(family for family in FAMILIES if types & family))
    needed = {part.type for o in expansion.operands for part in (o.parts or (o,))} - known
    if not needed:
        return True
    reads_parameter = expansion.name == "ld" and expansion.operands[-1].space == "param"
    addresses = expansion.name in ADDRESSING and (expansion.name != "ld" or reads_parameter)
    return addresses and needed <= WIDE_TYPES


def _with_required(
    types: frozenset[str], profile: Sequence[Expansion], require: Sequence[str]
) -> frozenset[str]:
    """What the spec requires brings its types along, where none of it is about the signature's."""
    for prefix in require:
        meant = [e for e in profile if matches_prefix(e.opcode, prefix)]
        if not any(_concerns(e, types) for e in meant):
            types |= {part.type for e in meant for o in e.operands for part in (o.parts or (o,))}
    return types


def _mentions(dimension: Any, sizes: set[str]) -> bool:
    names = getattr(dimension, "names", None)
    if names is None:
        text = str(dimension)
        return any(word in sizes for word in text.replace("(", " ").replace(")", " ").replace(",", " ").split())
    return bool(set(names) & sizes)


def _offered(special: str) -> bool:
    stem = special.split(".")[0]
    return (
        stem in {"%tid", "%ntid", "%ctaid", "%nctaid"} and special.endswith((".x", ".y", ".z"))
    ) or stem == "%laneid"
