"""Kernels to replay, and random walks over what the masks allow."""

from __future__ import annotations

import re._constants as sre
import re._parser as sre_parser
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from ptxgen.isa import load_table
from ptxgen.semantics import Level, State, allowed, contract_of, plan_closing, step
from ptxgen.semantics.statements import AllowedStatements, Pattern
from ptxgen.spec import Spec, load_spec, parse_spec

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
REFERENCES = ROOT / "ptxgen" / "prompting" / "references"
TABLE = load_table()
LEVELS = (Level.TYPED, Level.SCOPED, Level.TYPESTATE, Level.FULL)
#: Statements that a walk over uniformly chosen rows would seldom meet.
CONTROL = ("bra", "ret", "setp", "bar.sync", "ld", "st", "red", "atom")


@dataclass(frozen=True)
class Kernel:
    """A correct kernel and its spec."""

    name: str
    spec: Path
    ptx: Path

    def lines(self) -> tuple[str, ...]:
        """The body's statements, from after the register declarations to the closing brace."""
        return body(self.ptx.read_text(encoding="utf-8"))


def body(ptx: str) -> tuple[str, ...]:
    lines = ptx.splitlines(keepends=True)
    last = max(i for i, line in enumerate(lines) if line.lstrip().startswith(".reg"))
    return tuple(line for line in lines[last + 1 :] if line.strip())


@cache
def kernels() -> tuple[Kernel, ...]:
    found = []
    for ptx in (*sorted((ROOT / "tests" / "kernels").rglob("*.ptx")), *sorted(REFERENCES.glob("*.ptx"))):
        own = ptx.with_suffix(".toml")
        found.append(Kernel(ptx.stem, own if own.exists() else EXAMPLES / f"{ptx.stem.split('__')[0]}.toml", ptx))
    return tuple(found)


def start(spec: Spec, level: Level) -> State:
    return State.start(contract_of(spec, TABLE, spec.target.arch[0]), level)


@cache
def start_of(spec: Path, level: Level) -> State:
    return start(load_spec(spec), level)


def example(name: str, level: Level) -> State:
    return start_of(EXAMPLES / f"{name}.toml", level)


def limited(name: str, constraints: str, arch: str = "") -> Spec:
    """An example with other `[constraints]`."""
    text = (EXAMPLES / f"{name}.toml").read_text(encoding="utf-8")
    assert "[constraints]" not in text
    if arch:
        assert 'arch = "sm_80"' in text
        text = text.replace('arch = "sm_80"', f'arch = "{arch}"')
    return parse_spec(f"{text}\n[constraints]\n{constraints}\n", f"{name}.toml")


@cache
def states(kernel: Kernel, level: Level) -> tuple[State, ...]:
    """The states before each statement of a kernel, and the last."""
    reached = [start_of(kernel.spec, level)]
    for line in kernel.lines():
        reached.append(step(reached[-1], line))
    return tuple(reached)


def allowed_here(state: State) -> AllowedStatements:
    """What decoding would allow: with registers kept back for the way home."""
    return allowed(state, plan_closing(state).registers)


# ---------------------------------------------------------------- random statements


def draw(legal: AllowedStatements, random: Random) -> str:
    """A random legal line; "" when none was found among thirty."""
    rows = list(legal.rows)
    control = [(o, r) for o, r in rows if any(name.split(".")[0] in CONTROL for name in o)]
    for _ in range(30):
        if legal.fixed and (not rows or random.random() < 0.15):
            line = _choose(legal.fixed, random)
        else:
            opcodes, row = random.choice(control if control and random.random() < 0.4 else rows)
            operands = ", ".join(_choose(o, random) for o in row.operands)
            opcode = _choose(opcodes, random)
            line = f"\t{_choose(row.guards, random)}{opcode}{' ' if operands else ''}{operands};\n"
        if legal.contains(line):
            return line
    return ""


def _choose(alternatives: tuple[str, ...], random: Random) -> str:
    chosen = random.choice(alternatives)
    return sample(chosen, random) if isinstance(chosen, Pattern) else chosen


def sample(expression: str, random: Random) -> str:
    """A random text that a regular expression matches (literals, classes, choices, groups, repeats)."""
    return _sample(sre_parser.parse(expression), random)


def _sample(items: Any, random: Random) -> str:
    out = ""
    for kind, value in items:
        if kind is sre.LITERAL:
            out += chr(value)
        elif kind is sre.IN:
            ranges = [v if k is sre.RANGE else (v, v) for k, v in value]
            low, high = random.choice(ranges)
            out += chr(random.randint(low, high))
        elif kind is sre.BRANCH:
            out += _sample(random.choice(value[1]), random)
        elif kind is sre.SUBPATTERN:
            out += _sample(value[3], random)
        elif kind is sre.MAX_REPEAT:
            low, high, repeated = value
            for _ in range(random.randint(low, min(high, low + 4))):
                out += _sample(repeated, random)
        else:
            raise AssertionError(f"a pattern uses {kind}")
    return out


def walk(state: State, steps: int, random: Random) -> list[tuple[State, str]]:
    """Random legal statements from a state on: each state with the line that leaves it, and the last with ""."""
    passed: list[tuple[State, str]] = []
    for _ in range(steps):
        line = "" if state.closed else draw(allowed_here(state), random)
        if not line:
            break
        passed.append((state, line))
        state = step(state, line)
    return [*passed, (state, "")]
