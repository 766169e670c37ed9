"""Calls that are not inlined: functions that call themselves, and calls through a register.

Arguments and results pass through areas of local memory, one for each position, that all functions share: the caller
fills them just before the call, and the function empties them before anything else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ptxgen.executing.emulator import stack
from ptxgen.executing.emulator.barriers import ready
from ptxgen.executing.emulator.lanes import Lanes, count, select
from ptxgen.executing.emulator.layout import element_bytes, size_of
from ptxgen.executing.emulator.machine import Machine
from ptxgen.executing.emulator.memory import FUNCTIONS
from ptxgen.executing.emulator.program import Run, Step
from ptxgen.executing.emulator.scope import FunctionSymbol, LabelSymbol, RegisterSymbol, Scope, VariableSymbol
from ptxgen.executing.emulator.site import Getter, Putter, Site
from ptxgen.executing.emulator.stack import Address as Place
from ptxgen.executing.emulator.stack import Frame
from ptxgen.executing.emulator.values import BITS
from ptxgen.ptx.tree import (
    Address,
    Arguments,
    Block,
    Function,
    Instruction,
    Module,
    Name,
    Operand,
    Statement,
    Variable,
    Vector,
)

if TYPE_CHECKING:
    from ptxgen.executing.emulator.building import Builder


@dataclass(slots=True)
class Routine:
    """A function that is called, not inlined."""

    function: Function
    label: LabelSymbol = field(default_factory=LabelSymbol)
    frame: Frame = field(default_factory=Frame)


def _instructions(statements: Iterable[Statement]) -> Iterator[Instruction]:
    for statement in statements:
        if isinstance(statement, Instruction):
            yield statement
        elif isinstance(statement, Block):
            yield from _instructions(statement.statements)


def _names(operands: Iterable[Operand]) -> Iterator[str]:
    for operand in operands:
        if isinstance(operand, Name):
            yield operand.text
        elif isinstance(operand, Vector | Arguments):
            yield from _names(operand.elements)
        elif isinstance(operand, Address) and operand.base is not None:
            yield operand.base.text


def _callee(instruction: Instruction) -> str:
    plain = [operand for operand in instruction.operands if isinstance(operand, Name)]
    return plain[0].text if plain else ""


def recursive(functions: dict[str, Function]) -> frozenset[str]:
    """Functions that may be running already when they are called."""
    calls = {
        name: {_callee(i) for i in _instructions(function.body or ()) if i.opcode.partition(".")[0] == "call"}
        for name, function in functions.items()
    }
    called = {name: found & functions.keys() for name, found in calls.items()}
    callers: dict[str, list[str]] = {name: [] for name in functions}
    for name, found in called.items():
        for other in found:
            callers[other].append(name)
    # Whoever calls nobody but such as do not come back does not come back either.
    open_calls = {name: len(found) for name, found in called.items()}
    ended = [name for name, count in open_calls.items() if count == 0]
    for name in ended:
        for caller in callers[name]:
            open_calls[caller] -= 1
            if open_calls[caller] == 0:
                ended.append(caller)
    left = functions.keys() - set(ended)
    return frozenset(name for name in left if _reaches(name, called, left))


def _reaches(name: str, called: Mapping[str, Set[str]], among: Set[str]) -> bool:
    """Whether a function's calls lead back to it, through these functions."""
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        found = called[waiting.pop()] & among
        if name in found:
            return True
        waiting += found - seen
        seen |= found
    return False


def address_taken(module: Module, functions: dict[str, Function]) -> tuple[str, ...]:
    """Functions whose address some instruction or initialiser names, in the order of the text."""
    named: set[str] = set()
    for item in module.items:
        if isinstance(item, Variable) and item.initialiser is not None:
            named.update(_names(item.initialiser))
        elif isinstance(item, Function):
            for instruction in _instructions(item.body or ()):
                if instruction.opcode.partition(".")[0] != "call":
                    named.update(_names(instruction.operands))
    return tuple(name for name in functions if name in named)


def function_symbols(functions: dict[str, Function]) -> dict[str, FunctionSymbol]:
    """Every function's address: 16 bytes from one to the next, in a window of their own."""
    return {name: FunctionSymbol(FUNCTIONS + 16 * number) for number, name in enumerate(functions, 1)}


