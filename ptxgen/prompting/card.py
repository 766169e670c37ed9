"""The instruction card: only those instructions and idioms that a task needs, spelt as the ISA table spells them.

The lines are data (`card.toml`). Every opcode in them is looked up in the table, so a card cannot teach what the
table does not know, and a line whose instruction the target lacks is left out.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ptxgen.prompting.oracle import operations
from ptxgen.prompting.patterns import memory_pattern
from ptxgen.spec import Spec

if TYPE_CHECKING:
    from ptxgen.isa import Table

_FILE = Path(__file__).with_name("card.toml")
#: A dotted word is an opcode: `fma.rn.f32`, not `%tid.x` and not `0.0f`.
_OPCODE = re.compile(r"(?<![%\w.])[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)+")


@dataclass(frozen=True, slots=True)
class Line:
    """`when` and `types` are alternatives; no `types` are all. `structure`: about more than the arithmetic."""

    text: str
    when: frozenset[str]
    types: frozenset[str]
    structure: bool


@dataclass(frozen=True, slots=True)
class Mistake:
    """A frequent error and what is right instead."""

    wrong: str
    right: str
    why: str
    when: frozenset[str]
    types: frozenset[str]


@cache
def card_lines() -> tuple[Line, ...]:
    """Every line of the card, in the order in which a prompt shows them."""
    return tuple(
        Line(entry["text"], frozenset(entry["when"]), frozenset(entry.get("types", ())), "structure" in entry)
        for entry in tomllib.loads(_FILE.read_text(encoding="utf-8"))["line"]
    )


@cache
def mistakes() -> tuple[Mistake, ...]:
    """Every negative example; the last one fits every task."""
    return tuple(
        Mistake(entry["wrong"], entry["right"], entry["why"], frozenset(entry["when"]),
                frozenset(entry.get("types", ())))
        for entry in tomllib.loads(_FILE.read_text(encoding="utf-8"))["mistake"]
    )


def instruction_card(spec: Spec, table: Table, arch: str, *, arithmetic: bool = True) -> tuple[str, ...]:
    """The lines that the spec needs, in order. A line with an opcode that `arch` cannot run is left out.

    Without `arithmetic` only those on structure: where steps are listed, they spell the arithmetic out.

    Raises KeyError when a line names an opcode that the table does not hold: the card and the table drifted.
    """
    needs, types = _needs(spec)
    fitting = [line for line in card_lines() if _fits(line, needs, types) and (arithmetic or line.structure)]
    lines = (fill(line.text, spec) for line in fitting)
    return tuple(line for line in lines if available(line, table, arch))


def negative_example(spec: Spec) -> Mistake:
    """The first mistake that fits the spec, its slots filled."""
    needs, types = _needs(spec)
    for mistake in mistakes():
        if not mistake.when or _fits(mistake, needs, types):
            return Mistake(fill(mistake.wrong, spec), fill(mistake.right, spec), mistake.why,
                           mistake.when, mistake.types)
    raise AssertionError("the last mistake of card.toml fits every task")


def opcodes(text: str) -> tuple[str, ...]:
    """The opcodes that a text mentions, in order, `bar.sync` and `st.shared.f32` alike."""
    return tuple(_OPCODE.findall(text))


def available(text: str, table: Table, arch: str) -> bool:
    """Whether `arch` has every opcode of the text. Raises KeyError for one that the table does not hold."""
    version = table.lowest_ptx(arch)
    for opcode in opcodes(text):
        candidates = table.candidates(opcode)
        if not candidates:
            raise KeyError(f"the instruction card names {opcode}, which the ISA table does not hold")
        if all(table.unavailable(expansion, arch, version) for expansion in candidates):
            return False
    return True


def fill(text: str, spec: Spec) -> str:
    """Put the output's element type (`{t}`), memory type (`{m}`), size and register prefix into a text."""
    element = spec.outputs[0].element
    memory = {"f16": "b16", "bf16": "b16"}.get(element, element)
    size = spec.outputs[0].scalar.size
    prefix = {"f32": "%f", "f64": "%fd"}.get(memory, {2: "%rs", 4: "%r", 8: "%rd"}.get(size, "%r"))
    return text.format(t=element, m=memory, size=size, r=prefix)


def _needs(spec: Spec) -> tuple[frozenset[str], frozenset[str]]:
    done = operations(spec)
    plain = {name.removeprefix("reduce-") for name in done}
    return done | plain | {memory_pattern(spec)}, frozenset(p.element for p in spec.kernel.params if p.pointer)


def _fits(entry: Line | Mistake, needs: frozenset[str], types: frozenset[str]) -> bool:
    return bool(entry.when & needs) and (not entry.types or bool(entry.types & types))
