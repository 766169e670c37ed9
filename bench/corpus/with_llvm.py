"""LLVM's textual IR to PTX by llvmlite's own LLVM: several targets, PTX versions and levels of optimisation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bench.corpus.building import Failure, installed
from bench.corpus.recording import Compiled
from bench.corpus.sources import Source, sources

COMPILER = "llvm"
#: Target and PTX version (`ptx83` is 8.3) of each build, and the optimisation of the code generator.
BUILDS = (
    ("sm_52", "ptx50", 2), ("sm_70", "ptx63", 3),
    ("sm_75", "ptx64", 2), ("sm_75", "ptx70", 0), ("sm_80", "ptx70", 3), ("sm_86", "ptx72", 1), ("sm_89", "ptx78", 2),
    ("sm_90", "ptx80", 0), ("sm_90a", "ptx84", 3), ("sm_100", "ptx86", 2), ("sm_120", "ptx87", 3),
)  # fmt: skip
_TRIPLE = "nvptx64-nvidia-cuda"


def version() -> str:
    """`LLVM 20.1.8 (llvmlite 0.45.0)`."""
    return f"LLVM {'.'.join(map(str, _llvm().llvm_version_info))} (llvmlite {installed('llvmlite').__version__})"


def compiled() -> Iterator[Compiled]:
    """Every source for every build that it suits. Raises Failure where LLVM refuses one."""
    for source in sources("llvm", "ll"):
        for target, ptx, level in BUILDS:
            if source.suits(target, COMPILER):
                name = f"{source.name}.{target}.{ptx}_O{level}.ptx"
                yield Compiled(COMPILER, name, compile_one(source, target, ptx, level))


def compile_one(source: Source, target: str, ptx: str, level: int) -> str:
    """The PTX of one source."""
    llvm = _llvm()
    try:
        module = llvm.parse_assembly(source.text)
        module.triple = _TRIPLE
        machine = llvm.Target.from_triple(_TRIPLE).create_target_machine(cpu=target, features=f"+{ptx}", opt=level)
        return str(machine.emit_assembly(module))
    except RuntimeError as error:
        raise Failure(f"{source.name} {target} {ptx}", str(error)) from error


def _llvm() -> Any:
    llvm = installed("llvmlite.binding")
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm
