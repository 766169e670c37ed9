"""From a module to a `Program`: scopes entered, calls inlined, labels resolved, reads proved to follow writes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ptxgen.errors import UsageError
from ptxgen.executing.emulator import definedness, instructions
from ptxgen.executing.emulator.layout import Layout
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
from ptxgen.executing.protocol import Dim3
from ptxgen.ptx.tree import (
    Arguments,
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
_DEEPEST_CALL = 64


def find_entry(module: Module, name: str | None) -> Function:
    """The entry of that name, or the only one. Raises UsageError."""
    entries = module.entries()
    names = ", ".join(entry.name for entry in entries)
    if name is None:
        if len(entries) == 1:
            return entries[0]
        if not entries:
            raise UsageError("the PTX text has no .entry", fix="give a kernel to run")
        raise UsageError("the PTX text has several entries", why=names, fix="name one of them with --entry")
    for entry in entries:
        if entry.name == name:
            return entry
    raise UsageError(f"the PTX text has no entry {name!r}", why=f"it has {names or 'none'}")


@dataclass(slots=True)
class _Builder:
    module: Module
    registers: Registers
    layout: Layout
    steps: list[Step] = field(default_factory=list)
    pending: list[tuple[Step, tuple[LabelSymbol, ...]]] = field(default_factory=list)
    smallest: dict[str, int] = field(default_factory=dict)
    touched: dict[str, set[str]] = field(default_factory=dict)     # space to kinds of access
    fenced: bool = False
    calls: list[str] = field(default_factory=list)
    functions: dict[str, Function] = field(default_factory=dict)

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
        elif variable.space in {"local", "param"}:
            # Each inlined call has variables of its own, so the tree's node is no key here.
            self.layout.placed.pop(id(variable), None)
            scope.symbols[variable.name] = self.layout.place(variable, "local")
        else:
            scope.symbols[variable.name] = self.layout.place(variable, variable.space)

    def _instruction(self, instruction: Instruction, scope: Scope, end: LabelSymbol | None) -> None:
        site = instructions.canonical(instruction, scope)
        if site.name == "call":
            self._call(site, instruction, scope)
            return
        step = self._control(site, end) if site.name in instructions.CONTROL else instructions.decode(site)
        self._guard(step, site, instruction)
        self._add(step, site)

    def _guard(self, step: Step, site: Site, instruction: Instruction) -> None:
        if instruction.guard is None:
            return
        symbol = site.scope.find(instruction.guard.predicate)
        if not isinstance(symbol, RegisterSymbol) or symbol.type != "pred":
            raise site.unsupported(f"the guard {instruction.guard.predicate} is no predicate register")
        step.guard, step.negated = symbol.slot, instruction.guard.negated
        site.reads.append(symbol.slot)

    def _add(self, step: Step, site: Site) -> None:
        step.reads, step.writes = tuple(dict.fromkeys(site.reads)), tuple(dict.fromkeys(site.writes))
        step.deferred = tuple(site.deferred)
        self.fenced |= site.fences
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

    # -------------------------------------------------------------- calls

    def _call(self, site: Site, instruction: Instruction, scope: Scope) -> None:
        """Inline a direct call: the callee's parameters are the caller's `.param` variables."""
        returned: tuple[Operand, ...] = ()
        given: tuple[Operand, ...] = ()
        operands = list(instruction.operands)
        if isinstance(operands[0], Arguments):
            returned = operands.pop(0).elements  # type: ignore[union-attr]
        callee = operands.pop(0)
        if operands and isinstance(operands[0], Arguments):
            given = operands[0].elements
        name = callee.text if isinstance(callee, Name) else ""
        function = self.functions.get(name)
        if function is None or function.body is None:
            raise site.unsupported(f"a call of {name or 'something'} that this text does not define")
        if name in self.calls or len(self.calls) >= _DEEPEST_CALL:
            raise site.unsupported(f"{name} calls itself")
        if len(given) != len(function.params) or len(returned) != len(function.returns):
            raise site.unsupported(f"{name} takes {len(function.params)} and gives {len(function.returns)} values")
        over = LabelSymbol()
        if instruction.guard is not None:
            step = Step("jump", site.line, instruction.opcode)
            self._guard(step, site, instruction)
            step.negated = not step.negated
            self.pending.append((step, (over,)))
            self._add(step, site)
        inner = _module_scope(self.registers, self.layout, self.module)
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
        over.counter = len(self.steps)

    def _bind(
        self, variable: Variable, argument: Operand, outer: Scope, inner: Scope, site: Site, *, copy: bool
    ) -> None:
        if variable.space == "reg":
            inner.declare_registers(variable)
            if copy:
                self._move(variable.type, Name(variable.name), inner, argument, outer, site)
            return
        symbol = outer.find(argument.text) if isinstance(argument, Name) else None
        if not isinstance(symbol, VariableSymbol):
            raise site.unsupported(f"an argument for {variable.name} that is no .param variable")
        inner.symbols[variable.name] = symbol

    def _move(
        self, type_name: str, target: Operand, to: Scope, source: Operand, of: Scope, site: Site
    ) -> None:
        reader = Site(site.instruction, of, "mov", (type_name,), (type_name,))
        writer = Site(site.instruction, to, "mov", (type_name,), (type_name,))
        get, put = reader.bits(source, type_name), writer.put(target, type_name)
        step = Step("plain", site.line, site.instruction.opcode, lambda m, lanes: put(m, lanes, get(m, lanes)))
        step.reads, step.writes = tuple(reader.reads), tuple(writer.writes)
        self.steps.append(step)


def _module_scope(registers: Registers, layout: Layout, module: Module) -> Scope:
    scope = Scope(registers)
    scope.symbols[CARRY] = RegisterSymbol(0, "pred")
    for item in module.items:
        if isinstance(item, Variable) and item.space in {"global", "const", "shared"}:
            if item.space != "shared" and "extern" in item.linkage:
                continue
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


def _dimensions(entry: Function, name: str) -> Dim3 | None:
    for directive in entry.directives:
        if directive.name == name:
            numbers = [int(word) for word in re.findall(r"\d+", directive.text.partition(name)[2])]
            x, y, z = (*numbers, 1, 1, 1)[:3]
            return x, y, z
    return None


def begin(module: Module, entry: Function) -> tuple[_Builder, Scope]:
    """A builder that has placed the module's variables and the entry's parameters, and the scope of its body."""
    registers = Registers()
    registers.new(CARRY, "pred")
    layout = Layout()
    _static_shared(layout, module, entry)
    scope = _module_scope(registers, layout, module)
    for item in module.items:
        if isinstance(item, Variable) and item.space in {"global", "const"} and item.name in scope.symbols:
            layout.initialise(item, scope)
    for variable in entry.params:
        scope.symbols[variable.name] = layout.place(variable, "param")
    builder = _Builder(module, registers, layout)
    builder.functions = {i.name: i for i in module.items if isinstance(i, Function) and i.kind == "func" and i.body}
    return builder, scope.child()


def build(module: Module, name: str | None) -> Program:
    """Decode one entry. Raises UsageError if there is no such entry, Unsupported for what is not emulated."""
    entry = find_entry(module, name)
    if entry.body is None:
        raise UsageError(f"the entry {entry.name!r} is declared and not defined")
    builder, scope = begin(module, entry)
    registers, layout = builder.registers, builder.layout
    builder.enter(entry.body, scope, None)
    last = builder.steps[-1].line if builder.steps else entry.span.line
    builder.steps.append(Step("exit", last, "ret"))
    for step, labels in builder.pending:
        if any(label.counter < 0 for label in labels):
            raise Unsupported(step.line, "a branch to a label that is not there")
        step.targets = tuple(label.counter for label in labels)
        step.target = step.targets[0] if step.targets else -1
    unproven = definedness.prove(builder.steps, len(registers.types))
    param_extents = tuple(layout.extents.get("param", ()))
    shared = layout.extents.get("shared", [])
    kinds = builder.touched
    has_dynamic = layout.dynamic_start >= 0
    return Program(
        entry.name, entry.params, param_extents, builder.steps, registers.types, registers.names, unproven,
        {space: tuple(found) for space, found in layout.extents.items()}, layout.initial,
        layout.dynamic_address(), has_dynamic, sum(e.size for e in shared), builder.smallest,
        bool(kinds.get("global", set()) - {"read"}),
        frozenset(space for space, found in kinds.items() if found & {"atomic", "strong"}),
        builder.fenced, _dimensions(entry, "reqntid"), _dimensions(entry, "maxntid"),
        _dimensions(entry, "reqnctapercluster"),
    )
