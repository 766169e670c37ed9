"""How a kernel moves its data: the pattern of a spec, and what that asks of the kernel, in plain words.

The pattern is read from shapes, launch, oracle operations and a few words of the task. It decides most about which
reference is near, and gives the outline that the prompt lists before the steps of the formula.
"""

from __future__ import annotations

import re

from ptxgen.prompting.oracle import operations
from ptxgen.spec import Spec

#: Words of a task that tell how its threads work together, and what they are a sign of.
_WORDS = {
    "shuffle": "shuffle", "shuffles": "shuffle", "shfl": "shuffle", "warp": "warp", "warps": "warp", "lane": "warp",
    "atomic": "atomic", "atomics": "atomic", "atomically": "atomic", "shared": "shared", "tree": "tree",
    "tile": "tile", "tiles": "tile", "row": "row", "rows": "row", "column": "column", "columns": "column",
    "loop": "loop", "loops": "loop", "stride": "stride", "strided": "stride", "block": "block", "matrix": "matrix",
}


def task_words(spec: Spec) -> frozenset[str]:
    """Signs of how threads work together, from the task's words and the required opcodes."""
    text = f"{spec.kernel.task} {' '.join(spec.constraints.require)}".lower()
    return frozenset(_WORDS[word] for word in re.findall(r"[a-z]+", text) if word in _WORDS)


def uses_shared(spec: Spec) -> bool:
    return spec.launch.shared_bytes.text != "0"


def memory_pattern(spec: Spec) -> str:
    """One of map, map-2d, grid-stride, gather, atomic, tile, block-exchange, warp-exchange,
    block-reduction, warp-reduction, row-reduction, row-normalisation, column-reduction."""
    done, words = operations(spec), task_words(spec)
    rank = max((len(p.shape) for p in spec.kernel.params if p.pointer), default=1)
    if "scatter" in done or "atomic" in words or _accumulates(spec):
        return "atomic"
    if "transpose" in done:
        return "tile"
    if any(name.startswith("reduce-") for name in done):
        return _reduction(spec, words)
    if "shuffle" in words or (spec.threads == 32 and "warp" in words):
        return "warp-exchange"
    if uses_shared(spec):
        return "tile" if rank > 1 else "block-exchange"
    if "gather" in done:
        return "gather"
    if "stride" in words:
        return "grid-stride"
    return "map-2d" if rank > 1 else "map"


def _accumulates(spec: Spec) -> bool:
    """Whether a smaller output is updated from larger inputs, as a counter is."""
    inputs = [p for p in spec.inputs if p.access == "in"]
    return any(
        out.access == "inout" and inputs and all(out.shape != p.shape for p in inputs) for out in spec.outputs
    )


def _reduction(spec: Spec, words: frozenset[str]) -> str:
    if uses_shared(spec):
        return "block-reduction"
    if "shuffle" in words or spec.threads == 32:
        return "warp-reduction"
    rank = max(len(p.shape) for p in spec.inputs)
    if any(len(p.shape) == rank for p in spec.outputs) and rank > 1:
        return "row-normalisation"
    return "column-reduction" if "column" in words and "row" not in words else "row-reduction"
