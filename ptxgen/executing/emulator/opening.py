"""What an open kernel needs: text that ends in the middle of a body, and labels that come later."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ptxgen.executing.emulator.program import Step
from ptxgen.executing.emulator.scope import LabelSymbol, Scope
from ptxgen.ptx import PtxSyntaxError, parse
from ptxgen.ptx.tree import Block, Directive, Instruction, Label, Module, Name, Span, Statement, Variable

#: Program counters where threads wait for a label that has no place yet.
_WAITING = 1 << 40
_NUMBERS = itertools.count(_WAITING)


def parse_open(text: str) -> Module:
    """The module, also where only the last closing brace is missing. Raises PtxSyntaxError."""
    try:
        return parse(text)
    except PtxSyntaxError:
        try:
            return parse(text + "\n}\n")
        except PtxSyntaxError:
            pass
        raise


def declares_memory(statement: Statement) -> bool:
    """Whether the statement declares anything but registers."""
    if isinstance(statement, Block):
        return any(declares_memory(inner) for inner in statement.statements)
    return isinstance(statement, Variable) and statement.space != "reg"


def moved_to(statement: Statement, line: int) -> Statement:
    """The statement as if it stood at that line, all of it."""
    span = Span(line, 1, line, 1)
    if isinstance(statement, Block):
        inner = tuple(moved_to(one, line) for one in statement.statements)
        return dataclasses.replace(statement, statements=inner, span=span)
    return dataclasses.replace(statement, span=span)


def _named_labels(statement: Statement) -> Iterator[str]:
    """Labels that a statement may jump to."""
    if isinstance(statement, Block):
        own = {inner.name for inner in statement.statements if isinstance(inner, Label)}
        for inner in statement.statements:
            yield from (name for name in _named_labels(inner) if name not in own)
    elif isinstance(statement, Directive) and statement.name == "branchtargets":
        yield from re.findall(r"[\w$%]+", statement.text.partition(".branchtargets")[2])
    elif isinstance(statement, Instruction) and statement.opcode.partition(".")[0] == "bra":
        yield from (operand.text for operand in statement.operands if isinstance(operand, Name))


@dataclass(slots=True)
class LabelsToCome:
    """Labels that are named and have no place yet, each with the counter at which threads wait for it, and the steps
    that lead to any of them."""

    labels: dict[str, tuple[LabelSymbol, int]] = field(default_factory=dict)
    leading: list[tuple[Step, tuple[LabelSymbol, ...]]] = field(default_factory=list)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.labels)

    def copy(self) -> LabelsToCome:
        return LabelsToCome(dict(self.labels), list(self.leading))

    def expect(self, statement: Statement, scope: Scope) -> None:
        """Note the labels of a statement that the scope does not know."""
        for name in _named_labels(statement):
            if scope.find(name) is None:
                label = LabelSymbol()
                scope.symbols[name] = label
                self.labels[name] = label, next(_NUMBERS)

    def resolve(self, pending: list[tuple[Step, tuple[LabelSymbol, ...]]]) -> None:
        """Set the targets of steps, and empty the list."""
        self._lead(pending)
        self.leading += [one for one in pending if any(label.counter < 0 for label in one[1])]
        pending.clear()

    def _lead(self, steps: Iterable[tuple[Step, Sequence[LabelSymbol]]]) -> None:
        waiting = {id(label): counter for label, counter in self.labels.values()}
        for step, labels in steps:
            step.targets = tuple(waiting[id(x)] if x.counter < 0 else x.counter for x in labels)
            step.target = step.targets[0] if step.targets else -1

    def prune(self, scope: Scope) -> None:
        """Forget labels that no step leads to: those of inner blocks."""
        wanted = {id(label) for _, labels in self.leading for label in labels}
        for name, (label, _) in tuple(self.labels.items()):
            if id(label) not in wanted:
                del self.labels[name]
                if scope.symbols.get(name) is label:
                    del scope.symbols[name]

    def place(self, name: str, scope: Scope, here: int) -> int:
        """The label's place is `here`. Gives the counter at which threads wait for it, -1 where nobody can."""
        label, waiting = self.labels.pop(name, (LabelSymbol(), -1))
        label.counter = here
        scope.symbols[name] = label
        mine = [one for one in self.leading if any(x is label for x in one[1])]
        self._lead(mine)
        self.leading = [one for one in self.leading if any(x.counter < 0 for x in one[1])]
        return waiting

    def drop_newer(self, older: LabelsToCome, scope: Scope) -> None:
        """Forget what the older copy does not know, in the scope too."""
        for name in self.labels.keys() - older.labels.keys():
            del self.labels[name]
            scope.symbols.pop(name, None)
