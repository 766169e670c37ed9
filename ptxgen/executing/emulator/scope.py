"""Names of a kernel being decoded: registers, variables and labels, block by block."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from ptxgen.executing.emulator.values import BITS
from ptxgen.ptx.tree import Variable


class Unsupported(Exception):
    """The emulator cannot decode this line; `message` says why."""

    def __init__(self, line: int, message: str) -> None:
        self.line = line
        self.message = message
        super().__init__(f"line {line}: {message}")


@dataclass(frozen=True, slots=True)
class RegisterSymbol:
    slot: int
    type: str


@dataclass(frozen=True, slots=True)
class VariableSymbol:
    """`space` is where it lies (a function's `.param` variables lie in local memory); `address` within the space."""

    space: str
    address: int
    size: int
    type: str
    frame: bool = False                # `address` is an offset from the frame of the running function


@dataclass(frozen=True, slots=True)
class VectorSymbol:
    """A vector register; its components are registers of their own, `name.x` and so on."""

    components: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FunctionSymbol:
    """A function of the module; `address` is what a register holds to call it."""

    address: int


@dataclass(slots=True)
class LabelSymbol:
    """A label; `counter` is known once the statement after it has been decoded."""

    counter: int = -1


@dataclass(frozen=True, slots=True)
class TargetsSymbol:
    """A `.branchtargets` list."""

    names: tuple[str, ...]


Symbol = RegisterSymbol | VectorSymbol | VariableSymbol | FunctionSymbol | LabelSymbol | TargetsSymbol


@dataclass(slots=True)
class Registers:
    """All register slots of the program, over all scopes.

    `changed` counts by slot the instructions that write it, `compared` holds what `cas` changes: the slot of the
    address, what is added to it, and the width in bytes.
    """

    types: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    changed: Counter[int] = field(default_factory=Counter)
    compared: set[tuple[int, int, int]] = field(default_factory=set)

    def new(self, name: str, type_name: str) -> RegisterSymbol:
        self.types.append(type_name)
        self.names.append(name)
        return RegisterSymbol(len(self.types) - 1, type_name)


@dataclass(slots=True)
class Scope:
    """One `{ … }`: its own names, then those around it."""

    registers: Registers
    parent: Scope | None = None
    symbols: dict[str, Symbol] = field(default_factory=dict)
    families: list[tuple[str, int, str]] = field(default_factory=list)
    frame_register: int = -1           # the slot that holds the frame, in functions that have one

    def child(self) -> Scope:
        return Scope(self.registers, self, frame_register=self.frame_register)

    def declare_registers(self, variable: Variable) -> None:
        """`.reg` declarations. Raises Unsupported for a type without registers here."""
        if variable.type not in BITS:
            raise Unsupported(variable.span.line, f"registers of type .{variable.type}")
        if variable.vector != 1:
            for number in range(variable.count or 1):
                name = variable.name if variable.count is None else f"{variable.name}{number}"
                self._declare_vector(name, variable)
        elif variable.count is None:
            self.symbols[variable.name] = self.registers.new(variable.name, variable.type)
        else:
            self.families.append((variable.name, variable.count, variable.type))

    def _declare_vector(self, name: str, variable: Variable) -> None:
        parts = []
        for letters in ("xr", "yg", "zb", "wa")[: variable.vector]:
            symbol = self.registers.new(f"{name}.{letters[0]}", variable.type)
            for letter in letters:
                self.symbols[f"{name}.{letter}"] = symbol
            parts.append(f"{name}.{letters[0]}")
        self.symbols[name] = VectorSymbol(tuple(parts))

    def find(self, name: str) -> Symbol | None:
        """The symbol a name stands for here, registers `%r0` to `%r<n-1>` of a family made on first use."""
        scope: Scope | None = self
        while scope is not None:
            found = scope.symbols.get(name)
            if found is not None:
                return found
            for prefix, count, type_name in scope.families:
                if not name.startswith(prefix):
                    continue
                digits = name[len(prefix):]
                if digits.isdecimal() and int(digits) < count:
                    plain = f"{prefix}{int(digits)}"
                    symbol = scope.symbols.get(plain)
                    if symbol is None:
                        symbol = scope.symbols[plain] = scope.registers.new(plain, type_name)
                    scope.symbols[name] = symbol
                    return symbol
            scope = scope.parent
        return None
