"""The compilers of the corpus by name, and recording what they write."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from bench.corpus.recording import RECORDED, record

#: Each module has `version()` and `compiled()`; imported when asked for, as not every compiler is installed.
COMPILERS = {
    "llvm": "bench.corpus.with_llvm",
    "numba": "bench.corpus.with_numba",
    "nvcc": "bench.corpus.with_nvcc",
    "nvrtc": "bench.corpus.with_nvrtc",
    "triton": "bench.corpus.with_triton",
}


def compile_and_record(compiler: str, folder: Path = RECORDED) -> str:
    """Compiles every source and writes the archive; says what there is now. Raises Failure."""
    module = import_module(COMPILERS[compiler])
    files = tuple(module.compiled())
    path = record(compiler, module.version(), files, folder)
    return f"{module.version()}: {len(files)} files, {path.stat().st_size} bytes"
