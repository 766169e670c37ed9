"""One instruction after another: operands of a form filled from the pools, and what keeps them defined."""

from __future__ import annotations

from collections.abc import Iterable

from bench.vectors.inputs import word_bits
from fuzz.kernels.forms import kind_of, kinds_of, usable
from fuzz.kernels.writing import REGISTERS, Place, Writer
from ptxgen.isa import Expansion, Operand
from ptxgen.isa.faults import circumstances

#: Instructions that are chosen as one, so that their many names do not crowd out the others.
_VIDEO = tuple(
    f"v{name}{width}" for name in ("add", "sub", "absdiff", "min", "max", "shl", "shr", "mad", "set", "avrg")
    for width in ("", "2", "4")
)  # fmt: skip
_FLOAT_PREFIX = {"f32": ("0f", 8), "f64": ("0d", 16)}
_FLOATS = {
    "f32": (0, 0x80000000, 0x3F800000, 0xBFC00000, 0x7F800000, 1, 0x00800000, 0x4B800001, 0x7FC00000, 0x4F000000),
    "f64": (0, 1 << 63, 0x3FF0000000000000, 0xBFF8000000000000, 0x7FF0000000000000, 1, 0x0010000000000000,
            0x4340000000000001, 0x7FF8000000000000, 0x41E0000000000000),
}  # fmt: skip
_NOT_A_NUMBER = {"f64": "0x7FF8000000000000", "f32": "0x7FC00000", "f16": "0x7E00", "bf16": "0x7FC0"}
#: Instructions that copy a float bit for bit. Of others the manual leaves open which NaN an f64 is; of these it does
#: for narrower types too, or assemblers take them for copies where both operands are the same.
_COPIES = frozenset({"mov", "selp", "slct", "ld"})
_NAN_IS_OPEN = frozenset({"neg", "abs", "min", "max", "cvt"})
#: What a simple interpreter follows.
_PLAIN = (
    "add", "sub", "mul", "mad", "min", "max", "abs", "neg", "and", "or", "xor", "not", "shl", "shr", "selp", "setp",
    "popc", "clz", "brev", "bfind", "mov", "cvt", "div", "rem", "sad", "cnot",
)  # fmt: skip


def scalar(w: Writer, place: Place) -> None:
    """One instruction over registers of the pools, perhaps under a guard, and perhaps its result into the hash."""
    every = usable().scalar
    if w.scalar_only:
        name = w.dice.pick(_PLAIN)
    elif w.dice.chance(0.08):
        name = w.dice.pick([name for name in _VIDEO if name in every])
    elif w.dice.chance(0.2):
        name = w.dice.pick(("setp", "cvt", "fma", "mov", "lop3", "prmt", "set"))
    else:
        name = w.dice.pick([name for name in every if name not in _VIDEO])
    choices = possible(w, every[name])
    if w.scalar_only:
        choices = [form for form in choices if _is_plain(form)]
    if choices:
        emit(w, w.dice.pick(choices), guarded=True)


def possible(w: Writer, forms: Iterable[Expansion]) -> list[Expansion]:
    """Those whose operands there are registers for."""
    return [form for form in forms if kinds_of(form) <= w.pools.keys() and _enough(w, form)]


def _enough(w: Writer, form: Expansion) -> bool:
    """Whether a vector's elements can be different registers."""
    return all(o.vector == 1 or o.vector <= len(w.pools[kind_of(o.type)]) for o in form.operands)


def _is_plain(form: Expansion) -> bool:
    types = {operand.type for operand in form.operands}
    if "pack" in form.opcode:
        return False
    if any("vector" in operand.kinds or "pair" in operand.kinds for operand in form.operands):
        return False
    return all(name == "pred" or (name[0] in "usb" and name[1:] in ("16", "32", "64")) for name in types)


def emit(
    w: Writer, form: Expansion, *, guarded: bool = False, address: str = "", mask: str = "", guard: str = ""
) -> None:
    """The form with operands of the pools, under the `guard`, or now and then under any where it may be `guarded`;
    `address` and `mask` are taken where it wants them."""
    if guarded and w.dice.chance(0.15) and "guard" not in circumstances(form):
        guard = f"@{w.dice.pick(('', '!'))}{w.register('pred')} "
    results: list[tuple[str, str]] = []
    texts = [_operand(w, form, index, operand, results, address, mask) for index, operand in enumerate(form.operands)]
    w.line(f"{guard}{form.opcode} {', '.join(texts)}")
    for register, kind in results:
        if form.name not in _COPIES if kind == "f64" else form.name in _NAN_IS_OPEN and kind in _NOT_A_NUMBER:
            one_nan(w, register, kind)
        if w.dice.chance(0.3):
            w.mix(register, kind)


def one_nan(w: Writer, register: str, kind: str) -> None:
    """A NaN becomes the same one, whichever it was."""
    is_nan = w.temporary("pred")
    w.line(f"setp.nan.{kind} {is_nan}, {register}, {register}")
    w.line(f"selp.{REGISTERS[kind]} {register}, {_NOT_A_NUMBER[kind]}, {register}, {is_nan}")