def split(instruction: Instruction) -> tuple[tuple[Operand, ...], Operand, tuple[Operand, ...]]:
    """(results, function, arguments) of a call."""
    operands = list(instruction.operands)
    returned: tuple[Operand, ...] = ()
    if isinstance(operands[0], Arguments):
        returned = operands[0].elements
        del operands[0]
    callee = operands.pop(0)
    given = operands[0].elements if operands and isinstance(operands[0], Arguments) else ()
    return returned, callee, given


def call_out(builder: Builder, site: Site, scope: Scope, candidates: list[Routine]) -> None:
    """Emit a call of one of these routines: the only one, or the one whose address the operand holds."""
    returned, callee, given = split(site.instruction)
    first = candidates[0].function if candidates else None
    for number, argument in enumerate(given):
        formal = first.params[number] if first else None
        _fill(builder, site, scope, argument, formal, number)
    caller, spot = builder.frame, builder.stack()
    resume = len(builder.steps) + 1
    step = Step("call", site.line, site.instruction.opcode)
    builder.callers[resume] = caller
    direct = isinstance(callee, Name) and not isinstance(scope.find(callee.text), RegisterSymbol)
    pointer = None if direct else site.bits(callee, "u64")
    addresses = [site.scope.find(routine.function.name) for routine in candidates]
    known = np.array([s.address for s in addresses if isinstance(s, FunctionSymbol)], np.uint64)

    def run(m: Machine, lanes: Lanes) -> None:
        if pointer is None:
            _enter(m, lanes, 0)
            return
        wanted = np.broadcast_to(pointer(m, lanes), (count(lanes),))
        lost = ~np.isin(wanted, known)
        if lost.any():
            message = "a call of an address where no function of these arguments begins"
            m.fault_among("out-of-bounds", message, lanes, lost, address=wanted)
        for number, address in enumerate(known):
            some = select(lanes, wanted == address)
            if some is not None:
                _enter(m, some, number)

    def _enter(m: Machine, lanes: Lanes, number: int) -> None:
        stack.enter(m, lanes, spot, caller, candidates[number].frame, resume)
        ready(m, step.targets[number], lanes)

    step.run = run
    builder.pending.append((step, tuple(routine.label for routine in candidates)))
    builder.add(step, site)
    for number, target in enumerate(returned):
        formal = first.returns[number] if first else None
        _take(builder, site, scope, target, formal, number)


def size_of_formal(variable: Variable) -> int:
    """Bytes of a parameter."""
    return BITS[variable.type] // 8 if variable.space == "reg" else size_of(variable)


def _size(scope: Scope, operand: Operand, formal: Variable | None) -> int:
    if formal is not None:
        return size_of_formal(formal)
    symbol = scope.find(operand.text) if isinstance(operand, Name) else None
    if isinstance(symbol, VariableSymbol):
        return symbol.size
    return BITS[symbol.type] // 8 if isinstance(symbol, RegisterSymbol) else 4


def _variable(scope: Scope, operand: Operand) -> VariableSymbol | None:
    symbol = scope.find(operand.text) if isinstance(operand, Name) else None
    return symbol if isinstance(symbol, VariableSymbol) else None


def _fill(
    builder: Builder, site: Site, scope: Scope, operand: Operand, formal: Variable | None, number: int
) -> None:
    """One argument into its area."""
    size = _size(scope, operand, formal)
    target = builder.area("in" if site.name == "call" else "out", number, size)
    symbol = _variable(scope, operand)
    if symbol is not None:
        source = builder.place_of(symbol)
        _plain(builder, site, lambda m, lanes: stack.copy_bytes(m, lanes, source, target, size))
        return
    type_name = formal.type if formal is not None and formal.type in BITS else f"b{size * 8}"
    _write(builder, site, scope, operand, target, size, type_name)


