"""Triton to PTX for named targets: no GPU is asked. Each source module lists its `KERNELS`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

from bench.corpus.building import build_folder, imported, installed, without_packages
from bench.corpus.recording import Compiled
from bench.corpus.sources import sources

COMPILER = "triton"
CAPABILITIES = (75, 80, 90, 100, 120)


def version() -> str:
    """`Triton 3.9.0`."""
    return f"Triton {_triton().__version__}"


def compiled() -> Iterator[Compiled]:
    """Every kernel for every target that Triton itself does not refuse."""
    triton = _triton()
    for source in sources("triton", "py"):
        module = imported(source)
        for turn, (function, signature, constants, *only) in enumerate(module.KERNELS):
            for capability in only[0] if only else CAPABILITIES:
                text = _compile(triton, function, signature, constants, capability, 8 if turn % 3 == 2 else 4)
                if text is not None:
                    name = f"{source.name}_{function.__name__}_{turn}.{_target(text)}.ptx"
                    yield Compiled(COMPILER, name, text)


def _compile(
    triton: Any, function: Any, signature: dict[str, str], constants: dict[str, Any], capability: int, warps: int
) -> str | None:
    whole = {name: signature.get(name, "constexpr") for name in function.arg_names}
    target = installed("triton.backends.compiler").GPUTarget("cuda", capability, 32)
    source = installed("triton.compiler").ASTSource(fn=function, signature=whole, constexprs=constants)
    try:
        done = triton.compile(source, target=target, options={"num_warps": warps})
    except (installed("triton.errors").TritonError, RuntimeError) as error:
        print(f"{function.__name__} for sm_{capability}: {str(error).strip().splitlines()[-1]}", file=sys.stderr)
        return None
    return without_packages(done.asm["ptx"])


def _target(text: str) -> str:
    return next(line for line in text.splitlines() if line.startswith(".target")).split()[1].rstrip(",")


def _triton() -> Any:
    os.environ["TRITON_CACHE_DIR"] = str(build_folder() / "triton-cache")
    return installed("triton")
