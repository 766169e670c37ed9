"""What may stand in an operand's place: the rules that checking and masking share.

A written operand (`ptxgen.ptx.tree`) is held against an operand of the table (`ptxgen.isa`). Names mean
what the declarations in scope say, which a `Lookup` answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from ptxgen.isa import Operand as Wanted
from ptxgen.isa import Table
from ptxgen.isa.model import Kind, SpecialRegister, Type
from ptxgen.isa.selectors import is_selector
from ptxgen.ptx.constants import is_cut, wrap
from ptxgen.ptx.diagnostics import Severity
from ptxgen.ptx.tree import Address, Arguments, Immediate, Name, Negated, Operand, Pair, Span, Vector

Role = Literal["register", "variable", "label", "function", "prototype", "targets"]
#: A name's component: of a vector register, or of a vector special register.
COMPONENTS = ("x", "y", "z", "w", "r", "g", "b", "a")
#: Reads of half of these are allowed for the sake of old programs.
NARROW_SPECIALS = ("%tid", "%ntid", "%ctaid", "%nctaid", "%gridid")
#: Bits of the widest vectors, `.v8.b32` and `.v4.b64`.
_WIDEST_STORE = 256
_NAME_KINDS: frozenset[Kind] = frozenset(
    {"reg", "pred", "special", "symbol", "label", "function", "prototype", "targets"}
)
_ROLE_KINDS: dict[Role, frozenset[Kind]] = {
    "variable": frozenset({"symbol"}),
    "label": frozenset({"label"}),
    "function": frozenset({"function", "symbol"}),
    "prototype": frozenset({"prototype"}),
    "targets": frozenset({"targets", "prototype"}),
}


@dataclass(frozen=True, slots=True)
class Symbol:
    """What a declared name stands for. `size` is in bytes, None where the declaration leaves it open."""

    role: Role
    type: str = ""
    space: str = ""
    vector: int = 1
    size: int | None = None
    alignment: int = 1


Lookup = Callable[[str], Symbol | None]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an operand may not stand where it does, or (a warning) does not do what it seems to."""

    code: str
    message: str
    hint: str = ""
    severity: Severity = "error"
    span: Span | None = None


def meaning(name: str, lookup: Lookup) -> Symbol | None:
    """The symbol of a name, a component of a vector register (`v.x`) included."""
    found = lookup(name)
    if found is None and "." in name:
        base, _, component = name.rpartition(".")
        whole = lookup(base)
        if whole is not None and whole.role == "register" and component in COMPONENTS:
            # assemblers give every vector four components, whatever its width
            if whole.vector > 1:
                return Symbol("register", whole.type, "reg", 1, whole.size, whole.alignment)
        elif whole is not None and whole.role == "register" and is_selector(component):
            return whole
    return found


def is_special(name: str, table: Table) -> bool:
    """Whether the name is one of the machine's own registers."""
    return special_named(name, table) is not None


def special_named(name: str, table: Table) -> SpecialRegister | None:
    """The special register of that name; `%tid.r` is another name of `%tid.x`, as with any vector."""
    base, _, component = name.rpartition(".")
    if component in COMPONENTS and base:
        name = f"{base}.{COMPONENTS[COMPONENTS.index(component) % 4]}"
    return table.special_registers.get(name)


def kinds_of(operand: Operand, lookup: Lookup, table: Table) -> frozenset[Kind]:
    """What a written operand could be. A name that nothing declares could be any name at all."""
    if isinstance(operand, Immediate):
        return frozenset({"imm"})
    if isinstance(operand, Name):
        return _kinds_of_name(operand.text, lookup, table)
    if isinstance(operand, Negated):
        return frozenset({"not-pred"} if operand.sign == "!" else {"reg"})
    if isinstance(operand, Address):
        return frozenset({"address"} if operand.brackets else {"symbol"})
    if isinstance(operand, Pair):
        # a result beside one that is discarded is as good as the result alone
        pair: frozenset[Kind] = frozenset({"pair"})
        alone = operand.second == Name("_") and operand.first != Name("_")
        return pair | kinds_of(operand.first, lookup, table) if alone else pair
    if isinstance(operand, Arguments):
        return frozenset({"arguments"})
    if len(operand.elements) == 1:
        return kinds_of(operand.elements[0], lookup, table) | {"vector"}
    return frozenset({"vector"})


