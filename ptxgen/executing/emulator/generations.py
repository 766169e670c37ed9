"""What instructions mean in code for targets before sm_20, which assemblers still take.

Those targets have no subnormal f32 numbers: every f32 instruction flushes them as if it said `.ftz`. Only `cvt`
between f32 and f64 does not in PTX up to 1.4 (manual, 9.7.9.21). Assemblers of CUDA 13 make the same machine code of
both ways of writing; `map_f64_to_f32` changes nothing for them.
"""

from __future__ import annotations

import re
from dataclasses import replace

from ptxgen.isa import load_table
from ptxgen.isa.model import Mismatch
from ptxgen.ptx.tree import Instruction, Module

_TARGET = re.compile(r"sm_1\d")


def flushes(module: Module) -> bool:
    """Is the module for a target without subnormals?"""
    return any(_TARGET.fullmatch(word) for word in module.target)


def with_flushing(instruction: Instruction, version: str) -> Instruction:
    """The instruction with the `.ftz` that it means; unchanged where there is none to mean."""
    name, *words = instruction.opcode.split(".")
    if "f32" not in words or "ftz" in words:
        return instruction
    if name == "cvt" and "f64" in words and tuple(map(int, version.split("."))) < (1, 5):
        return instruction
    place = next(number for number, word in enumerate(words) if re.fullmatch(r"[a-z]\d+", word))
    opcode = ".".join((name, *words[:place], "ftz", *words[place:]))
    known = not isinstance(load_table().match(opcode, None), Mismatch)
    return replace(instruction, opcode=opcode) if known else instruction
