"""What two tasks have in common: weighted features of a spec, and their overlap.

A feature is a text; its weight depends on its kind alone (`WEIGHTS`). Similarity of two specs is the weight of
the features both have over the weight of the features either has, between 0 and 1.
"""

from __future__ import annotations

from collections.abc import Iterable

from ptxgen.prompting.oracle import operations
from ptxgen.prompting.patterns import memory_pattern, task_words, uses_shared
from ptxgen.spec import Spec

#: How much each kind of feature counts.
WEIGHTS = {
    "pattern": 8.0,     # how data moves: see `patterns.memory_pattern`
    "operation": 3.0,   # an operation of the oracle
    "type": 7.0,        # an element type of an array
    "word": 2.0,        # a sign in the task: warp, atomic, loop, ...
    "shared": 2.0,      # dynamic shared memory
    "rank": 2.0,        # dimensions of arrays
    "grid": 1.0,        # dimensions of the launch
    "inputs": 3.0,      # number of input arrays
    "outputs": 1.0,     # number of output arrays
    "scalar": 2.0,      # number of scalars that are no sizes
    "sizes": 0.5,       # number of sizes
}


def features(spec: Spec) -> frozenset[str]:
    """The features of a spec, each as `kind:value`."""
    arrays = [p for p in spec.kernel.params if p.pointer]
    found = {f"operation:{name}" for name in operations(spec)}
    found.update(f"type:{p.element}" for p in arrays)
    found.update(f"word:{word}" for word in task_words(spec))
    found.update(f"rank:{len(p.shape)}" for p in arrays)
    found.add(f"pattern:{memory_pattern(spec)}")
    found.add(f"grid:{len(spec.launch.grid)}")
    found.add(f"inputs:{len(spec.inputs)}")
    found.add(f"outputs:{len(spec.outputs)}")
    found.add(f"scalar:{len(spec.scalars) - len(spec.sizes)}")
    found.add(f"sizes:{len(spec.sizes)}")
    if uses_shared(spec):
        found.add("shared:dynamic")
    return frozenset(found)


def weight(found: Iterable[str]) -> float:
    """The summed weight of features."""
    return sum(WEIGHTS[feature.partition(":")[0]] for feature in found)


def similarity(one: frozenset[str], other: frozenset[str]) -> float:
    """Weighted overlap, 0 to 1; 1 for equal sets."""
    return weight(one & other) / (weight(one | other) or 1.0)
