"""Device functions, and calls of them: directly, through a register, of different ones at once, of themselves."""

from __future__ import annotations

from dataclasses import dataclass

from fuzz.kernels.writing import REGISTERS, Place, Writer

#: The deepest recursion that a caller asks for.
DEEPEST = 3


@dataclass(frozen=True)
class Signature:
    """Kinds of the parameters and of the result. `recursive` functions take first how deep they may still go."""

    number: int
    given: tuple[str, ...]
    result: str
    recursive: bool = False

    def heading(self, name: str) -> str:
        """As in a definition."""
        params = ", ".join(f".param .{REGISTERS[kind]} given_{n}" for n, kind in enumerate(self.given))
        return f"(.param .{REGISTERS[self.result]} result) {name}({params})"

    def prototype(self) -> str:
        """The statement that declares it for calls through a register."""
        params = ", ".join(f".param .{REGISTERS[kind]} _" for kind in self.given)
        return f"prototype_{self.number}: .callprototype (.param .{REGISTERS[self.result]} _) _ ({params});"


def call(w: Writer, place: Place) -> None:
    """A call of one of the functions that there are so far."""
    known = [(name, of) for name, of in w.functions if w.pools.keys() >= {*of.given, of.result}]
    if known:
        _call(w, w.dice.pick(known))


def _call(w: Writer, chosen: tuple[str, Signature], depth: str = "") -> None:
    name, signature = chosen
    pointer = ""
    if not depth and w.dice.chance(0.35):
        pointer = _pointer(w, name, signature)
        w.prototypes.add(signature)
    arguments = [w.register(kind) for kind in signature.given]
    if signature.recursive:
        arguments[0] = depth or w.temporary("b32")
        if not depth:
            w.line(f"and.b32 {arguments[0]}, {w.register('b32')}, {DEEPEST}")
    result = w.dice.pick(w.pools[signature.result])
    w.scope("{")
    for number, kind in enumerate(signature.given):
        w.scope(f".param .{REGISTERS[kind]} argument_{number};")
    w.scope(f".param .{REGISTERS[signature.result]} returned;")
    for number, (kind, register) in enumerate(zip(signature.given, arguments, strict=True)):
        w.line(f"st.param.{REGISTERS[kind]} [argument_{number}], {register}")
    listed = ", ".join(f"argument_{number}" for number in range(len(signature.given)))
    if pointer:
        w.line(f"call (returned), {pointer}, ({listed}), prototype_{signature.number}")
    else:
        w.line(f"call (returned), {name}, ({listed})")
    w.line(f"ld.param.{REGISTERS[signature.result]} {result}, [returned]")
    w.scope("}")
    w.mix(result, signature.result)


def _pointer(w: Writer, name: str, signature: Signature) -> str:
    pointer = w.temporary("b64")
    w.line(f"mov.u64 {pointer}, {name}")
    others = [other for other, of in w.functions if of == signature and other != name]
    if others and w.dice.chance(0.7):
        another = w.temporary("b64")
        w.line(f"mov.u64 {another}, {w.dice.pick(others)}")
        w.line(f"selp.b64 {pointer}, {pointer}, {another}, {w.register('pred')}")
    return pointer


def call_self(w: Writer, name: str, signature: Signature) -> None:
    """Once more, one level less, unless this is the last."""
    less, last, end = w.temporary("b32"), w.temporary("pred"), w.new_label()
    w.line(f"sub.s32 {less}, %given_0, 1")
    w.line(f"setp.lt.s32 {last}, {less}, 0")
    w.line(f"@{last} bra {end}")
    _call(w, (name, signature), less)
    w.label(end)


def return_early(w: Writer, place: Place) -> None:
    """Some threads return before the others."""
    store_result(w)
    w.line(f"@{w.register('pred')} ret")


def store_result(w: Writer) -> None:
    """Of the function: its hash, as much of it as the result holds."""
    assert w.signature is not None
    bits = REGISTERS[w.signature.result]
    if bits == "b64":
        w.line("st.param.b64 [result], %hash")
        return
    half = w.temporary("b64")
    w.line(f"shr.u64 {half}, %hash, 32")
    w.line(f"xor.b64 {half}, {half}, %hash")
    narrow = w.temporary(bits)
    w.line(f"cvt.u{bits[1:]}.u64 {narrow}, {half}")
    w.line(f"st.param.{bits} [result], {narrow}")