def _kinds_of_name(name: str, lookup: Lookup, table: Table) -> frozenset[Kind]:
    if name == "_":
        return frozenset({"sink"})
    found = meaning(name, lookup)
    if found is None:
        return frozenset({"special"}) if is_special(name, table) else _NAME_KINDS
    if found.role != "register":
        return _ROLE_KINDS[found.role]
    if found.vector > 1:
        return frozenset({"vector"})
    return frozenset({"pred", "reg"} if found.type == "pred" else {"reg"})


def refusals(written: Operand, wanted: Wanted, lookup: Lookup, table: Table) -> Iterator[Refusal]:
    """Everything that speaks against `written` standing at `wanted`, whose kind it has already.

    Addresses are judged by their own rules; names that nothing declares are passed over.
    """
    if isinstance(written, Immediate):
        yield from immediate_refusals(written, wanted, table)
    elif isinstance(written, Name):
        yield from _name_refusals(written, wanted, lookup, table)
    elif isinstance(written, Negated):
        yield from _name_refusals(written.operand, wanted, lookup, table)
    elif isinstance(written, Vector):
        yield from _vector_refusals(written, wanted, lookup, table)
    elif isinstance(written, Pair) and not wanted.parts and wanted.access == "read":
        yield Refusal("operand-kind", "a pair stands for results only", span=written.span)
    elif isinstance(written, Pair):
        if written.first == written.second == Name("_"):
            yield Refusal("operand-kind", "both results are _: nothing would be written", span=written.span)
        for part, want in zip((written.first, written.second), wanted.parts or (wanted, wanted), strict=True):
            if part != Name("_"):
                yield from refusals(part, want, lookup, table)
            elif wanted.parts and "sink" not in want.kinds:
                yield Refusal("operand-kind", f"the result {want.name} cannot be discarded",
                              "name a register for it", span=written.span)


def immediate_refusals(constant: Immediate, wanted: Wanted, table: Table) -> Iterator[Refusal]:
    """Whether a constant fits: floats for floats, integers for the rest, within the bounds.

    What an assembler would cut off without a word is a warning.
    """
    known = table.types.get(wanted.type)
    if known is None:
        return
    span = constant.span
    value = constant.value
    if constant.kind != "int" and known.kind != "float" and "imm" in wanted.kinds and "reg" not in wanted.kinds:
        yield Refusal("immediate-type", f"{constant.text} stands where an integer is wanted", span=span)
        return
    if constant.kind != "int":
        fitting = ("f32", "f64", "b32") if constant.kind == "f32" else ("f32", "f64", "b64")
        if wanted.type not in fitting:
            yield Refusal(
                "immediate-type", f"the float constant {constant.text} cannot stand for .{wanted.type}",
                _float_hint(wanted.type, constant), span=span,
            )
        elif wanted.low is not None and not wanted.low < constant.value <= (wanted.high or 0):
            yield Refusal(
                "immediate-range", f"{constant.text} is not above {wanted.low} and up to {wanted.high}", span=span
            )
        return
    if known.kind in ("float", "packed"):
        yield Refusal(
            "immediate-type", f"the integer constant {constant.text} cannot stand for .{wanted.type}",
            f"write {constant.value}.0" if wanted.type in ("f32", "f64") else "move the bits into a register first",
            span=span,
        )
        return
    assert isinstance(value, int)
    value = meant(constant)
    if is_cut(constant.text):
        yield Refusal(
            "truncated-immediate", f"{constant.text} has more than 64 bits and becomes {value}",
            severity="warning", span=span,
        )
    if known.kind == "predicate" and wanted.low is None:
        if value not in (-1, 0, 1):
            yield Refusal(
                "truncated-immediate", f"{constant.text} for a predicate is the same as 1",
                severity="warning", span=span,
            )
    elif wanted.low is not None and not wanted.low <= value <= (wanted.high or 0):
        only = f"{constant.text} stands where only {wanted.low} is right"
        outside = f"{constant.text} is outside {wanted.low} to {wanted.high}"
        yield Refusal("immediate-range", only if wanted.low == wanted.high else outside, span=span)
    elif wanted.values and value not in wanted.values:
        listed = ", ".join(map(str, wanted.values))
        yield Refusal("immediate-range", f"{constant.text} is none of {listed}", span=span)
    elif value % wanted.step:
        yield Refusal(
            "immediate-range", f"{constant.text} is no multiple of {wanted.step}", span=span
        )
    elif not fits_bits(value, known.bits):
        yield Refusal(
            "truncated-immediate", f"{constant.text} does not fit in .{wanted.type}; its high bits are dropped",
            severity="warning", span=span,
        )