def _take(
    builder: Builder, site: Site, scope: Scope, operand: Operand, formal: Variable | None, number: int
) -> None:
    """One result out of its area."""
    if isinstance(operand, Name) and operand.text == "_":
        return
    size = _size(scope, operand, formal)
    source = builder.area("out" if site.name == "call" else "in", number, size)
    symbol = _variable(scope, operand)
    if symbol is not None:
        target = builder.place_of(symbol)
        _plain(builder, site, lambda m, lanes: stack.copy_bytes(m, lanes, source, target, size))
        return
    _read(builder, site, scope, operand, source, size)


def _write(
    builder: Builder, site: Site, scope: Scope, operand: Operand, target: Place, size: int, type_name: str
) -> None:
    """A register or a constant into local memory."""
    if size not in {1, 2, 4, 8, 16}:
        raise site.unsupported(f"an argument of {size} bytes that is no .param variable")
    reader = Site(site.instruction, scope, "mov", (type_name,), (type_name,))
    get = reader.bits(operand, type_name)
    _plain(builder, site, lambda m, lanes: stack.write_word(m, lanes, target, size, get(m, lanes)), reader)


def _read(builder: Builder, site: Site, scope: Scope, operand: Operand, source: Place, size: int) -> None:
    """A word of local memory into a register."""
    if size not in {1, 2, 4, 8, 16}:
        raise site.unsupported(f"a result of {size} bytes that goes to no .param variable")
    type_name = f"b{size * 8}"
    writer = Site(site.instruction, scope, "mov", (type_name,), (type_name,))
    put = writer.put(operand, type_name)
    _plain(builder, site, lambda m, lanes: put(m, lanes, stack.read_word(m, lanes, source, size)), writer)


def load(
    builder: Builder, site: Site, outer: Scope, operand: Operand, inner: Scope, variable: Variable
) -> None:
    """An argument in a register, or a constant, into the parameter of an inlined function."""
    symbol = inner.symbols[variable.name]
    assert isinstance(symbol, VariableSymbol)
    _write(builder, site, outer, operand, builder.place_of(symbol), symbol.size, variable.type)


def unload(
    builder: Builder, site: Site, outer: Scope, operand: Operand, inner: Scope, variable: Variable
) -> None:
    """The result of an inlined function into a register, if that is where it goes."""
    symbol = inner.symbols[variable.name]
    if _variable(outer, operand) is None and isinstance(symbol, VariableSymbol):
        _read(builder, site, outer, operand, builder.place_of(symbol), symbol.size)


def _plain(builder: Builder, site: Site, run: Run, also: Site | None = None) -> None:
    step = Step("plain", site.line, site.instruction.opcode, run)
    if also is not None and also.reads:
        also.values.append(tuple(also.reads))
    builder.add(step, also or Site(site.instruction, site.scope, "mov", (), ()))


def moved(get: Getter, put: Putter) -> Run:
    """One register (or constant) into another."""
    return lambda m, lanes: put(m, lanes, get(m, lanes))


def enter_routine(builder: Builder, routine: Routine, scope: Scope) -> None:
    """Decode a routine: take its arguments out of their areas, its body, results into theirs, and back."""
    function = routine.function
    assert function.body is not None
    routine.label.counter = len(builder.steps)
    builder.frame = routine.frame
    first = len(builder.registers.types)
    site = Site(Instruction("ret", span=function.span), scope, "ret", (), ())
    for number, variable in enumerate(function.params):
        _declare(builder, variable, scope)
        _take(builder, site, scope, Name(variable.name), variable, number)
    for variable in function.returns:
        _declare(builder, variable, scope)
    end = LabelSymbol()
    builder.enter(function.body, scope.child(), end)
    end.counter = len(builder.steps)
    for number, variable in enumerate(function.returns):
        _fill(builder, site, scope, Name(variable.name), variable, number)
    routine.frame.slots = range(first, len(builder.registers.types))
    builder.steps.append(Step("return", function.span.line, "ret", stack.leave))
    builder.frame = None


def _declare(builder: Builder, variable: Variable, scope: Scope) -> None:
    if variable.space == "reg":
        scope.declare_registers(variable)
        return
    size = size_of(variable)
    offset = builder.in_frame(size, max(variable.alignment or 0, element_bytes(variable)))
    scope.symbols[variable.name] = VariableSymbol("local", offset, size, variable.type, frame=True)
