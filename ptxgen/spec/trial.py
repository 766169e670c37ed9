"""Which sizes a spec is tried at, and a trial of its shapes and launch at the ends of those ranges."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ptxgen.spec.model import Spec
from ptxgen.spec.problems import SpecError


def size_range(spec: Spec, name: str) -> tuple[int, int]:
    """The range that `[verify] sizes` gives, or from 0 to more than two blocks.

    Meaningless for a size that is computed from others.
    """
    given = spec.verify.sizes.get(name)
    if given is not None and given.derived is None:
        return given.low, given.high
    free = [size for size in spec.sizes if size not in spec.verify.sizes]
    most = 2 * spec.threads + 67 if len(free) <= 1 else 97
    return 0, min(most, spec.param(name).scalar.high)


def complete_sizes(spec: Spec, chosen: Mapping[str, int]) -> dict[str, int]:
    """The chosen sizes and those computed from them, in the signature's order. Raises SpecError."""
    sizes = dict(chosen)
    pending = {name: span.derived for name, span in spec.verify.sizes.items() if span.derived is not None}
    while pending:
        ready = [name for name, size in pending.items() if size is not None and set(size.names) <= set(sizes)]
        for name in ready:
            size = pending.pop(name)
            assert size is not None
            try:
                sizes[name] = size.evaluate(sizes)
            except SpecError as error:
                raise SpecError(error.what, where=spec.where("verify", "sizes", name), fix=error.fix) from None
            if not 0 <= sizes[name] <= spec.param(name).scalar.high:
                raise SpecError(
                    f"`{name}` becomes {sizes[name]}, which is no size",
                    where=spec.where("verify", "sizes", name),
                )
    return {name: sizes[name] for name in spec.sizes}


def free_sizes(spec: Spec) -> tuple[str, ...]:
    """The sizes that are drawn, not computed."""
    return tuple(
        name for name in spec.sizes if name not in spec.verify.sizes or spec.verify.sizes[name].derived is None
    )


def check_trial_sizes(spec: Spec) -> None:
    """Shapes and launch at the lowest and highest sizes, and one above the lowest.

    Finds a grid beyond the limits, `n / 256` that is not whole, negative extents, and outputs that a grid of no
    blocks leaves unwritten, when the spec is read.
    """
    ranges = {name: size_range(spec, name) for name in free_sizes(spec)}
    lowest = {name: low for name, (low, _) in ranges.items()}
    highest = {name: high for name, (_, high) in ranges.items()}
    next_to_lowest = {name: min(low + 1, high) for name, (low, high) in ranges.items()}
    for chosen in (lowest, next_to_lowest, highest):
        sizes = complete_sizes(spec, chosen)
        launch = spec.launch_at(sizes)
        for index, param in enumerate(spec.kernel.params):
            elements = math.prod(spec.shape_at(param, sizes)) if param.pointer else 0
            if 0 in launch.grid and elements and param.access == "out":
                raise SpecError(
                    f"`{param.name}` has {elements} element(s) that nothing is launched to write, "
                    f"at {', '.join(f'{name} = {size}' for name, size in sizes.items())}",
                    where=spec.where("kernel", "params", index, "shape"),
                    fix="let the grid be at least 1, as max(1, ...), or [verify] sizes begin higher",
                )