def meant(constant: Immediate) -> int:
    """An integer constant, complements as negative numbers: meant are those of however many bits there are."""
    return wrap(int(constant.value), unsigned="~" not in constant.text) if constant.value > 0 else int(constant.value)


def fits_bits(value: int, bits: int) -> bool:
    """Whether an integer survives in so many bits, read as signed or unsigned."""
    return -(1 << (bits - 1)) <= value < (1 << bits)


def _float_hint(type_name: str, constant: Immediate) -> str:
    if type_name in ("b32", "b64"):
        return "give the bits: 0f… for .b32, 0d… for .b64"
    if type_name in ("f16", "bf16"):
        return "move the 16 bits into a .b16 register first"
    if float(constant.value).is_integer():
        return f"write {int(constant.value)}"
    return "an integer is wanted here"


def _name_refusals(name: Name, wanted: Wanted, lookup: Lookup, table: Table) -> Iterator[Refusal]:
    if name.text == "_":
        return
    found = meaning(name.text, lookup)
    if found is None:
        if is_special(name.text, table):
            yield from _special_refusals(name, wanted, table)
        return
    if found.role in ("variable", "function") and wanted.type:
        yield from _symbol_refusals(name, found, wanted, table)
    if found.role != "register" or not wanted.type:
        return
    if "vector" in wanted.kinds and found.vector != wanted.vector and "reg" not in wanted.kinds:
        yield Refusal(
            "operand-vector", f"{name.text} has {found.vector} elements, {wanted.vector} are wanted", span=name.span
        )
        return
    if not table.accepts(wanted, found.type):
        yield Refusal(
            "operand-type", f"{name.text} is .{found.type}, but .{wanted.type} is wanted here",
            _type_hint(found.type, wanted, table), span=name.span,
        )


def _symbol_refusals(name: Name, found: Symbol, wanted: Wanted, table: Table) -> Iterator[Refusal]:
    """The address of a variable is a 64-bit integer; windows of their own fit in 32 bits.

    Assemblers cut an address off without a word, but for that of a texture, and half an address in global memory
    makes the module one of 32 bits, which is no longer supported.
    """
    known, declared = table.types.get(wanted.type), table.types.get(found.type)
    if known is None:
        return
    told = f"the address of {name.text} does not fit in .{wanted.type}"
    if known.kind not in ("bits", "signed", "unsigned"):
        yield Refusal("address-width", told, "use .u64", span=name.span)
    elif declared is not None and declared.kind == "opaque" and found.role == "variable" and wanted.type != "u64":
        yield Refusal("address-width", f"{name.text} is .{found.type}: its address is .u64", "use .u64",
                      span=name.span)
    elif known.bits < 64 and not (known.bits == 32 and found.space in ("shared", "local", "param", "const")):
        halved = known.bits == 32 and found.space == "global"
        yield Refusal("address-width", told, "use .u64", "error" if halved else "warning", name.span)


def _special_refusals(name: Name, wanted: Wanted, table: Table) -> Iterator[Refusal]:
    special, known = special_named(name.text, table), table.types.get(wanted.type)
    wide = table.types.get(special.type) if special is not None else None
    if special is None or known is None or wide is None:
        return
    if f"{name.text}.x" in table.special_registers and wanted.vector == 1:
        yield Refusal(
            "operand-vector", f"{name.text} is a vector of four", f"read one component: {name.text}.x",
            span=name.span,
        )
    narrow = 16 <= known.bits < wide.bits and name.text.partition(".")[0] in NARROW_SPECIALS
    if known.bits != wide.bits and not narrow and not (wanted.wider and wide.bits > known.bits):
        yield Refusal(
            "operand-type", f"{name.text} is .{special.type}, but .{wanted.type} is wanted here",
            f"read it with mov.{special.type}, then convert with cvt", span=name.span,
        )


