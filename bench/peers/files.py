"""Any folder of PTX files, without expectations: are they read, judged as an assembler judges them, decoded?"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ptxgen.assembling import Ptxas, ToolCrashed, find_ptxas
from ptxgen.errors import PtxgenError
from ptxgen.executing.emulator.building import build
from ptxgen.executing.emulator.scope import Unsupported
from ptxgen.isa import load_table
from ptxgen.ptx import PtxSyntaxError, parse
from ptxgen.semantics import check_module

#: The oldest target that assemblers of CUDA 13 know; what is for older ones goes for it too.
OLDEST = 75


@dataclass(frozen=True, slots=True)
class Reading:
    """Of one file. `taken`: by an assembler; `alarms`: errors of the parser and of `check`; `refused`: kernels that
    the emulator does not decode, with the reason."""

    path: Path
    taken: bool
    told: str
    alarms: tuple[str, ...]
    kernels: int
    refused: tuple[str, ...]

    @property
    def differs(self) -> bool:
        """Do we judge otherwise than the assembler?"""
        return bool(self.alarms) == self.taken


def read(path: Path, tool: Ptxas) -> Reading:
    """One file. Raises nothing for what is wrong with it."""
    text = path.read_text(errors="replace")
    taken, told = asked(text, tool)
    try:
        module = parse(text)
    except PtxSyntaxError as error:
        return Reading(path, taken, told, (str(error).splitlines()[0],), 0, ())
    errors = [found for found in check_module(module, load_table()) if found.severity == "error"]
    refused = []
    for kernel in module.entries():
        try:
            build(module, kernel.name)
        except (Unsupported, PtxgenError) as error:
            refused.append(f"{kernel.name}: {error}")
    alarms = tuple(f"line {found.span.line}: {found.message}" for found in errors)
    return Reading(path, taken, told, alarms, len(module.entries()), tuple(refused))


def asked(text: str, tool: Ptxas) -> tuple[bool, str]:
    """Whether an assembler takes a text, for its own target or the oldest it knows; and what it says against it."""
    target = re.search(r"\.target\s+(sm_(\d+)\w*)", text)
    try:
        assembly = tool.assemble(text, target[1] if target and int(target[2]) > OLDEST else f"sm_{OLDEST}")
    except ToolCrashed as error:
        return False, str(error).splitlines()[0]
    told = [message.text for message in assembly.messages if "aborted" not in message.text]
    return assembly.ok, told[0] if told and not assembly.ok else ""


def readings(folder: Path) -> list[Reading]:
    """Every `.ptx` below a folder. Raises PtxgenError if there is none, ToolMissing without an assembler."""
    paths = sorted(path for path in folder.rglob("*.ptx") if path.is_file())
    if not paths:
        raise PtxgenError(f"no .ptx files in {folder}", fix="name a folder that holds some")
    tool = find_ptxas()[0]
    return [read(path, tool) for path in paths]


def table(found: list[Reading]) -> str:
    """One row: files, what an assembler takes, where we judge otherwise, kernels, what is decoded."""
    kernels = sum(reading.kernels for reading in found)
    refused = [reason for reading in found for reason in reading.refused]
    gpu = sum("needs a GPU" in reason for reason in refused)
    wide = sum("32 bits" in reason for reason in refused)
    numbers = [
        len(found), sum(reading.taken for reading in found), sum(reading.differs for reading in found), kernels,
        kernels - len(refused), gpu, wide, len(refused) - gpu - wide,
    ]
    return (
        "| files | ptxas takes | judged otherwise by us | kernels | decoded | need a GPU | addresses of 32 bits "
        "| refused for another reason |\n|" + "---:|" * 8 + "\n| " + " | ".join(map(str, numbers)) + " |"
    )
