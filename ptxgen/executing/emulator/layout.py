"""Where the variables of a module lie: addresses, extents and initial bytes, space by space."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ptxgen.executing.emulator.memory import FIRST_ADDRESS, GENERIC_BIAS, Extent
from ptxgen.executing.emulator.scope import FunctionSymbol, Scope, Unsupported, VariableSymbol
from ptxgen.executing.emulator.values import BITS, immediate_bits
from ptxgen.ptx.initialisers import address_value
from ptxgen.ptx.tree import Address, Immediate, Name, Variable

#: Unmapped bytes kept between neighbouring variables, so that running past the end of one is seen.
_BETWEEN = 32


def element_bytes(variable: Variable) -> int:
    """Bytes of one element, vectors whole. Raises Unsupported for a type without a size here."""
    if variable.type not in BITS or variable.type == "pred":
        raise Unsupported(variable.span.line, f"a variable of type .{variable.type}")
    return BITS[variable.type] // 8 * (4 if variable.vector == 3 else variable.vector)


def size_of(variable: Variable) -> int:
    """Bytes of the whole variable; an open array dimension takes its length from the initialiser."""
    known = [d for d in variable.dimensions if d is not None]
    count = math.prod(known)
    if None in variable.dimensions:
        given = len(variable.initialiser) if variable.initialiser else 0
        count = max(count, 1) * -(-given // max(count, 1)) if given else 0
    return element_bytes(variable) * count


@dataclass(slots=True)
class Layout:
    """Variables placed so far."""

    extents: dict[str, list[Extent]] = field(default_factory=dict)
    initial: dict[str, list[tuple[int, bytes]]] = field(default_factory=dict)
    placed: dict[int, VariableSymbol] = field(default_factory=dict)       # by id of the Variable
    dynamic: list[Variable] = field(default_factory=list)
    dynamic_start: int = -1

    def place(self, variable: Variable, space: str) -> VariableSymbol:
        """Give a variable an address in `space` (once; asking again gives the same).

        Raises Unsupported for external variables other than dynamic shared memory.
        """
        known = self.placed.get(id(variable))
        if known is not None:
            return known
        if space == "shared" and None in variable.dimensions:
            symbol = VariableSymbol("shared", self.dynamic_address(), 0, variable.type)
            self.placed[id(variable)] = symbol
            return symbol
        if "extern" in variable.linkage:
            raise Unsupported(variable.span.line, f"{variable.name} is external and defined nowhere")
        size = size_of(variable)
        start = self._next(space, max(variable.alignment or 0, element_bytes(variable)))
        # Shared and local memory begin undefined; module variables begin as written, or zero.
        undefined = space in {"shared", "local"} and variable.initialiser is None
        writable = space not in {"const", "param"}
        if size:
            extent = Extent(variable.name, start, size, initialised=not undefined, writable=writable)
            self.extents.setdefault(space, []).append(extent)
        symbol = self.placed[id(variable)] = VariableSymbol(space, start, size, variable.type)
        return symbol

    def _next(self, space: str, alignment: int) -> int:
        placed = self.extents.get(space)
        start = placed[-1].stop + _BETWEEN if placed else FIRST_ADDRESS[space]
        return -(-start // max(alignment, 1)) * max(alignment, 1)

    def reserve(self, space: str, name: str, size: int, alignment: int) -> int:
        """The address of undefined memory of that name."""
        start = self._next(space, alignment)
        self.extents.setdefault(space, []).append(Extent(name, start, size, initialised=False))
        return start

    def map_reserved(self, *, wanted: bool) -> None:
        """Make the shared memory below all variables, which the system keeps for itself, memory of zeros."""
        extent = Extent("the system's shared memory", 0, FIRST_ADDRESS["shared"])
        if wanted and extent not in self.extents.setdefault("shared", []):
            self.extents["shared"].insert(0, extent)

    def dynamic_address(self) -> int:
        """Where dynamic shared memory begins; all static shared variables must have been placed."""
        if self.dynamic_start < 0:
            self.dynamic_start = self._next("shared", 1024)
        return self.dynamic_start

    def initialise(self, variable: Variable, scope: Scope) -> None:
        """Note the initial bytes of a module variable; addresses of other variables are resolved in `scope`."""
        if variable.initialiser is None:
            return
        symbol = self.placed[id(variable)]
        width = BITS[variable.type] // 8
        words = b"".join(self._value(v, variable, scope).to_bytes(width, "little") for v in variable.initialiser)
        self.initial.setdefault(symbol.space, []).append((symbol.address, words[: symbol.size]))

    def _value(self, value: object, variable: Variable, scope: Scope) -> int:
        if isinstance(value, Immediate):
            return immediate_bits(value, variable.type)
        base = value if isinstance(value, Name) else value.base if isinstance(value, Address) else None
        said = address_value(base.text) if base else None
        symbol = scope.find(said.name) if said else None
        if said is None or not isinstance(symbol, FunctionSymbol | VariableSymbol):
            raise Unsupported(variable.span.line, f"{variable.name} begins with what is no constant and no variable")
        address = symbol.address + said.offset + (value.offset if isinstance(value, Address) else 0)
        if said.generic and isinstance(symbol, VariableSymbol):
            address += GENERIC_BIAS[symbol.space]
        return _masked(address, said.mask) & (1 << BITS[variable.type]) - 1


def _masked(address: int, written: str) -> int:
    """The byte of an address that a mask such as 0xFF00 takes; the whole address without one."""
    if not written:
        return address
    mask = int(written.removesuffix("U"), 0)
    return (address & mask) >> ((mask & -mask).bit_length() - 1)