def _leaves_out(wanted: Wanted, table: Table) -> bool:
    """Stores of 256 bits leave out an element, which is not stored; narrower ones cannot."""
    known = table.types.get(wanted.type)
    return known is not None and known.bits * wanted.vector == _WIDEST_STORE


def _vector_refusals(vector: Vector, wanted: Wanted, lookup: Lookup, table: Table) -> Iterator[Refusal]:
    count = len(vector.elements)
    if count != wanted.vector:
        yield Refusal(
            "operand-vector", f"{count} elements where {wanted.vector} are wanted",
            "leave out with _ what is not needed" if wanted.access == "write" and count < wanted.vector else "",
            span=vector.span,
        )
        return
    if all(element == Name("_") for element in vector.elements):
        yield Refusal("operand-vector", "every element is _: nothing would be written", span=vector.span)
    yield from _mixture_refusals(vector, lookup, table)
    mixed = _is_mixed(vector, lookup, table)
    single = replace(wanted, kinds=frozenset({"reg", "imm"}), vector=1)
    for element in vector.elements:
        if isinstance(element, Vector | Pair | Address | Arguments | Negated):
            yield Refusal(
                "operand-kind", "a vector's elements are registers or constants", span=element.span
            )
        elif isinstance(element, Immediate) and wanted.access != "read":
            yield Refusal("operand-kind", "a constant cannot be written to", span=element.span)
        elif element == Name("_") and wanted.access != "write" and not _leaves_out(wanted, table):
            yield Refusal("operand-kind", "_ can only be written to", span=element.span)
        else:
            found = meaning(element.text, lookup) if isinstance(element, Name) else None
            if found is not None and (found.role != "register" or found.vector > 1):
                yield Refusal(
                    "operand-kind", f"{element.text} is no single register", span=element.span
                )
            elif found is None and isinstance(element, Name) and is_special(element.text, table):
                if wanted.access != "read":
                    yield Refusal("operand-kind", f"{element.text} cannot be written to", span=element.span)
                yield from refusals(element, replace(single, wider=False), lookup, table)
            elif not (mixed and found is not None and _same_width(found.type, wanted.type, table)):
                yield from refusals(element, single, lookup, table)


def _element_types(vector: Vector, lookup: Lookup, table: Table) -> list[tuple[Name, Type]]:
    """The registers among the elements, and how they are declared."""
    found = []
    for element in vector.elements:
        symbol = meaning(element.text, lookup) if isinstance(element, Name) else None
        known = table.types.get(symbol.type) if symbol is not None and symbol.role == "register" else None
        if isinstance(element, Name) and known is not None:
            found.append((element, known))
    return found


def _mixture_refusals(vector: Vector, lookup: Lookup, table: Table) -> Iterator[Refusal]:
    """Neighbours agree in width, and floats have bit-size registers between them and integers."""
    registers = _element_types(vector, lookup, table)
    for (_, before), (name, after) in pairwise(registers):
        integers = {"signed", "unsigned"}
        if before.bits != after.bits or not (
            before.kind == after.kind or "bits" in (before.kind, after.kind) or {before.kind, after.kind} <= integers
        ):
            yield Refusal(
                "operand-vector", f"{name.text} is .{after.name}, the element before it .{before.name}",
                "the registers of a vector have one type", span=name.span,
            )
            return


def _is_mixed(vector: Vector, lookup: Lookup, table: Table) -> bool:
    """Registers of several types, bit-size ones among them: assemblers count them all as bits."""
    kinds = {known.kind for _, known in _element_types(vector, lookup, table)}
    return len(kinds) > 1 and "bits" in kinds


def _same_width(given: str, wanted: str, table: Table) -> bool:
    return given in table.types and wanted in table.types and table.types[given].bits == table.types[wanted].bits


def _type_hint(given: str, wanted: Wanted, table: Table) -> str:
    known, have = table.types.get(wanted.type), table.types.get(given)
    if known is None or have is None:
        return ""
    if "pred" in (given, wanted.type):
        return "predicates come from setp and go to selp, guards and logic on .pred"
    if have.bits == known.bits:
        return f"copy the bits with mov.b{known.bits}, or convert the value with cvt"
    return f"convert it with cvt first: .{wanted.type} is {known.bits} bits, .{given} {have.bits}"
