"""Numba to PTX for named compute capabilities: no GPU is asked. Each source module lists its `KERNELS`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import metadata
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from bench.corpus.building import Failure, imported, installed, without_packages
from bench.corpus.recording import Compiled
from bench.corpus.sources import sources

COMPILER = "numba"
#: Capability and options of each build.
BUILDS: tuple[tuple[str, tuple[int, int], dict[str, Any]], ...] = (
    ("", (7, 5), {}),
    ("lineinfo", (8, 0), {"lineinfo": True}),
    ("debug", (9, 0), {"debug": True, "opt": False}),
    ("fast", (10, 0), {"fastmath": True}),
    ("", (12, 0), {}),
)


def version() -> str:
    """`numba-cuda 0.30.4`."""
    return f"numba-cuda {metadata.version('numba-cuda')}"


def compiled() -> Iterator[Compiled]:
    """Every kernel in every build. Raises Failure where Numba refuses one."""
    cuda = _cuda()
    for kind, capability, options in BUILDS:
        # a called device function is compiled for the device at hand, and kept: a device is named, sources anew
        device = SimpleNamespace(compute_capability=capability)
        with patch("numba.cuda.dispatcher.get_current_device", lambda device=device: device):
            for source in sources("numba", "py"):
                for turn, (function, signature) in enumerate(imported(source).KERNELS):
                    target = f"sm_{capability[0]}{capability[1]}"
                    name = f"{source.name}_{function.__name__}_{turn}.{target}{kind and '.' + kind}.ptx"
                    yield from _parts(cuda, function, signature, capability, options, name)


def _parts(
    cuda: Any, function: Any, signature: Any, capability: tuple[int, int], options: dict[str, Any], name: str
) -> Iterator[Compiled]:
    """One module, or several in a debug build, where device functions are compiled on their own."""
    debug = bool(options.get("debug"))
    compiler = cuda.compile_all if debug else cuda.compile
    try:
        given, _ = compiler(function, signature, cc=capability, output="ptx", **options)
    except Exception as error:
        if not debug:
            raise Failure(name, str(error)) from error
        # checked arithmetic wants a launch to report to, and some functions are CUDA C++ that asks for the driver
        print(f"{name}: Numba has no debug build ({error})", file=sys.stderr)
        return
    texts = given if debug else [given]
    for part, text in enumerate(texts):
        if isinstance(text, str):
            inner = name if part == 0 else name.replace(".sm_", f"_part{part}.sm_")
            yield Compiled(COMPILER, inner, without_packages(text))


def _cuda() -> Any:
    return installed("numba.cuda")
