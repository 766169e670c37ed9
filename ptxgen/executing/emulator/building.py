"""From a module to a `Program`: scopes entered, calls inlined, labels resolved, reads proved to follow writes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from ptxgen.errors import UsageError
from ptxgen.executing.checking import demands_of, find_entry
from ptxgen.executing.emulator import calling, definedness, generations, heap, instructions, library, stack
from ptxgen.executing.emulator.calling import Routine
from ptxgen.executing.emulator.layout import Layout, element_bytes, size_of
from ptxgen.executing.emulator.linking import functions_of
from ptxgen.executing.emulator.program import Program, Step
from ptxgen.executing.emulator.scope import (
    LabelSymbol,
    Registers,
    RegisterSymbol,
    Scope,
    TargetsSymbol,
    Unsupported,
    VariableSymbol,
)
from ptxgen.executing.emulator.site import CARRY, Site
from ptxgen.executing.emulator.stack import Address, Frame, Stack
from ptxgen.ptx.tree import (
    Block,
    Directive,
    Function,
    Instruction,
    Label,
    Module,
    Name,
    Operand,
    Statement,
    Variable,
)

_GENERIC = ("global", "shared", "local", "const", "param")
#: Types of what only the instructions of textures and surfaces use, which need a GPU.
_OPAQUE = frozenset({"texref", "samplerref", "surfref"})
#: Beyond so many calls within calls, or steps, calls are real ones: functions that call others twice grow fast.
_DEEPEST_CALL, _MOST_INLINED = 64, 50_000


@dataclass(slots=True)
class Builder:
    """The steps decoded so far and what they need.

    `frame` is that of the function being decoded, None in the entry and in what is inlined there.
    """

    module: Module
    registers: Registers
    layout: Layout
    base: Scope                                                         # of the module
    flushing: bool = False
    steps: list[Step] = field(default_factory=list)
    pending: list[tuple[Step, tuple[LabelSymbol, ...]]] = field(default_factory=list)
    smallest: dict[str, int] = field(default_factory=dict)
    touched: dict[str, set[str]] = field(default_factory=dict)     # space to kinds of access
    fenced: bool = False
    calls: list[str] = field(default_factory=list)
    functions: dict[str, Function] = field(default_factory=dict)
    recursive: frozenset[str] = frozenset()
    pointed: tuple[str, ...] = ()                                       # functions whose address is taken
    routines: dict[str, Routine] = field(default_factory=dict)          # functions that are called, by name
    frame: Frame | None = None
    heap_start: int = -1
    spot: Stack | None = None
    areas: dict[tuple[str, int, int], VariableSymbol] = field(default_factory=dict)
    callers: dict[int, Frame | None] = field(default_factory=dict)      # by step after a call: who calls

    def enter(self, statements: tuple[Statement, ...], scope: Scope, end: LabelSymbol | None) -> None:
        """Decode one block. `end` is where `ret` goes inside an inlined function, None in the entry."""
        for statement in statements:
            if isinstance(statement, Label):
                scope.symbols[statement.name] = LabelSymbol()
            elif isinstance(statement, Directive) and statement.name == "branchtargets" and statement.label:
                words = re.sub(r"^\s*\.branchtargets", "", statement.text).strip().rstrip(";")
                names = tuple(word.strip() for word in words.split(","))
                scope.symbols[statement.label] = TargetsSymbol(names)
            elif isinstance(statement, Variable):
                self._declare(statement, scope)
        for statement in statements:
            if isinstance(statement, Label):
                label = scope.symbols[statement.name]
                assert isinstance(label, LabelSymbol)
                label.counter = len(self.steps)
            elif isinstance(statement, Block):
                self.enter(statement.statements, scope.child(), end)
            elif isinstance(statement, Instruction):
                self._instruction(statement, scope, end)

    def _declare(self, variable: Variable, scope: Scope) -> None:
        if variable.space == "reg":
            scope.declare_registers(variable)
        elif variable.space in {"local", "param"} and self.frame is not None:
            size = size_of(variable)
            offset = self.in_frame(size, max(variable.alignment or 0, element_bytes(variable)))
            scope.symbols[variable.name] = VariableSymbol("local", offset, size, variable.type, frame=True)
        elif variable.space in {"local", "param"}:
            # Each inlined call has variables of its own, so the tree's node is no key here.
            self.layout.placed.pop(id(variable), None)
            scope.symbols[variable.name] = self.layout.place(variable, "local")
        else:
            known = id(variable) in self.layout.placed
            scope.symbols[variable.name] = self.layout.place(variable, variable.space)
            if not known and variable.space in {"global", "const"}:
                self.layout.initialise(variable, scope)

    def _instruction(self, instruction: Instruction, scope: Scope, end: LabelSymbol | None) -> None:
        if self.flushing:
            instruction = generations.with_flushing(instruction, self.module.version)
        site = instructions.canonical(instruction, scope)
        if site.name == "call":
            self._call(site, instruction, scope)
            return
        if site.name in {"alloca", "stacksave", "stackrestore"}:
            step = stack.step_of(site, self.stack())
        else:
            step = self._control(site, end) if site.name in instructions.CONTROL else instructions.decode(site)
        self._guard(step, site, instruction)
        self.add(step, site)

    def _guard(self, step: Step, site: Site, instruction: Instruction) -> None:
        if instruction.guard is None:
            return
        symbol = site.scope.find(instruction.guard.predicate)
        if not isinstance(symbol, RegisterSymbol) or symbol.type != "pred":
            raise site.unsupported(f"the guard {instruction.guard.predicate} is no predicate register")
        step.guard, step.negated = symbol.slot, instruction.guard.negated
        site.reads.append(symbol.slot)

    def add(self, step: Step, site: Site) -> None:
        step.reads, step.writes = tuple(dict.fromkeys(site.reads)), tuple(dict.fromkeys(site.writes))
        step.deferred, step.values, step.needs = tuple(site.deferred), tuple(site.values), site.needs
        self.fenced |= site.fences
        self.layout.map_reserved(wanted=site.reserved)
        for space, width, kind in site.accesses:
            for one in (space,) if space else _GENERIC:
                self.smallest[one] = min(width, self.smallest.get(one, 16))
                self.touched.setdefault(one, set()).add(kind)
        self.steps.append(step)

    def _control(self, site: Site, end: LabelSymbol | None) -> Step:
        opcode = site.instruction.opcode
        if site.name == "exit" or (site.name == "ret" and end is None):
            return Step("exit", site.line, opcode)
        if site.name == "brx":
            labels = tuple(site.label(Name(name)) for name in site.targets(site.operands[1]))
            step = Step("table", site.line, opcode, selector=site.bits(site.operands[0], "u32"))
            self.pending.append((step, labels))
            return step
        target = end if site.name == "ret" else site.label(site.operands[0])
        assert target is not None
        step = Step("jump", site.line, opcode)
        self.pending.append((step, (target,)))
        return step

    # -------------------------------------------------------------- the stack

    def stack(self) -> Stack:
        """The stack, which the program has from the first time this is asked."""
        if self.spot is None:
            frame, top = (self.registers.new(name, "b64").slot for name in ("the frame", "the top of the stack"))
            self.spot = Stack(frame, top, self.layout.reserve("local", "the stack", stack.SIZE, 16))
        return self.spot

    def heap(self) -> int:
        """Where the device heap begins, which the program has from the first time this is asked."""
        if self.heap_start < 0:
            self.heap_start = self.layout.reserve("global", heap.NAME, heap.SIZE, 256)
        return self.heap_start

    def in_frame(self, size: int, alignment: int) -> int:
        """The offset of a new variable in the frame of the function being decoded."""
        assert self.frame is not None
        return self.frame.place(size, alignment)

    def area(self, kind: str, number: int, size: int) -> Address:
        """Where an argument ("in") or a result ("out") passes."""
        symbol = self.areas.get((kind, number, size))
        if symbol is None:
            start = self.layout.reserve("local", f"{kind} {number}", size, 16)
            symbol = self.areas[kind, number, size] = VariableSymbol("local", start, size, f"b{size * 8}")
        return self.place_of(symbol)

    def place_of(self, symbol: VariableSymbol) -> Address:
        """Local addresses of a variable, int64."""
        if not symbol.frame:
            constant = np.array([symbol.address], np.int64)
            return lambda m, lanes: constant
        slot = self.stack().frame
        return lambda m, lanes: m.registers[slot][lanes].astype(np.int64) + symbol.address

    def routine(self, name: str) -> Routine:
        """The function as one that is called; it is decoded after the entry."""
        self.stack()
        frame = Frame(stack.WAY_BACK if name in self.recursive or name in self.pointed else 0)
        return self.routines.setdefault(name, Routine(self.functions[name], frame=frame))

    # -------------------------------------------------------------- calls

    def _call(self, site: Site, instruction: Instruction, scope: Scope) -> None:
        """A call: inlined, or a real one of a function that calls itself or through a register."""
        returned, callee, given = calling.split(instruction)
        name = callee.text if isinstance(callee, Name) else ""
        known = scope.find(name)
        over = LabelSymbol()
        if instruction.guard is not None:
            step = Step("jump", site.line, instruction.opcode)
            self._guard(step, site, instruction)
            step.negated = not step.negated
            self.pending.append((step, (over,)))
            self.add(step, site)
        if isinstance(known, RegisterSymbol):
            fitting = [self.routine(n) for n in self.pointed if self._fits(self.functions[n], given, returned, scope)]
            calling.call_out(self, site, scope, fitting)
        elif name in library.FUNCTIONS and name not in self.functions:
            self.add(library.call(site, name, returned, given, self), site)
        else:
            self._call_named(site, name, scope, returned, given)
        over.counter = len(self.steps)

    def _fits(
        self, function: Function, given: tuple[Operand, ...], returned: tuple[Operand, ...], scope: Scope
    ) -> bool:
        """Whether the numbers of arguments and results, and the sizes of those in memory, are the function's."""
        if len(given) != len(function.params) or len(returned) != len(function.returns):
            return False
        for variable, operand in zip(function.params + function.returns, given + returned, strict=True):
            symbol = scope.find(operand.text) if isinstance(operand, Name) else None
            if isinstance(symbol, VariableSymbol) and symbol.size != calling.size_of_formal(variable):
                return False
        return True

    def _call_named(
        self, site: Site, name: str, scope: Scope, returned: tuple[Operand, ...], given: tuple[Operand, ...]
    ) -> None:
        function = self.functions.get(name)
        if function is None or function.body is None:
            raise site.unsupported(f"a call of {name or 'something'} that this text does not define")
        if len(given) != len(function.params) or len(returned) != len(function.returns):
            raise site.unsupported(f"{name} takes {len(function.params)} and gives {len(function.returns)} values")
        if name in self.recursive or len(self.calls) >= _DEEPEST_CALL or len(self.steps) >= _MOST_INLINED:
            calling.call_out(self, site, scope, [self.routine(name)])
            return
        inner = self.module_scope()
        for variable, argument in zip(function.params + function.returns, given + returned, strict=True):
            self._bind(variable, argument, scope, inner, site, copy=variable in function.params)
        self.calls.append(name)
        end = LabelSymbol()
        self.enter(function.body, inner.child(), end)
        end.counter = len(self.steps)
        self.calls.pop()
        for variable, argument in zip(function.returns, returned, strict=True):
            if variable.space == "reg":
                self._move(variable.type, argument, scope, Name(variable.name), inner, site)
            elif isinstance(inner.find(variable.name), VariableSymbol):
                calling.unload(self, site, scope, argument, inner, variable)

    def module_scope(self) -> Scope:
        """A scope with the module's names alone."""
        scope = self.base.child()
        scope.frame_register = self.spot.frame if self.spot else -1
        scope.symbols.update(calling.function_symbols(self.functions))
        return scope

    def _bind(
        self, variable: Variable, argument: Operand, outer: Scope, inner: Scope, site: Site, *, copy: bool
    ) -> None:
        if variable.space == "reg":
            inner.declare_registers(variable)
            if copy:
                self._move(variable.type, Name(variable.name), inner, argument, outer, site)
            return
        symbol = outer.find(argument.text) if isinstance(argument, Name) else None
        if isinstance(symbol, VariableSymbol):
            inner.symbols[variable.name] = symbol
            return
        self._declare(variable, inner)
        if copy:
            calling.load(self, site, outer, argument, inner, variable)

    def _move(
        self, type_name: str, target: Operand, to: Scope, source: Operand, of: Scope, site: Site
    ) -> None:
        reader = Site(site.instruction, of, "mov", (type_name,), (type_name,))
        writer = Site(site.instruction, to, "mov", (type_name,), (type_name,))
        for to_one, of_one in zip(writer.elements(target), reader.elements(source), strict=True):
            run = calling.moved(reader.bits(of_one, type_name), writer.put(to_one, type_name))
            step = Step("plain", site.line, site.instruction.opcode, run)
            step.reads, step.writes, step.hands_on, step.moves = tuple(reader.reads), tuple(writer.writes), True, True
            self.steps.append(step)


