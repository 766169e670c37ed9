"""CUDA C++ to PTX by a toolkit's nvcc, which has headers that NVRTC's packages lack (cooperative groups, libcu++)."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator

from bench.corpus.building import Failure, build_folder
from bench.corpus.recording import Compiled
from bench.corpus.sources import Source, sources

COMPILER = "nvcc"
TARGETS = ("sm_75", "sm_80", "sm_87", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_103", "sm_120", "sm_120a")
VARIANTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("debug", ("-G",)),
    ("lineinfo", ("-lineinfo",)),
    ("unoptimised", ("-Xcicc", "-O0")),
    ("fast", ("-use_fast_math", "-maxrregcount=64")),
    ("cxx20", ("-std=c++20", "-Xcicc", "-O1")),
    ("separate", ("-rdc=true", "-lineinfo")),
)
_PLAIN_TARGETS = 2
_VARIANTS_EACH = 2


def version() -> str:
    """`nvcc 13.0.88`."""
    said = subprocess.run([_nvcc(), "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"\bV([0-9.]+)", said)
    return f"nvcc {found[1] if found else '?'}"


def compiled() -> Iterator[Compiled]:
    """Every source for two targets, and in two of the variants. Raises Failure with nvcc's messages."""
    every = [s for s in sources("cuda", "cu") if not s.compilers or COMPILER in s.compilers]
    for turn, source in enumerate(every):
        targets = [t for t in TARGETS if source.suits(t, COMPILER)]
        for step in range(min(_PLAIN_TARGETS, len(targets))):
            target = targets[(turn * 3 + step * max(1, len(targets) // _PLAIN_TARGETS)) % len(targets)]
            yield Compiled(COMPILER, f"{source.name}.{target}.ptx", compile_one(source, target, ()))
        kinds = [v for v in VARIANTS if v[0] not in source.without]
        for step in range(_VARIANTS_EACH):
            kind, flags = kinds[(turn * 2 + step) % len(kinds)]
            target = targets[(turn * 5 + step) % len(targets)]
            yield Compiled(COMPILER, f"{source.name}.{target}.{kind}.ptx", compile_one(source, target, flags))


def compile_one(source: Source, target: str, flags: tuple[str, ...]) -> str:
    """The PTX of one source; ptxas is not asked."""
    folder = build_folder()
    (folder / f"{source.name}.cu").write_text(source.text, encoding="ascii")
    standard = () if any(f.startswith("-std") for f in flags) else ("-std=c++17",)
    command = [
        _nvcc(), "-ptx", f"-arch={target}", *standard, *source.flags, *flags, f"{source.name}.cu", "-o", "out.ptx",
    ]  # fmt: skip
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failure(" ".join(command[1:]), done.stderr + done.stdout)
    return (folder / "out.ptx").read_text(encoding="utf-8")


def _nvcc() -> str:
    found = shutil.which("nvcc")
    if found is None:
        raise Failure("nvcc", "not on PATH: it comes with a CUDA toolkit")
    return found
