"""One instruction being decoded: its modifiers, and its operands as functions of the machine.

A *getter* gives the array of an operand for a set of lanes (one element only for constants); a *putter* stores one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ptxgen.executing.emulator import special
from ptxgen.executing.emulator.lanes import Lanes, count
from ptxgen.executing.emulator.machine import Machine
from ptxgen.executing.emulator.memory import GENERIC_BIAS
from ptxgen.executing.emulator.program import Run
from ptxgen.executing.emulator.scope import (
    FunctionSymbol,
    LabelSymbol,
    RegisterSymbol,
    Scope,
    TargetsSymbol,
    Unsupported,
    VariableSymbol,
    VectorSymbol,
)
from ptxgen.executing.emulator.values import (
    BITS,
    SIGNED,
    UNSIGNED,
    Array,
    immediate_bits,
    is_signed,
    number_dtype,
    quarter_words,
    quarters_of,
    storage,
    wide_words,
)
from ptxgen.ptx.tree import Address, Immediate, Instruction, Name, Negated, Operand, Vector

Getter = Callable[[Machine, Lanes], Array]
Putter = Callable[[Machine, Lanes, Array], None]

#: The carry flag, a register of its own.
CARRY = "%cc"


def _wrapped(offset: int) -> int:
    """As a signed number of 64 bits: what is added to an address may be written as a large unsigned one."""
    return (offset + (1 << 63)) % (1 << 64) - (1 << 63)


@dataclass(slots=True)
class Site:
    """`words` are the opcode's parts after the name, `types` those of them that are types, in order."""

    instruction: Instruction
    scope: Scope
    name: str
    words: tuple[str, ...]
    types: tuple[str, ...]
    reads: list[int] = field(default_factory=list)
    writes: list[int] = field(default_factory=list)
    accesses: list[tuple[str, int, str]] = field(default_factory=list)   # (space, bytes, read/write/atomic/strong)
    deferred: list[int] = field(default_factory=list)
    values: list[tuple[int, ...]] = field(default_factory=list)         # registers behind each element stored
    needs: tuple[int, ...] = ()                                         # registers behind the address then
    reserved: bool = False                                              # names the system's shared memory
    fences: bool = False
    atomic: bool = False

    @property
    def line(self) -> int:
        return self.instruction.span.line

    @property
    def operands(self) -> tuple[Operand, ...]:
        return self.instruction.operands

    @property
    def type(self) -> str:
        """The (last) instruction type. Raises Unsupported where there is none."""
        if not self.types:
            raise self.unsupported("an instruction type is needed")
        return self.types[-1]

    def has(self, *words: str) -> bool:
        return any(word in self.words for word in words)

    def one_of(self, *words: str, default: str = "") -> str:
        """The first of `words` that the opcode has."""
        return next((word for word in words if word in self.words), default)

    def unsupported(self, why: str) -> Unsupported:
        return Unsupported(self.line, f"{self.instruction.opcode}: {why}")

    # -------------------------------------------------------------- sources

    def bits(self, operand: Operand, type_name: str) -> Getter:
        """The operand as unsigned words of the type's width (bool for `pred`)."""
        if type_name == "pred":
            return self.predicate(operand)
        operand = self.spelt_out(operand)
        dtype = storage(type_name)
        if isinstance(operand, Immediate):
            constant = np.array([immediate_bits(operand, type_name)], dtype)
            return lambda m, lanes: constant
        if isinstance(operand, Vector):
            return self._packed(operand, type_name)
        if isinstance(operand, Address) and not operand.brackets:
            symbol = self.scope.find(operand.base.text) if operand.base is not None else None
            if isinstance(symbol, RegisterSymbol):
                register, offset = self._register(symbol, dtype), operand.offset
                return lambda m, lanes: register(m, lanes) + np.array(offset & (1 << dtype.itemsize * 8) - 1, dtype)
            return self._constant_address(operand.base, operand.offset, dtype)
        if not isinstance(operand, Name):
            raise self.unsupported("an operand of a kind that cannot be read")
        if special.known(operand.text):
            text = operand.text
            self.reserved |= text.startswith("%reserved_smem_offset")
            return lambda m, lanes: special.read(m, text)[lanes].astype(dtype)
        symbol = self.scope.find(operand.text)
        if isinstance(symbol, RegisterSymbol):
            return self._register(symbol, dtype)
        if isinstance(symbol, VariableSymbol):
            return self._constant_address(operand, 0, dtype)
        if isinstance(symbol, FunctionSymbol):
            address = np.array([symbol.address & (1 << dtype.itemsize * 8) - 1], dtype)
            return lambda m, lanes: address
        raise self.unsupported(f"{operand.text} is not declared")

    def _register(self, symbol: RegisterSymbol, dtype: np.dtype[np.generic]) -> Getter:
        slot = symbol.slot
        self.reads.append(slot)
        have = storage(symbol.type)
        if have == dtype:
            return lambda m, lanes: m.registers[slot][lanes]
        if have.kind == "b" or have.itemsize < dtype.itemsize:
            raise self.unsupported(f"a .{symbol.type} register is too narrow here")
        if have.itemsize > 8:
            raise self.unsupported(f"a .{symbol.type} register is too wide here")
        return lambda m, lanes: m.registers[slot][lanes].astype(dtype)

    def _constant_address(self, base: Name | None, offset: int, dtype: np.dtype[np.generic]) -> Getter:
        symbol = self.scope.find(base.text) if base else None
        if base is not None and not isinstance(symbol, VariableSymbol):
            raise self.unsupported(f"{base.text} is no variable whose address could be taken")
        start = symbol.address if isinstance(symbol, VariableSymbol) else 0
        if isinstance(symbol, VariableSymbol) and symbol.frame:
            place = self.place_of(symbol)
            return lambda m, lanes: (place(m, lanes) + _wrapped(offset)).astype(dtype)
        wrapped = (start + offset) & (1 << dtype.itemsize * 8) - 1
        constant = np.array([wrapped], dtype)
        return lambda m, lanes: constant

    def _packed(self, vector: Vector, type_name: str) -> Getter:
        """`{a, b}` as one word, the first element lowest."""
        width = BITS[type_name] // len(vector.elements)
        if width not in UNSIGNED or (width < 32 and type_name == "b128"):
            raise self.unsupported(f"{len(vector.elements)} elements do not fill a .{type_name}")
        parts = [self.bits(element, f"b{width}") for element in vector.elements]
        dtype = storage(type_name)
        if type_name == "b128" and len(parts) == 2:
            return lambda m, lanes: wide_words(parts[0](m, lanes), parts[1](m, lanes))
        if type_name == "b128":
            return lambda m, lanes: quarter_words([np.broadcast_to(p(m, lanes), (count(lanes),)) for p in parts])

        def get(m: Machine, lanes: Lanes) -> Array:
            word = parts[0](m, lanes).astype(dtype)
            for number, part in enumerate(parts[1:], 1):
                word = word | part(m, lanes).astype(dtype) << dtype.type(number * width)
            return word

        return get

    def number(self, operand: Operand, type_name: str) -> Getter:
        """The operand as an array of the type's integer dtype."""
        get = self.bits(operand, type_name)
        if not is_signed(type_name) or type_name.endswith("x2"):
            return get
        dtype = number_dtype(type_name)
        return lambda m, lanes: get(m, lanes).view(dtype)

    def predicate(self, operand: Operand) -> Getter:
        """A predicate, its negation, or a constant (0 is false)."""
        if isinstance(operand, Immediate):
            constant = np.array([bool(operand.value)])
            return lambda m, lanes: constant
        negated = isinstance(operand, Negated)
        name = operand.operand if isinstance(operand, Negated) else operand
        if not isinstance(name, Name):
            raise self.unsupported("a predicate is needed")
        if special.known(name.text):
            text = name.text
            return lambda m, lanes: special.read(m, text)[lanes].astype(np.bool_)
        symbol = self.scope.find(name.text)
        if not isinstance(symbol, RegisterSymbol) or symbol.type != "pred":
            raise self.unsupported(f"{name.text} is no predicate register")
        slot = symbol.slot
        self.reads.append(slot)
        if negated:
            return lambda m, lanes: ~m.registers[slot][lanes]
        return lambda m, lanes: m.registers[slot][lanes]

    # -------------------------------------------------------------- destinations

    def target_slot(self, operand: Operand) -> tuple[int, str]:
        """(slot, type) of a destination register."""
        symbol = self.scope.find(operand.text) if isinstance(operand, Name) else None
        if not isinstance(symbol, RegisterSymbol):
            text = operand.text if isinstance(operand, Name) else "this operand"
            raise self.unsupported(f"{text} is no register that could be written")
        self.writes.append(symbol.slot)
        self.scope.registers.changed[symbol.slot] += 1
        return symbol.slot, symbol.type

    def put(self, operand: Operand, type_name: str) -> Putter:
        """Store arrays of the type's width; a wider register takes them sign- or zero-extended."""
        operand = self.spelt_out(operand)
        if isinstance(operand, Name) and operand.text == "_":
            return _discard
        if isinstance(operand, Vector):
            return self._unpack(operand, type_name)
        slot, register_type = self.target_slot(operand)
        have = storage(register_type)
        want = storage(type_name)
        if have == want:
            if have.kind == "b":
                def put_bools(m: Machine, lanes: Lanes, value: Array) -> None:
                    m.registers[slot][lanes] = value

                return put_bools

            def put_words(m: Machine, lanes: Lanes, value: Array) -> None:
                m.registers[slot][lanes] = value.view(have)

            return put_words
        if have.kind == "b" or want.kind == "b" or have.itemsize < want.itemsize:
            raise self.unsupported(f"a .{type_name} result does not fit a .{register_type} register")
        if have.itemsize > 8:
            raise self.unsupported(f"a .{type_name} result for a .{register_type} register")
        if is_signed(type_name):
            narrow, wide = SIGNED[BITS[type_name]], SIGNED[have.itemsize * 8]

            def put_signed(m: Machine, lanes: Lanes, value: Array) -> None:
                m.registers[slot][lanes] = value.view(narrow).astype(wide).view(have)

            return put_signed

        def put_wider(m: Machine, lanes: Lanes, value: Array) -> None:
            m.registers[slot][lanes] = value.view(want)

        return put_wider

    def _unpack(self, vector: Vector, type_name: str) -> Putter:
        width = BITS[type_name] // len(vector.elements)
        if width not in UNSIGNED or (width < 32 and type_name == "b128"):
            raise self.unsupported(f"{len(vector.elements)} elements do not share a .{type_name}")
        parts = [self.put(element, f"b{width}") for element in vector.elements]
        dtype, narrow = storage(type_name), UNSIGNED[width]
        if type_name == "b128":
            def put_wide(m: Machine, lanes: Lanes, value: Array) -> None:
                halves = [value["low"].copy(), value["high"].copy()]
                for part, word in zip(parts, halves if width == 64 else quarters_of(value), strict=True):
                    part(m, lanes, word)

            return put_wide

        def put(m: Machine, lanes: Lanes, value: Array) -> None:
            words = value.view(dtype)
            for number, part in enumerate(parts):
                part(m, lanes, (words >> dtype.type(number * width)).astype(narrow))

        return put

    def spelt_out(self, operand: Operand) -> Operand:
        """A vector register as its components; any other operand as it is."""
        symbol = self.scope.find(operand.text) if isinstance(operand, Name) else None
        if not isinstance(symbol, VectorSymbol):
            return operand
        return Vector(tuple(Name(part) for part in symbol.components), operand.span)

    def elements(self, operand: Operand) -> tuple[Operand, ...]:
        """The elements of a vector operand, or the operand alone."""
        operand = self.spelt_out(operand)
        return operand.elements if isinstance(operand, Vector) else (operand,)

    # -------------------------------------------------------------- addresses, labels

    def address(self, operand: Operand, space: str) -> tuple[Getter, str]:
        """(int64 addresses, space): the space of a named variable where the opcode leaves it open."""
        if not isinstance(operand, Address) or operand.components:
            raise self.unsupported("an address is needed")
        offset = np.int64(_wrapped(operand.offset))
        if operand.base is None:
            constant = np.array([offset], np.int64)
            return (lambda m, lanes: constant), space
        symbol = self.scope.find(operand.base.text)
        if isinstance(symbol, VariableSymbol):
            if space == "param" and symbol.space == "local":
                space = "local"
            elif space and space != symbol.space:
                raise self.unsupported(f"{operand.base.text} is in {symbol.space} memory, not {space}")
            if symbol.frame:
                place = self.place_of(symbol)
                return (lambda m, lanes: place(m, lanes) + offset), symbol.space
            constant = np.array([_wrapped(symbol.address + operand.offset)], np.int64)
            return (lambda m, lanes: constant), symbol.space
        get = self.bits(operand.base, "b64") if self._width(operand.base) == 64 else self.bits(operand.base, "b32")

        def read(m: Machine, lanes: Lanes) -> Array:
            base = get(m, lanes)
            signed = base.view(np.int64) if base.dtype.itemsize == 8 else base.astype(np.int64)
            return signed + offset if offset else signed

        return read, space

    def place(self, operand: Operand) -> tuple[int, int] | None:
        """The slot of the register that an address comes from and what is added to it; None where there is none."""
        base = operand.base if isinstance(operand, Address) else None
        symbol = self.scope.find(base.text) if base is not None else None
        if not isinstance(operand, Address) or not isinstance(symbol, RegisterSymbol):
            return None
        return symbol.slot, _wrapped(operand.offset)

    def place_of(self, symbol: VariableSymbol) -> Getter:
        """The address of a variable in the running function's frame, int64."""
        slot = self.scope.frame_register
        return lambda m, lanes: m.registers[slot][lanes].astype(np.int64) + symbol.address

    def pointer(self, operand: Operand) -> Getter:
        """A generic address as uint64, from a register of 32 or 64 bits."""
        if isinstance(operand, Name) and isinstance(self.scope.find(operand.text), RegisterSymbol):
            narrow = self.bits(operand, f"b{self._width(operand)}")
            return lambda m, lanes: narrow(m, lanes).astype(np.uint64)
        return self.bits(operand, "u64")

    def _width(self, name: Name) -> int:
        symbol = self.scope.find(name.text)
        if not isinstance(symbol, RegisterSymbol):
            raise self.unsupported(f"{name.text} is not declared")
        return BITS[symbol.type]

    def label(self, operand: Operand) -> LabelSymbol:
        symbol = self.scope.find(operand.text) if isinstance(operand, Name) else None
        if not isinstance(symbol, LabelSymbol):
            raise self.unsupported("a label of this function is needed")
        return symbol

    def targets(self, operand: Operand) -> tuple[str, ...]:
        symbol = self.scope.find(operand.text) if isinstance(operand, Name) else None
        if not isinstance(symbol, TargetsSymbol):
            raise self.unsupported("a .branchtargets list is needed")
        return symbol.names

    def bias(self, space: str) -> int:
        """What generic addresses of a space are larger by."""
        if space not in GENERIC_BIAS:
            raise self.unsupported(f"generic addresses of {space} memory")
        return GENERIC_BIAS[space]

    def simple(self, function: Callable[..., Array], result: str, *sources: Getter) -> Run:
        """`function` of the sources into the first operand, as type `result`."""
        put = self.put(self.operands[0], result)
        if len(sources) == 1:
            (a,) = sources
            return lambda m, lanes: put(m, lanes, function(a(m, lanes)))
        if len(sources) == 2:
            a, b = sources
            return lambda m, lanes: put(m, lanes, function(a(m, lanes), b(m, lanes)))
        return lambda m, lanes: put(m, lanes, function(*[get(m, lanes) for get in sources]))


def _discard(m: Machine, lanes: Lanes, value: Array) -> None:
    """The sink `_`."""