def _module_scope(registers: Registers, layout: Layout, module: Module) -> Scope:
    scope = Scope(registers)
    scope.symbols[CARRY] = RegisterSymbol(0, "pred")
    for item in module.items:
        if not isinstance(item, Variable) or item.type in _OPAQUE:
            continue
        defined = "extern" not in item.linkage
        if item.space == "reg":
            scope.declare_registers(item)
        elif item.space in {"shared", "local"} or (item.space in {"global", "const"} and defined):
            scope.symbols[item.name] = layout.place(item, item.space)
    return scope


def _static_shared(layout: Layout, module: Module, entry: Function) -> None:
    """Place every static shared variable before dynamic shared memory gets its address."""

    def walk(statements: tuple[Statement | Function | Variable | Directive, ...]) -> None:
        for statement in statements:
            if isinstance(statement, Variable) and statement.space == "shared" and None not in statement.dimensions:
                layout.place(statement, "shared")
            elif isinstance(statement, Block):
                walk(statement.statements)

    walk(module.items)
    for item in module.items:
        if isinstance(item, Function) and item.body is not None and (item.kind == "func" or item is entry):
            walk(item.body)


def begin(module: Module, name: str | None) -> tuple[Builder, Scope, Function]:
    """A builder that has placed the module's variables and the entry's parameters, the scope of its body, the entry.

    Raises UsageError if there is no such entry, Unsupported for a module that is not emulated.
    """
    entry = find_entry(module, name)
    if entry.body is None:
        raise UsageError(f"the entry {entry.name!r} is declared and not defined")
    if module.address_size == 32:
        raise Unsupported(module.span.line, "addresses of 32 bits (.address_size 32); only those of 64 are emulated")
    registers = Registers()
    registers.new(CARRY, "pred")
    layout = Layout()
    _static_shared(layout, module, entry)
    base = _module_scope(registers, layout, module)
    builder = Builder(module, registers, layout, base, generations.flushes(module))
    builder.functions = functions_of(module)
    scope = builder.module_scope()
    for item in module.items:
        if isinstance(item, Variable) and item.space in {"global", "const"} and item.name in base.symbols:
            layout.initialise(item, scope)
    for variable in entry.params:
        scope.symbols[variable.name] = layout.place(variable, "param")
    builder.recursive = calling.recursive(builder.functions)
    builder.pointed = calling.address_taken(module, builder.functions)
    return builder, scope.child(), entry