def _operand(
    w: Writer, form: Expansion, index: int, operand: Operand, results: list[tuple[str, str]], address: str, mask: str
) -> str:
    if operand.name == "membermask":
        return mask
    if operand.parts:
        return "|".join(_operand(w, form, index, part, results, address, mask) for part in operand.parts)
    if "address" in operand.kinds:
        return address
    kind = kind_of(operand.type) if operand.type else ""
    if "vector" in operand.kinds:
        if operand.access == "write":
            registers = w.distinct(kind, operand.vector)
            results += [(register, kind) for register in registers]
        else:
            registers = [w.register(kind) for _ in range(operand.vector)]
        return "{" + ", ".join(registers) + "}"
    if operand.access == "write":
        taken = [name for name, of in results if of == kind]
        register = w.dice.pick([name for name in w.pools[kind] if name not in taken])
        results.append((register, kind))
        return register
    if operand.kinds == {"imm"}:
        return _constant(w, operand)
    if kind == "pred":
        return w.dice.pick(("!", "")) * ("not-pred" in operand.kinds) + w.register("pred")
    defined = _defined(w, form, index, operand)
    if defined:
        return defined
    if "imm" in operand.kinds and w.constants and w.dice.chance(0.2):
        if operand.type in _FLOATS:
            prefix, digits = _FLOAT_PREFIX[operand.type]
            return f"{prefix}{w.dice.pick(_FLOATS[operand.type]):0{digits}X}"
        if form.name in ("shl", "shr") and ("constant" in circumstances(form) or w.dice.chance(0.8)):
            return str(w.dice.below(80))
        if operand.type[0] in "usb" and operand.type[1:] in ("16", "32", "64"):
            return literal(w, operand.type)
    return w.register(kind)


def _constant(w: Writer, operand: Operand) -> str:
    if operand.values:
        return str(w.dice.pick(operand.values))
    low, high = operand.low or 0, 255 if operand.high is None else operand.high
    return str(low + operand.step * w.dice.below((high - low) // operand.step + 1))


def literal(w: Writer, type_name: str) -> str:
    """A whole number within the type: small, near a power of two, or any."""
    bits = word_bits(type_name)
    choice = w.dice.below(3)
    if choice == 0:
        value = w.dice.below(40)
    elif choice == 1:
        value = (1 << w.dice.below(bits)) + w.dice.between(-1, 1)
    else:
        value = (w.dice.below(1 << 32) << 32 | w.dice.below(1 << 32)) >> w.dice.below(bits)
    value &= (1 << bits) - 1
    if type_name[0] == "s" and value >> (bits - 1):
        value -= 1 << bits
    return str(value)


def _defined(w: Writer, form: Expansion, index: int, operand: Operand) -> str:
    """A register with such values only as the manual gives a meaning; "" where every value has one."""
    if form.name in ("div", "rem") and index == 2 and operand.type[0] in "us":
        # Neither 0 nor, for the least dividend, -1.
        bits = operand.type[1:]
        divisor = w.temporary(f"b{bits}")
        w.line(f"and.b{bits} {divisor}, {w.register(f'b{bits}')}, {(1 << int(bits) - 1) - 1}")
        w.line(f"or.b{bits} {divisor}, {divisor}, 1")
        return divisor
    low_bits = {"bfe": (2, 255), "bfi": (3, 255), "fns": (2, 31)}.get(form.name)
    if low_bits and index >= low_bits[0] and index <= low_bits[0] + (form.name != "fns"):
        low = w.temporary("b32")
        w.line(f"and.b32 {low}, {w.register('b32')}, {low_bits[1]}")
        return low
    return ""


def carry_chain(w: Writer, place: Place) -> None:
    """An addition or subtraction over several words, nothing between them."""
    every = usable().carries
    subtracting = w.dice.chance(0.4)
    first, following = ("sub", ("subc",)) if subtracting else (w.dice.pick(("add", "mad")), ("addc", "madc"))
    chain = [w.dice.pick(every[first])]
    constant = w.constants
    for _ in range(w.dice.below(3)):
        chain.append(w.dice.pick([f for name in following for f in every[name] if "cc" in f.opcode.split(".")]))
    chain.append(w.dice.pick([f for name in following for f in every[name]]))
    results: list[tuple[str, str]] = []
    lines = []
    w.constants = constant and not any("carry" in circumstances(form) for form in chain)
    for form in chain:
        lines.append(f"{form.opcode} " + ", ".join(
            _operand(w, form, index, operand, results, "", "") for index, operand in enumerate(form.operands)
        ))  # fmt: skip
        results = results[-2:]
    w.constants = constant
    for line in lines:
        w.line(line)
    for register, kind in results:
        w.mix(register, kind)


def anything(w: Writer, kind: str) -> str:
    """A register of the pool as an unsigned 32-bit number that an address can be made of."""
    register = w.register(kind)
    if REGISTERS[kind] == "b32":
        return register
    narrow = w.temporary("b32")
    w.line(f"cvt.u32.u{REGISTERS[kind][1:]} {narrow}, {register}")
    return narrow
