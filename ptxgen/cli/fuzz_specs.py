"""Random specs for fuzzing: any signature, launch, register budget and obligation that a spec may have."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from ptxgen.spec import TYPES, Spec, parse_spec

if TYPE_CHECKING:
    from ptxgen.isa import Expansion, Table

BLOCKS = ((1,), (32,), (64,), (256,), (1024,), (16, 16), (32, 4), (8, 8, 4))
SIZE_TYPES = ("u32", "u32", "u32", "s32", "u64", "s64", "u16")
ACCESS = ("in", "in", "out", "inout")
BUDGETS = {"pred": (4, 32), "b16": (8, 64), "b32": (24, 128), "f32": (16, 128), "b64": (24, 96), "f64": (8, 64)}
SHARED = ("0", "0", "256", "1024", "4096")
#: Names that kernels cannot do without are not forbidden; the others may be.
NEEDED = frozenset({"ld", "st", "mov", "cvta", "ret", "bra", "cvt", "add", "mad", "mul", "setp"})


def random_spec(seed: int, arch: str, table: Table) -> Spec:
    """The spec of a seed: the same seed, the same spec. Its task and its oracle mean nothing."""
    return parse_spec(spec_text(Random(seed), arch, table.profile(arch)), Path(f"seed-{seed}.toml"))


def spec_text(random: Random, arch: str, profile: tuple[Expansion, ...]) -> str:
    """A spec's TOML. Pointers come first, then scalars, then the sizes `n` and perhaps `m`."""
    sizes = ["n", "m"][: random.choice((0, 1, 1, 1, 2))]
    accesses = [random.choice(ACCESS) for _ in range(random.randint(0, 3))]
    accesses.insert(random.randint(0, len(accesses)), random.choice(("out", "out", "inout")))
    kinds = list(TYPES)
    lines, outputs = [], []
    for number, access in enumerate(accesses):
        shape = _shape(random, sizes)
        lines.append(
            f'{{ name = "p{number}", type = "{random.choice(kinds)}*", access = "{access}", shape = {shape} }}'
        )
        if access != "in":
            outputs.append(f"p{number}")
    lines += [f'{{ name = "s{k}", type = "{random.choice(kinds)}" }}' for k in range(random.randint(0, 2))]
    lines += [f'{{ name = "{size}", type = "{random.choice(SIZE_TYPES)}" }}' for size in sizes]
    block = random.choice(BLOCKS)
    grid = f'["max(1, ceil(n / {block[0]}))"]' if sizes and random.random() < 0.7 else "[2]"
    oracle = "\n".join(f'{name} = "0"' for name in outputs)
    return f"""\
[kernel]
name = "fuzz"
task = "none"
params = [
  {", ".join(lines)}
]

[launch]
block = {list(block)}
grid = {grid}
shared_bytes = {random.choice(SHARED)}

[target]
arch = "{arch}"

[constraints]
{_constraints(random, profile)}

[oracle.expr]
{oracle}
"""


def _shape(random: Random, sizes: list[str]) -> str:
    """Extents by size or by number; `repr` of a list of texts and numbers is TOML too."""
    choices: list[str | int] = [*sizes, *sizes, *(f"{size} * 2" for size in sizes), 64, 1]
    return str([random.choice(choices) for _ in range(random.choice((1, 1, 2)))])


def _constraints(random: Random, profile: tuple[Expansion, ...]) -> str:
    lines = []
    if random.random() < 0.4:
        chosen = ", ".join(f"{name} = {random.randint(*span)}" for name, span in BUDGETS.items())
        lines.append(f"declare = {{ {chosen} }}")
    required = []
    if random.random() < 0.4:
        opcodes = sorted({e.opcode for e in profile if e.name not in {"ret", "bra", "exit"}})
        required = random.sample(opcodes, random.randint(1, 2))
        lines.append(f"require = {required}")
    if random.random() < 0.3:
        names = sorted({e.name for e in profile} - NEEDED - {opcode.split(".")[0] for opcode in required})
        lines.append(f"forbid = {random.sample(names, 2)}")
    return "\n".join(lines)