def build(module: Module, name: str | None) -> Program:
    """Decode one entry. Raises UsageError if there is no such entry, Unsupported for what is not emulated."""
    builder, scope, entry = begin(module, name)
    builder.enter(entry.body or (), scope, None)
    last = builder.steps[-1].line if builder.steps else entry.span.line
    builder.steps.append(Step("exit", last, "ret"))
    decoded: set[str] = set()
    while waiting := [name for name in builder.routines if name not in decoded]:
        decoded.add(waiting[0])
        calling.enter_routine(builder, builder.routines[waiting[0]], builder.module_scope())
    for step, labels in builder.pending:
        if any(label.counter < 0 for label in labels):
            raise Unsupported(step.line, "a branch to a label that is not there")
        step.targets = tuple(label.counter for label in labels)
        step.target = step.targets[0] if step.targets else -1
    return program_of(builder, entry, definedness.prove(builder.steps, len(builder.registers.types)))


def program_of(builder: Builder, entry: Function, unproven: frozenset[int]) -> Program:
    """What the builder has decoded, as a program over the builder's own lists of steps and registers."""
    registers, layout = builder.registers, builder.layout
    param_extents = tuple(layout.extents.get("param", ()))
    shared = layout.extents.get("shared", [])
    kinds = builder.touched
    return Program(
        entry.name, entry.params, param_extents, builder.steps, registers.types, registers.names, unproven,
        {space: tuple(found) for space, found in layout.extents.items()}, layout.initial,
        layout.dynamic_address(), sum(e.size for e in shared), builder.smallest,
        bool(kinds.get("global", set()) - {"read"}),
        frozenset(space for space, found in kinds.items() if found & {"atomic", "strong"}),
        builder.fenced, demands_of(entry), builder.spot.registers if builder.spot else {}, _kept(builder),
    )


def _kept(builder: Builder) -> dict[int, tuple[int, ...]]:
    """By step after a call: the register slots that the call keeps."""
    spot = builder.spot
    if spot is None:
        return {}
    return {
        resume: (spot.frame, spot.top, *(caller.slots if caller else ()))
        for resume, caller in builder.callers.items()
    }
