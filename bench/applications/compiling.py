"""The sources compiled: which compiler for which targets and in which variants, recorded one archive a compiler.

Files are named `source.target[.variant].ptx`. What a newer compiler says as `.version` is lowered to 9.0, which the
drivers of CUDA 13.0 take; none of the sources uses anything newer.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from bench.corpus import with_llvm, with_numba, with_nvcc, with_nvrtc, with_triton
from bench.corpus.building import Failure, build_folder, imported, installed, without_packages
from bench.corpus.recording import Compiled, record
from bench.corpus.sources import Source, number, sources

SOURCES = Path(__file__).parent / "sources"
RECORDED = Path(__file__).resolve().parents[2] / "tests/executing/applications"
#: Targets and variants of every source, and one of those that take turns.
NVCC = (("sm_80", ""), ("sm_90", ""))
NVCC_IN_TURN = (("sm_75", "debug"), ("sm_80", "unoptimised"), ("sm_90a", "debug"), ("sm_90", "unoptimised"))
NVRTC = (("sm_75", ""),)
NVRTC_IN_TURN = (("sm_90a", ""), ("sm_80", "optimised_debug"), ("sm_90", "lineinfo"))
NUMBA: tuple[tuple[tuple[int, int], str, dict[str, Any]], ...] = (
    ((8, 0), "", {}), ((9, 0), "debug", {"debug": True, "opt": False}),
)
TRITON = (80, 90)
LLVM = (("sm_75", "ptx64", 0), ("sm_80", "ptx70", 2), ("sm_90", "ptx80", 3))
_NEWEST = "9.0"


def of_language(language: str, ending: str) -> tuple[Source, ...]:
    """The sources of a language, by name."""
    return sources(str(SOURCES / language), ending)


def lowered(text: str) -> str:
    """The text with `.version` 9.0 where it says a newer one."""
    found = re.search(r"^\.version (\d+)\.(\d+)", text, re.MULTILINE)
    if found is None or (int(found[1]), int(found[2])) <= tuple(map(int, _NEWEST.split("."))):
        return text
    return text[: found.start()] + f".version {_NEWEST}" + text[found.end() :]


def _cuda(
    compiler: Any, always: tuple[tuple[str, str], ...], in_turn: tuple[tuple[str, str], ...], only: str
) -> Iterator[Compiled]:
    variants = {"": (), **dict(compiler.VARIANTS)}
    for turn, source in enumerate(of_language("cuda", "cu")):
        if only not in source.name or not source.suits(f"sm_{max(source.least, 75)}", compiler.COMPILER):
            continue
        turns = [build for build in in_turn if build[1] not in source.without]
        builds = (
            (target if number(target) >= source.least else f"sm_{source.least}", variant)
            for target, variant in (*always, turns[turn % len(turns)])
        )
        for target, variant in dict.fromkeys(builds):
            text = compiler.compile_one(source, target, variants[variant])
            name = f"{source.name}.{target}{variant and '.' + variant}.ptx"
            yield Compiled(compiler.COMPILER, name, lowered(text))


def _numba(only: str) -> Iterator[Compiled]:
    cuda = installed("numba.cuda")
    for capability, variant, options in NUMBA:
        device = SimpleNamespace(compute_capability=capability)
        with patch("numba.cuda.dispatcher.get_current_device", lambda device=device: device):
            for source in of_language("numba", "py"):
                for name, (function, signature) in imported(source).KERNELS.items():
                    if only in name:
                        yield from _one_of_numba(cuda, name, function, signature, capability, variant, options)


def _one_of_numba(
    cuda: Any, name: str, function: Any, signature: Any, capability: tuple[int, int], variant: str,
    options: dict[str, Any],
) -> Iterator[Compiled]:
    try:
        text, _ = cuda.compile(
            function, signature, cc=capability, output="ptx", device=False, abi="numba", **options
        )
    except Exception as error:
        if not variant:
            raise Failure(name, str(error)) from error
        print(f"{name}: Numba has no debug build ({str(error).splitlines()[0]})", file=sys.stderr)
        return
    file = f"{name}.sm_{capability[0]}{capability[1]}{variant and '.' + variant}.ptx"
    yield Compiled("numba", file, lowered(without_packages(text)))


def _triton(only: str) -> Iterator[Compiled]:
    os.environ["TRITON_CACHE_DIR"] = str(build_folder() / "triton-cache")
    triton = installed("triton")
    target_of = installed("triton.backends.compiler").GPUTarget
    source_of = installed("triton.compiler").ASTSource
    for source in of_language("triton", "py"):
        for name, (function, signature, constants, options, *capabilities) in imported(source).KERNELS.items():
            whole = {word: signature.get(word, "constexpr") for word in function.arg_names}
            # as at a launch with buffers at multiples of 16 bytes
            aligned = {(place,): [["tt.divisibility", 16]] for place, word in enumerate(function.arg_names)
                       if str(whole[word]).startswith("*")}
            for capability in capabilities[0] if capabilities and only in name else TRITON if only in name else ():
                asked = source_of(fn=function, signature=whole, constexprs=constants, attrs=aligned)
                done = triton.compile(asked, target=target_of("cuda", capability, 32), options=options)
                launch = f"// block {32 * done.metadata.num_warps}, shared {done.metadata.shared}\n"
                text = launch + without_packages(done.asm["ptx"])
                yield Compiled("triton", f"{name}.sm_{capability}.ptx", lowered(text))


def _llvm(only: str) -> Iterator[Compiled]:
    for source in of_language("llvm", "ll"):
        for target, ptx, level in LLVM:
            if only in source.name and source.suits(target, "llvm"):
                text = with_llvm.compile_one(source, target, ptx, level)
                yield Compiled("llvm", f"{source.name}.{target}.O{level}.ptx", text)


COMPILERS: dict[str, tuple[Callable[[], str], Callable[[str], Iterator[Compiled]]]] = {
    "llvm": (with_llvm.version, _llvm),
    "numba": (with_numba.version, _numba),
    "nvcc": (with_nvcc.version, lambda only: _cuda(with_nvcc, NVCC, NVCC_IN_TURN, only)),
    "nvrtc": (with_nvrtc.version, lambda only: _cuda(with_nvrtc, NVRTC, NVRTC_IN_TURN, only)),
    "triton": (with_triton.version, _triton),
}


def compiled(compiler: str, only: str = "") -> tuple[Compiled, ...]:
    """What a compiler makes of the sources (or kernels) whose name contains `only`. Raises Failure."""
    return tuple(COMPILERS[compiler][1](only))


def compile_and_record(compiler: str, folder: Path = RECORDED) -> str:
    """Compiles every source and writes the archive; says what there is now. Raises Failure."""
    about, files = COMPILERS[compiler][0](), compiled(compiler)
    path = record(compiler, about, files, folder)
    return f"{about}: {len(files)} files, {path.stat().st_size} bytes"
